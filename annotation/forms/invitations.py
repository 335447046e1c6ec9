"""What a manager says of an invitation, and what a newcomer says of themselves."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.invitations import NEW_ACCOUNTS
from annotation.models import User, validate_name
from annotation.services.invitations import NewAccount

MAX_PLACES: Final = 100_000
_USUAL_DAYS: Final = 30
_MOST_DAYS: Final = 36525


def _usual_last_day() -> date:
    return timezone.localdate() + timedelta(days=_USUAL_DAYS)


class InvitationForm(forms.Form):
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
