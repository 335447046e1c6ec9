"""What somebody sends to change their own password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from annotation.models import User


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
