"""The JSON shape of replays: what a script asks for, and how far it has come."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.queries.datasets import dataset_of
from benchmark.core.replay_items import items_named
from benchmark.services.replay_runs import DEFAULT_SEED, ReplayRequest
from judging.core.rules import LEARNED, GenerationContext, GenerationSettings
from judging.models import JudgeRun

_USUAL = GenerationSettings()


class NumberField(serializers.FloatField):
    """A number; true and false, which Python takes for 1 and 0, are none."""

    def to_internal_value(self, data: Any) -> float:
        """The number.

        Raises:
            ValidationError: it is none.
        """
        if isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class ReplayStartSerializer(serializers.Serializer[ReplayRequest]):
    """The fields of `manage.py replay`; an unknown one is a fault."""

    dataset = serializers.SlugField()
    candidates = serializers.ListField(child=serializers.CharField(), allow_empty=False)
    evaluator = serializers.CharField(default=LEARNED)
    items = serializers.CharField(default="all")
    contexts = serializers.ListField(
        child=serializers.ChoiceField([each.word for each in GenerationContext]),
        default=[GenerationContext.PREFIX.word],
        allow_empty=False,
    )
    seed = serializers.IntegerField(default=DEFAULT_SEED, min_value=0, max_value=2**31 - 1)
    temperature = NumberField(default=_USUAL.temperature, min_value=0, max_value=2)
    max_tokens = serializers.IntegerField(
        default=_USUAL.max_tokens, min_value=1, max_value=1_000_000
    )
    budget = serializers.DecimalField(
        max_digits=14, decimal_places=4, min_value=0, default=None, allow_null=True
    )
    again = serializers.BooleanField(default=False)
    estimate = serializers.BooleanField(default=False)

    def to_internal_value(self, data: Any) -> Any:
        """Its fields, all of them known.

        Raises:
            ValidationError: with everything that is wrong.
        """
        unknown = set(data) - set(self.fields) if isinstance(data, dict) else set()
        if unknown:
            listed = ", ".join(self.fields)
            message = f"Unknown field. Known fields: {listed}."
            faults = {str(name): [serializers.ErrorDetail(message, "unknown")] for name in unknown}
            raise serializers.ValidationError(faults)
        return super().to_internal_value(data)

    def request(self, **more: Any) -> ReplayRequest:
        """What is asked for, once it is valid.

        Raises:
            Refused: there is no such dataset; the items are none of those known.
        """
        sent = self.validated_data
        words = {each.word: each for each in GenerationContext}
        same = ("evaluator", "candidates", "seed", "temperature", "max_tokens", "budget")
        return ReplayRequest(
            dataset=dataset_of(sent["dataset"]),
            contexts=[words[word] for word in dict.fromkeys(sent["contexts"])],
            items=items_named(sent["items"]),
            **{name: sent[name] for name in same},
            **more,
        )


class ReplaySerializer(serializers.ModelSerializer[JudgeRun]):
    """A replay and how far it has come."""

    dataset = serializers.SlugField(source="dataset.slug")
    evaluator = serializers.CharField(source="config.evaluator")
    items = serializers.CharField(source="config.items")
    turns = serializers.IntegerField(source="config.replayed")
    candidates = serializers.SerializerMethodField()

    class Meta:
        model = JudgeRun
        fields = (
            *("id", "dataset", "evaluator", "items", "turns", "candidates", "status", "stage"),
            *("error_code", "created_at", "started_at", "finished_at"),
        )

    def get_candidates(self, run: JudgeRun) -> list[str]:
        """Their names."""
        return [each["name"] for each in run.config["candidates"]]
