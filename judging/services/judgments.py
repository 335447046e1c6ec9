"""Judging comparisons and grading responses: a row a comparison, preference and order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.models import Comparison
from judging.core.judge_prompts import PairTexts
from judging.core.questions import (
    GradeQuestion,
    Outcome,
    PairAnswer,
    ShownPair,
)
from judging.core.rules import JudgePrompt
from judging.core.runs import ORDERS, StageName
from judging.core.score_api import REWARD_SCALE
from judging.core.structured import GRADE_SCALE, compare_scores
from judging.judges.protocol import Judge
from judging.models import JudgeRun, Judgment, Preference, ResponseScore
from judging.queries.comparisons import response_texts_of, texts_of
from judging.queries.configurations import pairwise_settings
from judging.queries.prompts import comparison_references, response_references
from judging.queries.runs import grade_rows, judgment_rows
from judging.services.batches import (
    AskingStage,
    ComputingStage,
    IdRange,
    RowAnswer,
    call_ids,
    raw_to_keep,
    status_of,
)

NO_PREFERENCE: Final = "preference:missing"
"""The preference of the judgment was never distilled."""
NO_TEXT: Final = "comparison:no-text"
"""A response's text is not available."""
_CHUNK: Final = 1000


def plan_judgments(run: JudgeRun, pairs: Iterable[tuple[int, Sequence[int]]]) -> None:
    """Writes the PENDING rows of a run, in the order in which they will be asked.

    All calls of one comparison and order stand together and differ in the preference alone, which
    a prompt puts last: a server can reuse what it read of the rest (protocols A1.3).

    Args:
        run: whose rows.
        pairs: comparison ids, each with the ids of the preferences to judge it under.
    """

    def rows() -> Iterator[Judgment]:
        for comparison_id, preference_ids in pairs:
            for order in ORDERS:
                for preference_id in preference_ids:
                    yield Judgment(
                        run=run,
                        comparison_id=comparison_id,
                        preference_id=preference_id,
                        order=order.value,
                    )

    Judgment.objects.bulk_create(rows(), batch_size=_CHUNK)


@dataclass(frozen=True, slots=True)
class JudgmentQuestion:
    """One row to answer; without texts or preference it is answered with an error code."""

    row_id: int
    order: Order
    texts: PairTexts | None
    preference: str | None
    reference: str = ""


@dataclass(frozen=True, slots=True)
class JudgmentAnswer:
    """What the judge said of one row, verdict AS SHOWN."""

    row_id: int
    order: Order
    answer: PairAnswer


def load_questions(run: JudgeRun, ids: IdRange) -> list[JudgmentQuestion]:
    """The pending judgments of a range, with what they are about."""
    rows = list(
        judgment_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", "comparison_id", "preference_id", "order")
    )
    return judgment_questions(rows, run=run)


def judgment_questions(
    rows: Sequence[tuple[int, int, int, str]], *, run: JudgeRun
) -> list[JudgmentQuestion]:
    """What is asked in some judgments: number, comparison id, preference id and order of each."""
    texts = texts_of({comparison_id for _, comparison_id, _, _ in rows})
    preferences = _preference_texts({preference_id for _, _, preference_id, _ in rows})
    references = shown_references(run, {comparison_id for _, comparison_id, _, _ in rows})
    return [
        JudgmentQuestion(
            row_id,
            Order(order),
            texts.get(comparison_id),
            preferences[preference_id],
            references.get(comparison_id, ""),
        )
        for row_id, comparison_id, preference_id, order in rows
    ]


def shown_references(run: JudgeRun, comparison_ids: set[int]) -> Mapping[int, str]:
    """The reference answers that a run shows to its judge; none where its prompt wants none."""
    guided = pairwise_settings(run.config).prompt.guided
    return comparison_references(comparison_ids) if guided else {}


def _preference_texts(preference_ids: set[int]) -> Mapping[int, str | None]:
    """Texts by id, None for those that were never distilled."""
    return dict(Preference.objects.filter(pk__in=preference_ids).values_list("pk", "text"))


async def ask_judge(judge: Judge, question: JudgmentQuestion) -> JudgmentAnswer:
    """Asks for one verdict."""
    if question.preference is None:
        answer = PairAnswer(None, error_code=NO_PREFERENCE)
    elif question.texts is None:
        answer = PairAnswer(None, error_code=NO_TEXT)
    else:
        answer = await judge.judge_pair(
            _shown(question.texts, question.order, reference=question.reference),
            preference=question.preference,
            language=question.texts.language,
        )
    return JudgmentAnswer(question.row_id, question.order, answer)


