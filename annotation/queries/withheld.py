"""What is withheld from annotators while a study goes on; whatever shows them labels asks here.

Two things. Their own answers to a study with hidden repeats: all of them, for were those to
repeats alone left out, the one that is missing would tell which was one. And what judges made of
anything that they answered there, or have still to answer in any study that is not closed.

`only` is the number of the annotator who reads, None for readers from whom nothing is withheld.
"""

from __future__ import annotations

from typing import Final, TypeVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import (
    Claim,
    ClaimState,
    Comparison,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    Study,
    StudyItem,
    StudyStatus,
)

Label = TypeVar("Label", bound=PairwiseLabel | SatisfactionLabel)

_WITHHELD: Final = (
    Q(study__isnull=False)
    & ~Q(study__status=StudyStatus.CLOSED)
    & (Q(repeat_index__gt=0) | Q(study__repeat_rate__gt=0))
)
"""Labels that their annotator may not read yet. `withholds` says the same of a study."""


def withholds(study: Study) -> bool:
    """Whether what annotators answer in this study is withheld from them."""
    return study.status != StudyStatus.CLOSED and study.repeat_rate > 0


def own_labels(labels: QuerySet[Label], annotator_id: int) -> QuerySet[Label]:
    """Those of the labels that an annotator gave and may read."""
    return labels.filter(annotator=annotator_id).exclude(_WITHHELD)


def withheld_comparisons(only: int | None) -> QuerySet[Comparison]:
    """The comparisons of which the reader may not know what a judge made."""
    if only is None:
        return Comparison.objects.none()
    items = _withheld_items(only).filter(comparison__isnull=False)
    labels = PairwiseLabel.objects.filter(_WITHHELD, annotator=only)
    return Comparison.objects.filter(
        Q(pk__in=items.values("comparison")) | Q(pk__in=labels.values("comparison"))
    )


def withheld_responses(only: int | None) -> QuerySet[Response]:
    """The responses of which the reader may not know what a judge made."""
    if only is None:
        return Response.objects.none()
    items = _withheld_items(only).filter(session__isnull=False)
    labels = SatisfactionLabel.objects.filter(_WITHHELD, annotator=only, response__isnull=False)
    return Response.objects.filter(
        Q(turn__session__in=items.values("session")) | Q(pk__in=labels.values("response"))
    )


def withheld_sessions(only: int | None) -> QuerySet[Session]:
    """The sessions of which, as a whole, the reader may not know what a judge made."""
    if only is None:
        return Session.objects.none()
    items = _withheld_items(only).filter(session__isnull=False)
    labels = SatisfactionLabel.objects.filter(_WITHHELD, annotator=only, session__isnull=False)
    return Session.objects.filter(
        Q(pk__in=items.values("session")) | Q(pk__in=labels.values("session"))
    )


def is_anything_withheld(only: int | None) -> bool:
    """Whether the reader is in a study that withholds anything from them at present."""
    return only is not None and _withheld_items(only).exists()


def _withheld_items(annotator_id: int) -> QuerySet[StudyItem]:
    """Of studies that are not closed: with repeats every item, else those left to answer."""
    done = Claim.objects.filter(item=OuterRef("pk"), annotator=annotator_id, state=ClaimState.DONE)
    return StudyItem.objects.filter(
        ~Exists(done) | Q(study__repeat_rate__gt=0),
        study__in=Study.objects.exclude(status=StudyStatus.CLOSED).filter(annotators=annotator_id),
    )
