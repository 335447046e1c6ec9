"""Leaderboards: of a page's question, or over a dataset by names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from annotation.core.intervals import ends
from annotation.core.refusals import Refused
from annotation.models import Comparison
from annotation.queries.datasets import session_languages
from benchmark.core.bradley_terry import OutcomeCells, VerdictCounts
from benchmark.core.majority import PairOfModels, majority, pairs_of_models
from benchmark.core.rank_agreement import (
    DRAWS_BETWEEN,
    AnnotatorRankings,
    RankAgreement,
    annotator_rankings,
)
from benchmark.core.ranking import (
    HeadToHead,
    ModelRating,
    Ranking,
    RatingMethod,
    WinRate,
    head_to_head,
    rank_models,
    win_rates,
)
from benchmark.core.style_control import (
    StyledOutcome,
    StyleEffect,
    style_counts,
    style_ranking,
)
from benchmark.queries.choices import (
    AnnotatorChoice,
    ScenarioChoice,
    annotators,
    dataset_of,
    scenarios,
)
from benchmark.queries.ranking import (
    DRAWS,
    LeaderboardQuestion,
    LeaderboardScope,
    ModelVerdict,
    Source,
    applying_runs,
    ballots,
    finished_runs,
    is_voted,
    judge_and_model,
    judge_to_read,
    labels_by_annotator,
    leaderboard_scope,
    outcomes,
    runs_of,
)
from judging.core.rules import JudgePrompt
from judging.queries.generation import SameFamily, same_families
from judging.queries.preference_sets import runs_edited_late


class BoardStyle(NamedTuple):
    """What style control says beside the ratings: effects, and how models stand without control.

    `unwritten` verdicts are on responses without text, which it leaves out.
    """

    effects: tuple[StyleEffect, ...]
    plain: Mapping[str, ModelRating]
    unwritten: int


@dataclass(frozen=True, slots=True)
class Board:
    """One leaderboard; `judge` is "" for human labels, `prompt` for them and the paper's prompt.

    `runs` are the numbers of those whose verdicts it counts, none for human labels.

    `unnamed` counts verdicts on responses whose model nobody recorded. `kin` has the models of the
    judge's own family, where there are any. `voted` says that a weighted vote stands in for an
    annotator, which SELECTED then shows. `edited` that a set heard here was edited after its test
    verdicts were there to see.
    """

    source: Source
    judge: str
    ranking: Ranking
    win_rates: Mapping[str, WinRate]
    by_scenario: Mapping[str, Mapping[str, WinRate]]
    verdicts: int
    unnamed: int
    kin: tuple[SameFamily, ...] = ()
    voted: bool = False
    edited: bool = False
    prompt: str = ""
    by_language: Mapping[str, Mapping[str, WinRate]] = field(default_factory=dict)
    duels: Mapping[tuple[str, str], HeadToHead] = field(default_factory=dict)
    style: BoardStyle | None = None
    runs: tuple[int, ...] = ()

    def records(self) -> list[dict[str, object]]:
        """A row a model, with every figure of the table."""
        return [
            {
                "source": self.source.value,
                "judge": self.judge,
                "method": self.ranking.method.value,
                **asdict(row),
                "first": self.ranking.first.get(row.model),
                "win_rate": self.win_rates[row.model].value,
                **ends(self.win_rates[row.model].interval, "win_rate_"),
                "verdicts": self.win_rates[row.model].verdicts,
                "edited": self.edited,
            }
            for row in self.ranking.models
        ]

    def duel_records(self) -> list[dict[str, object]]:
        """A row for each two models in either order that were compared."""
        names = [row.model for row in self.ranking.models]
        return [
            {
                "source": self.source.value,
                "judge": self.judge,
                "model": model,
                "opponent": opponent,
                **asdict(duel),
                "above": self.ranking.above.get((model, opponent)),
            }
            for model in names
            for opponent in names
            if (duel := self.duels.get((model, opponent)))
        ]


@dataclass(frozen=True, slots=True)
class LeaderboardPage:
    """Everything the page shows; `boards` are those with any verdict.

    `comparisons` are all that could have one; 0 where a language was asked for.
    """

    scope: LeaderboardScope
    boards: tuple[Board, ...]
    comparisons: int = 0


_NOT_JUDGED: Final = {
    Source.SELECTED: (
        "no finished judge run applied preferences on {dataset}; run "
        "`manage.py distil --dataset {dataset}`, then `manage.py judge --dataset {dataset}`"
    ),
    Source.BASE: (
        "no finished judge run on {dataset}; run "
        "`manage.py judge --dataset {dataset} --preferences none`"
    ),
}
_NOT_JUDGED[Source.SUBSET] = _NOT_JUDGED[Source.SELECTED]
_NOT_JUDGED[Source.DRAWN] = (
    "no finished run judged {dataset} under drawn preferences; run "
    "`manage.py judge --dataset {dataset} --preferences drawn:5 --targets all`"
)


def leaderboard_page(question: LeaderboardQuestion, *, seed: int) -> LeaderboardPage:
    """Leaderboards by human labels and by the judge, as far as there are any.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = leaderboard_scope(question)
    boards: list[Board] = []
    for source in Source if scope.dataset else ():
        # The selected set is a board of its own only where something else stands in.
        is_apart = source is not Source.SUBSET or boards[-1].voted
        is_there = source is not Source.DRAWN or finished_runs(scope, source).exists()
        if is_apart and is_there:
            boards.append(board(scope, source, seed=seed))
    told = tuple(each for each in boards if each.verdicts + each.unnamed)
    return LeaderboardPage(scope, told, _comparisons(scope) if told else 0)


