"""Which model wins: outcomes of comparisons by human labels and by judge verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from django.core.paginator import Page, Paginator
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.utils.text import Truncator

from annotation.core.choices import JudgmentStatus, Verdict
from annotation.core.intervals import ends
from annotation.core.refusals import Refused
from annotation.models import Comparison, PairwiseLabel
from annotation.queries.pairing import candidate_name
from benchmark.core.bradley_terry import VerdictCounts, outcome_of
from benchmark.core.decisions import Decisions
from benchmark.core.ranking import Ranking, WinRate, bradley_terry, win_rates
from benchmark.core.trust import BASE, PERSONAL, SELECTED, Condition
from benchmark.queries.choices import (
    VERDICT_RUNS,
    WITHOUT_SETS,
    AnnotatorChoice,
    DatasetChoice,
    ScenarioChoice,
    annotators,
    best_last,
    check_judge,
    dataset_of,
    datasets,
    picked,
    picked_dataset,
    scenarios,
)
from benchmark.queries.evidence import voice_decisions
from judging.core.runs import TARGETS
from judging.models import JudgeRun, Judgment, RunStatus
from judging.queries.configurations import applied_plans
from judging.queries.generation import SameFamily, same_families
from judging.queries.preference_sets import runs_edited_late

DRAWS: Final = 1000


class Source(StrEnum):
    """Whose verdicts a leaderboard counts."""

    HUMAN = "human"
    SELECTED = "selected"  # what stands in for each annotator: the vote, or the selected set
    SUBSET = "subset"  # the judge under each annotator's selected set, whatever stands in
    BASE = "base"  # the judge without preferences


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


@dataclass(frozen=True, slots=True)
class LeaderboardQuestion:
    """What a reader asks: empty fields take the first dataset and everything in it.

    `judge` is a judge's name, "" for that of the run to read.
    """

    dataset: str = ""
    scenario: int | None = None
    annotator: int | None = None
    judge: str = ""


@dataclass(frozen=True, slots=True)
class LeaderboardScope:
    """What was asked, resolved, with what else could be asked."""

    question: LeaderboardQuestion
    datasets: tuple[DatasetChoice, ...]
    scenarios: tuple[ScenarioChoice, ...]
    annotators: tuple[AnnotatorChoice, ...]
    dataset: DatasetChoice | None
    scenario: ScenarioChoice | None
    annotator: AnnotatorChoice | None
    judges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """One verdict on a comparison of two named models."""

    comparison: int
    scenario: str
    model_a: str
    model_b: str
    verdict: Verdict
    session: int


@dataclass(frozen=True, slots=True)
class Board:
    """One leaderboard; `judge` is "" for human labels.

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

    def records(self) -> list[dict[str, object]]:
        """A row a model, with every figure of the table."""
        return [
            {
                "source": self.source.value,
                "judge": self.judge,
                **asdict(row),
                "win_rate": self.win_rates[row.model].value,
                **ends(self.win_rates[row.model].interval, "win_rate_"),
                "verdicts": self.win_rates[row.model].verdicts,
                "edited": self.edited,
            }
            for row in self.ranking.models
        ]


@dataclass(frozen=True, slots=True)
class LeaderboardPage:
    """Everything the page shows; `boards` are those with any verdict."""

    scope: LeaderboardScope
    boards: tuple[Board, ...]


