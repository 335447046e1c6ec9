"""What was done to a study, and to what is in it: its trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.db.models import Q, QuerySet

from annotation.core.study_claims import StudyEvent
from annotation.models import AuditEvent, Claim, Invitation, Participation, Study, User

_SHOWN_CHARS: Final = 300

ANSWERS: Final = ("label.", "ratings.", "conversation.")
"""How the names of events begin that annotators cause by answering."""


def trace_of(study: Study, *, answers: bool) -> QuerySet[AuditEvent, AuditEvent]:
    """The events of a study, the latest first, for a pager; `trace_rows` reads a page of them.

    Without `answers` those that annotators cause by answering are left out: they are many.
    """
    claims = Claim.objects.filter(item__study=study)
    events = AuditEvent.objects.filter(
        Q(target="study", target_id=study.pk)
        | Q(target="claim", target_id__in=claims.values("pk"))
        | Q(target="invitation", target_id__in=Invitation.objects.filter(study=study).values("pk"))
        | Q(
            target="participation",
            target_id__in=Participation.objects.filter(study=study).values("pk"),
        )
    )
    if not answers:
        for begin in ANSWERS:
            events = events.exclude(action__startswith=begin)
    return events.select_related("actor").order_by("-created_at", "-pk")


def trace_rows(events: Iterable[AuditEvent]) -> list[StudyEvent]:
    """These events as a list shows them, with people by name and items by place; three queries."""
    rows = list(events)
    claims = {
        claim.pk: claim
        for claim in Claim.objects.filter(
            pk__in=[row.target_id for row in rows if row.target == "claim"]
        ).select_related("annotator", "item")
    }
    names = _names(rows)
    return [
        StudyEvent(
            when=row.created_at,
            actor=str(row.actor) if row.actor else "",
            action=row.action,
            about=_about(row, claims),
            detail=tuple(_told(row.detail, names)),
        )
        for row in rows
    ]


def _about(row: AuditEvent, claims: dict[int, Claim]) -> str:
    claim = claims.get(row.target_id or 0) if row.target == "claim" else None
    return f"#{claim.item.position + 1} · {claim.annotator}" if claim else ""


def _names(rows: Iterable[AuditEvent]) -> dict[int, str]:
    """Names of the people whom details name by number."""
    wanted: set[int] = set()
    for row in rows:
        for name, value in row.detail.items():
            if name == "annotator" and isinstance(value, int):
                wanted.add(value)
            if name == "annotators":
                wanted.update(value)
    return {user.pk: str(user) for user in User.objects.filter(pk__in=wanted)}


def _told(detail: dict[str, Any], names: dict[int, str]) -> Iterable[tuple[str, str]]:
    for name, value in _flat(detail):
        if name == "annotator":
            yield name, names.get(value, str(value))
        elif name == "annotators":
            yield name, ", ".join(names.get(each, str(each)) for each in value)
        elif name not in {"submission", "item", "study"}:
            yield name, _in_words(value)[:_SHOWN_CHARS]


def _in_words(value: Any) -> str:
    """A value as it is read; of the questions of a quiz their texts."""
    if isinstance(value, list):
        each = (one.get("question", one) if isinstance(one, dict) else one for one in value)
        return " · ".join(map(str, each))
    if isinstance(value, dict):
        told = ((name, each) for name, each in value.items() if each not in (None, ""))
        return " · ".join(f"{name}: {each}" for name, each in told)
    return str(value)


def _flat(detail: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """What an event tells, without what is empty; `before` and `after` by what they tell of.

    Ratings, which stand there by the number of their response, are numbered as replies.
    """
    for name, value in detail.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for place, (each, told) in enumerate(inner, start=1):
            if told not in (None, "", [], {}):
                yield f"{name} {place if each.isdigit() else each}".rstrip(), told
