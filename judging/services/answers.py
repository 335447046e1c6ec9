"""Writing answers: the stored calls behind them, and a status for every outcome."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.core.choices import JudgmentStatus
from judging.core.questions import Call
from judging.models import LlmCall


def call_ids(calls: Iterable[Call]) -> dict[str, int]:
    """Row ids of stored calls by key; one query, none where nobody was called."""
    keys = {call.call_key for call in calls if call.call_key is not None}
    if not keys:
        return {}
    return dict(LlmCall.objects.filter(key__in=keys).values_list("key", "pk"))


def status_of(*, answered: bool, unparseable: bool) -> JudgmentStatus:
    """The status that an answer gives its row."""
    if answered:
        return JudgmentStatus.DONE
    return JudgmentStatus.UNPARSEABLE if unparseable else JudgmentStatus.FAILED


def raw_to_keep(call: Call, *, answered: bool, call_id: int | None) -> str:
    """The raw text for the row itself: none where the stored call has it and nothing went wrong."""
    return "" if answered and call_id is not None else call.raw
