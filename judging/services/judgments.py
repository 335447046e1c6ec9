"""Judging comparisons: one row per comparison, preference and presentation order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.pair_texts import PairTexts
from judging.core.questions import PairAnswer, ReferenceAnswer, ShownPair
from judging.core.rules import settings_from_config
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.models import JudgeRun, Judgment, Preference
from judging.queries.comparisons import texts_of
from judging.queries.prompts import comparison_references
from judging.queries.runs import judgment_rows
from judging.services.answers import call_ids, raw_to_keep, status_of
from judging.services.stages import AskingStage, IdRange

NO_PREFERENCE: Final = "preference:missing"
"""The preference of the judgment was never distilled."""
NO_TEXT: Final = "comparison:no-text"
"""A response's text is not available."""
ORDERS: Final = (Order.ORIGINAL, Order.SWAPPED)
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


@dataclass(frozen=True, slots=True)
class WrittenReference:
    """What the judge would answer itself to what a row is about."""

    row_id: int
    answer: ReferenceAnswer


def load_questions(run: JudgeRun, ids: IdRange) -> list[JudgmentQuestion]:
    """The pending judgments of a range, with what they are about."""
    rows = list(
        judgment_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", "comparison_id", "preference_id", "order")
    )
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
    guided = settings_from_config(run.config).prompt.guided
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


async def ask_reference(judge: Judge, question: JudgmentQuestion) -> WrittenReference:
    """Asks for the judge's own answer alone, as `ask_judge` does before it compares."""
    if question.texts is None:
        return WrittenReference(question.row_id, ReferenceAnswer(None, error_code=NO_TEXT))
    shown = _shown(question.texts, question.order, reference="")
    answer = await judge.write_reference(shown, language=question.texts.language)
    return WrittenReference(question.row_id, answer)


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


def _row(one: JudgmentAnswer, calls: Mapping[str, int], now: object) -> tuple[Any, ...]:
    """The values of `_WRITE`, in its order."""
    answer, swapped = one.answer, one.order is Order.SWAPPED
    call_id = calls.get(answer.call.call_key or "")
    answered = answer.verdict is not None
    return (
        status_of(answered=answered, unparseable=answer.unparseable).value,
        _own(answer.verdict, swapped=swapped),
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