def leaderboard_scope(question: LeaderboardQuestion) -> LeaderboardScope:
    """Resolve a question to rows.

    Raises:
        Refused: something asked for does not exist.
    """
    known = datasets()
    dataset = picked_dataset(known, question.dataset)
    if dataset is None:
        return LeaderboardScope(question, (), (), (), None, None, None)
    topics, people = scenarios(dataset), annotators(dataset)
    ran = JudgeRun.objects.filter(dataset=dataset.id, kind__in=VERDICT_RUNS)
    told = Judgment.objects.filter(run=OuterRef("pk"), status=JudgmentStatus.DONE)
    judges = tuple(
        ran.filter(Exists(told)).order_by("judge").values_list("judge", flat=True).distinct()
    )
    if question.judge:
        check_judge(question.judge, judges)
    return LeaderboardScope(
        question=question,
        datasets=known,
        scenarios=topics,
        annotators=people,
        dataset=dataset,
        scenario=None if question.scenario is None else picked(topics, question.scenario),
        annotator=None if question.annotator is None else picked(people, question.annotator),
        judges=judges,
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
        if source is not Source.SUBSET or boards[-1].voted:
            boards.append(board(scope, source, seed=seed))
    return LeaderboardPage(scope, tuple(each for each in boards if each.verdicts + each.unnamed))


def board(
    scope: LeaderboardScope,
    source: Source,
    *,
    seed: int,
    draws: int = DRAWS,
    anchor: str | None = None,
) -> Board:
    """One leaderboard with Bradley-Terry ratings and win rates, also by scenario."""
    judge, model = ("", "") if source is Source.HUMAN else _latest_judge(scope, source)
    cast = ballots(scope, source, judge=judge)
    applied = _applied(scope, source, judge)
    named = [ballot for ballot in cast if ballot.model_a and ballot.model_b]
    models = {each for ballot in named for each in (ballot.model_a, ballot.model_b)}
    groups: dict[str, list[ModelVerdict]] = defaultdict(list)
    for ballot in named:
        groups[ballot.scenario].append(ballot)
    return Board(
        source=source,
        judge=judge,
        ranking=bradley_terry(outcomes(named), draws=draws, seed=seed, anchor=anchor),
        win_rates=_by_model(named),
        by_scenario={name: _by_model(group) for name, group in groups.items()},
        verdicts=len(named),
        unnamed=len(cast) - len(named),
        kin=tuple(same_families({judge: model} if judge else {}, models)),
        voted=_is_voted(scope, applied),
        edited=bool(runs_edited_late({run.pk: run.parent_id for run in applied})),
    )


def _applied(scope: LeaderboardScope, source: Source, judge: str) -> list[JudgeRun]:
    """The runs whose preferences a source hears."""
    read = _read(scope, judge) if source in _VOTING else []
    return [run for run in read if run.config.get("sets_of")]


def _is_voted(scope: LeaderboardScope, applied: Iterable[JudgeRun]) -> bool:
    plans = (plan for run in applied for plan in applied_plans(run.config))
    scenario = scope.scenario.id if scope.scenario else None
    return any(plan.stack and scenario in {None, plan.scenario_id} for plan in plans)


def dataset_board(
    dataset: str,
    source: Source,
    *,
    draws: int,
    seed: int,
    anchor: str | None = None,
    judge: str = "",
) -> Board:
    """One leaderboard over everything in a dataset.

    Raises:
        Refused: there is no dataset of this short name, or no verdict of the judge in it; the
            judge's verdicts are asked for and no run is finished; the anchor has no rating in these
            comparisons.
    """
    slug = dataset_of(dataset).slug
    scope = leaderboard_scope(LeaderboardQuestion(dataset=slug, judge=judge))
    if source is not Source.HUMAN and not _finished(scope, source).exists():
        raise Refused("leaderboard:not-judged", _NOT_JUDGED[source].format(dataset=dataset))
    return board(scope, source, seed=seed, draws=draws, anchor=anchor)


def outcomes(cast: Iterable[ModelVerdict]) -> list[VerdictCounts]:
    """Verdicts gathered by comparison, of which a bootstrap draws those of a session together."""
    grouped: dict[tuple[int, str, str, int], list[Verdict]] = defaultdict(list)
    for ballot in cast:
        grouped[ballot.comparison, ballot.model_a, ballot.model_b, ballot.session].append(
            ballot.verdict
        )
    return [
        outcome_of(one, other, given, session)
        for (_, one, other, session), given in grouped.items()
    ]


def ballots(scope: LeaderboardScope, source: Source, *, judge: str) -> list[ModelVerdict]:
    """Every verdict of one source; a hidden repeat is no second verdict."""
    if scope.dataset is None:
        return []
    voice = _VOICES.get(source)
    given = _human(scope) if voice is None else _judge(scope, voice, judge)
    names = _models(scope.dataset) if given else {}
    return [
        ModelVerdict(comparison, *names[comparison][:3], verdict, names[comparison][3])
        for comparison, verdict in given
        if scope.scenario is None or names[comparison][0] == scope.scenario.name
    ]


_VOICES: Final = {Source.SELECTED: PERSONAL, Source.SUBSET: SELECTED, Source.BASE: BASE}
_VOTING: Final = (Source.SELECTED, Source.SUBSET)


def _by_model(cast: Iterable[ModelVerdict]) -> dict[str, WinRate]:
    return {rate.model: rate for rate in win_rates(outcomes(cast))}


def _human(scope: LeaderboardScope) -> Sequence[tuple[int, Verdict]]:
    if scope.dataset is None:
        return []
    rows = PairwiseLabel.objects.filter(comparison__turn__session__dataset=scope.dataset.id)
    if scope.annotator is not None:
        rows = rows.filter(annotator=scope.annotator.id)
    if scope.scenario is not None:
        rows = rows.filter(comparison__turn__session__scenario=scope.scenario.id)
    last = {
        (annotator, comparison): Verdict(verdict)
        for annotator, comparison, verdict in rows.filter(repeat_index=0)
        .order_by("id")
        .values_list("annotator_id", "comparison_id", "verdict")
    }
    return [(comparison, verdict) for (_, comparison), verdict in last.items()]


def _judge(scope: LeaderboardScope, voice: Condition, judge: str) -> Sequence[tuple[int, Verdict]]:
    """Decisions of one judge in each annotator's stead; an even split is a tie."""
    read = _read(scope, judge, base_alone=voice == BASE)
    scenario = scope.scenario.id if scope.scenario else None
    found = voice_decisions({run.pk for run in read}, voice, scenario=scenario)
    decided = {each.run: each.decided for each in found}
    verdicts: dict[tuple[int | None, int], Decisions] = {}
    for run in read:
        # The base judge is nobody's: its verdict is one, in whose stead it ever was asked.
        whose = None if voice == BASE else run.annotator_id
        for comparison, decisions in decided.get(run.pk, {}).items():
            verdicts[whose, comparison] = decisions
    return [
        (comparison, winner)
        for (_owner, comparison), decisions in verdicts.items()
        for winner in decisions.values()
        if winner is not None
    ]


def _read(scope: LeaderboardScope, judge: str, *, base_alone: bool = False) -> list[JudgeRun]:
    """The runs of a judge to read, the one that decides in an annotator's stead last.

    The others decide what it did not judge: runs over what nobody labelled stand beside those over
    test comparisons.
    """
    own = Q(parent=None) | Q(parent__annotator=F("annotator"))
    latest: dict[int | None, JudgeRun] = {}
    beside: list[JudgeRun] = []
    for run in best_last(_runs(scope).filter(own, judge=judge), base_alone=base_alone):
        if TARGETS not in run.config:
            latest[run.annotator_id] = run
        elif run.status == RunStatus.DONE:
            beside.append(run)
    alike = [run for run in beside if _asks_alike(run, latest.get(run.annotator_id))]
    return [*alike, *latest.values()]


def _asks_alike(run: JudgeRun, main: JudgeRun | None) -> bool:
    """Whether a run asks and reads as the one that it stands beside, under the same sets."""
    if main is None:
        return True
    same = all(run.config.get(name) == main.config.get(name) for name in ("prompt", "verdict_rule"))
    return same and (run.parent_id == main.parent_id or not run.config.get("sets_of"))


def _runs(scope: LeaderboardScope) -> QuerySet[JudgeRun]:
    rows = JudgeRun.objects.filter(kind__in=VERDICT_RUNS)
    if scope.dataset is not None:
        rows = rows.filter(dataset=scope.dataset.id)
    return rows if scope.annotator is None else rows.filter(annotator=scope.annotator.id)


def _finished(scope: LeaderboardScope, source: Source) -> QuerySet[JudgeRun]:
    """Finished runs whose verdicts can be those of a source."""
    done = _asked(scope).filter(status=RunStatus.DONE)
    return done.exclude(WITHOUT_SETS) if source in _VOTING else done


def _asked(scope: LeaderboardScope) -> QuerySet[JudgeRun]:
    judge = scope.question.judge
    return _runs(scope).filter(judge=judge) if judge else _runs(scope)


def latest_judge(scope: LeaderboardScope, source: Source) -> str:
    """The judge asked for, or of the run to read; leaderboards of several are never mixed."""
    return _latest_judge(scope, source)[0]


def _latest_judge(scope: LeaderboardScope, source: Source) -> tuple[str, str]:
    """The same with the model behind it, which is the judge's name where there is no endpoint."""
    runs = best_last(_asked(scope), base_alone=source is Source.BASE)
    judge, model = runs.values_list("judge", "endpoint__model").last() or ("", None)
    return judge, model or judge


def _models(dataset: DatasetChoice) -> dict[int, tuple[str, str, str, int]]:
    """Scenario, the two models and the session of every comparison.

    A variant is a model of its own, except where both texts are equal: it tells those apart.
    """
    equal = Q(response_a__text_hash=F("response_b__text_hash"))
    one, other = (
        Case(When(equal, then=f"{response}model"), default=candidate_name(response))
        for response in ("response_a__", "response_b__")
    )
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id).values_list(
        "id", "turn__session__scenario__name", one, other, "turn__session_id"
    )
    return {key: (name, one, other, own) for key, name, one, other, own in rows.iterator()}


