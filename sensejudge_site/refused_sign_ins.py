"""Sign-ins that are refused without a look at the password, on pages and in the API alike.

The API answers these errors by itself, with their status, code and `Retry-After`; on pages
`RefusedSignIns` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import ClassVar, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from rest_framework.exceptions import APIException

_SOON: Final = 3  # seconds


class SignInRefusedError(APIException):
    """No sign-in, whatever the password is; `wait` are the seconds until another try may do."""

    title: ClassVar[str | Promise]
    wait: int | None = None


class BusyError(SignInRefusedError):
    """Enough passwords are being checked at this moment."""

    status_code = HTTPStatus.SERVICE_UNAVAILABLE
    default_code = "busy"
    default_detail = _(
        "Too many people are signing in right now. Wait a few seconds and try again."
    )
    title = _("Too many sign-ins at once")
    wait = _SOON


class LockedOutError(SignInRefusedError):
    """There were too many wrong passwords."""

    status_code = HTTPStatus.TOO_MANY_REQUESTS
    default_code = "locked-out"
    title = _("Sign-in temporarily locked")

    def __init__(self, *, by_name: bool, left: timedelta) -> None:
        """For how long; of one user name, or of all from this address."""
        self.wait = max(1, math.ceil(left.total_seconds()))
        minutes = math.ceil(self.wait / 60)
        if by_name:
            text = ngettext(
                "There were too many wrong passwords for this user name. Try again in %(minutes)d "
                "minute. If you forgot the password, ask a manager to set a new one.",
                "There were too many wrong passwords for this user name. Try again in %(minutes)d "
                "minutes. If you forgot the password, ask a manager to set a new one.",
                minutes,
            )
        else:
            text = ngettext(
                "There were too many wrong passwords from your network. Try again in %(minutes)d "
                "minute.",
                "There were too many wrong passwords from your network. Try again in %(minutes)d "
                "minutes.",
                minutes,
            )
        super().__init__(text % {"minutes": minutes})


class KnownPasswordError(SignInRefusedError):
    """Everybody knows this password, and the request is not from the machine of the site."""

    status_code = HTTPStatus.FORBIDDEN
    default_code = "known-password"
    default_detail = _(
        "The demo password is public, so it works only on the machine that runs this site: at "
        "http://127.0.0.1, with “manage.py serve” or granian and no proxy. Sign in there, or ask "
        "an administrator for another password."
    )
    title = _("Demo password not accepted here")


class RefusedSignIns:
    """Middleware: the page of a sign-in that was refused."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page of this error; None for any other."""
        if not isinstance(error, SignInRefusedError):
            return None
        context = {"title": error.title, "text": error.detail}
        page = render(request, "sign_in_refused.html", context, status=error.status_code)
        if error.wait is not None:
            page.headers["Retry-After"] = str(error.wait)
        return page
