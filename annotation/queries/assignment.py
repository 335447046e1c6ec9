"""Which items an annotator may take, how far they are, and what they were shown before."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final, TypeAlias

from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.core.assignment import Progress
from annotation.core.choices import Order
from annotation.core.presentation import PastOrder
from annotation.models import Claim, ClaimState, ItemKind, Study, StudyItem, User

ITEM_ROWS: Final = (
    "comparison__turn__session__scenario",
    "comparison__response_a",
    "comparison__response_b",
    "session__scenario",
)
"""What a task needs of an item, but for the earlier turns."""

_COUNTS_A_SECOND: Final = 1000  # how long a count is kept: a second for so many rows counted
_KEPT_AT_MOST: Final = 60  # seconds
_ORDERS_KEPT: Final = 6 * 3600  # seconds
_ORDERS_BLOCK: Final = 100

_Shown: TypeAlias = tuple[str, str, Order]


def holding(now: datetime) -> Q:
    """The claims that keep a slot from others: finished ones, and leases that still run."""
    return Q(state=ClaimState.DONE) | Q(state=ClaimState.ACTIVE, expires_at__gt=now)


def progress_of(study: Study, annotator_id: int, now: datetime) -> Progress:
    """How many items this annotator answered, gave back, and may still get.

    Their own items count at once; of what others fill in a study of thousands of items, a page may
    know up to a minute later.
    """
    mine = Claim.objects.filter(item__study=study, annotator_id=annotator_id)
    states = dict(mine.values_list("state").annotate(n=Count("id")).order_by())
    done, skipped = states.get(ClaimState.DONE, 0), states.get(ClaimState.SKIPPED, 0)
    left = _open_items(study, annotator_id, now) - done - skipped
    return Progress(done=done, skipped=skipped, left=max(left, states.get(ClaimState.ACTIVE, 0)))


def _open_items(study: Study, annotator_id: int, now: datetime) -> int:
    """Items of the study but for those that others fill and this annotator never finished.

    What the annotator answers or skips leaves it as it is, so it can be kept while they work.
    """
    key = f"open-items:{study.pk}:{study.overlap}:{annotator_id}"
    kept: int | None = cache.get(key)
    if kept is not None:
        return kept
    items, full = _items_and_full(study, annotator_id, now)
    seconds = min((items + full) // _COUNTS_A_SECOND, _KEPT_AT_MOST)
    if seconds:
        cache.set(key, items - full, seconds)
    return items - full


def _items_and_full(study: Study, annotator_id: int, now: datetime) -> tuple[int, int]:
    seen = Claim.objects.filter(item=OuterRef("item"), annotator_id=annotator_id).exclude(
        state=ClaimState.RELEASED
    )
    full = (
        Claim.objects.filter(holding(now), item__study=study)
        .exclude(annotator_id=annotator_id)
        .exclude(Exists(seen))
        .values("item")
        .annotate(n=Count("id"))
        .filter(n__gte=study.overlap)
        .order_by()
    )
    return study.items.count(), full.count()


def available_items(study: Study, annotator_id: int, now: datetime) -> QuerySet[StudyItem]:
    """The items this annotator may take now, in the study's order.

    Left out are items they answered, skipped or hold, items that others hold in full, and hidden
    repeats of what they have not answered.
    """
    mine = Claim.objects.filter(item=OuterRef("pk"), annotator_id=annotator_id)
    first_answered = Claim.objects.filter(
        item=OuterRef("repeat_of"), annotator_id=annotator_id, state=ClaimState.DONE
    )
    held = (
        Claim.objects.filter(holding(now), item=OuterRef("pk"))
        .exclude(annotator_id=annotator_id)
        .values("item")
        .annotate(n=Count("id"))
        .values("n")
        .order_by()
    )
    return (
        study.items.exclude(Exists(mine.exclude(state=ClaimState.RELEASED)))
        .filter(~Q(kind=ItemKind.REPEAT) | Exists(first_answered))
        .annotate(held=Coalesce(Subquery(held), 0))
        .filter(held__lt=study.overlap)
        .select_related(*ITEM_ROWS)
        .order_by("position")
    )


def past_orders(annotator: User) -> list[PastOrder]:
    """The annotator's first presentations, counted by models and order.

    Hidden repeats are no first presentations; skipped and released claims are. Claims only ever
    grow in number and keep their order, so what was counted by the hundred is kept, and counting
    goes on from there.
    """
    key = f"past-orders:{annotator.pk}:{annotator.date_joined.timestamp()}"
    kept: tuple[int, Counter[_Shown]] = cache.get(key, (0, Counter()))
    last, counts = kept
    a, b = "item__comparison__response_a__model", "item__comparison__response_b__model"
    since = (
        Claim.objects.filter(annotator=annotator, pk__gt=last, shown_order__isnull=False)
        .exclude(item__kind=ItemKind.REPEAT)
        .values_list(a, b, "shown_order")
        .annotate(n=Count("id"), last=Max("id"))
        .order_by()
    )
    new = 0
    for model_a, model_b, order, n, newest in since:
        counts[model_a, model_b, Order(order)] += n
        last = max(last, newest)
        new += n
    if new >= _ORDERS_BLOCK:
        cache.set(key, (last, counts), _ORDERS_KEPT)
    return [PastOrder(*shown, n) for shown, n in counts.items()]


def own_claims(study: Study, annotator_id: int) -> QuerySet[Claim]:
    """The annotator's claims of a study, with all that a task needs but the earlier turns."""
    return Claim.objects.filter(item__study=study, annotator_id=annotator_id).select_related(
        *(f"item__{rows}" for rows in ITEM_ROWS)
    )


def last_finished(study: Study, annotator_id: int, before: datetime | None = None) -> Claim | None:
    """The claim that the annotator answered or skipped last (before a moment), with its item."""
    finished = Claim.objects.filter(
        item__study=study, annotator_id=annotator_id, finished_at__isnull=False
    )
    if before is not None:
        finished = finished.filter(finished_at__lt=before)
    return finished.select_related("item").order_by("-finished_at", "-pk").first()


def repeat_index(item: StudyItem) -> int:
    """0 for a first presentation, n for the n-th hidden repeat of it."""
    if item.kind != ItemKind.REPEAT:
        return 0
    earlier = StudyItem.objects.filter(repeat_of_id=item.repeat_of_id, position__lt=item.position)
    return 1 + earlier.count()