def _comparisons(scope: LeaderboardScope) -> int:
    if scope.dataset is None or scope.question.language:
        return 0
    rows = Comparison.objects.filter(turn__session__dataset=scope.dataset.id)
    if scope.scenario is not None:
        rows = rows.filter(turn__session__scenario=scope.scenario.id)
    return rows.count()


def board(
    scope: LeaderboardScope,
    source: Source,
    *,
    seed: int,
    draws: int = DRAWS,
    anchor: str | None = None,
) -> Board:
    """One leaderboard with ratings and win rates, also by scenario and by language."""
    is_human = source is Source.HUMAN
    judge, model, prompt = ("", "", "") if is_human else judge_and_model(scope, source)
    runs = runs_of(scope, source, judge)
    cast = ballots(scope, source, runs)
    applied = applying_runs(source, runs)
    named = [ballot for ballot in cast if ballot.model_a and ballot.model_b]
    models = {each for ballot in named for each in (ballot.model_a, ballot.model_b)}
    told: Mapping[int, str] = {}
    if scope.dataset and len(scope.languages) > 1 and not scope.question.language:
        told = session_languages(scope.dataset.id)
    topics = {each.session: each.scenario for each in named}
    counted = outcomes(named)
    tally = OutcomeCells.of(counted)
    settings: dict[str, Any] = {"draws": draws, "seed": seed, "anchor": anchor}
    by_style = scope.question.style and scope.question.method is RatingMethod.BRADLEY_TERRY
    styled = controlled(scope, named, **settings) if by_style else None
    ranking = styled[0] if styled else rank_models(tally, scope.question.method, **settings)
    return Board(
        source=source,
        judge=judge,
        prompt=prompt,
        ranking=ranking,
        style=styled and styled[1],
        win_rates={rate.model: rate for rate in win_rates(tally)},
        by_scenario=_by_group(counted, topics),
        by_language=dict(sorted(_by_group(counted, told).items())) if told else {},
        duels=head_to_head(
            (each.model_a, each.model_b, each.verdict, each.comparison) for each in named
        ),
        verdicts=len(named),
        unnamed=len(cast) - len(named),
        kin=tuple(same_families({judge: model} if judge else {}, models)),
        voted=is_voted(scope, applied),
        edited=bool(runs_edited_late({run.pk: run.parent_id for run in applied})),
        runs=tuple(run.pk for run in runs),
    )


