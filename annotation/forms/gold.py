"""The answer that a manager holds to be right of an item, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.answers import SCORES, TargetKind
from annotation.core.choices import Verdict


class GoldForm(forms.Form):
    """An answer in the coordinates in which it is stored, and its reason."""

    answer = forms.ChoiceField(label=_("Correct answer"), widget=forms.RadioSelect)
    rationale = forms.CharField(
        label=_("Rationale"), max_length=4000, widget=forms.Textarea(attrs={"rows": 2})
    )

    since = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def __init__(self, *args: Any, kind: TargetKind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["answer"] = forms.ChoiceField(
            label=_("Correct answer"), widget=forms.RadioSelect, choices=_choices(kind)
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


def _choices(kind: TargetKind) -> list[tuple[str, Any]]:
    if kind is TargetKind.COMPARISON:
        return [
            (Verdict.A.value, _("A is better")),
            (Verdict.B.value, _("B is better")),
            (Verdict.TIE.value, _("Tie")),
        ]
    return [(str(score), str(score)) for score in SCORES]
