"""What managers write for annotators to read and answer before they begin."""

from __future__ import annotations

from typing import Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.numbers import number_in
from annotation.core.quiz import (
    MAX_CHOICE_CHARS,
    MAX_CHOICES,
    MAX_EXPLANATION_CHARS,
    MAX_QUESTION_CHARS,
    MAX_QUESTIONS,
    EditAction,
    Quiz,
    QuizFault,
    QuizFaultCode,
    QuizQuestion,
)

MAX_TEXT: Final = 20_000
_MAX_BLOCKS: Final = 100  # of what a browser sends; a quiz of more than 20 is refused with a word

FAULTS: Final = {
    QuizFaultCode.TOO_MANY_QUESTIONS: _("Too many questions; the maximum is %(questions)d."),
    QuizFaultCode.NO_QUESTION: _("The question is empty."),
    QuizFaultCode.QUESTION_TWICE: _("This question appears twice."),
    QuizFaultCode.TOO_FEW_CHOICES: _("A question needs at least two choices."),
    QuizFaultCode.TOO_MANY_CHOICES: _("Too many choices; the maximum is %(choices)d."),
    QuizFaultCode.EMPTY_CHOICE: _("A choice is empty. Fill it in or remove it."),
    QuizFaultCode.CHOICE_TWICE: _("Two choices are the same."),
    QuizFaultCode.NO_ANSWER: _("No choice is marked as correct."),
    QuizFaultCode.TOO_LONG: _(
        "Something is too long: a question has at most %(question)d characters, a choice"
        " %(choice)d, an explanation %(explanation)d."
    ),
    QuizFaultCode.UNREADABLE: _("This question could not be read."),
}
_MOST: Final = {
    "questions": MAX_QUESTIONS,
    "choices": MAX_CHOICES,
    "question": MAX_QUESTION_CHARS,
    "choice": MAX_CHOICE_CHARS,
    "explanation": MAX_EXPLANATION_CHARS,
}


class GuidelinesForm(forms.Form):
    """New guidelines; `since` is the version on which they were written."""

    text = forms.CharField(
        label=_("Guidelines"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 18}),
        help_text=_("Markdown. Leave empty if there is nothing to read."),
    )
    since = forms.IntegerField(min_value=1, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        """The text with one kind of line ends: browsers send two characters for each."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")


class ConsentTextForm(forms.Form):
    """What annotators agree to, and whether they tell of themselves."""

    text = forms.CharField(
        label=_("Consent"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=_(
            "Markdown. Anyone who does not agree leaves the study. Leave empty to skip this step."
        ),
    )
    ask_profile = forms.BooleanField(
        label=_("Ask for the annotator profile"),
        required=False,
        help_text=_("Gender, age, occupation, personality and habits, by choices and tags."),
    )
    ask_again = forms.BooleanField(
        label=_("Ask everyone again"),
        required=False,
        help_text=_("Annotators who agreed before must agree again before they continue."),
    )
    since = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        """The text with one kind of line ends."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")

    def clean_since(self) -> int | None:
        """The version that the page showed."""
        return number_in(self.cleaned_data["since"] or "0")


def quiz_draft(data: QueryDict) -> Quiz:
    """The questions of the editor, as they were sent, right or wrong."""
    numbers = range(_MAX_BLOCKS)
    return tuple(_question(data, f"q{n}") for n in numbers if f"q{n}-question" in data)


def _question(data: QueryDict, name: str) -> QuizQuestion:
    answer = data.get(f"{name}-answer", "")
    return QuizQuestion(
        question=data.get(f"{name}-question", "").strip(),
        choices=tuple(choice.strip() for choice in data.getlist(f"{name}-choice")),
        answer=number_in(answer),
        explanation=data.get(f"{name}-explanation", "").replace("\r\n", "\n").strip(),
    )


def edit_wanted(data: QueryDict) -> tuple[EditAction, int, int] | None:
    """What a button of the editor asks for (`remove-choice:2:0`); None where it stores."""
    action, *places = data.get("do", "").split(":")
    known = {each.value: each for each in EditAction}
    numbers = [number for number in map(number_in, places) if number is not None]
    if action not in known or len(numbers) != len(places) or len(numbers) > 2:
        return None
    question, choice = [*numbers, 0, 0][:2]
    return known[action], question, choice


def fault_text(fault: QuizFault) -> str:
    """A fault in the reader's language, with its question."""
    text = str(FAULTS[fault.fault]) % _MOST
    if fault.question is None:
        return text
    return gettext("Question %(number)d: %(fault)s") % {"number": fault.question, "fault": text}