async def ask_reference(judge: Judge, question: JudgmentQuestion) -> RowAnswer[Outcome[str]]:
    """Asks for the judge's own answer alone, as `ask_judge` does before it compares."""
    if question.texts is None:
        return RowAnswer(question.row_id, Outcome(None, error_code=NO_TEXT))
    shown = _shown(question.texts, question.order, reference="")
    answer = await judge.write_reference(shown, language=question.texts.language)
    return RowAnswer(question.row_id, answer)


def _shown(texts: PairTexts, order: Order, *, reference: str) -> ShownPair:
    first, second = texts.text_a, texts.text_b
    if order is Order.SWAPPED:
        first, second = second, first
    return ShownPair(
        texts.dialogue,
        first=first,
        second=second,
        turns=texts.turns,
        reference=reference,
        following=texts.following,
    )


_WRITE: Final = """
    UPDATE judging_judgment
    SET status = %s, verdict = %s, log_odds = %s, call_id = %s, raw = %s, error_code = %s,
        updated_at = %s
    WHERE id = %s AND status = 'PENDING'
"""
"""One prepared statement for all answers of a commit: a tenth of the time of as many updates."""


def store_answers(_run: JudgeRun, answers: Sequence[JudgmentAnswer]) -> None:
    """Writes verdicts in the comparison's own coordinates, over pending rows alone."""
    calls = call_ids(one.answer.call for one in answers)
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.executemany(_WRITE, [_row(one, calls, now) for one in answers])


def verdict_told(one: JudgmentAnswer) -> tuple[str, str | None]:
    """Status and verdict as their row has them, in the comparison's own coordinates."""
    answer = one.answer
    status = status_of(answered=answer.verdict is not None, unparseable=answer.unparseable)
    return status.value, _own(answer.verdict, swapped=one.order is Order.SWAPPED)


def _row(one: JudgmentAnswer, calls: Mapping[str, int], now: object) -> tuple[Any, ...]:
    """The values of `_WRITE`, in its order."""
    answer, swapped = one.answer, one.order is Order.SWAPPED
    call_id = calls.get(answer.call.call_key or "")
    answered = answer.verdict is not None
    return (
        *verdict_told(one),
        _own_odds(answer.log_odds, swapped=swapped),
        call_id,
        raw_to_keep(answer.call, answered=answered, call_id=call_id),
        answer.error_code or "",
        now,
        one.row_id,
    )


def _own(verdict: Verdict | None, *, swapped: bool) -> str | None:
    if verdict is None:
        return None
    return verdict.flipped().value if swapped else verdict.value


def _own_odds(log_odds: float | None, *, swapped: bool) -> float | None:
    return -log_odds if log_odds is not None and swapped else log_odds


JUDGE_STAGE: Final = AskingStage(
    name=StageName.JUDGE,
    rows=judgment_rows,
    load=load_questions,
    ask=ask_judge,
    store=store_answers,
)


NO_GRADE: Final = "grade:missing"
"""A response of the comparison has no grade, and no error that says why."""
_SCORE_FIELDS: Final = ("status", "value", "call", "raw", "error_code")


def plan_grades(run: JudgeRun, comparison_ids: Sequence[int], *, preference_id: int) -> None:
    """Writes the PENDING rows of a run: a grade a response, a verdict a comparison.

    Args:
        run: whose rows; its settings say on which scale.
        comparison_ids: in the order in which they will be asked about.
        preference_id: the empty preference: grades are nobody's own.
    """
    sides = sides_of(comparison_ids)
    reward = pairwise_settings(run.config).prompt is JudgePrompt.REWARD
    scale = REWARD_SCALE if reward else GRADE_SCALE
    responses = dict.fromkeys(side for key in comparison_ids for side in sides[key])
    ResponseScore.objects.bulk_create(
        [ResponseScore(run=run, response_id=key, scale=scale) for key in responses],
        batch_size=_CHUNK,
    )
    Judgment.objects.bulk_create(
        [
            Judgment(
                run=run,
                comparison_id=key,
                preference_id=preference_id,
                order=Order.COMBINED.value,
            )
            for key in comparison_ids
        ],
        batch_size=_CHUNK,
    )


