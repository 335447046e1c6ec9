"""Replays for researchers' scripts: started, looked after, read."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.parsers import BoundedJSONParser
from annotation.api.views import SeesEveryone
from annotation.models import User
from annotation.queries.datasets import of_no_deleted
from benchmark.api.serializers import ReplaySerializer, ReplayStartSerializer
from benchmark.core.replay import ReplayScale
from benchmark.queries.replay import RUN_KIND, stored_replay
from benchmark.services.replay_runs import estimate_replay, plan_replay
from benchmark.submission import submit
from judging.core.estimates import estimates_as_json
from judging.models import JudgeRun


class StartsReplays(BasePermission):
    """Managers and admins, as on the pages."""

    message = "Only managers can start runs."

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        """Whether the signed-in person may spend calls."""
        return isinstance(request.user, User) and request.user.is_manager


class ReplayFilter(filters.FilterSet):  # type: ignore[misc]  # no types in the package
    """By dataset slug and status."""

    dataset = filters.CharFilter("dataset__slug")

    class Meta:
        model = JudgeRun
        fields = ("status",)


class ReplayViewSet(ReadOnlyModelViewSet[JudgeRun]):
    """Replays."""

    queryset = of_no_deleted(
        JudgeRun.objects.filter(kind=RUN_KIND).select_related("dataset"), "dataset"
    )
    serializer_class = ReplaySerializer
    filterset_class = ReplayFilter
    parser_classes = (BoundedJSONParser,)

    def get_permissions(self) -> list[Any]:
        """Who reads may not start anything."""
        return [StartsReplays()] if self.action == "create" else [SeesEveryone()]

    @extend_schema(
        request=ReplayStartSerializer,
        responses={HTTPStatus.OK: OpenApiTypes.OBJECT, HTTPStatus.ACCEPTED: OpenApiTypes.OBJECT},
    )
    def create(self, request: Request) -> Response:
        """Start a replay, or join an equal one in progress (`attached`); docs/api.md.

        With `estimate` nothing is started: the answer has the calls and their cost.
        """
        try:
            sent = ReplayStartSerializer(data=request.data)
            sent.is_valid(raise_exception=True)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error
        asked = sent.request(created_by=request.user)
        if sent.validated_data["estimate"]:
            return Response(estimates_as_json(estimate_replay(asked)))
        run = submit(plan_replay(asked), again=sent.validated_data["again"])
        told = {**ReplaySerializer(run).data, "attached": run.attached}
        return Response(told, status=HTTPStatus.ACCEPTED)

    @extend_schema(
        parameters=[OpenApiParameter("scores", enum=[each.lower() for each in ReplayScale])],
        responses=OpenApiTypes.OBJECT,
    )
    def retrieve(self, request: Request, *_args: Any, **kwargs: Any) -> Response:
        """One, with its figures on a scale as `replay --json` has them; null until it is done."""
        choice = ChoiceField([each.lower() for each in ReplayScale])
        scale = choice.run_validation(request.query_params.get("scores", "calibrated"))
        run = get_object_or_404(self.get_queryset(), pk=kwargs["pk"])
        found = stored_replay(run.pk, scale=ReplayScale(scale.upper()))
        return Response({**ReplaySerializer(run).data, "figures": found and found.record()})
