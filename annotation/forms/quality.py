"""Gold answers, and what readers may ask about a study's quality."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import Verdict
from annotation.core.labelling import SCORES, TargetKind
from annotation.core.quality import QualityMeasure
from annotation.queries.quality import QualityQuestion

SKIPPED: Final = "skipped"
"""Stands beside the figures where rows are asked for: the items that were given back."""

_LARGEST_ID: Final = 2**63 - 1


class QualityForm(forms.Form):
    """A question to the page; below `seconds` an answer is too fast."""

    seconds = forms.FloatField(required=False, min_value=0.1, max_value=3600)

    def question(self, study: str) -> QualityQuestion:
        """What is asked of a study."""
        return QualityQuestion(study=study, seconds=self.cleaned_data["seconds"])


class QualityRowsForm(QualityForm):
    """A question to the answers behind a figure, of one annotator or of all."""

    figure = forms.ChoiceField(
        choices=[(each.value, each.value) for each in QualityMeasure] + [(SKIPPED, SKIPPED)]
    )
    annotator = forms.IntegerField(required=False, min_value=1, max_value=_LARGEST_ID)
    outcome = forms.ChoiceField(required=False, choices=[("hit", "hit"), ("miss", "miss")])


class GoldForm(forms.Form):
    """An answer in the coordinates in which it is stored, and its reason."""

    answer = forms.ChoiceField(label=_("Correct answer"), widget=forms.RadioSelect)
    rationale = forms.CharField(
        label=_("Reason (optional)"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Managers see it beside the answer."),
    )

    since = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def __init__(self, *args: Any, kind: TargetKind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["answer"] = forms.ChoiceField(
            label=_("Correct answer"), widget=forms.RadioSelect, choices=gold_choices(kind)
        )

    def given(self) -> Verdict | int:
        """What is held to be right."""
        answer: str = self.cleaned_data["answer"]
        return int(answer) if answer.isdigit() else Verdict(answer)


def seen_at(text: str) -> datetime | None:
    """When somebody looked at what stands, as a page sends it back; None where it says nothing."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def gold_choices(kind: TargetKind) -> list[tuple[str, Any]]:
    """Every answer that may be held right, as it is sent and as it reads."""
    if kind is TargetKind.COMPARISON:
        return [
            (Verdict.A.value, _("A is better")),
            (Verdict.B.value, _("B is better")),
            (Verdict.TIE.value, _("Tie")),
        ]
    return [(str(score), str(score)) for score in SCORES]
