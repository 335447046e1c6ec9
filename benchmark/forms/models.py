"""What readers may ask of satisfaction by model."""

from __future__ import annotations

from django import forms

from benchmark.forms import DatasetForm
from benchmark.queries.model_satisfaction import SatisfactionQuestion, Voice
from benchmark.queries.model_satisfaction_rows import ModelAnswerFilter


class ModelsForm(DatasetForm):
    """A question to the page; a scenario or run of another dataset means nothing."""

    scenario = forms.RegexField(r"^[0-9]{1,18}$", required=False)
    run = forms.RegexField(r"^[0-9]{1,18}$", required=False)
    study = forms.SlugField(required=False, max_length=80)
    voice = forms.ChoiceField(required=False, choices=[(each.value, "") for each in Voice])

    def question(self) -> SatisfactionQuestion:
        """What is asked."""
        asked = self.cleaned_data
        told = asked["voice"]
        finer = {
            name: int(asked[name])
            for name in ("scenario", "run")
            if asked[name] and self.same_dataset()
        }
        return SatisfactionQuestion(
            dataset=asked["dataset"],
            study=asked["study"],
            voice=Voice(told) if told else None,
            **finer,
        )


class ModelRowsForm(ModelsForm):
    """A question to the answers behind a figure of one model."""

    model = forms.CharField(max_length=200, strip=False)
    topic = forms.CharField(required=False, max_length=120, strip=False)
    show = forms.CharField(required=False, max_length=40)
    answer = forms.CharField(required=False, max_length=16)

    def wanted(self) -> ModelAnswerFilter:
        """Which answers."""
        asked = self.cleaned_data
        return ModelAnswerFilter(asked["model"], asked["topic"], asked["show"])
