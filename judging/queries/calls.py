"""The reply that a row was read from: its text stands once, with the call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

from django.db.models import Count, Model, QuerySet

from annotation.core.choices import JudgmentStatus
from judging.models import (
    GeneratedResponse,
    InducedRubric,
    InjectionTrial,
    Judgment,
    Preference,
    SatisfactionJudgment,
    UserMemory,
)

Answered: TypeAlias = (
    GeneratedResponse
    | InducedRubric
    | InjectionTrial
    | Judgment
    | Preference
    | SatisfactionJudgment
    | UserMemory
)
"""A row with a `call`, None where nobody was called, and `raw`."""

_Row = TypeVar("_Row", bound=Model)


def with_calls(rows: QuerySet[_Row]) -> QuerySet[_Row]:
    """The calls joined in the same query, without their requests, which are long."""
    unread = ("call__request", "call__reasoning", "call__logprobs")
    return rows.select_related("call").defer(*unread)


def key_of(row: Answered) -> str | None:
    """The key of the row's call, by which equal calls are found; None without one."""
    return None if row.call is None else row.call.key


def raw_of(row: Answered) -> str:
    """The reply as it came; of a row without a call what computed it, or what failed, said."""
    return row.raw if row.call is None else row.call.reply


def words_of(rows: QuerySet[Any], codes: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What endpoints most often said of failed calls, by error code; one query for each code.

    Args:
        rows: of one stage; those of units carry no words.
        codes: the errors among them.
    """
    if not hasattr(rows.model, "call"):
        return ()
    failed = rows.order_by().filter(status=JudgmentStatus.FAILED, call=None).exclude(raw="")
    words = []
    for code in codes:
        if code.startswith("llm:"):
            said = failed.filter(error_code=code).values_list("raw")
            most = said.annotate(count=Count("pk")).order_by("-count", "raw").first()
            words += [] if most is None else [(code, most[0])]
    return tuple(words)
