"""How a study goes at this moment, in few counts, and the trace of what was done in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotation.core.assignment import lease_end
from annotation.core.choices import StudyKind
from annotation.core.item_names import ItemKey
from annotation.core.studies import (
    AnnotatorRow,
    HeldRow,
    StudyLive,
    StudyRow,
    held_phase,
)
from annotation.core.study_progress import (
    ACTIVE_WITHIN,
    Facts,
    is_active,
    long_after,
    medians,
    standing_of,
    time_left,
)
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    Invitation,
    ItemKind,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Study,
    User,
)
from annotation.queries.quality_rules import rules_broken
from annotation.queries.sql import rows_of
from annotation.queries.study_claims import KEY, MESSAGE

HELD_SHOWN: Final = 50
_TIMES_READ: Final = 500  # answers whose time counts: the latest of the study

# An item is full for whoever has no part in it once `overlap` others fill it. So it stands open to
# an annotator as often as there are items, but for the full ones on which they have no claim. Of
# repeats an annotator gets those of what they answered.
_FULL: Final = """
WITH filled AS (
    SELECT claim.item_id AS item
    FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
    WHERE item.study_id = %(study)s AND item.kind <> 'REPEAT'
    AND (claim.state = 'DONE' OR (claim.state = 'ACTIVE' AND claim.expires_at > %(now)s))
    GROUP BY claim.item_id HAVING COUNT(*) >= %(overlap)s
)
SELECT NULL, COUNT(*) FROM filled
UNION ALL
SELECT own.annotator_id, COUNT(*)
FROM filled JOIN annotation_claim own ON own.item_id = filled.item
WHERE own.state <> 'RELEASED' GROUP BY own.annotator_id
"""
_REPEATS: Final = """
SELECT first.annotator_id, COUNT(*)
FROM annotation_studyitem again
JOIN annotation_claim first ON first.item_id = again.repeat_of_id AND first.state = 'DONE'
WHERE again.study_id = %(study)s AND again.kind = 'REPEAT'
AND NOT EXISTS (
    SELECT 1 FROM annotation_claim own
    WHERE own.item_id = again.id AND own.annotator_id = first.annotator_id
    AND own.state IN ('DONE', 'SKIPPED')
)
GROUP BY first.annotator_id
"""


@dataclass(slots=True)
class _Person:
    """What is collected about somebody."""

    id: int
    username: str
    name: str
    part: Mapping[str, Any] | None = None
    work: Mapping[str, Any] | None = None


def study_live(study: Study, row: StudyRow, now: datetime) -> StudyLive:
    """How it goes; `row`: its counts.

    In seven queries (eight with repeats) whatever its size, and one for each rule that is on.
    """
    people = _people(study, now)
    usual, own = medians(_times(study))
    left = _left(study, now)
    parts = {key: person.part for key, person in people.items() if person.part}
    broken = rules_broken(study, {key: part["resumed_at"] for key, part in parts.items()})
    annotators = []
    for person in sorted(people.values(), key=lambda each: (each.part is None, each.username)):
        facts = _facts(person, left, own.get(person.id))
        annotators.append(
            AnnotatorRow(
                id=person.id,
                username=person.username,
                name=person.name,
                facts=facts,
                standing=standing_of(facts, usual=usual, now=now),
                paused_at=person.part["paused_at"] if person.part else None,
                pause_reason=person.part["pause_reason"] if person.part else "",
                slow_after=long_after(
                    facts.seconds if facts.seconds is not None else usual
                ).total_seconds(),
                broken=broken.get(person.id, ()),
                paid=bool(person.part and person.part["invitation__completion"]),
            )
        )
    return StudyLive(
        row=row,
        annotators=tuple(annotators),
        held=_held(study, people, now),
        held_count=sum(each.facts.held for each in annotators),
        last_hour=sum(each.facts.last_hour for each in annotators),
        seconds=usual,
        estimate=time_left(
            answers=row.wanted - row.done,
            seconds=usual,
            active=sum(is_active(each.facts) for each in annotators),
        ),
        completion_answers=study.completion_answers,
    )


def _people(study: Study, now: datetime) -> dict[int, _Person]:
    """Everybody who is in the study, and whoever was and still has a part in an item."""
    people = {}
    parts = Participation.objects.filter(study=study).values(
        "annotator_id",
        "annotator__username",
        "annotator__display_name",
        "joined_at",
        "paused_at",
        "pause_reason",
        "resumed_at",
        "invitation__completion",
    )
    for part in parts:
        people[part["annotator_id"]] = _person(part)
        people[part["annotator_id"]].part = part
    for work in _work(study, now):
        person = people.setdefault(work["annotator_id"], _person(work))
        person.work = work
    return people


def _person(row: Mapping[str, Any]) -> _Person:
    username = row["annotator__username"]
    return _Person(row["annotator_id"], username, row["annotator__display_name"] or username)


def _work(study: Study, now: datetime) -> Iterable[Mapping[str, Any]]:
    """Counts of everybody's claims."""
    done, active = Q(state=ClaimState.DONE), Q(state=ClaimState.ACTIVE)
    repeat = Q(item__kind=ItemKind.REPEAT)
    running = active & Q(expires_at__gt=now, expires_at__lte=lease_end(now, study.lease_minutes))
    return (
        Claim.objects.filter(item__study=study)
        .values("annotator_id", "annotator__username", "annotator__display_name")
        .annotate(
            done=Count("id", filter=done),
            skipped=Count("id", filter=Q(state=ClaimState.SKIPPED)),
            over=Count("id", filter=(done | Q(state=ClaimState.SKIPPED)) & ~repeat),
            active=Count("id", filter=active),
            running=Count("id", filter=running),
            lapsed=Count("id", filter=active & Q(expires_at__lte=now)),
            since=Min("claimed_at", filter=running),
            last_answer=Max("finished_at", filter=done),
            last_hour=Count("id", filter=done & Q(finished_at__gt=now - ACTIVE_WITHIN)),
        )
        .exclude(done=0, skipped=0, active=0)
        .order_by()
    )


