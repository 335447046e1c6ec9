"""Grading responses one by one, and the verdicts that follow from two grades (seed 004).

A response that stands in several comparisons is graded once. Nothing is shown first, so a verdict
has no presentation order: it is a judgment of order COMBINED.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import JudgmentStatus, Order
from annotation.models import Comparison
from judging.core.bracketed import GRADE_SCALE, compare_scores
from judging.core.pair_texts import PairTexts
from judging.core.questions import GradeAnswer, GradeQuestion
from judging.core.rules import JudgePrompt, settings_from_config
from judging.core.runs import StageName
from judging.core.score_api import REWARD_SCALE
from judging.judges.protocol import Judge
from judging.models import JudgeRun, Judgment, ResponseScore
from judging.queries.comparisons import response_texts_of
from judging.queries.prompts import response_references
from judging.queries.runs import grade_rows, judgment_rows
from judging.services.answers import call_ids, raw_to_keep, status_of
from judging.services.judgments import NO_TEXT
from judging.services.stages import AskingStage, ComputingStage, IdRange

NO_GRADE: Final = "grade:missing"
"""A response of the comparison has no grade, and no error that says why."""
_CHUNK: Final = 1000
_SCORE_FIELDS: Final = ("status", "value", "call", "raw", "error_code")


def plan_grades(run: JudgeRun, comparison_ids: Sequence[int], *, preference_id: int) -> None:
    """Writes the PENDING rows of a run: a grade a response, a verdict a comparison.

    Args:
        run: whose rows; its settings say on which scale.
        comparison_ids: in the order in which they will be asked about.
        preference_id: the empty preference: grades are nobody's own.
    """
    sides = sides_of(comparison_ids)
    reward = settings_from_config(run.config).prompt is JudgePrompt.REWARD
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


@dataclass(frozen=True, slots=True)
class GradeResult:
    """What the judge said of one response."""

    row_id: int
    answer: GradeAnswer


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
    guided = settings_from_config(run.config).prompt.guided
    references = response_references(responses) if guided else {}
    return [
        GradeTask(row, texts.get(response), references.get(response, ""))
        for row, response in places
    ]


async def ask_grade(judge: Judge, task: GradeTask) -> GradeResult:
    """Asks for one grade."""
    if task.texts is None:
        return GradeResult(task.row_id, GradeAnswer(None, NO_TEXT))
    question = GradeQuestion(
        dialogue=task.texts.dialogue,
        response=task.texts.text_a,
        language=task.texts.language,
        turns=task.texts.turns,
        reference=task.reference,
    )
    return GradeResult(task.row_id, await judge.grade(question))


def store_grades(_run: JudgeRun, results: Sequence[GradeResult]) -> None:
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