def sides_of(comparison_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The two responses of some comparisons."""
    rows = Comparison.objects.filter(pk__in=list(comparison_ids)).values_list(
        "pk", "response_a_id", "response_b_id"
    )
    return {key: (first, second) for key, first, second in rows}


@dataclass(frozen=True, slots=True)
class GradeTask:
    """One response to grade; without its text it gets an error code."""

    row_id: int
    texts: PairTexts | None
    reference: str


def load_grades(run: JudgeRun, ids: IdRange) -> list[GradeTask]:
    """The pending grades of a range."""
    rows = (
        grade_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
    )
    return grade_tasks(list(rows.values_list("pk", "response_id")), run=run)


def grade_tasks(places: Sequence[tuple[int, int]], *, run: JudgeRun) -> list[GradeTask]:
    """What is asked of some responses: row id and response id of each."""
    responses = {response for _, response in places}
    texts = response_texts_of(responses)
    guided = pairwise_settings(run.config).prompt.guided
    references = response_references(responses) if guided else {}
    return [
        GradeTask(row, texts.get(response), references.get(response, ""))
        for row, response in places
    ]


async def ask_grade(judge: Judge, task: GradeTask) -> RowAnswer[Outcome[float]]:
    """Asks for one grade."""
    if task.texts is None:
        return RowAnswer(task.row_id, Outcome(None, NO_TEXT))
    question = GradeQuestion(
        dialogue=task.texts.dialogue,
        response=task.texts.text_a,
        language=task.texts.language,
        turns=task.texts.turns,
        reference=task.reference,
    )
    return RowAnswer(task.row_id, await judge.grade(question))


def store_grades(_run: JudgeRun, results: Sequence[RowAnswer[Outcome[float]]]) -> None:
    """Writes grades, over pending rows alone."""
    calls = call_ids(one.answer.call for one in results)
    answers = {one.row_id: one.answer for one in results}
    rows = list(ResponseScore.objects.filter(pk__in=answers, status=JudgmentStatus.PENDING))
    for row in rows:
        answer = answers[row.pk]
        answered = answer.value is not None
        row.status = status_of(answered=answered, unparseable=answer.unparseable).value
        row.value = answer.value
        row.call_id = calls.get(answer.call.call_key or "")
        row.raw = raw_to_keep(answer.call, answered=answered, call_id=row.call_id)
        row.error_code = answer.error_code or ""
    ResponseScore.objects.bulk_update(rows, _SCORE_FIELDS)


def compare_grades(run: JudgeRun) -> None:
    """Writes the verdict of every comparison whose grades are there; twice gives the same rows.

    A comparison without both grades has the error of the one that is missing.
    """
    scores = {row.response_id: row for row in grade_rows(run.pk)}
    rows = list(judgment_rows(run.pk).select_related("comparison"))
    for row in rows:
        _decide(row, scores)
    Judgment.objects.bulk_update(rows, ("status", "verdict", "error_code"), batch_size=_CHUNK)


def _decide(row: Judgment, scores: Mapping[int, ResponseScore]) -> None:
    sides = [
        scores.get(key) for key in (row.comparison.response_a_id, row.comparison.response_b_id)
    ]
    values = [side.value for side in sides if side is not None and side.value is not None]
    if len(values) == len(sides):
        row.status, row.error_code = JudgmentStatus.DONE.value, ""
        row.verdict = compare_scores(*values).value
        return
    lacking = [side for side in sides if side is not None and side.value is None]
    # A call that failed comes first: it can be tried again.
    worst = min(lacking, key=lambda side: side.status != JudgmentStatus.FAILED, default=None)
    row.verdict = None
    row.status = JudgmentStatus.FAILED.value
    if worst is not None and worst.status == JudgmentStatus.UNPARSEABLE:
        row.status = JudgmentStatus.UNPARSEABLE.value
    row.error_code = (worst.error_code if worst is not None else "") or NO_GRADE


GRADE_STAGE: Final = AskingStage(
    name=StageName.GRADE,
    rows=grade_rows,
    load=load_grades,
    ask=ask_grade,
    store=store_grades,
)
COMPARE_STAGE: Final = ComputingStage(name=StageName.COMPARE, compute=compare_grades)
