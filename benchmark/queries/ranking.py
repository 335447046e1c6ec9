"""Which model wins: outcomes of comparisons by human labels and by judge verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus, Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison, PairwiseLabel
from annotation.queries.datasets import languages_of_sessions, session_languages
from annotation.queries.pairing import candidate_name
from benchmark.core.bradley_terry import VerdictCounts, outcome_of
from benchmark.core.decisions import Decisions
from benchmark.core.ranking import (
    RatingMethod,
)
from benchmark.core.trust import BASE, PERSONAL, SELECTED, Condition
from benchmark.queries.choices import (
    NOT_AS_PAPER,
    NOTHING_PINNED,
    OF_OWN_SETS,
    RUBRICS,
    STANDING,
    VERDICT_RUNS,
    WITHOUT_SETS,
    AnnotatorChoice,
    DatasetChoice,
    Pin,
    RunChoice,
    ScenarioChoice,
    annotators,
    best_last,
    check_judge,
    datasets,
    picked,
    picked_dataset,
    pin_of,
    run_choices,
    scenarios,
)
from benchmark.queries.evidence import voice_decisions
from judging.core.rules import JudgePrompt
from judging.core.runs import TARGETS
from judging.models import JudgeRun, Judgment, RunKind, RunStatus
from judging.queries.configurations import applied_plans

DRAWS: Final = 1000


class Source(StrEnum):
    """Whose verdicts a leaderboard counts."""

    HUMAN = "human"
    SELECTED = "selected"  # what stands in for each annotator: the vote, or the selected set
    SUBSET = "subset"  # the judge under each annotator's selected set, whatever stands in
    BASE = "base"  # the judge without preferences
    DRAWN = "drawn"  # the judge under some preferences of each annotator, drawn at random


@dataclass(frozen=True, slots=True)
class LeaderboardQuestion:
    """What a reader asks: empty fields take the first dataset and everything in it.

    `judge` is a judge's name, "" for the one whose verdicts cover most, `prompt` a JudgePrompt
    likewise; `run` is the only run to read, None for all that belong together;
    `language` a primary code as `en`, "" for all. `style` controls Bradley-Terry ratings for length
    and layout. No run after `until` is read, so that a later one changes no figure; None reads all.
    """

    dataset: str = ""
    scenario: int | None = None
    annotator: int | None = None
    judge: str = ""
    prompt: str = ""
    language: str = ""
    method: RatingMethod = RatingMethod.BRADLEY_TERRY
    style: bool = False
    until: int | None = None
    run: int | None = None


@dataclass(frozen=True, slots=True)
class LeaderboardScope:
    """What was asked, resolved, with what else could be asked.

    `runs` have verdicts that a board may count, the one to read first. `pin` is what an address
    names that no later run changes.
    """

    question: LeaderboardQuestion
    datasets: tuple[DatasetChoice, ...]
    scenarios: tuple[ScenarioChoice, ...]
    annotators: tuple[AnnotatorChoice, ...]
    dataset: DatasetChoice | None
    scenario: ScenarioChoice | None
    annotator: AnnotatorChoice | None
    judges: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    pin: Pin = NOTHING_PINNED
    runs: tuple[RunChoice, ...] = ()

    @property
    def named_runs(self) -> list[tuple[RunChoice, str]]:
        """The runs, each with the name of its annotator, "" if it has none."""
        names = {each.id: each.name for each in self.annotators}
        return [(run, names.get(run.annotator or 0, "")) for run in self.runs]


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """One verdict on a comparison of two named models."""

    comparison: int
    scenario: str
    model_a: str
    model_b: str
    verdict: Verdict
    session: int


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
    runs = _readable_runs(dataset, question.until)
    judges = tuple(sorted({run.judge for run in runs}))
    if question.judge:
        check_judge(question.judge, judges)
    prompts = tuple(
        each.value for each in JudgePrompt if any(run.prompt == each.value for run in runs)
    )
    if question.run is not None:
        picked(runs, question.run)
    if question.prompt and question.prompt not in prompts:
        there = ", ".join(JudgePrompt(each).word for each in prompts) or "none"
        message = f"no judge was asked by the prompt {question.prompt!r} here; there are: {there}"
        raise Refused("benchmark:unknown-choice", message)
    languages = languages_of_sessions(dataset.id)
    if question.language and question.language not in languages:
        there = ", ".join(languages)
        message = f"nothing in the language {question.language!r} here; there are: {there}"
        raise Refused("benchmark:unknown-choice", message)
    return LeaderboardScope(
        question=question,
        datasets=known,
        scenarios=topics,
        annotators=people,
        dataset=dataset,
        scenario=None if question.scenario is None else picked(topics, question.scenario),
        annotator=None if question.annotator is None else picked(people, question.annotator),
        judges=judges,
        prompts=prompts,
        languages=languages,
        pin=pin_of(dataset, question.until),
        runs=runs,
    )


def _readable_runs(dataset: DatasetChoice, until: int | None) -> tuple[RunChoice, ...]:
    """The runs with a verdict that a board of the dataset may count, the one to read first."""
    judged = Judgment.objects.filter(run=OuterRef("pk"), status=JudgmentStatus.DONE)
    rows = JudgeRun.objects.filter(
        Exists(judged),
        OF_OWN_SETS,
        STANDING,
        dataset=dataset.id,
        kind__in=(*VERDICT_RUNS, RunKind.RANKING),
    )
    return run_choices(best_last(rows if until is None else rows.filter(pk__lte=until)).reverse())


def applying_runs(source: Source, runs: Iterable[JudgeRun]) -> list[JudgeRun]:
    """Returns the runs of a source that applied selected preferences."""
    return [run for run in runs if source in _VOTING and run.config.get("sets_of")]


def is_voted(scope: LeaderboardScope, applied: Iterable[JudgeRun]) -> bool:
    """Whether a weighted vote stands in for an annotator in one of these runs."""
    plans = (plan for run in applied for plan in applied_plans(run.config))
    scenario = scope.scenario.id if scope.scenario else None
    return any(plan.stack and scenario in {None, plan.scenario_id} for plan in plans)


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


def ballots(
    scope: LeaderboardScope, source: Source, runs: Sequence[JudgeRun]
) -> list[ModelVerdict]:
    """Every verdict of one source, a judge's in `runs` (`runs_of`).

    A hidden repeat is no second verdict.
    """
    if scope.dataset is None:
        return []
    voice = _VOICES.get(source)
    given = _human(scope) if voice is None else _judge(scope, voice, runs)
    return [each for each in _verdicts(scope, given) if each is not None]


def _verdicts(
    scope: LeaderboardScope, given: Sequence[tuple[int, Verdict]]
) -> list[ModelVerdict | None]:
    """Each with its models; None where its scenario or language was not asked for."""
    names = compared_by_models(scope.dataset) if given and scope.dataset else {}
    language = scope.question.language
    told = _languages(scope) if language and given else {}
    return [
        ModelVerdict(comparison, *names[comparison][:3], verdict, names[comparison][3])
        if (scope.scenario is None or names[comparison][0] == scope.scenario.name)
        and (not language or told[names[comparison][3]] == language)
        else None
        for comparison, verdict in given
    ]


def _languages(scope: LeaderboardScope) -> Mapping[int, str]:
    return session_languages(scope.dataset.id) if scope.dataset else {}


_VOICES: Final = {
    Source.SELECTED: PERSONAL,
    Source.SUBSET: SELECTED,
    Source.BASE: BASE,
    Source.DRAWN: SELECTED,
}
_VOTING: Final = (Source.SELECTED, Source.SUBSET)


def _human(scope: LeaderboardScope) -> Sequence[tuple[int, Verdict]]:
    return [(comparison, verdict) for _who, comparison, verdict in _labels(scope)]


def _labels(scope: LeaderboardScope) -> list[tuple[int, int, Verdict]]:
    """Annotator, comparison and verdict of everybody's last labels."""
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
    return [(*key, verdict) for key, verdict in last.items()]


