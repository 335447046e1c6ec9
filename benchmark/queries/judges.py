"""The comparisons behind a cell in the table of judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Exists, F, OuterRef, Q
from django.utils.text import Truncator

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.before_after import AnnotatorBias, Leans, leans, people_lean
from benchmark.core.judges import JudgeFigures, judge_figures
from benchmark.core.response_bias import ResponsePair
from benchmark.core.trust import BASE, PERSONAL, SELECTED, STACK, HumanLabel, JudgedComparison
from benchmark.queries.annotators import (
    OPENING_CHARS,
    datasets_with_gold,
    datasets_with_labels,
    gold_answers,
    judge_options,
    labellers,
    openings,
    with_asked,
)
from benchmark.queries.choices import (
    RUBRICS,
    STANDING,
    VERDICT_RUNS,
    WITHOUT_SETS,
    AnnotatorChoice,
    DatasetChoice,
    RunChoice,
    ScenarioChoice,
    annotators,
    best_last,
    datasets,
    picked,
    picked_dataset,
    run_choices,
    scenarios,
)
from benchmark.queries.evidence import StandIn, labels_by_annotator, stand_in_cases
from benchmark.queries.response_bias import pairs_of
from benchmark.queries.rows import (
    VOICES,
    EvidenceRow,
    FoundRow,
    NumberOwner,
    VerdictMatch,
    decision_cells,
    some_combined,
)
from benchmark.queries.trust import SEED
from judging.core.votes import VoteRule
from judging.models import JudgeRun, Judgment, RunKind, RunStatus
from judging.queries.preference_sets import runs_edited_late

ROWS_A_PAGE: Final = 50


class TableRow(NamedTuple):
    """A comparison that a run decided in the stead of an annotator, named where it is one.

    `judge` and `person` are of its page of disagreements: the run's key there and who labelled it,
    "" and None where it has none.
    """

    run: int
    annotator: str
    row: EvidenceRow
    judge: str
    person: int | None


_HEARD: Final = {
    NumberOwner.BASE: (BASE,),
    NumberOwner.SELECTED: (SELECTED,),
    NumberOwner.STACK: (PERSONAL,),
    NumberOwner.OWN: (PERSONAL, SELECTED, BASE),
}
"""As which voices of a run the queue of disagreements hears what is behind a cell; the first."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """A page of what is behind a cell, `total` labels on `comparisons`, and how it turned out."""

    scope: TablesScope
    name: JudgeWay
    behind: NumberOwner
    scenario: ScenarioChoice | None
    outcome: VerdictMatch | None
    counts: Mapping[VerdictMatch, int]
    total: int
    comparisons: int
    rows: Sequence[TableRow]
    page: Page[tuple[StandIn, FoundRow]]

    @property
    def has_combined(self) -> bool:
        """Whether some source recorded one verdict for both orders."""
        return some_combined(each.row.found for each in self.rows)


def table_rows(
    question: TablesQuestion,
    *,
    name: JudgeWay,
    behind: NumberOwner,
    scenario: int | None,
    outcome: VerdictMatch | None,
    page: str,
) -> TableRows:
    """The comparisons behind a cell, a page at a time.

    Args:
        question: as on the page.
        name: whose line.
        behind: BASE, SELECTED, SHUFFLED, STACK or OWN.
        scenario: only this one; None for all.
        outcome: only comparisons of this outcome; None for all.
        page: its number as in the address; anything odd is the first.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = tables_scope(question)
    stand_ins = stand_ins_of(scope, labels_asked(scope)).get(name) if scope.dataset else None
    if not stand_ins or behind not in VOICES:
        raise Refused("benchmark:unknown-choice", f"no verdicts of {name.judge!r} here")
    topic = None if scenario is None else picked(scope.scenarios, scenario)
    shown = {
        (each.annotator, label.comparison): label.shown
        for each in stand_ins
        for label in each.labels
    }
    found = [
        (
            each,
            FoundRow(
                case.comparison,
                case.scenario,
                case.human,
                shown.get((each.annotator, case.comparison)),
                case.own.decisions[VOICES[behind]],
            ),
        )
        for each, cases in zip(
            stand_ins, stand_in_cases(stand_ins, rule=question.rule), strict=True
        )
        for case in cases
        if case.own.decisions.get(VOICES[behind]) and (topic is None or case.scenario == topic.name)
    ]
    kept = [row for row in found if outcome in {None, row[1].outcome}]
    shown_page = Paginator(kept, ROWS_A_PAGE).get_page(page)
    return TableRows(
        scope=scope,
        name=name,
        behind=behind,
        scenario=topic,
        outcome=outcome,
        counts=Counter(row.outcome for _each, row in found if row.outcome),
        total=len(found),
        comparisons=len({row.comparison for _each, row in found}),
        rows=_rows(scope, behind, list(shown_page.object_list)),
        page=shown_page,
    )