def _facts(person: _Person, left: _Left, seconds: float | None) -> Facts:
    work = person.work or {}
    part = person.part
    done, skipped, active = (work.get(name, 0) for name in ("done", "skipped", "active"))
    return Facts(
        member=part is not None,
        paused=part is not None and part["paused_at"] is not None,
        joined=part["joined_at"] if part else None,
        done=done,
        skipped=skipped,
        left=max(left.of(person.id) - work.get("over", 0), active) if part else 0,
        running=work.get("running", 0),
        lapsed=work.get("lapsed", 0),
        reserved=active - work.get("running", 0) - work.get("lapsed", 0),
        since=work.get("since"),
        last_answer=work.get("last_answer"),
        last_hour=work.get("last_hour", 0),
        seconds=seconds,
    )


@dataclass(frozen=True, slots=True)
class _Left:
    """What is open to whom, what they answered and skipped of it included, repeats not."""

    items: int
    full: int
    taking_part: dict[int, int]
    repeats: dict[int, int]

    def of(self, annotator: int) -> int:
        """Items open to an annotator, and the repeats they can get."""
        blocked = self.full - self.taking_part.get(annotator, 0)
        return self.items - blocked + self.repeats.get(annotator, 0)


def _left(study: Study, now: datetime) -> _Left:
    """What is open to whom; three queries where the study has repeats, else two."""
    filled = dict(rows_of(_FULL, study=study.pk, overlap=study.overlap, now=now))
    return _Left(
        items=study.items.exclude(kind=ItemKind.REPEAT).count(),
        full=filled.pop(None),
        taking_part=filled,
        repeats=dict(rows_of(_REPEATS, study=study.pk)) if study.repeat_rate else {},
    )


def _times(study: Study) -> list[tuple[int, float]]:
    """Who took how long for each of the latest answers; of a session, for all of its turns."""
    if study.kind == StudyKind.PAIRWISE:
        pairs = PairwiseLabel.objects.filter(study=study, active_seconds__isnull=False)
        times = pairs.order_by("-pk").values_list("annotator_id", "active_seconds")
        return [(annotator, each) for annotator, each in times[:_TIMES_READ] if each is not None]
    turns = (
        SatisfactionLabel.objects.filter(study=study, active_seconds__isnull=False)
        .annotate(talk=Coalesce("response__turn__session_id", "session_id"))
        .values("annotator_id", "talk", "repeat_index")
        .annotate(seconds=Sum("active_seconds"), last=Max("pk"))
        .order_by("-last")
    )
    return [(row["annotator_id"], row["seconds"]) for row in turns[:_TIMES_READ]]


def _held(study: Study, people: Collection[int], now: datetime) -> tuple[HeldRow, ...]:
    """Items that are with these people, the oldest first; asked by person, there is an index."""
    rows = (
        Claim.objects.filter(annotator__in=list(people), state=ClaimState.ACTIVE, item__study=study)
        .order_by("claimed_at", "pk")
        .values(
            "pk",
            "item_id",
            "item__position",
            "annotator_id",
            "annotator__username",
            "annotator__display_name",
            "claimed_at",
            "expires_at",
            key=KEY,
            message=MESSAGE,
        )
    )
    return tuple(
        HeldRow(
            claim=row["pk"],
            item=row["item_id"],
            position=row["item__position"] + 1,
            key=ItemKey.of(row["key"], row["item__position"], row["message"]),
            annotator=row["annotator_id"],
            name=row["annotator__display_name"] or row["annotator__username"],
            since=row["claimed_at"],
            until=row["expires_at"],
            phase=held_phase(until=row["expires_at"], now=now, lease_minutes=study.lease_minutes),
        )
        for row in rows[:HELD_SHOWN]
    )


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


def trace_rows(
    events: Iterable[AuditEvent], *, workers: bool
) -> list[tuple[AuditEvent, str, list[tuple[str, str]]]]:
    """These events, what of the study each was done to, and its details; three queries.

    People go by name and items by place. `workers` says whether the reader may know who they are on
    a platform of paid work.
    """
    rows = list(events)
    claims = {
        claim.pk: claim
        for claim in Claim.objects.filter(
            pk__in=[row.target_id for row in rows if row.target == "claim"]
        ).select_related("annotator", "item")
    }
    names = _names(rows)
    hidden = _HIDDEN if workers else _HIDDEN | {"worker"}
    return [(row, _about(row, claims), list(_told(row.detail, names, hidden))) for row in rows]


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


_HIDDEN: Final = frozenset({"submission", "item", "study"})


def _told(
    detail: dict[str, Any], names: dict[int, str], hidden: frozenset[str]
) -> Iterable[tuple[str, str]]:
    for name, value in _flat(detail):
        if name == "annotator":
            yield name, names.get(value, str(value))
        elif name == "annotators":
            yield name, ", ".join(names.get(each, str(each)) for each in value)
        elif name not in hidden:
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
