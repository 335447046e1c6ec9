"""Read-only lists for researchers; runs are started on their page or by the commands."""

from __future__ import annotations

from django_filters import rest_framework as filters
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.views import SeesEveryone
from judging.api.serializers import (
    JudgeRunSerializer,
    JudgmentSerializer,
    PreferenceSerializer,
    PreferenceSetSerializer,
    SatisfactionJudgmentSerializer,
)
from judging.models import JudgeRun, Judgment, Preference, PreferenceSet, SatisfactionJudgment


class JudgeRunFilter(filters.FilterSet):  # type: ignore[misc]  # no types in the package
    """By dataset slug, annotator's full user name, judge, writer, kind, status."""

    dataset = filters.CharFilter("dataset__slug")
    annotator = filters.CharFilter("annotator__username")

    class Meta:
        model = JudgeRun
        fields = ("kind", "status", "judge", "writer")


class PreferenceFilter(filters.FilterSet):  # type: ignore[misc]
    """By run, annotator's full user name, kind, status, and which version."""

    annotator = filters.CharFilter("annotator__username")

    class Meta:
        model = Preference
        fields = ("run", "kind", "control", "status", "active", "root")


class PreferenceSetFilter(filters.FilterSet):  # type: ignore[misc]
    """By run, dataset slug, annotator's full user name, and which control."""

    dataset = filters.CharFilter("dataset__slug")
    annotator = filters.CharFilter("annotator__username")

    class Meta:
        model = PreferenceSet
        fields = ("run", "control")


class JudgeRunViewSet(ReadOnlyModelViewSet[JudgeRun]):
    """Runs."""

    queryset = JudgeRun.objects.select_related("dataset", "annotator")
    serializer_class = JudgeRunSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = JudgeRunFilter


class PreferenceViewSet(ReadOnlyModelViewSet[Preference]):
    """Preferences, every version."""

    queryset = Preference.objects.select_related("edited_by")
    serializer_class = PreferenceSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = PreferenceFilter


class PreferenceSetViewSet(ReadOnlyModelViewSet[PreferenceSet]):
    """Selected preference sets."""

    queryset = PreferenceSet.objects.prefetch_related("members")
    serializer_class = PreferenceSetSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = PreferenceSetFilter


class JudgmentViewSet(ReadOnlyModelViewSet[Judgment]):
    """Pairwise judgments."""

    queryset = Judgment.objects.all()
    serializer_class = JudgmentSerializer
    permission_classes = (SeesEveryone,)
    filterset_fields = ("run", "comparison", "preference", "order", "status")


class SatisfactionJudgmentViewSet(ReadOnlyModelViewSet[SatisfactionJudgment]):
    """Satisfaction judgments."""

    queryset = SatisfactionJudgment.objects.all()
    serializer_class = SatisfactionJudgmentSerializer
    permission_classes = (SeesEveryone,)
    filterset_fields = ("run", "user", "response", "status")