def _rows(
    scope: TablesScope, behind: NumberOwner, found: Collection[tuple[StandIn, FoundRow]]
) -> list[TableRow]:
    texts = openings(row.comparison for _each, row in found)
    names = {each.id: each.name for each in scope.annotators}
    voices = _HEARD.get(behind, ())
    options = judge_options(scope.dataset) if scope.dataset and voices else ()
    keys = {(each.run, each.voice): each.key for each in options}
    people = labellers(row.comparison for _each, row in found) if scope.gold else {}
    return [
        TableRow(
            run=each.run,
            annotator=names.get(each.annotator, ""),
            judge=next((keys[each.run, one] for one in voices if (each.run, one) in keys), ""),
            person=people.get(row.comparison) if scope.gold else each.annotator,
            row=EvidenceRow(
                found=row,
                key=texts[row.comparison][0],
                opening=Truncator(texts[row.comparison][2]).chars(OPENING_CHARS),
                cells=cells,
            ),
        )
        for (each, row), cells in zip(
            found, decision_cells([row for _each, row in found]), strict=True
        )
    ]


GOLD: Final = "gold"
"""Whose verdicts, where it is not an annotator: the gold answers."""
IMPORTED: Final = "recorded"
"""How a judge was asked, where nobody here did: its verdicts were imported."""
AS_THE_PAPER: Final = "paper"
"""How, where its preferences were selected as the paper's code does: never pooled with others."""
_NOBODY: Final = 0


@dataclass(frozen=True, slots=True)
class TablesQuestion:
    """What a reader asks. `of` is an annotator's number, GOLD, or "" for all annotators pooled."""

    dataset: str = ""
    of: str = ""
    rule: VoteRule = VoteRule.DEFAULT
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED


@dataclass(frozen=True, slots=True)
class TablesScope:
    """What was asked, resolved, with what else could be asked.

    `annotator` is None for all of them, and where `gold` answers are asked for.
    """

    question: TablesQuestion
    datasets: tuple[DatasetChoice, ...]
    dataset: DatasetChoice | None
    annotators: tuple[AnnotatorChoice, ...]
    annotator: AnnotatorChoice | None
    has_gold: bool
    gold: bool
    scenarios: tuple[ScenarioChoice, ...]

    @property
    def of(self) -> str:
        """As addresses name whose verdicts are asked for."""
        return GOLD if self.gold else str(self.annotator.id) if self.annotator else ""


@dataclass(frozen=True, slots=True, order=True)
class JudgeWay:
    """A judge and how it was asked: by a rubric's name, IMPORTED, AS_THE_PAPER, or ""."""

    judge: str
    way: str = ""

    @property
    def recorded(self) -> bool:
        """Whether its verdicts were imported."""
        return self.way == IMPORTED


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """One judge with its figures, from `runs` in the stead of `annotators` of those asked about.

    Where it stands in by a weighted vote, `own` and `own_leans` are the figures of that. `edited`
    says that a set was edited after its test verdicts were there to see.
    """

    name: JudgeWay
    annotators: int
    figures: JudgeFigures
    leans: Leans
    own: JudgeFigures | None = None
    own_leans: Leans | None = None
    edited: bool = False
    runs: tuple[int, ...] = ()

    @property
    def standing(self) -> float:
        """By which judges are ordered: agreement of what stands in, or of the base judge."""
        cell = (self.own or self.figures).overall
        told = (cell.selected.asked.value, cell.base.asked.value)
        return next((value for value in told if value is not None), 0.0)


