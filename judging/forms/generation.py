"""Having models answer the turns of a dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset, Scenario, Session, User
from annotation.models.wording import choices_of
from annotation.queries.pairing import compared_models
from judging.core.endpoints import family_of
from judging.core.rules import AnsweredTurns, GenerationContext, GenerationSettings
from judging.core.targets import RunTarget, Targets
from judging.forms.fields import again_field, budget_field
from judging.models import ModelEndpoint, RunKind
from judging.queries.endpoints import likely_models
from judging.services.run_requests import RunRequest

MOST_SAMPLES = 100
MOST_TOKENS = 1_000_000
_USUAL = GenerationSettings()
FILTERS: Final = ("scenario", "language", "sample")
ADVANCED: Final = ("temperature", "max_tokens", "system", "no_system", "again")
"""Folded: each has a default that will do."""


class GenerationForm(forms.Form):
    """Which models answer what, how, and for how much."""

    models = forms.MultipleChoiceField(
        label=_("Models"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Each model has a run of its own. A judge may favour models of its family."),
        error_messages={"required": _("Choose at least one model.")},
    )
    turns = forms.ChoiceField(
        label=_("Turns to answer"),
        choices=choices_of(AnsweredTurns),
        initial=_USUAL.turns.value,
        help_text=_(
            "A conversation with original responses is continued from these. Otherwise the model "
            "continues its own replies, so the turns before are generated as well."
        ),
    )
    context = forms.ChoiceField(
        label=_("Context shown to the model"),
        choices=choices_of(GenerationContext),
        initial=_USUAL.context.value,
        help_text=_(
            "What is added comes from the user's other scenarios only. No rating is shown, except "
            "as far as a stored memory describes them."
        ),
    )
    samples = forms.IntegerField(
        label=_("Responses per turn"),
        initial=_USUAL.samples,
        min_value=1,
        max_value=MOST_SAMPLES,
        help_text=_("Identical responses are stored once."),
    )
    temperature = forms.FloatField(
        label=_("Temperature"), initial=_USUAL.temperature, min_value=0, max_value=2
    )
    max_tokens = forms.IntegerField(
        label=_("Max output tokens"),
        initial=_USUAL.max_tokens,
        min_value=1,
        max_value=MOST_TOKENS,
        help_text=_("Of each response, including its reasoning."),
    )
    system = forms.CharField(
        label=_("System prompt"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Leave empty to use each conversation's own."),
    )
    no_system = forms.BooleanField(label=_("No system prompt"), required=False)
    scenario = forms.MultipleChoiceField(
        label=_("Scenarios"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave empty for all."),
    )
    language = forms.MultipleChoiceField(
        label=_("Languages"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave empty for all."),
    )
    sample = forms.IntegerField(
        label=_("Max conversations"),
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text=_("A random sample, the same for every model. Leave empty for all."),
    )
    budget = budget_field()
    again = again_field()

    def __init__(self, data: Any = None, *, dataset: Dataset, **kwargs: Any) -> None:
        """Offer the endpoints in use, and what the dataset can be filtered by."""
        super().__init__(data, **kwargs)
        endpoints = ModelEndpoint.objects.filter(enabled=True, has_scores=False).order_by("name")
        scenarios = Scenario.objects.filter(dataset=dataset).order_by("position", "pk")
        sessions = Session.objects.filter(dataset=dataset).exclude(language="").order_by("language")
        codes = sessions.values_list("language", flat=True).distinct()
        models = [(row.name, _model(row)) for row in endpoints]
        self.has_models = bool(models)
        self._offer("models", models)
        self.fields["models"].initial = likely_models(compared_models(dataset))
        self._offer("scenario", [(row.name, row.name) for row in scenarios], least=2)
        self._offer("language", [(code, code) for code in codes], least=2)

    def _offer(self, name: str, choices: list[tuple[str, str]], *, least: int = 0) -> None:
        """The choices of a field, which is left out where there are too few to choose from."""
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 - declared above
        field.choices = choices
        if len(choices) < least:
            del self.fields[name]

    @property
    def plain(self) -> list[forms.BoundField]:
        """What everybody decides on."""
        folded = {*FILTERS, *ADVANCED}
        return [field for field in self.visible_fields() if field.name not in folded]

    @property
    def folds(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """What is folded: its title, its fields, and whether it is open for an error in it."""
        named = ((gettext("Only some of them"), FILTERS), (gettext("Advanced settings"), ADVANCED))
        return [
            (
                title,
                [self[name] for name in names if name in self.fields],
                not self.errors.keys().isdisjoint(names),
            )
            for title, names in named
        ]

    def requests(self, *, dataset: Dataset, by: User) -> list[RunRequest]:
        """What is asked for, of each model that was chosen."""
        cleaned = self.cleaned_data
        request = RunRequest(
            kind=RunKind.GENERATE,
            dataset=dataset,
            targets=Targets(
                kind=RunTarget.ALL,
                scenarios=tuple(cleaned.get("scenario", ())),
                languages=tuple(cleaned.get("language", ())),
                sample=cleaned["sample"],
            ),
            generation=GenerationSettings(
                context=GenerationContext(cleaned["context"]),
                turns=AnsweredTurns(cleaned["turns"]),
                samples=cleaned["samples"],
                temperature=cleaned["temperature"],
                max_tokens=cleaned["max_tokens"],
                system="" if cleaned["no_system"] else cleaned["system"] or None,
            ),
            budget=cleaned["budget"],
            created_by=by,
        )
        return [replace(request, judge=name) for name in cleaned["models"]]


def _model(row: ModelEndpoint) -> str:
    """An endpoint with the model that stands behind it, and the family of that."""
    family = family_of(row.model)
    named = row.model if row.name == row.model else f"{row.name}: {row.model}"
    return f"{named} ({family})" if family and family != row.model else named
