"""Writing a preference, and judging edited ones again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.refusals import Refused
from judging.core.preference_editing import MOST_CHARACTERS, edited_text


class PreferenceForm(forms.Form):
    """One preference's text, plain."""

    text = forms.CharField(
        label=_("What this annotator prefers"),
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea({"rows": 6}),
        help_text=_("Plain text, one or a few sentences, as you would explain it to a judge."),
    )

    def __init__(self, data: Any = None, *, own: bool, initial: Any = None) -> None:
        """Address who writes of their own preferences."""
        super().__init__(data, initial=initial)
        if own:
            self.fields["text"].label = _("What you prefer")

    def clean_text(self) -> str:
        """The text as it will be stored."""
        try:
            return edited_text(str(self.cleaned_data["text"]))
        except Refused as error:
            raise forms.ValidationError(gettext(error.text), code=error.code) from error


class AgainForm(forms.Form):
    """What judging again may cost; empty for no limit."""

    budget = forms.DecimalField(
        label=_("Budget"), required=False, min_value=0, max_digits=14, decimal_places=4
    )


class ControlForm(forms.Form):
    """Which control of a test run is judged: another annotator's set, or the generic rubric."""

    RUBRIC = "rubric"

    control = forms.ChoiceField()
    budget = forms.DecimalField(required=False, min_value=0, max_digits=14, decimal_places=4)

    def __init__(self, data: Any = None, *, others: Iterable[int]) -> None:
        """Offer the annotators whose sets can be tried, by number."""
        super().__init__(data)
        field = self.fields["control"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(str(key), str(key)) for key in others] + [(self.RUBRIC, self.RUBRIC)]

    def other(self) -> int | None:
        """Whose preferences; None for the generic rubric."""
        chosen = self.cleaned_data["control"]
        return None if chosen == self.RUBRIC else int(chosen)
