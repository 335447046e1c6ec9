"""What lists can be narrowed by."""

from __future__ import annotations

from django_filters import rest_framework as filters

from annotation.models import Comparison, PairwiseLabel, SatisfactionLabel


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
