"""Users' satisfaction by model: what they rated, what an evaluator scored, and what corrects it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus, StudyKind
from annotation.core.refusals import Refused
from annotation.models import (
    Dataset,
    Response,
    SatisfactionLabel,
    SessionQuestionnaire,
    Study,
)
from annotation.queries.label_sampling import LabelOrigin, RandomLabels, random_labels
from benchmark.core.corrected import FEWEST_LABELS, Obstacle
from benchmark.core.model_satisfaction import (
    AnsweredQuestion,
    AnswerOfModel,
    CorrectedSatisfaction,
    ModelDifference,
    ModelSatisfaction,
    QuestionAnswers,
    by_model,
    corrected_by_model,
    corrected_differences,
    differences,
    question_answers,
    questions_of,
)
from benchmark.queries.annotators import with_asked
from benchmark.queries.choices import DatasetChoice, ScenarioChoice, picked, scenarios
from benchmark.queries.satisfaction import with_ratings
from judging.models import JudgeRun, RunKind, RunStatus, RunUnit, SatisfactionJudgment


class Voice(StrEnum):
    """Whose scores are shown."""

    PEOPLE = "people"
    JUDGE = "judge"
    CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class SatisfactionQuestion:
    """What a reader asks: empty fields take the first dataset, its fullest evaluator, everything.

    `study` restricts people's ratings to those given in it.
    """

    dataset: str = ""
    scenario: int | None = None
    run: int | None = None
    study: str = ""
    voice: Voice | None = None


class EvaluatorChoice(NamedTuple):
    """A finished run that scored `n` answers for the users; `asked` is its variant, "" if none.

    The bare id is the number of the run.
    """

    id: int
    judge: str
    asked: str
    created_at: datetime
    n: int


@dataclass(frozen=True, slots=True)
class ModelsBoard:
    """Satisfaction by model, with what was asked and what else could be.

    `models` are by the voice, people's or the evaluator's; `corrected` has all three ways where the
    voice is CORRECTED. `unnamed` answers have no model. `unscored`, of all the `asked`, have no
    score of the evaluator's: its reply could not be read, or never came. `whole` says that
    conversations were rated, not turns; `apart` that people rated the one and the evaluator the
    other.
    """

    datasets: tuple[DatasetChoice, ...]
    dataset: DatasetChoice | None
    scenarios: tuple[ScenarioChoice, ...] = ()
    scenario: ScenarioChoice | None = None
    runs: tuple[EvaluatorChoice, ...] = ()
    run: EvaluatorChoice | None = None
    study: Study | None = None
    voice: Voice = Voice.PEOPLE
    whole: bool = False
    apart: bool = False
    answers: tuple[AnswerOfModel, ...] = ()
    unnamed: int = 0
    asked: int = 0
    unscored: int = 0
    models: tuple[ModelSatisfaction, ...] = ()
    corrected: tuple[CorrectedSatisfaction, ...] = ()
    mean_differences: tuple[ModelDifference, ...] = ()
    low_differences: tuple[ModelDifference, ...] = ()
    labels: RandomLabels | None = None
    questionnaire: tuple[QuestionAnswers, ...] = ()

    @property
    def users(self) -> int:
        """How many users the answers are of."""
        return len({answer.user for answer in self.answers})


def models_board(question: SatisfactionQuestion) -> ModelsBoard:
    """Satisfaction by model, by people, an evaluator, or both.

    Raises:
        Refused: something asked for does not exist.
    """
    return _with_figures(models_answers(question))


def models_answers(question: SatisfactionQuestion) -> ModelsBoard:
    """What the figures rest on, without them.

    Raises:
        Refused: something asked for does not exist.
    """
    study = Study.objects.filter(slug=question.study).first() if question.study else None
    if question.study and study is None:
        raise Refused("benchmark:unknown-choice", f"no study {question.study!r}")
    slug = study.dataset.slug if study else question.dataset
    known = with_asked(_datasets(), slug)
    dataset = next((each for each in known if not slug or each.slug == slug), None)
    if dataset is None:
        if slug and study is None:
            raise Refused("benchmark:unknown-choice", f"no dataset {slug!r}")
        return ModelsBoard(known, None, study=study)
    topics = scenarios(dataset)
    scenario = None if question.scenario is None else picked(topics, question.scenario)
    runs = _runs(dataset.id)
    run = _picked_run(runs, question.run)
    voice = question.voice or Voice.PEOPLE
    ratings = _ratings(dataset.id, study)
    if question.voice is None and study is None and not ratings.given:
        voice = Voice.JUDGE
    if run is None:
        voice = Voice.PEOPLE
    heard = None if voice is Voice.PEOPLE else run
    answers, unnamed, whole = _scored(dataset.id, scenario, ratings, heard)
    unscored = 0 if heard is None else _unscored(heard, scenario)
    found = ModelsBoard(
        datasets=known,
        dataset=dataset,
        scenarios=topics,
        scenario=scenario,
        runs=runs,
        run=run,
        study=study,
        voice=voice,
        whole=whole,
        apart=bool(ratings.given) and ratings.whole is not whole,
        answers=answers,
        unnamed=unnamed,
        asked=len(answers) + unnamed + unscored,
        unscored=unscored,
    )
    if voice is not Voice.CORRECTED:
        return found
    labels, counted = _random_part(found, ratings)
    return replace(found, labels=labels, answers=counted)


def models_page(question: SatisfactionQuestion) -> ModelsBoard:
    """The figures without their answers, which are too much to keep.

    Raises:
        Refused: something asked for does not exist.
    """
    board = models_board(question)
    return replace(board, answers=(), labels=board.labels and board.labels.without_keys)


def _with_figures(board: ModelsBoard) -> ModelsBoard:
    if board.labels is not None:
        counted, is_random = board.answers, board.labels.is_random
        return replace(
            board,
            corrected=tuple(
                _apart(row) if board.apart else row
                for row in corrected_by_model(counted, is_random=is_random)
            ),
            mean_differences=corrected_differences(counted, is_random=is_random),
            low_differences=corrected_differences(counted, is_random=is_random, lows=True),
        )
    stated = board.voice is Voice.PEOPLE
    return replace(
        board,
        models=by_model(board.answers, stated=stated),
        mean_differences=differences(board.answers, stated=stated),
        low_differences=differences(board.answers, stated=stated, lows=True),
        questionnaire=question_answers(questionnaire_answers(board)) if stated else (),
    )


def _apart(row: CorrectedSatisfaction) -> CorrectedSatisfaction:
    mean, low = (
        replace(each, obstacle=Obstacle.OTHER_TARGETS, missing=0)
        for each in (row.mean, row.dissatisfied)
    )
    return replace(row, mean=mean, dissatisfied=low)


def _datasets() -> tuple[DatasetChoice, ...]:
    """Those with ratings by name, then those with scores alone."""
    rated = list(with_ratings())
    scored = JudgeRun.objects.filter(kind=RunKind.SATISFACTION, status=RunStatus.DONE)
    more = Dataset.objects.filter(pk__in=scored.values("dataset")).exclude(
        pk__in=[each.pk for each in rated]
    )
    rows = [*rated, *more.order_by("name")]
    return tuple(DatasetChoice(each.pk, each.slug, each.name, each.simulated) for each in rows)


def _runs(dataset: int) -> tuple[EvaluatorChoice, ...]:
    """The finished runs with a score, those with most first, of equals the newest.

    Last come the steps of others, as replays.
    """
    done = SatisfactionJudgment.objects.filter(run=OuterRef("pk"), status=JudgmentStatus.DONE)
    rows = JudgeRun.objects.filter(
        Exists(done), dataset=dataset, kind=RunKind.SATISFACTION, status=RunStatus.DONE
    )
    step = RunUnit.objects.filter(child=OuterRef("pk"), reused=False)
    scored = done.order_by().values("run").annotate(n=Count("pk")).values("n")
    told = rows.annotate(
        asked=KT("config__variant"), step=Exists(step), n=Subquery(scored)
    ).order_by("step", "-n", "-pk")
    return tuple(
        EvaluatorChoice(pk, judge, asked or "", created, n)
        for pk, judge, asked, created, n in told.values_list(
            "pk", "judge", "asked", "created_at", "n"
        )
    )


def _picked_run(runs: Sequence[EvaluatorChoice], asked: int | None) -> EvaluatorChoice | None:
    if asked is None:
        return runs[0] if runs else None
    found = next((run for run in runs if run.id == asked), None)
    if found is None:
        raise Refused("benchmark:unknown-choice", f"run {asked} scored no answers here")
    return found


class _Rating(NamedTuple):
    """A user's first rating of a target."""

    score: int
    reason: str
    hallucination: str
    study: int | None
    since: datetime


