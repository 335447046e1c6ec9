"""What lists can be narrowed by, and the pages that they come in."""

from __future__ import annotations

from typing import Any, Final

from django_filters import rest_framework as filters
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

from annotation.models import Comparison, PairwiseLabel, SatisfactionLabel


class ByIdPagination(CursorPagination):
    """By primary key, oldest first; `page_size` up to 1,000."""

    ordering = "pk"
    page_size_query_param = "page_size"
    max_page_size = 1000


_OF_EVERY_LIST: Final = {
    ByIdPagination.cursor_query_param,
    ByIdPagination.page_size_query_param,
    "format",
}


class KnownWordsBackend(filters.DjangoFilterBackend):  # type: ignore[misc]  # no types in the package
    """Refuses a parameter that means nothing here: without a word it would narrow nothing."""

    def get_filterset(self, request: Request, queryset: Any, view: Any) -> Any:
        """The filters of a view, for a request whose words they know."""
        found = super().get_filterset(request, queryset, view)
        filters_known = set() if found is None else set(found.filters)
        unknown = request.query_params.keys() - filters_known - _OF_EVERY_LIST
        if unknown:
            known = ", ".join(sorted(filters_known | _OF_EVERY_LIST - {"format"}))
            raise ValidationError(
                {
                    word: [f"Unknown parameter. Known parameters: {known}."]
                    for word in sorted(unknown)
                }
            )
        return found


class ComparisonFilter(filters.FilterSet):  # type: ignore[misc]  # no types in the package
    """By dataset slug and scenario name."""

    dataset = filters.CharFilter("turn__session__dataset__slug")
    scenario = filters.CharFilter("turn__session__scenario__name")

    class Meta:
        model = Comparison
        fields: tuple[str, ...] = ()


class PairwiseLabelFilter(filters.FilterSet):  # type: ignore[misc]
    """By dataset, scenario, annotator's full user name, study, verdict."""

    dataset = filters.CharFilter("comparison__turn__session__dataset__slug")
    scenario = filters.CharFilter("comparison__turn__session__scenario__name")
    annotator = filters.CharFilter("annotator__username")
    study = filters.CharFilter("study__slug")

    class Meta:
        model = PairwiseLabel
        fields = ("verdict", "comparison")


class SatisfactionLabelFilter(filters.FilterSet):  # type: ignore[misc]
    """By dataset of the rated response, annotator, study, score."""

    dataset = filters.CharFilter("response__turn__session__dataset__slug")
    annotator = filters.CharFilter("annotator__username")
    study = filters.CharFilter("study__slug")

    class Meta:
        model = SatisfactionLabel
        fields = ("score", "reason", "response")
