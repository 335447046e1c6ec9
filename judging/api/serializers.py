"""The JSON shape of runs, preferences and judgments; keys are nowhere in rows."""

from __future__ import annotations

from rest_framework import serializers

from judging.models import JudgeRun, Judgment, Preference, PreferenceSet, SatisfactionJudgment


class JudgeRunSerializer(serializers.ModelSerializer[JudgeRun]):
    """A run with the snapshot of its configuration.

    `writer` distilled or built memories where the judge did not; of a run that applies sets,
    `config` says who selected and who distilled them.
    """

    dataset = serializers.SlugField(source="dataset.slug")
    annotator = serializers.CharField(source="annotator.username", allow_null=True, default=None)

    class Meta:
        model = JudgeRun
        fields = (
            "id",
            "kind",
            "dataset",
            "annotator",
            "judge",
            "writer",
            "parent",
            "config",
            "status",
            "stage",
            "error_code",
            "created_at",
            "started_at",
            "finished_at",
        )


class PreferenceSerializer(serializers.ModelSerializer[Preference]):
    """A version of a preference with where it comes from; `root` is null for the first version."""

    edited_by = serializers.CharField(source="edited_by.username", allow_null=True, default=None)

    class Meta:
        model = Preference
        fields = (
            "id",
            "run",
            "kind",
            "control",
            "draw",
            "scenario",
            "annotator",
            "source_comparison",
            "source_verdict",
            "position",
            "status",
            "text",
            "language",
            "judge",
            "call",
            "raw",
            "version",
            "previous",
            "root",
            "active",
            "edited_by",
            "error_code",
            "created_at",
        )


class PreferenceSetSerializer(serializers.ModelSerializer[PreferenceSet]):
    """A selected set with the evidence for it."""

    class Meta:
        model = PreferenceSet
        fields = (
            "id",
            "run",
            "scenario",
            "annotator",
            "control",
            "draw",
            "members",
            "columns",
            "rows",
            "matrix",
            "selection",
            "dev_accuracy",
            "leave_one_out",
            "null_p95",
            "p_value",
            "base_accuracy",
            "p_over_base",
            "is_used",
        )


class JudgmentSerializer(serializers.ModelSerializer[Judgment]):
    """A verdict in the comparison's own coordinates, or an error code."""

    class Meta:
        model = Judgment
        fields = (
            "id",
            "run",
            "comparison",
            "preference",
            "order",
            "status",
            "verdict",
            "log_odds",
            "error_code",
        )


class SatisfactionJudgmentSerializer(serializers.ModelSerializer[SatisfactionJudgment]):
    """A score, raw and calibrated, or an error code."""

    class Meta:
        model = SatisfactionJudgment
        fields = (
            "id",
            "run",
            "user",
            "response",
            "session",
            "memory",
            "status",
            "score",
            "expected_score",
            "calibrated",
            "calibration",
            "fallback_reason",
            "reason",
            "analysis",
            "error_code",
        )