_Key = tuple[int, int]
"""User and target: a response, or a session where whole conversations are rated."""


class _Ratings(NamedTuple):
    given: Mapping[_Key, _Rating]
    whole: bool


def _ratings(dataset: int, study: Study | None) -> _Ratings:
    """Ratings of turns, or of whole sessions where no turn is rated. One or two queries."""
    for target, where in (
        ("response_id", Q(response__turn__session__dataset=dataset)),
        ("session_id", Q(session__dataset=dataset)),
    ):
        rows = SatisfactionLabel.objects.filter(where, repeat_index=0)
        if study is not None:
            rows = rows.filter(study=study)
        found: dict[_Key, _Rating] = {}
        given = ("score", "reason", "hallucination", "study_id", "updated_at")
        for user, key, score, reason, made_up, *origin in rows.order_by(
            "created_at", "id"
        ).values_list("annotator_id", target, *given):
            rating = _Rating(score, reason or "", made_up or "", *origin)
            found.setdefault((user, key), rating)
        if found:
            return _Ratings(found, whole=target == "session_id")
    return _Ratings({}, whole=False)


def _of_people(ratings: _Ratings, places: Mapping[int, _Place]) -> Iterable[AnswerOfModel]:
    for (user, target), rating in ratings.given.items():
        if target in places:
            model, scenario, session = places[target]
            said = (rating.score, None, rating.reason, rating.hallucination)
            yield AnswerOfModel(user, target, session, model, scenario, *said)


