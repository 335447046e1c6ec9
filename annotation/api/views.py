"""Read-only lists; labels are written through the labelling pages and imports."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import QuerySet
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.lists import ComparisonFilter, PairwiseLabelFilter, SatisfactionLabelFilter
from annotation.api.serializers import (
    ComparisonSerializer,
    DatasetSerializer,
    PairwiseLabelSerializer,
    SatisfactionLabelSerializer,
)
from annotation.models import Comparison, Dataset, PairwiseLabel, SatisfactionLabel, User
from annotation.queries.datasets import published
from annotation.queries.withheld import own_labels

Row = TypeVar("Row", bound=PairwiseLabel | SatisfactionLabel)


class SeesEveryone(BasePermission):
    """Admins, managers and viewers; annotators must stay blind to models and to one another."""

    message = "Annotators cannot read this. Ask a manager for the viewer role."

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        """Whether the signed-in person may read other people's rows."""
        return isinstance(request.user, User) and request.user.sees_everyone


class DatasetViewSet(ReadOnlyModelViewSet[Dataset]):
    """Datasets, by slug."""

    queryset = Dataset.objects.all()
    serializer_class = DatasetSerializer
    permission_classes = (SeesEveryone,)
    lookup_field = "slug"


class ComparisonViewSet(ReadOnlyModelViewSet[Comparison]):
    """Comparisons with both texts."""

    queryset = published(Comparison.objects.all(), "turn__session").select_related(
        "turn__session__dataset", "turn__session__scenario", "response_a", "response_b"
    )
    serializer_class = ComparisonSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = ComparisonFilter


class OwnOrAllViewSet(ReadOnlyModelViewSet[Row]):
    """Everybody's labels for those who see everyone; an annotator's own otherwise.

    Own answers that are withheld are left out (`annotation.queries.withheld`).
    """

    def get_queryset(self) -> QuerySet[Row]:
        """All labels, or one's own."""
        rows: QuerySet[Row] = super().get_queryset()
        user = self.request.user
        if not isinstance(user, User):
            return rows.none()
        return rows if user.sees_everyone else own_labels(rows, user.pk)


class PairwiseLabelViewSet(OwnOrAllViewSet[PairwiseLabel]):
    """Pairwise labels; annotators can read only their own."""

    queryset = published(
        PairwiseLabel.objects.select_related("annotator", "study"), "comparison__turn__session"
    )
    serializer_class = PairwiseLabelSerializer
    filterset_class = PairwiseLabelFilter


class SatisfactionLabelViewSet(OwnOrAllViewSet[SatisfactionLabel]):
    """Satisfaction labels; annotators can read only their own."""

    queryset = published(
        SatisfactionLabel.objects.select_related("annotator", "study"),
        "response__turn__session",
        "session",
    )
    serializer_class = SatisfactionLabelSerializer
    filterset_class = SatisfactionLabelFilter