@dataclass(frozen=True, slots=True)
class TablesPage:
    """The judges, best first, and the people beside whom they are read (None for gold answers).

    `by_log_odds` says that some of them are read by l*, whatever the rule of the vote.
    """

    scope: TablesScope
    lines: tuple[JudgeLine, ...]
    scenarios: tuple[str, ...]
    people: AnnotatorBias | None
    seed: int
    by_log_odds: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The scenarios, where there are several to be told apart."""
        return self.scenarios if len(self.scenarios) > 1 else ()


def tables_scope(question: TablesQuestion) -> TablesScope:
    """Resolve a question to rows.

    Raises:
        Refused: something asked for does not exist.
    """
    with_gold = {each.id for each in datasets_with_gold()}
    told = {each.id for each in datasets_with_labels()} | with_gold
    known = with_asked(tuple(each for each in datasets() if each.id in told), question.dataset)
    dataset = picked_dataset(known, question.dataset)
    if dataset is None:
        return TablesScope(
            question, known, None, (), None, has_gold=False, gold=False, scenarios=()
        )
    has_gold = dataset.id in with_gold
    people = tuple(each for each in annotators(dataset))
    gold = question.of == GOLD or (not question.of and not people and has_gold)
    if gold and not has_gold:
        raise Refused("benchmark:unknown-choice", "no gold answers here")
    asked = int(question.of) if question.of and not gold else None
    return TablesScope(
        question=question,
        datasets=known,
        dataset=dataset,
        annotators=people,
        annotator=None if asked is None else picked(people, asked),
        has_gold=has_gold,
        gold=gold,
        scenarios=scenarios(dataset),
    )


def tables_page(question: TablesQuestion) -> TablesPage:
    """The judges of a dataset. The number of queries does not grow with judges or annotators.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = tables_scope(question)
    if scope.dataset is None:
        return TablesPage(scope, (), (), None, SEED)
    labels = labels_asked(scope)
    stand_ins = stand_ins_of(scope, labels)
    told = [each for given in stand_ins.values() for each in given]
    decided = dict(zip(map(id, told), stand_in_cases(told, rule=question.rule), strict=True))
    cases = {
        name: [case for each in given for case in decided[id(each)]]
        for name, given in stand_ins.items()
    }
    pairs = pairs_of(scope.dataset, _comparisons(labels, cases.values()))
    models = _models(each.run for each in told)
    late = _edited_late(told)
    lines = [
        replace(
            _line(name, own, pairs, model=models[stand_ins[name][0].run], policy=question.policy),
            edited=any(each.run in late for each in stand_ins[name]),
            runs=tuple(dict.fromkeys(each.run for each in stand_ins[name])),
        )
        for name, own in cases.items()
        if own
    ]
    present = {case.scenario for own in cases.values() for case in own}
    return TablesPage(
        scope=scope,
        lines=tuple(sorted(lines, key=lambda line: (-line.standing, line.name))),
        scenarios=tuple(each.name for each in scope.scenarios if each.name in present),
        people=None
        if scope.gold
        else people_lean(
            ((who, label) for who, given in labels.items() for label in given), pairs, seed=SEED
        ),
        seed=SEED,
        by_log_odds=any(case.shown for own in cases.values() for case in own),
    )


