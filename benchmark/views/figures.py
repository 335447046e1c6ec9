"""Charts of the pages: which figure is which row, in which colour and shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from annotation.core.charts import (
    IntervalPlot,
    IntervalRow,
    Mark,
    ScatterPlot,
    interval_plot,
    scatter_plot,
)
from annotation.core.intervals import Interval
from annotation.templatetags.look import percent
from benchmark.core.metrics import ReliabilityPoint
from benchmark.core.personal import PersonalRow
from benchmark.core.ranking import RatingMethod
from benchmark.core.trust import (
    BASE,
    RULES,
    SELECTED,
    STACK,
    Condition,
    ConditionKind,
    ControlFigures,
    Figures,
    TrustFigures,
)
from benchmark.queries.ranking import LeaderboardScope, Source
from benchmark.queries.trust import TrustScope
from benchmark.templatetags.figures import prompt_name
from judging.core.votes import VoteRule

FIGURES_ID: Final = "figures"
"""The part of a page that follows its filters."""

CHANCE: Final = 0.5
_MARKS: Final = {
    ConditionKind.SELECTED: ("c1", Mark.CIRCLE),
    ConditionKind.STACK: ("c1", Mark.DIAMOND),
    ConditionKind.BASE: ("c2", Mark.SQUARE),
    ConditionKind.SHUFFLED: ("control", Mark.TRIANGLE),
    ConditionKind.OTHER: ("control", Mark.DIAMOND),
    ConditionKind.RUBRIC: ("control", Mark.SQUARE),
    ConditionKind.LONGER: ("control", Mark.CIRCLE),
    ConditionKind.SHORTER: ("control", Mark.CIRCLE),
    ConditionKind.FIRST: ("control", Mark.CIRCLE),
    ConditionKind.MAJORITY: ("control", Mark.CIRCLE),
}


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One voice of the agreement table, with the address of its rows.

    `is_thin` says that it rests on far fewer comparisons than the result.
    """

    name: str
    figures: ControlFigures
    url: str
    is_control: bool
    is_thin: bool = False


def voice_name(voice: Condition) -> str:
    """How a page calls a voice."""
    if voice.panel is ConditionKind.RUBRIC:
        return prompt_name(voice.annotator)
    return {
        ConditionKind.LONGER: _("No judge: the longer response"),
        ConditionKind.SHORTER: _("No judge: the shorter response"),
        ConditionKind.FIRST: _("No judge: the response shown first"),
        ConditionKind.MAJORITY: _("No judge: the other annotators"),
        ConditionKind.STACK: _("Weighted vote of several ways"),
        ConditionKind.SELECTED: _("Selected preferences"),
        ConditionKind.PERSONAL: _("This annotator's judge, where others' judges decided too"),
        ConditionKind.BASE: _("Base judge, no preferences"),
        ConditionKind.SHUFFLED: _("Control: shuffled labels"),
        ConditionKind.OTHER: _("Preferences of %(name)s") % {"name": voice.annotator},
    }[voice.panel]


def voice_rows(figures: TrustFigures, scope: TrustScope, rows_url: str) -> list[ConditionRow]:
    """The voices that decided anything: the result first, then what it is compared with.

    Of the rules that ask no judge the best alone; last what decided on far fewer comparisons.
    """
    overall = figures.overall
    stacked = tuple(each for each in overall.others if each.voice == STACK)
    beside = tuple(
        each
        for each in overall.others
        if each.voice not in {STACK, *RULES} or each == overall.best_rule
    )
    # Where the base judge stands in, what the selected set decided is what the base judge did.
    is_base = overall.own.agreement.comparisons and overall.own.voice == BASE
    selected = () if is_base else (overall.selected,)
    own = (*stacked, *selected, overall.base, overall.shuffled)
    rows = [
        ConditionRow(
            name=voice_name(each.voice),
            figures=each,
            url=_rows_url(rows_url, scope, each),
            is_control=each.voice not in {SELECTED, STACK, BASE},
            is_thin=each.is_thin(overall.result.agreement),
        )
        for each in (*own, *beside)
        if each.agreement.comparisons
    ]
    return sorted(rows, key=lambda row: row.is_control and row.is_thin)


def scenario_controls(
    figures: Figures, voices: Sequence[ConditionRow], scope: TrustScope, rows_url: str
) -> list[ConditionRow | None]:
    """The controls in one scenario, in the order of `voices`; None where one decided nothing."""
    found = {each.voice: each for each in (figures.shuffled, *figures.others)}
    ids = {each.name: str(each.id) for each in scope.scenarios}
    return [
        replace(
            row,
            figures=found[voice],
            url=_rows_url(rows_url, scope, found[voice], scenario=ids[str(figures.scenario)]),
        )
        if (voice := row.figures.voice) in found and found[voice].agreement.comparisons
        else None
        for row in voices
        if row.is_control
    ]