def _of_run(
    run: EvaluatorChoice, ratings: _Ratings, dataset: int
) -> tuple[list[AnswerOfModel], bool]:
    """What a run scored, with what the same user said of it; and whether it was conversations."""
    done = SatisfactionJudgment.objects.filter(run=run.id, status=JudgmentStatus.DONE)
    place = ("user_id", "response_id", "session_id")
    rows = list(done.values_list(*place, "score", "expected_score", "calibrated", "reason"))
    whole = rows[0][1] is None
    places = _places(dataset, whole=whole)
    given = ratings.given if ratings.whole is whole else {}
    found = []
    for user, response, session, score, expected, calibrated, reason in rows:
        target = response or session
        if target in places:
            rating = given.get((user, target))
            stated = None if rating is None else rating.score
            final, unrounded = (score, expected) if calibrated is None else (calibrated, None)
            model, scenario, held = places[target]
            answer = AnswerOfModel(user, target, held, model, scenario, stated, final, reason or "")
            found.append(answer._replace(unrounded=unrounded))
    return found, whole


def _unscored(run: EvaluatorChoice, scenario: ScenarioChoice | None) -> int:
    """How many answers a run was to score, and did not. One query."""
    rows = SatisfactionJudgment.objects.filter(run=run.id).exclude(status=JudgmentStatus.DONE)
    if scenario is not None:
        of_turn = Q(response__turn__session__scenario=scenario.id)
        rows = rows.filter(of_turn | Q(session__scenario=scenario.id))
    return rows.count()


def _scored(
    dataset: int, scenario: ScenarioChoice | None, ratings: _Ratings, run: EvaluatorChoice | None
) -> tuple[tuple[AnswerOfModel, ...], int, bool]:
    """The answers that the run scored, or people rated; how many are unnamed; if they are whole."""
    whole = ratings.whole
    if run is None:
        answers = list(_of_people(ratings, _places(dataset, whole=whole)))
    else:
        answers, whole = _of_run(run, ratings, dataset)
    if scenario is not None:
        answers = [each for each in answers if each.scenario == scenario.name]
    named = tuple(each for each in answers if each.model)
    return named, len(answers) - len(named), whole


class _Place(NamedTuple):
    model: str
    scenario: str
    session: int


def _places(dataset: int, *, whole: bool) -> dict[int, _Place]:
    """Model, scenario and session of each response, or of each session that one model held."""
    rows = Response.objects.filter(turn__session__dataset=dataset)
    fields = ("turn__session_id", "turn__session__scenario__name", "model")
    if not whole:
        told = rows.values_list("pk", *fields).iterator()
        return {key: _Place(model, scenario, session) for key, session, scenario, model in told}
    held: dict[int, tuple[str, set[str]]] = {}
    for session, scenario, model in rows.filter(original=True).values_list(*fields).iterator():
        held.setdefault(session, (scenario, set()))[1].add(model)
    return {
        session: _Place(next(iter(models)) if len(models) == 1 else "", scenario, session)
        for session, (scenario, models) in held.items()
    }


def _random_part(
    board: ModelsBoard, ratings: _Ratings
) -> tuple[RandomLabels, tuple[AnswerOfModel, ...]]:
    """Which ratings correct the evaluator, and the answers with no other ratings than those."""
    labels: dict[Hashable, LabelOrigin] = {
        (each.user, each.target): LabelOrigin(each.session, rating.study, rating.since)
        for each in board.answers
        if each.stated is not None and (rating := ratings.given[each.user, each.target])
    }
    found = random_labels(
        board.dataset.id if board.dataset else 0,
        StudyKind.SATISFACTION,
        targets={each.session for each in board.answers},
        labels=labels,
        complete=len(labels) == len(board.answers),
        fewest=FEWEST_LABELS,
        scenario=board.scenario.name if board.scenario else None,
    )
    return found, tuple(
        each
        if each.stated is None or (each.user, each.target) in found.keys
        else each._replace(stated=None)
        for each in board.answers
    )


def questionnaire_answers(board: ModelsBoard) -> Iterable[AnsweredQuestion]:
    """What was answered about whole conversations, by the model that held them. Two queries."""
    if board.dataset is None:
        return
    rows = SessionQuestionnaire.objects.filter(session__dataset=board.dataset.id)
    if board.study is not None:
        rows = rows.filter(study=board.study)
    first: dict[_Key, Sequence[Mapping[str, Any]]] = {}
    for user, session, answers in rows.order_by("created_at", "id").values_list(
        "annotator_id", "session_id", "answers"
    ):
        first.setdefault((user, session), answers)
    places = _places(board.dataset.id, whole=True) if first else {}
    for (user, session), answers in first.items():
        place = places.get(session)
        if place is None or not place.model:
            continue
        if board.scenario is None or place.scenario == board.scenario.name:
            yield from questions_of(user, session, place.model, answers)