def labels_by_annotator(scope: LeaderboardScope) -> dict[str, list[ModelVerdict]]:
    """What each annotator said of named models, by the annotator's name."""
    given = _labels(scope)
    names = {each.id: each.name for each in scope.annotators}
    found: dict[str, list[ModelVerdict]] = defaultdict(list)
    said = _verdicts(scope, [(comparison, verdict) for _who, comparison, verdict in given])
    for (who, _comparison, _verdict), verdict in zip(given, said, strict=True):
        if verdict is not None and verdict.model_a and verdict.model_b:
            found[names.get(who, str(who))].append(verdict)
    return dict(found)


def _judge(
    scope: LeaderboardScope, voice: Condition, read: Sequence[JudgeRun]
) -> Sequence[tuple[int, Verdict]]:
    """Decisions of one judge in each annotator's stead; an even split is a tie."""
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


def runs_of(scope: LeaderboardScope, source: Source, judge: str) -> list[JudgeRun]:
    """The runs of a judge to read, the one that decides in an annotator's stead last.

    The others decide what it did not judge: runs over what nobody labelled stand beside those over
    test comparisons. All ask and read alike; without a run over test comparisons, as the last one.
    Sets that were selected as the paper's code does are heard only where there are no others.
    """
    if source is Source.HUMAN:
        return []
    latest: dict[int | None, JudgeRun] = {}
    beside: list[JudgeRun] = []
    runs = _runs(scope, source).filter(judge=judge)
    if source in _VOTING and runs.filter(NOT_AS_PAPER).exclude(WITHOUT_SETS).exists():
        runs = runs.filter(NOT_AS_PAPER)
    for run in best_last(runs, base_alone=source is Source.BASE, among=_comparisons(scope)):
        if TARGETS not in run.config:
            latest[run.annotator_id] = run
        elif run.status == RunStatus.DONE:
            beside.append(run)
    last = {run.annotator_id: run for run in beside} | latest
    alike = [run for run in beside if _asks_alike(run, last[run.annotator_id])]
    return [*alike, *latest.values()]


