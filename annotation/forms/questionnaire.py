"""What an annotator says about a whole session, once its replies are rated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.questionnaire import QUESTIONS

WORDS: Final = {
    "Memorization": _("Did the assistant forget what was said earlier in the conversation?"),
    "Detail": _("How detailed were the single suggestions, all in all?"),
    "Availability": _("How useful were the replies for such a task in real life?"),
    "Diversity": _("How varied was what the assistant offered in the whole conversation?"),
    "No": _("No"),
    "Yes": _("Yes"),
    "Detailed": _("Detailed"),
    "Fair": _("Fair"),
    "Brief": _("Brief"),
    "Very useful": _("Very useful"),
    "Some help": _("Some help"),
    "Not usable": _("Not usable"),
    "Varied": _("Varied"),
    "Monotonous": _("Monotonous"),
}
"""The questions, by name, and their answers in the reader's language."""


class QuestionnaireForm(forms.Form):
    """The questions about a session, all of them required."""

    def __init__(self, data: QueryDict | None, given: Mapping[str, str]) -> None:
        super().__init__(data, prefix="session", initial=dict(given))
        for question in QUESTIONS:
            self.fields[question.summary] = forms.ChoiceField(
                label=WORDS[question.summary],
                choices=[(option, WORDS[option]) for option in question.options],
                error_messages={"required": _("Choose an answer.")},
            )

    def answers(self) -> dict[str, str]:
        """The chosen answers, by question."""
        return dict(self.cleaned_data)
