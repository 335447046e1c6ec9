"""The admin console for endpoints, and for looking at calls and runs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from annotation.admin import JSON_FIELDS, ReadOnlyAdmin
from judging.models import (
    JudgeRun,
    LearnedModel,
    LlmCall,
    ModelEndpoint,
    Preference,
    PreferenceSet,
    PromptOverride,
    UserMemory,
)


class ModelEndpointForm(forms.ModelForm[ModelEndpoint]):
    """An endpoint; an empty field of further fields says that there are none."""

    def clean_extra_sampling(self) -> dict[str, Any]:
        """The object, never NULL."""
        return self.cleaned_data["extra_sampling"] or {}


@admin.register(ModelEndpoint)
class ModelEndpointAdmin(admin.ModelAdmin[ModelEndpoint]):
    """Endpoints (admins only): the key itself stays in the environment."""

    form = ModelEndpointForm
    formfield_overrides = JSON_FIELDS
    list_display = ("name", "model", "base_url", "key_variable", "concurrency", "enabled")
    list_filter = ("enabled",)
    search_fields = ("name", "model")
    fieldsets = (
        (None, {"fields": ("name", "enabled", "base_url", "model", "key_variable")}),
        (
            _("Sampling and limits"),
            {
                "fields": (
                    "temperature",
                    "max_tokens",
                    "extra_sampling",
                    "context_tokens",
                    "timeout_seconds",
                    "concurrency",
                    "requests_per_minute",
                    "tokens_per_minute",
                )
            },
        ),
        (
            _("Prices"),
            {
                "fields": (
                    "input_price",
                    "cached_input_price",
                    "output_price",
                    "batch_price_share",
                )
            },
        ),
        (
            _("Capabilities"),
            {"fields": ("has_logprobs", "has_json_schema", "has_system_role", "has_scores")},
        ),
    )


@admin.register(PromptOverride)
class PromptOverrideAdmin(ReadOnlyAdmin):
    """Edited prompts, every version; they are written on their own pages."""

    list_display = ("name", "language", "version", "dataset", "study", "created_by", "created_at")
    list_filter = ("name", "language")
    list_select_related = ("dataset", "study", "created_by")


@admin.register(JudgeRun)
class JudgeRunAdmin(ReadOnlyAdmin):
    """Runs; they are started and stopped on their own pages."""

    list_display = ("id", "kind", "dataset", "annotator", "judge", "status", "created_at")
    list_filter = ("kind", "status", "judge")
    list_select_related = ("dataset", "annotator")


@admin.register(LlmCall)
class LlmCallAdmin(ReadOnlyAdmin):
    """Replies as they came."""

    list_display = ("id", "model", "finish_reason", "input_tokens", "output_tokens", "created_at")
    list_filter = ("model",)


@admin.register(Preference)
class PreferenceAdmin(ReadOnlyAdmin):
    """Preference texts."""

    list_display = ("id", "kind", "control", "annotator", "scenario", "status", "version")
    list_filter = ("kind", "control", "status")
    list_select_related = ("annotator", "scenario")


@admin.register(PreferenceSet)
class PreferenceSetAdmin(ReadOnlyAdmin):
    """Selected sets."""

    list_display = ("id", "annotator", "scenario", "control", "dev_accuracy", "p_value")
    list_filter = ("control",)
    list_select_related = ("annotator", "scenario")


@admin.register(UserMemory)
class UserMemoryAdmin(ReadOnlyAdmin):
    """User memories, every version."""

    list_display = ("id", "user", "target_scenario", "version", "judge", "status")
    list_filter = ("status", "judge")
    list_select_related = ("user", "target_scenario")


@admin.register(LearnedModel)
class LearnedModelAdmin(ReadOnlyAdmin):
    """Trained evaluators, every version."""

    list_display = ("id", "dataset", "version", "method", "created_at")
    list_filter = ("dataset",)
    list_select_related = ("dataset",)
    exclude = ("artefact", "held_out")
