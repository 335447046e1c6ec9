"""The reply that a row was read from: its text stands once, with the call."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from django.db.models import Model, QuerySet

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
