"""The rows behind the counts of a study: claims, skips, flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.functions import Coalesce

from annotation.core.item_names import ItemKey
from annotation.core.studies import ClaimFilter, ClaimRow, FlagRow, SkippedItem, held_phase
from annotation.core.study_progress import ACTIVE_WITHIN
from annotation.models import (
    Claim,
    ClaimState,
    ItemKind,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Study,
    StudyItem,
    Turn,
    User,
)

KEY: Final = Coalesce(F("item__comparison__key"), F("item__session__key"), Value(""))
MESSAGE: Final = Coalesce(
    F("item__comparison__turn__user_message"),
    Subquery(
        Turn.objects.filter(session=OuterRef("item__session"), position=0).values("user_message")
    ),
    Value(""),
    output_field=TextField(),
)
"""Of a claim: the key of its item, and how the item begins."""


def study_of(slug: str) -> Study | None:
    """The study of a short name, if there is one."""
    return Study.objects.filter(slug=slug).select_related("dataset").first()


def claims_of(
    study: Study,
    now: datetime,
    *,
    which: ClaimFilter = ClaimFilter.ALL,
    annotator: int | None = None,
    item: int | None = None,
    reason: str = "",
) -> QuerySet[Claim, Any]:
    """Claims of a study, the latest first, for a pager; `claim_rows` reads a page of them."""
    wanted = Claim.objects.filter(_where(which, now), item__study=study)
    if annotator is not None:
        wanted = wanted.filter(annotator=annotator)
    if item is not None:
        wanted = wanted.filter(item=item)
    if reason:
        wanted = wanted.filter(skip_reason=reason)
    part = Participation.objects.filter(study=study, annotator=OuterRef("annotator"))
    return (
        wanted.annotate(key=KEY, message=MESSAGE, member=Exists(part))
        .order_by("-claimed_at", "-pk")
        .values(
            "pk",
            "item_id",
            "item__position",
            "key",
            "message",
            "annotator_id",
            "annotator__username",
            "annotator__display_name",
            "member",
            "state",
            "claimed_at",
            "expires_at",
            "finished_at",
            "skip_reason",
        )
    )


def _where(which: ClaimFilter, now: datetime) -> Q:
    return {
        ClaimFilter.ALL: Q(),
        ClaimFilter.HELD: Q(state=ClaimState.ACTIVE),
        ClaimFilter.LAPSED: Q(state=ClaimState.ACTIVE, expires_at__lte=now),
        ClaimFilter.DONE: Q(state=ClaimState.DONE),
        ClaimFilter.LAST_HOUR: Q(state=ClaimState.DONE, finished_at__gt=now - ACTIVE_WITHIN),
        ClaimFilter.SKIPPED: Q(state=ClaimState.SKIPPED),
        ClaimFilter.RELEASED: Q(state=ClaimState.RELEASED),
    }[which]


def claim_rows(claims: Iterable[Mapping[str, Any]], study: Study, now: datetime) -> list[ClaimRow]:
    """These claims as a list shows them."""
    return [
        ClaimRow(
            claim=row["pk"],
            item=row["item_id"],
            position=row["item__position"] + 1,
            key=ItemKey.of(row["key"], row["item__position"], row["message"]),
            annotator=row["annotator_id"],
            name=row["annotator__display_name"] or row["annotator__username"],
            member=row["member"],
            state=row["state"],
            phase=held_phase(until=row["expires_at"], now=now, lease_minutes=study.lease_minutes)
            if row["state"] == ClaimState.ACTIVE
            else None,
            taken_back=row["state"] == ClaimState.RELEASED and row["finished_at"] is not None,
            since=row["claimed_at"],
            until=row["expires_at"],
            finished=row["finished_at"] if row["state"] != ClaimState.RELEASED else None,
            reason=row["skip_reason"],
        )
        for row in claims
    ]


def most_skipped(study: Study, *, at_most: int) -> list[SkippedItem]:
    """The items skipped most often, with why; two queries."""
    return _skipped(study, list(_skips(study)[:at_most]))


def skipped_items(
    study: Study, *, page: str | None, per_page: int
) -> tuple[Page[Any], list[SkippedItem]]:
    """A page of the items that were skipped, most often first, with why; three queries."""
    items = Paginator(_skips(study), per_page).get_page(page)
    return items, _skipped(study, list(items))


def _skips(study: Study) -> QuerySet[Claim, Any]:
    skipped = Claim.objects.filter(item__study=study, state=ClaimState.SKIPPED)
    return (
        skipped.values("item_id", "item__position", key=KEY, message=MESSAGE)
        .annotate(times=Count("pk"))
        .order_by("-times", "item__position")
    )


def _skipped(study: Study, items: list[Any]) -> list[SkippedItem]:
    skipped = Claim.objects.filter(item__study=study, state=ClaimState.SKIPPED)
    reasons: dict[int, list[tuple[str, int]]] = {}
    for item, reason, times in (
        skipped.filter(item__in=[row["item_id"] for row in items])
        .values_list("item_id", "skip_reason")
        .annotate(times=Count("pk"))
        .order_by("-times", "skip_reason")
    ):
        reasons.setdefault(item, []).append((reason, times))
    return [
        SkippedItem(
            item=row["item_id"],
            position=row["item__position"] + 1,
            key=ItemKey.of(row["key"], row["item__position"], row["message"]),
            times=row["times"],
            reasons=tuple(reasons[row["item_id"]]),
        )
        for row in items
    ]


def flags_of(study: Study) -> QuerySet[PairwiseLabel, Any]:
    """Answers of a study that carry a flag, the latest first; `flag_rows` reads a page of them."""
    pairs = PairwiseLabel.objects.filter(study=study, extra__has_key="flag")
    turns = SatisfactionLabel.objects.filter(study=study, extra__has_key="flag")
    none = Value(None, IntegerField())
    of_pairs = pairs.annotate(
        study_item=_item_of("comparison", "comparison"),
        pair=F("comparison_id"),
        conversation=none,
        turn=none,
        key=F("comparison__key"),
        place=F("comparison__position"),
        message=F("comparison__turn__user_message"),
        said=F("comment"),
    )
    of_turns = turns.annotate(
        study_item=_item_of("session", "response__turn__session"),
        pair=none,
        conversation=F("response__turn__session_id"),
        turn=F("response__turn__position"),
        key=F("response__turn__session__key"),
        place=F("response__turn__session__position"),
        message=F("response__turn__user_message"),
        said=F("comment"),
    )
    turn_rows = of_turns.values(*_FLAG_FIELDS)
    rows: QuerySet[PairwiseLabel, Any] = of_pairs.values(*_FLAG_FIELDS).union(turn_rows, all=True)
    return rows.order_by("-updated_at", "-pk")


_FLAG_FIELDS: Final = (
    "pk",
    "study_item",
    "pair",
    "conversation",
    "turn",
    "key",
    "place",
    "message",
    "annotator_id",
    "annotator__username",
    "annotator__display_name",
    "extra",
    "said",
    "updated_at",
)


def _item_of(kind: str, path: str) -> Subquery:
    """The number of the study item that asks about a label's target, no repeat."""
    items = StudyItem.objects.filter(study=OuterRef("study"), **{kind: OuterRef(path)})
    return Subquery(items.exclude(kind=ItemKind.REPEAT).values("pk")[:1])


