"""What annotators send before their first item: that they agree, that they read, their answers."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.quiz import Quiz


class ConsentForm(forms.Form):
    """A tick under the consent; `text` names the words that stood above it."""

    text = forms.CharField(widget=forms.HiddenInput)
    agree = forms.BooleanField(
        label=_("I have read this, and I agree to take part."),
        error_messages={"required": _("Tick this box to continue, or leave the study.")},
    )


class ReadForm(forms.Form):
    """That a version of the guidelines was read."""

    version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class QuizForm(forms.Form):
    """The questions of a quiz; the right answers are nowhere in it."""

    quiz = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, questions: Quiz, data: QueryDict | None = None, *, digest: str) -> None:
        super().__init__(data, initial={"quiz": digest})
        for number, question in enumerate(questions, start=1):
            self.fields[f"q{number}"] = forms.TypedChoiceField(
                label=question.question,
                choices=list(enumerate(question.choices)),
                coerce=int,
                widget=forms.RadioSelect,
                error_messages={"required": _("Choose an answer.")},
            )

    def given(self) -> dict[int, int]:
        """The choice by number of the question, once the form is valid."""
        return {
            int(name[1:]): choice for name, choice in self.cleaned_data.items() if name != "quiz"
        }
