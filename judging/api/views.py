"""Lists for researchers, and the start of runs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import F
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.parsers import BoundedJSONParser
from annotation.api.views import SeesEveryone
from annotation.models import User
from annotation.queries.datasets import of_no_deleted
from judging.api.serializers import (
    JudgeRunSerializer,
    JudgmentSerializer,
    PreferenceSerializer,
    PreferenceSetSerializer,
    RunStartSerializer,
    SatisfactionJudgmentSerializer,
)
from judging.core.estimates import estimates_as_json
from judging.core.runs import REGISTERED
from judging.models import (
    JudgeRun,
    Judgment,
    Preference,
    PreferenceSet,
    RunKind,
    SatisfactionJudgment,
)
from judging.queries.calls import with_calls
from judging.services.abilities import slow_replies
from judging.services.estimate_tallies import tight_requests
from judging.services.estimates import estimate_all
from judging.services.kinds import plan
from judging.submission import submit


class StartsRuns(BasePermission):
    """Managers and admins, as on the pages."""

    message = "Only managers can start runs."

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        """Whether the signed-in person may spend calls."""
        return isinstance(request.user, User) and request.user.is_manager


def _kinds() -> list[tuple[str, Any]]:
    """Every kind of run, those of apps above among them."""
    return [*RunKind.choices, *((name, kind.label) for name, kind in REGISTERED.items())]


class JudgeRunFilter(filters.FilterSet):  # type: ignore[misc]  # no types in the package
    """By dataset slug, annotator's full user name, judge, writer, kind, status."""

    dataset = filters.CharFilter("dataset__slug")
    annotator = filters.CharFilter("annotator__username")
    kind = filters.ChoiceFilter(choices=_kinds)

    class Meta:
        model = JudgeRun
        fields = ("status", "judge", "writer")


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

    queryset = of_no_deleted(JudgeRun.objects.select_related("dataset", "annotator"), "dataset")
    serializer_class = JudgeRunSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = JudgeRunFilter
    parser_classes = (BoundedJSONParser,)

    def get_permissions(self) -> list[Any]:
        """Who reads may not start anything."""
        return [StartsRuns()] if self.action == "create" else [SeesEveryone()]

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        responses={HTTPStatus.OK: OpenApiTypes.OBJECT, HTTPStatus.ACCEPTED: OpenApiTypes.OBJECT},
    )
    def create(self, request: Request) -> Response:
        """Start runs, or join equal ones in progress (`attached`); docs/api.md lists the fields.

        With `?estimate` nothing is started: the answer has the calls and their cost.
        """
        context = {"user": request.user, "query": request.query_params}
        try:
            sent = RunStartSerializer(data=request.data, context=context)
            sent.is_valid(raise_exception=True)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error
        asked = sent.validated_data
        planned = [run for each in asked["requests"] for run in plan(each)]
        if asked["estimate"]:
            found = estimates_as_json(estimate_all(planned))
            found["slow"] = [each._asdict() for each in slow_replies(planned)]
            found["tight"] = [each._asdict() for each in tight_requests(planned)]
            return Response(found)
        runs = submit(planned, again=asked["again"])
        rows = [{**JudgeRunSerializer(run).data, "attached": run.attached} for run in runs]
        return Response({"runs": rows}, status=HTTPStatus.ACCEPTED)


class PreferenceViewSet(ReadOnlyModelViewSet[Preference]):
    """Preferences, every version."""

    queryset = with_calls(
        of_no_deleted(Preference.objects.select_related("edited_by"), "run__dataset")
    )
    serializer_class = PreferenceSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = PreferenceFilter


class PreferenceSetViewSet(ReadOnlyModelViewSet[PreferenceSet]):
    """Selected preference sets."""

    queryset = of_no_deleted(PreferenceSet.objects.prefetch_related("members"), "dataset")
    serializer_class = PreferenceSetSerializer
    permission_classes = (SeesEveryone,)
    filterset_class = PreferenceSetFilter


class JudgmentViewSet(ReadOnlyModelViewSet[Judgment]):
    """Pairwise judgments."""

    queryset = with_calls(
        of_no_deleted(Judgment.objects.all(), "run__dataset").annotate(
            scenario=F("comparison__turn__session__scenario_id")
        )
    ).prefetch_related("run")  # each once: its configuration is long
    serializer_class = JudgmentSerializer
    permission_classes = (SeesEveryone,)
    filterset_fields = ("run", "comparison", "preference", "order", "status")


class SatisfactionJudgmentViewSet(ReadOnlyModelViewSet[SatisfactionJudgment]):
    """Satisfaction judgments."""

    queryset = with_calls(of_no_deleted(SatisfactionJudgment.objects.all(), "run__dataset"))
    serializer_class = SatisfactionJudgmentSerializer
    permission_classes = (SeesEveryone,)
    filterset_fields = ("run", "user", "response", "status")