def _line(
    name: JudgeWay,
    cases: Sequence[JudgedComparison],
    pairs: Mapping[int, ResponsePair],
    *,
    model: str,
    policy: InvalidPolicy,
) -> JudgeLine:
    voted = [case.own for case in cases] if any(STACK in case.decisions for case in cases) else []
    return JudgeLine(
        name=name,
        annotators=len({case.annotator for case in cases}),
        figures=judge_figures(cases, seed=SEED, policy=policy),
        leans=leans(cases, pairs, judge=model, seed=SEED),
        own=judge_figures(voted, seed=SEED, policy=policy, voice=PERSONAL) if voted else None,
        own_leans=leans(voted, pairs, judge=model, seed=SEED, voice=PERSONAL) if voted else None,
    )


def labels_asked(scope: TablesScope) -> dict[int, tuple[HumanLabel, ...]]:
    """What the judges are held against, by annotator; gold answers are nobody's (0)."""
    if scope.dataset is None:
        return {}
    if scope.gold:
        answers = gold_answers(scope.dataset)
        return {
            _NOBODY: tuple(
                HumanLabel(comparison, scenario, Verdict(verdict), None, session)
                for comparison, (scenario, verdict, session) in answers.items()
            )
        }
    people = (scope.annotator,) if scope.annotator else scope.annotators
    return labels_by_annotator(scope.dataset, {each.id for each in people})


def stand_ins_of(
    scope: TablesScope, labels: Mapping[int, Sequence[HumanLabel]]
) -> dict[JudgeWay, list[StandIn]]:
    """By judge, its run to read for each of those who are asked about."""
    runs: dict[JudgeWay, dict[int | None, int]] = {}
    for run, annotator in _runs(scope):
        # The one to read comes last; against gold answers one run is enough.
        runs.setdefault(_way(run), {})[None if scope.gold else annotator] = run.id
    found: dict[JudgeWay, list[StandIn]] = {}
    for name, by_annotator in runs.items():
        for who, given in labels.items():
            read = by_annotator.get(who, by_annotator.get(None))
            against = scope.gold or who not in by_annotator
            if read is not None:
                found.setdefault(name, []).append(StandIn(read, who, given, against=against))
    return found


def _runs(scope: TablesScope) -> list[tuple[RunChoice, int | None]]:
    """Finished runs with verdicts, with whom they stand in for; the one to read last."""
    rows = best_last(
        JudgeRun.objects.filter(
            Q(parent=None) | Q(parent__annotator=F("annotator")),
            Exists(Judgment.objects.filter(run=OuterRef("pk"))),
            STANDING,
            dataset=scope.dataset.id if scope.dataset else None,
            kind__in=VERDICT_RUNS,
            status=RunStatus.DONE,
        )
    )
    people = dict(rows.values_list("pk", "annotator_id"))
    return [(run, people[run.id]) for run in run_choices(rows)]


def _way(run: RunChoice) -> JudgeWay:
    if run.kind is RunKind.RECORDED:
        return JudgeWay(run.judge, IMPORTED)
    if run.is_paper:
        return JudgeWay(run.judge, AS_THE_PAPER)
    return JudgeWay(run.judge, run.prompt if run.prompt in RUBRICS else "")


def _comparisons(
    labels: Mapping[int, Sequence[HumanLabel]], cases: Iterable[Sequence[JudgedComparison]]
) -> set[int]:
    wanted = {label.comparison for given in labels.values() for label in given}
    return wanted | {case.comparison for own in cases for case in own}


def _edited_late(told: Iterable[StandIn]) -> frozenset[int]:
    """The runs whose sets were edited after their test verdicts were there to see."""
    rows = JudgeRun.objects.filter(pk__in={each.run for each in told}).exclude(WITHOUT_SETS)
    return runs_edited_late(dict(rows.values_list("pk", "parent_id")))


def _models(runs: Iterable[int]) -> dict[int, str]:
    """By run, the judge's model where it is an endpoint, else its name."""
    rows = JudgeRun.objects.filter(pk__in=set(runs)).values_list("pk", "judge", "endpoint__model")
    return {key: model or judge for key, judge, model in rows}
