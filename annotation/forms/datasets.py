"""What a manager says of an import, and what a reader looks for in a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.formats.detect import AUTO, FORMATS, Format

_FORMAT_NAMES: Final = {
    "sensejudge": _("SenseJudge (JSONL)"),
    "pandalm": _("PandaLM test set"),
    "recllmsim": _("RecLLMSim (JSONL)"),
    "sensebench": _("SenseBench prompts"),
    "mtbench-questions": _("MT-Bench questions"),
    "mtbench-answers": _("MT-Bench answers of a model (FastChat)"),
    "rewardbench": _("RewardBench: chosen and rejected"),
    "uss": _("USS: dialogues with ratings"),
    "urs": _("URS: rated conversations (CSV)"),
    "llmbar": _("LLMBar with recorded judges"),
    "mtbench-votes": _("MT-Bench votes"),
    "fastchat-pairs": _("Pair judgments of FastChat"),
    "alpaca-eval": _("AlpacaEval annotations"),
}


class ImportForm(forms.Form):
    """A file, and the dataset that it goes to."""

    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_(
            "JSONL or a JSON array, optionally gzipped. All rows are checked before anything is "
            "imported."
        ),
    )
    format = forms.ChoiceField(label=_("Format"), initial=AUTO)
    dataset = forms.SlugField(
        label=_("Dataset"),
        max_length=80,
        help_text=_(
            "Short name: letters, digits, - and _. Rows are added to an existing dataset; nothing "
            "is overwritten."
        ),
        widget=forms.TextInput(attrs={"list": "known-datasets", "autocomplete": "off"}),
    )
    dry_run = forms.BooleanField(label=_("Validate only"), required=False)

    def __init__(self, *args: Any, formats: Mapping[str, Format] = FORMATS, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"] = forms.ChoiceField(
            label=_("Format"),
            choices=[
                (AUTO, _("Detect automatically")),
                *((name, _FORMAT_NAMES.get(name, name)) for name in formats),
            ],
        )


class SessionFilterForm(forms.Form):
    """Which sessions of a dataset to list; what makes no sense is ignored."""

    scenario = forms.TypedChoiceField(
        label=_("Scenario"), required=False, coerce=int, empty_value=None
    )
    q = forms.CharField(label=_("Contains"), required=False, max_length=200)

    def __init__(self, *args: Any, scenarios: Sequence[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", _("All")), *((str(key), name) for key, name in scenarios)]
        self.fields["scenario"] = forms.TypedChoiceField(
            label=_("Scenario"), required=False, coerce=int, empty_value=None, choices=choices
        )

    def wanted(self) -> tuple[int | None, str]:
        """The scenario's id or None, and the text to look for."""
        self.is_valid()
        return self.cleaned_data.get("scenario"), self.cleaned_data.get("q", "")
