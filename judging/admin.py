"""The admin console for endpoints, and for looking at calls and runs."""

from __future__ import annotations

from django import forms
from django.contrib import admin, messages
from django.db.models.query import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.admin import JSON_FIELDS, DeletedOnPages, ReadOnlyAdmin
from annotation.core.refusals import Refused
from annotation.models import User
from judging.forms.endpoints import EndpointForm, failure_text
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
from judging.services.abilities import ABILITIES, find_abilities
from judging.services.endpoints import save_endpoint


@admin.register(ModelEndpoint)
class ModelEndpointAdmin(DeletedOnPages):
    """Endpoints (admins only): the key itself stays in the environment."""

    form = EndpointForm
    formfield_overrides = JSON_FIELDS
    list_display = (
        "name",
        "model",
        "base_url",
        "key_variable",
        "concurrency",
        "returns_letters",
        "enabled",
    )
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
                    "extra_headers",
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
            {
                "fields": (
                    "has_logprobs",
                    "has_json_schema",
                    "has_system_role",
                    "probe_address",
                    "found_context_tokens",
                    "found_tokens_per_second",
                    "measured_address",
                    "lessons_in_words",
                    "has_scores",
                ),
                "description": _(
                    "Unknown capabilities are checked with one small request each when a run "
                    "first uses the endpoint, and again after its base URL or model changes. The "
                    "context length it reports and its speed are checked too."
                ),
            },
        ),
    )
    readonly_fields = (
        "probe_address",
        "found_context_tokens",
        "found_tokens_per_second",
        "measured_address",
        "lessons_in_words",
    )
    actions = ("check_capabilities",)

    @admin.display(description=_("returns log-probabilities"), boolean=True)
    def returns_letters(self, row: ModelEndpoint) -> bool | None:
        """As known for its base URL and model of now."""
        return row.can("logprobs")

    @admin.display(description=_("Learned from its answers"))
    def lessons_in_words(self, row: ModelEndpoint) -> str:
        """What its refusals taught."""
        return " ".join(row.lessons) or "–"

    @admin.action(description=_("Check capabilities"), permissions=["change"])
    def check_capabilities(self, request: HttpRequest, chosen: QuerySet[ModelEndpoint]) -> None:
        """Asks the endpoints anew what they can do, and says what was found."""
        for row in chosen:
            try:
                failure = find_abilities(row, again=True)
            except Refused as error:
                self.message_user(request, f"{row}: {error.text}", messages.ERROR)
                continue
            if failure is not None:
                self.message_user(request, f"{row}: {failure_text(failure)}", messages.ERROR)
                continue
            self.message_user(request, f"{row}: {_in_words(row)}")

    def save_model(
        self,
        request: HttpRequest,
        obj: ModelEndpoint,
        form: forms.ModelForm[ModelEndpoint],
        change: bool,  # noqa: ARG002, FBT001 - Django calls it so
    ) -> None:
        """What somebody states holds for the address that it was stated for."""
        assert isinstance(request.user, User)  # noqa: S101 - the console asks for one
        save_endpoint(obj, changed=form.changed_data, by=request.user)


def _in_words(row: ModelEndpoint) -> str:
    """What is known of an endpoint, in words."""
    words = {True: gettext("yes"), False: gettext("no"), None: gettext("unknown")}
    names = {
        "logprobs": gettext("returns log-probabilities"),
        "json_schema": gettext("supports JSON schema"),
        "system_role": gettext("supports system messages"),
    }
    told = [f"{names[ability]}: {words[row.can(ability)]}" for ability in ABILITIES]
    context = words[None] if row.told_context is None else f"{row.told_context:,}"
    speed = words[None] if row.speed is None else f"{row.speed:.1f}"
    return ", ".join(
        [
            *told,
            f"{gettext('context told by the endpoint (tokens)')}: {context}",
            f"{gettext('measured speed (tokens per second)')}: {speed}",
        ]
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
