"""Accounts, invitations, and the steps before labelling, with what a manager writes for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator, URLValidator
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.guidelines import (
    MAX_CHOICE_CHARS,
    MAX_CHOICES,
    MAX_EXPLANATION_CHARS,
    MAX_QUESTION_CHARS,
    MAX_QUESTIONS,
    EditAction,
    Quiz,
    QuizFault,
    QuizQuestion,
)
from annotation.core.numbers import number_in
from annotation.core.participants import NEW_ACCOUNTS, completion_for, unknown_placeholders
from annotation.core.profiles import QUESTIONS
from annotation.models import User, validate_name
from annotation.services.participants import NewAccount


class PasswordForm(forms.Form):
    """The password in force, and the one to come, twice."""

    current = forms.CharField(
        label=_("Current password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    password = forms.CharField(
        label=_("New password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("At least 8 characters, and not a common password."),
    )
    password_again = forms.CharField(
        label=_("Confirm new password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request.POST if request.method == "POST" else None)
        self._request, self._user = request, user

    def clean_current(self) -> str:
        """Refuse a wrong one, as the sign-in does: whoever tries many is locked out there too."""
        current = str(self.cleaned_data["current"])
        name = self._user.get_username()
        if authenticate(self._request, username=name, password=current) != self._user:
            raise ValidationError(_("This is not your current password."), code="password:wrong")
        return current

    def clean(self) -> dict[str, Any]:
        """Check the new password as Django does."""
        cleaned = super().clean() or {}
        password, again = cleaned.get("password"), cleaned.get("password_again")
        if password is None:
            return cleaned
        if again is not None and again != password:
            self.add_error("password_again", _("The two passwords do not match."))
        try:
            validate_password(password, self._user)
        except ValidationError as weak:
            self.add_error("password", weak)
        return cleaned


MAX_PLACES: Final = 100_000
_USUAL_DAYS: Final = 30
_MOST_DAYS: Final = 36525


def _usual_last_day() -> date:
    return timezone.localdate() + timedelta(days=_USUAL_DAYS)


class CompletionForm(forms.Form):
    """What an invitation ends with, for paid work."""

    completion = forms.CharField(
        label=_("Completion code or address"),
        max_length=500,
        required=False,
        help_text=_(
            "For paid work: shown to annotators who have no items left, unless they skipped more "
            "than they answered. In an https address, {worker} is replaced by the worker ID."
        ),
    )

    def clean_completion(self) -> str:
        """Refuse an address that no browser should open, or that cannot be filled in."""
        completion = str(self.cleaned_data["completion"])
        scheme, colon, rest = completion.partition("://")
        if not colon:
            return completion
        completion = f"{scheme.lower()}://{rest}"
        unknown = unknown_placeholders(completion)
        if unknown:
            raise ValidationError(
                gettext("Unknown placeholder {%(name)s}. Use {worker}.") % {"name": unknown[0]},
                code="invitation:placeholder",
            )
        try:
            URLValidator(schemes=["https"])(completion_for(completion, {}))
        except ValidationError as wrong:
            text = _("Enter a code, or an address that begins with https://.")
            raise ValidationError(text, code="invitation:completion") from wrong
        if "@" in rest.partition("/")[0]:
            text = _("Leave out what stands before the @: an address here has no user name in it.")
            raise ValidationError(text, code="invitation:user-name")
        return completion


class InvitationForm(CompletionForm):
    """A new link to a study."""

    note = forms.CharField(
        label=_("Note"),
        max_length=200,
        required=False,
        help_text=_("For example, who the link is for. Only managers see this."),
    )
    places = forms.IntegerField(
        label=_("Places"),
        min_value=1,
        max_value=MAX_PLACES,
        required=False,
    )
    last_day = forms.DateField(
        label=_("Last day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        initial=_usual_last_day,
        help_text=_("Leave empty to keep it open until all places are taken."),
    )

    field_order = ("note", "places", "last_day", "completion")

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data)
        text = gettext(
            "How many people can join. Leave empty for no limit (at most %(most)d new "
            "accounts per hour)."
        )
        self.fields["places"].help_text = text % {"most": NEW_ACCOUNTS}

    def clean_last_day(self) -> Any:
        """Refuse a day that is over, or beyond a lifetime: the calendar itself ends."""
        day = self.cleaned_data["last_day"]
        if day is not None and day < timezone.localdate():
            raise ValidationError(
                _("This day is in the past. Choose a later one."), code="invitation:past"
            )
        if day is not None and day > timezone.localdate() + timedelta(days=_MOST_DAYS):
            text = _("Choose a day within the next 100 years.")
            raise ValidationError(text, code="invitation:far")
        return day

    def clean(self) -> dict[str, Any]:
        """Refuse a link that would never end."""
        cleaned = super().clean() or {}
        if not self.errors and cleaned["places"] is None and cleaned["last_day"] is None:
            text = _("Set a last day or a number of places.")
            self.add_error("last_day", ValidationError(text, code="invitation:endless"))
        return cleaned

    def expires_at(self) -> datetime | None:
        """The midnight at which the last day ends."""
        day = self.cleaned_data["last_day"]
        if day is None:
            return None
        return timezone.make_aware(datetime.combine(day + timedelta(days=1), time.min))


class NewcomerForm(forms.Form):
    """An annotator's account.

    A colon is for imported raters, `<dataset>:<name>`: nobody may make an account in their name.
    """

    username = forms.CharField(
        label=_("User name"),
        max_length=60,
        validators=[
            RegexValidator(r"^[\w.@+\- ]+\Z", _("Use letters, digits and . @ + - _")),
            validate_name,
        ],
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    display_name = forms.CharField(
        label=_("Display name (optional)"),
        max_length=150,
        required=False,
        help_text=_("Leave empty to use your user name."),
        validators=[validate_name],
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        choices=[("", _("Keep current language")), *settings.LANGUAGES],
    )
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("At least 8 characters, and not a common password."),
    )
    password_again = forms.CharField(
        label=_("Confirm password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_username(self) -> str:
        """The name in its normal form, so that equal-looking names are equal."""
        return str(User.normalize_username(self.cleaned_data["username"]))

    def clean(self) -> dict[str, Any]:
        """Check the password as Django does, against the names too."""
        told = super().clean() or {}
        password = told.get("password")
        if password is None:
            return told
        again = told.get("password_again")
        if again is not None and again != password:
            self.add_error("password_again", _("The two passwords do not match."))
        user = User(username=told.get("username", ""), display_name=told.get("display_name", ""))
        try:
            validate_password(password, user)
        except ValidationError as weak:
            self.add_error("password", weak)
        return told

    def account(self) -> NewAccount:
        """The account, once the form is valid."""
        told = self.cleaned_data
        return NewAccount(told["username"], told["password"], told["display_name"])


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


WORDS: Final = {
    "Memorization": _("Did the assistant forget what was said earlier in the conversation?"),
    "Detail": _("How detailed were the individual suggestions overall?"),
    "Availability": _("How useful were the replies for such a task in real life?"),
    "Diversity": _("How varied were the assistant's suggestions over the whole conversation?"),
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


MAX_TEXT: Final = 20_000
_MAX_BLOCKS: Final = 100  # of what a browser sends; a quiz of more than 20 is refused with a word

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
    text = gettext(fault.fault.label) % _MOST
    if fault.question is None:
        return text
    return gettext("Question %(number)d: %(fault)s") % {"number": fault.question, "fault": text}