ROWS_A_PAGE: Final = 50
_OPENING: Final = 160


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One comparison of a model: against whom, and how many verdicts went which way."""

    comparison: int
    key: str
    scenario: str
    opening: str
    opponent: str
    won: int
    tied: int
    lost: int


@dataclass(frozen=True, slots=True)
class ModelRows:
    """The comparisons behind one model's figures, a page at a time."""

    scope: LeaderboardScope
    source: Source
    model: str
    rows: Sequence[ModelRow]
    page: Page[int]
    judge: str
    voted: bool


def leaderboard_rows(
    question: LeaderboardQuestion, *, model: str, source: Source, page: str
) -> ModelRows:
    """The comparisons behind one model's figures.

    Raises:
        Refused: something asked for does not exist, or the model was never compared.
    """
    scope = leaderboard_scope(question)
    grouped: dict[int, list[ModelVerdict]] = defaultdict(list)
    judge = latest_judge(scope, source)
    for ballot in ballots(scope, source, judge=judge):
        if model in {ballot.model_a, ballot.model_b}:
            grouped[ballot.comparison].append(ballot)
    if not grouped:
        raise Refused("benchmark:unknown-choice", f"no comparison of {model!r}")
    shown = Paginator(sorted(grouped), ROWS_A_PAGE).get_page(page)
    texts = {
        key: (name, message or "")
        for key, name, message in Comparison.objects.filter(
            pk__in=list(shown.object_list)
        ).values_list("id", "key", "turn__user_message")
    }
    rows = [_model_row(grouped[key], model, *texts[key]) for key in shown.object_list]
    voted = _is_voted(scope, _applied(scope, source, judge))
    return ModelRows(scope, source, model, rows, shown, judge, voted)


def _model_row(cast: Sequence[ModelVerdict], model: str, key: str, message: str) -> ModelRow:
    first = cast[0]
    is_a = first.model_a == model
    own = Verdict.A if is_a else Verdict.B
    counts = Counter(ballot.verdict for ballot in cast)
    return ModelRow(
        comparison=first.comparison,
        key=key,
        scenario=first.scenario,
        opening=Truncator(message).chars(_OPENING),
        opponent=first.model_b if is_a else first.model_a,
        won=counts[own],
        tied=counts[Verdict.TIE],
        lost=counts[own.flipped()],
    )
