"""Which items an annotator may take, how far they are, and what they were shown before."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.core.assignment import Progress
from annotation.core.choices import Order
from annotation.core.presentation import PastOrder
from annotation.models import Claim, ClaimState, Comparison, ItemKind, Study, StudyItem

_TASK_ROWS = (
    "item__comparison__turn__session__scenario",
    "item__comparison__response_a",
    "item__comparison__response_b",
    "item__session__scenario",
)


def holding(now: datetime) -> Q:
    """The claims that keep a slot from others: finished ones, and leases that still run."""
    return Q(state=ClaimState.DONE) | Q(state=ClaimState.ACTIVE, expires_at__gt=now)


def progress_of(study: Study, annotator_id: int, now: datetime) -> Progress:
    """How many items this annotator answered, gave back, and may still get."""
    mine = Claim.objects.filter(item__study=study, annotator_id=annotator_id)
    states = dict(mine.values_list("state").annotate(n=Count("id")).order_by())
    done, skipped = states.get(ClaimState.DONE, 0), states.get(ClaimState.SKIPPED, 0)
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
        .count()
    )
    left = study.items.count() - done - skipped - full
    return Progress(done=done, skipped=skipped, left=max(left, 0))


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
        .select_related("comparison__response_a", "comparison__response_b")
        .order_by("position")
    )


def past_orders(annotator_id: int, comparison: Comparison) -> list[PastOrder]:
    """The annotator's first presentations in the block of a comparison, counted.

    Hidden repeats are no first presentations; skipped and released claims are.
    """
    a, b = "item__comparison__response_a__model", "item__comparison__response_b__model"
    model_a, model_b = comparison.response_a.model, comparison.response_b.model
    if model_a and model_b and model_a != model_b:
        block = Q(**{a: model_a, b: model_b}) | Q(**{a: model_b, b: model_a})
    else:
        block = Q(**{a: ""}) | Q(**{b: ""}) | Q(**{a: F(b)})
    counts = (
        Claim.objects.filter(block, annotator_id=annotator_id, shown_order__isnull=False)
        .exclude(item__kind=ItemKind.REPEAT)
        .values_list(a, b, "shown_order")
        .annotate(n=Count("id"))
        .order_by()
    )
    return [PastOrder(model_a, model_b, Order(order), n) for model_a, model_b, order, n in counts]


def own_claims(study: Study, annotator_id: int) -> QuerySet[Claim]:
    """The annotator's claims of a study, with all that a task needs but the earlier turns."""
    return Claim.objects.filter(item__study=study, annotator_id=annotator_id).select_related(
        *_TASK_ROWS
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