def _asks_alike(run: JudgeRun, main: JudgeRun) -> bool:
    """Whether a run asks and reads as the one that it stands beside.

    Beside a run over test comparisons it does so under the same sets.
    """
    same = all(run.config.get(name) == main.config.get(name) for name in ("prompt", "verdict_rule"))
    is_whole = TARGETS not in main.config and run.config.get("sets_of")
    return same and (run.parent_id == main.parent_id or not is_whole)


def _runs(scope: LeaderboardScope, source: Source) -> QuerySet[JudgeRun]:
    kinds = (RunKind.RANKING,) if source is Source.DRAWN else VERDICT_RUNS
    rows = JudgeRun.objects.filter(STANDING, OF_OWN_SETS, kind__in=kinds)
    if scope.question.run is not None:
        rows = rows.filter(pk=scope.question.run)
    if scope.dataset is not None:
        rows = rows.filter(dataset=scope.dataset.id)
    if scope.question.until is not None:
        rows = rows.filter(pk__lte=scope.question.until)
    if scope.question.prompt:
        rows = rows.filter(config__prompt=scope.question.prompt)
    return rows if scope.annotator is None else rows.filter(annotator=scope.annotator.id)


def finished_runs(scope: LeaderboardScope, source: Source) -> QuerySet[JudgeRun]:
    """Finished runs whose verdicts can be those of a source."""
    done = _asked(scope, source).filter(status=RunStatus.DONE)
    return done.exclude(WITHOUT_SETS) if source in _VOTING else done


def _asked(scope: LeaderboardScope, source: Source) -> QuerySet[JudgeRun]:
    judge, rows = scope.question.judge, _runs(scope, source)
    return rows.filter(judge=judge) if judge else rows


def judge_to_read(scope: LeaderboardScope, source: Source) -> str:
    """The judge asked for, or the one whose verdicts cover most; "" if there is none.

    Leaderboards of several judges are never mixed.
    """
    return judge_and_model(scope, source)[0]


def judge_and_model(scope: LeaderboardScope, source: Source) -> tuple[str, str, str]:
    """The same with the model behind it, which is the judge's name where there is no endpoint.

    Last comes the prompt, "" for the paper's and where none is known.
    """
    every = best_last(
        _asked(scope, source).defer("config"),
        base_alone=source is Source.BASE,
        among=_comparisons(scope),
    ).annotate(
        prompt=KT("config__prompt"),
        model=F("endpoint__model"),
        applies_sets=Case(When(WITHOUT_SETS, then=False), default=True),
    )
    runs: list[Any] = list(every)
    usable = [
        run
        for run in runs
        if run.status == RunStatus.DONE and (run.applies_sets or source not in _VOTING)
    ]
    runs = usable or runs
    if not runs:
        return "", "", ""
    if len({run.judge for run in runs}) > 1:
        covers = _covered_by_judge(scope, {run.pk for run in runs})
        runs.sort(key=lambda run: covers.get(run.judge, 0))
    best = runs[-1]
    return best.judge, best.model or best.judge, best.prompt if best.prompt in RUBRICS else ""


def _covered_by_judge(scope: LeaderboardScope, runs: Collection[int]) -> dict[str, int]:
    """How many comparisons the runs of each judge cover together. One query."""
    judged = Judgment.objects.filter(run__in=runs, status=JudgmentStatus.DONE)
    among = _comparisons(scope)
    if among is not None:
        judged = judged.filter(comparison__in=among)
    counted = judged.order_by().values("run__judge")
    return dict(
        counted.annotate(n=Count("comparison", distinct=True)).values_list("run__judge", "n")
    )


def _comparisons(scope: LeaderboardScope) -> QuerySet[Any, Any] | None:
    """The comparisons of the scenario asked for; None for all."""
    if scope.scenario is None:
        return None
    return Comparison.objects.filter(turn__session__scenario=scope.scenario.id).values("pk")


def compared_by_models(dataset: DatasetChoice) -> dict[int, tuple[str, str, str, int, int]]:
    """Scenario, the two models, the session and the turn (from 1) of every comparison.

    A variant is a model of its own, except where both texts are equal: it tells those apart.
    """
    equal = Q(response_a__text_hash=F("response_b__text_hash"))
    one, other = (
        Case(When(equal, then=f"{response}model"), default=candidate_name(response))
        for response in ("response_a__", "response_b__")
    )
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id).values_list(
        "id", "turn__session__scenario__name", one, other, "turn__session_id", "turn__position"
    )
    return {
        key: (name, one, other, own, place + 1)
        for key, name, one, other, own, place in rows.iterator()
    }