def _rows_url(rows_url: str, scope: TrustScope, each: ControlFigures, **more: str) -> str:
    if each.voice.annotator:
        more["who"] = each.voice.annotator
    return f"{rows_url}?{trust_query(scope, of=each.voice.panel.value.lower(), **more)}"


def personal_links(claim: PersonalRow, scope: TrustScope, rows_url: str) -> dict[str, object]:
    """Where the comparisons behind a claim are: over all scenarios, by the usual vote."""

    def url(of: str, who: str | None = None) -> str:
        usual = {"scenario": None, "rule": VoteRule.DEFAULT.value}
        return f"{rows_url}?{trust_query(scope, of=of, who=who, **usual)}"

    return {
        "own": url(claim.voice),
        "base": url("base"),
        "common": url("personal"),
        "others": [(name, url("other", name)) for name in claim.others],
    }


def trust_query(scope: TrustScope, **more: str | None) -> str:
    """The parameters of an address that asks the same question."""
    question = scope.question
    parameters: dict[str, object] = {
        "dataset": scope.dataset.slug if scope.dataset else None,
        "annotator": scope.annotator.id if scope.annotator else None,
        "run": scope.run.id if scope.run else None,
        "scenario": question.scenario,
        "rule": question.rule.value,
        "policy": question.policy.value,
        **more,
        "until": scope.pin.until,
    }
    return urlencode({name: value for name, value in parameters.items() if value is not None})


def board_query(scope: LeaderboardScope) -> str:
    """The parameters of an address that asks the same question, of no later run."""
    question = scope.question
    told = {
        "dataset": scope.dataset and scope.dataset.slug,
        "scenario": question.scenario,
        "annotator": question.annotator,
        "judge": question.judge,
        "prompt": question.prompt,
        "language": question.language,
        "run": question.run,
        "method": question.method.value,
        "style": "on" if question.style else "",
        "until": scope.pin.until,
    }
    return urlencode({name: value for name, value in told.items() if value})


def queue_query(scope: TrustScope, judge: str) -> str:
    """The parameters of the queue of disagreements of one annotator with a run, by its key."""
    asked = {
        "dataset": scope.dataset.slug if scope.dataset else None,
        "run": judge,
        "annotator": scope.annotator.id if scope.annotator else None,
        "scenario": scope.question.scenario,
    }
    return urlencode({name: value for name, value in asked.items() if value is not None})


def agreement_plot(rows: list[ConditionRow]) -> IntervalPlot:
    """Agreement of every voice with its interval, against chance."""
    marks = [_agreement_row(row, strong=not place) for place, row in enumerate(rows)]
    return interval_plot(marks, write=percent, reference=CHANCE, include=(0.0, 1.0))


def _agreement_row(row: ConditionRow, *, strong: bool) -> IntervalRow:
    css, mark = _MARKS[row.figures.voice.panel]
    agreement = row.figures.agreement
    low, high = _ends(agreement.interval)
    few = _("▲ %(name)s, on %(n)d only") % {"name": row.name, "n": agreement.comparisons}
    return IntervalRow(
        label=few if row.is_thin else row.name,
        value=agreement.value,
        low=low,
        high=high,
        text=f"{percent(agreement.value)} ({_range(agreement.interval)})",
        css=css,
        mark=mark,
        strong=strong and row.figures.voice != BASE,
        url=row.url,
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)


def _range(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    return f"{interval.low * 100:.0f} … {interval.high * 100:.0f}"


def reliability_plot(found: Sequence[ReliabilityPoint]) -> ScatterPlot:
    """Stated against predicted scores; a point's area is the number of turns behind it."""
    points = [
        (float(point.predicted), point.stated, float(point.n), _reliability_text(point))
        for point in found
    ]
    return scatter_plot(points, low=1.0, high=5.0, write=_whole, plot_height=160.0)


def _reliability_text(point: ReliabilityPoint) -> str:
    return _("predicted %(predicted)d: mean user score %(stated).1f, n = %(n)d") % {
        "predicted": point.predicted,
        "stated": point.stated,
        "n": point.n,
    }


def source_name(source: Source, judge: str, *, voted: bool) -> str:
    """Whose verdicts a leaderboard counts."""
    selected = _("Judge with selected preferences (%(judge)s)")
    return {
        Source.HUMAN: _("Human labels"),
        Source.SELECTED: _("Judge by weighted vote (%(judge)s)") if voted else selected,
        Source.SUBSET: selected,
        Source.BASE: _("Base judge (%(judge)s)"),
        Source.DRAWN: _("Judge with preferences drawn at random (%(judge)s)"),
    }[source] % {"judge": judge or _("none yet")}


def method_name(method: RatingMethod) -> str:
    """What models are ordered by."""
    return {
        RatingMethod.BRADLEY_TERRY: "Bradley-Terry",
        RatingMethod.ELO: "Elo",
        RatingMethod.WIN_RATE: _("win rate"),
    }[method]


def _whole(value: float) -> str:
    return f"{value:.0f}"