class PairsPage(NamedTuple):
    """Models two by two, by the majority of one source; `sources` are those with a verdict.

    `voted` says whether a weighted vote stands in for an annotator. `runs` are the numbers of those
    whose verdicts are counted, none for human labels.
    """

    scope: LeaderboardScope
    source: Source
    judge: str
    voted: bool
    anchor: str
    sources: tuple[Source, ...]
    models: tuple[str, ...]
    pairs: tuple[PairOfModels, ...]
    runs: tuple[int, ...] = ()

    def records(self) -> list[dict[str, object]]:
        """A row for each two models."""
        return [
            {
                "source": self.source.value,
                "judge": self.judge,
                **{name: getattr(each, name) for name in each._fields[:-1]},
                "comparisons": each.n,
                "win_rate": each.share,
                **ends(each.interval),
            }
            for each in self.pairs
        ]


def pairs_page(question: LeaderboardQuestion, source: Source | None, anchor: str) -> PairsPage:
    """Models two by two: under drawn preferences where there are such verdicts, else by people.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = leaderboard_scope(question)
    there = tuple(each for each in Source if _has_verdicts(scope, each))
    voted = False
    if Source.SELECTED in there:
        stands_in = judge_to_read(scope, Source.SELECTED)
        applied = applying_runs(Source.SELECTED, runs_of(scope, Source.SELECTED, stands_in))
        voted = is_voted(scope, applied)
    # The selected set is a choice of its own only where something else stands in.
    told = tuple(each for each in there if each is not Source.SUBSET or voted)
    usual = Source.DRAWN if Source.DRAWN in told else Source.HUMAN
    source = source or usual
    judge = "" if source is Source.HUMAN else judge_to_read(scope, source)
    runs = runs_of(scope, source, judge)
    decided = majority(
        (each.comparison, each.model_a, each.model_b, each.verdict, each.session)
        for each in ballots(scope, source, runs)
        if each.model_a and each.model_b
    )
    models = tuple(sorted({model for row in decided for model in row[:2]}))
    if anchor and anchor not in models:
        raise Refused("benchmark:unknown-choice", f"no comparison of {anchor!r}")
    pairs = pairs_of_models(decided, anchor=anchor)
    numbers = tuple(run.pk for run in runs)
    return PairsPage(scope, source, judge, voted, anchor, told, models, pairs, numbers)


def _has_verdicts(scope: LeaderboardScope, source: Source) -> bool:
    return source is Source.HUMAN or finished_runs(scope, source).exists()


class AnnotatorsPage(NamedTuple):
    """How annotators rank the models, and their numbers by name."""

    scope: LeaderboardScope
    found: AnnotatorRankings
    numbers: Mapping[str, int]

    def records(self) -> list[dict[str, object]]:
        """A row for each annotator beside all others, and for each two of them."""
        n = {row.annotator: row.comparisons for row in self.found.rows}
        beside = [(row.annotator, "", row.others) for row in self.found.rows if row.others]
        pairs = [(one, other, found) for (one, other), found in self.found.pairs.items()]
        return [
            {
                "annotator": one,
                "other": other,
                **agreement_fields(found),
                "comparisons": n[one],
                "other_comparisons": n.get(other),
            }
            for one, other, found in [*beside, *pairs]
        ]


def agreement_fields(found: RankAgreement) -> dict[str, object]:
    """Both measures with their ends."""
    return {
        "models": found.models,
        "kendall": found.kendall,
        **ends(found.kendall_interval, "kendall_"),
        "spearman": found.spearman,
        **ends(found.spearman_interval, "spearman_"),
    }


def annotators_page(
    question: LeaderboardQuestion, *, seed: int, draws: int = DRAWS_BETWEEN
) -> AnnotatorsPage:
    """How annotators' rankings differ, by their own labels.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = leaderboard_scope(replace(question, annotator=None, judge="", run=None))
    cast = {name: outcomes(own) for name, own in labels_by_annotator(scope).items()}
    numbers = {each.name: each.id for each in scope.annotators}
    found = annotator_rankings(cast, seed=seed, draws=draws)
    return AnnotatorsPage(scope, found, numbers)