def flag_rows(flags: Iterable[Mapping[str, Any]]) -> list[FlagRow]:
    """These flags as a list shows them; a slice of `flags_of`."""
    return [
        FlagRow(
            item=row["study_item"],
            comparison=row["pair"],
            session=row["conversation"],
            turn=None if row["turn"] is None else row["turn"] + 1,
            key=ItemKey.of(row["key"], row["place"], row["message"]),
            annotator=row["annotator_id"],
            name=row["annotator__display_name"] or row["annotator__username"],
            flag=str(row["extra"]["flag"]),
            comment=row["said"],
            given=row["updated_at"],
        )
        for row in flags
    ]


def annotators_of(study: Study) -> list[tuple[int, str]]:
    """Number and shown name of whoever is in a study or has a part in an item of it."""
    part = Participation.objects.filter(study=study, annotator=OuterRef("pk"))
    claim = Claim.objects.filter(item__study=study, annotator=OuterRef("pk"))
    people = User.objects.filter(Exists(part) | Exists(claim)).order_by("username")
    return [(user.pk, str(user)) for user in people]


def could_take(study: Study, item: StudyItem) -> list[tuple[int, str]]:
    """Number and shown name of whoever could be given an item: in the study, not paused, no answer.

    Whoever holds it already is left out, and for a repeat whoever never answered its first.
    """
    people = User.objects.filter(
        participations__study=study, participations__paused_at__isnull=True, is_active=True
    )
    has = Claim.objects.filter(
        item=item, annotator=OuterRef("pk"), state__in=[ClaimState.ACTIVE, ClaimState.DONE]
    )
    people = people.exclude(Exists(has))
    if item.kind == ItemKind.REPEAT:
        first = Claim.objects.filter(
            item=item.repeat_of_id, annotator=OuterRef("pk"), state=ClaimState.DONE
        )
        people = people.filter(Exists(first))
    return [(user.pk, str(user)) for user in people.order_by("username")]
