"""The JSON shape of what is labelled and of the labels."""

from __future__ import annotations

from typing import Any, TypeVar

from rest_framework import serializers

from annotation.models import (
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    User,
)

Label = TypeVar("Label", bound=PairwiseLabel | SatisfactionLabel)


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """A dataset."""

    class Meta:
        model = Dataset
        fields = ("id", "slug", "name", "description", "source", "licence", "simulated")


class ResponseSerializer(serializers.ModelSerializer[Response]):
    """One model's text; null text is not available, empty text is a response."""

    class Meta:
        model = Response
        fields = ("id", "model", "text", "original", "variant", "continues")


class ComparisonSerializer(serializers.ModelSerializer[Comparison]):
    """A comparison with both responses and the user message that they answer."""

    dataset = serializers.SlugField(source="turn.session.dataset.slug")
    scenario = serializers.CharField(source="turn.session.scenario.name")
    session = serializers.CharField(source="turn.session.key")
    user_message = serializers.CharField(source="turn.user_message", allow_null=True)
    response_a = ResponseSerializer()
    response_b = ResponseSerializer()

    class Meta:
        model = Comparison
        fields = (
            "id",
            "key",
            "dataset",
            "scenario",
            "session",
            "turn",
            "user_message",
            "response_a",
            "response_b",
        )


class LabelSerializer(serializers.ModelSerializer[Label]):
    """A label; annotators are not told which of their answers are to hidden repeats."""

    annotator = serializers.CharField(source="annotator.username")
    study = serializers.SlugField(source="study.slug", allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """The fields that the reader may see."""
        fields: dict[str, Any] = super().get_fields()
        user = getattr(self.context.get("request"), "user", None)
        if isinstance(user, User) and not user.sees_everyone:
            fields.pop("repeat_index")
        return fields


class PairwiseLabelSerializer(LabelSerializer[PairwiseLabel]):
    """A verdict in the comparison's own coordinates, with the order it was shown in."""

    class Meta:
        model = PairwiseLabel
        fields = (
            "id",
            "comparison",
            "annotator",
            "study",
            "repeat_index",
            "verdict",
            "strength",
            "both_bad",
            "shown_order",
            "comment",
            "active_seconds",
            "created_at",
        )


class SatisfactionLabelSerializer(LabelSerializer[SatisfactionLabel]):
    """A rating of 1-5; the reason is null exactly when the score is above 3."""

    class Meta:
        model = SatisfactionLabel
        fields = (
            "id",
            "response",
            "session",
            "annotator",
            "study",
            "repeat_index",
            "score",
            "reason",
            "hallucination",
            "comment",
            "active_seconds",
            "created_at",
        )