def dataset_board(
    dataset: str,
    source: Source,
    *,
    draws: int,
    seed: int,
    anchor: str | None = None,
    judge: str = "",
    part: Mapping[str, str] = MappingProxyType({}),
    method: RatingMethod = RatingMethod.BRADLEY_TERRY,
    style: bool = False,
) -> Board:
    """One leaderboard over a dataset, or a part: a scenario, annotator, language or prompt by name.

    Raises:
        Refused: there is no dataset of this short name, or nothing of these names in it; the
            judge's verdicts are asked for and no run is finished; the anchor has no rating in these
            comparisons.
    """
    question = part_of(dataset, part)
    scope = leaderboard_scope(replace(question, judge=judge, method=method, style=style))
    if source is not Source.HUMAN and not finished_runs(scope, source).exists():
        raise Refused("leaderboard:not-judged", _NOT_JUDGED[source].format(dataset=dataset))
    return board(scope, source, seed=seed, draws=draws, anchor=anchor)


def part_of(dataset: str, part: Mapping[str, str]) -> LeaderboardQuestion:
    """A question about a scenario, annotator, language or prompt by name; "" narrows nothing.

    Raises:
        Refused: there is nothing of this name.
    """
    row = dataset_of(dataset)
    scenario, annotator = part.get("scenario"), part.get("annotator")
    return LeaderboardQuestion(
        dataset=row.slug,
        scenario=_named(scenarios(row), scenario) if scenario else None,
        annotator=_named(annotators(row), annotator) if annotator else None,
        language=part.get("language", ""),
        prompt=_value(part.get("prompt", "")),
    )


def _value(prompt: str) -> str:
    """The prompt that a command calls by this word; what is none is refused by its word."""
    return next((each.value for each in JudgePrompt if each.word == prompt), prompt)


def _named(rows: Iterable[ScenarioChoice | AnnotatorChoice], name: str) -> int:
    found = next((row.id for row in rows if row.name == name), None)
    if found is None:
        raise Refused("benchmark:unknown-choice", f"nothing named {name!r} to choose here")
    return found


def controlled(
    scope: LeaderboardScope, named: Sequence[ModelVerdict], **settings: Any
) -> tuple[Ranking, BoardStyle]:
    """Ratings with length and layout allowed for, and what is told beside them. One query."""
    wanted = {each.comparison for each in named}
    dataset = scope.dataset.id if scope.dataset else None
    texts = Comparison.objects.filter(turn__session__dataset=dataset).values_list(
        "id", "response_a__text", "response_b__text"
    )
    styles = {
        key: (style_counts(a), style_counts(b))
        for key, a, b in texts.iterator()
        if key in wanted and a is not None and b is not None
    }
    written = [each for each in named if each.comparison in styles]
    keys = dict.fromkeys(each.comparison for each in written)  # in the order of their outcomes
    rows = [
        StyledOutcome(outcome, *styles[key])
        for key, outcome in zip(keys, outcomes(written), strict=True)
    ]
    found = style_ranking(rows, **settings)
    plain = rank_models(outcomes(written), RatingMethod.BRADLEY_TERRY, **settings | {"draws": 0})
    beside = {row.model: row for row in plain.models}
    return found.ranking, BoardStyle(found.effects, beside, len(named) - len(written))


def _by_group(
    counted: Iterable[VerdictCounts], groups: Mapping[Any, str]
) -> dict[str, dict[str, WinRate]]:
    """Win rates of the models by the group of a comparison's session."""
    found: dict[str, list[VerdictCounts]] = defaultdict(list)
    for each in counted:
        found[groups[each.session]].append(each)
    return {name: {rate.model: rate for rate in win_rates(own)} for name, own in found.items()}
