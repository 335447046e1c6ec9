"""Limits on attempts to sign in: by whom, from which address, and with a password that all know."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, ClassVar, Final

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.core import checks
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from rest_framework.exceptions import APIException

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_UNKNOWN: Final = "::"
_NETWORK_BITS: Final = 64  # of IPv6: whoever has one address of such a network has all of them


def client_address(request: HttpRequest) -> str:
    """The client's IPv4 address, or its IPv6 network; "::" where a server tells none.

    Of TRUSTED_PROXIES proxies in front, each appends to `X-Forwarded-For` where its request came
    from; what stands further left was sent by the client. A request with fewer of them came past a
    proxy, and counts for who sent it.
    """
    sender = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(hops) >= settings.TRUSTED_PROXIES:
            sender = _counted(hops[-settings.TRUSTED_PROXIES].strip()) or sender
    return _counted(sender) or _UNKNOWN


def check_trusted_proxies(**_options: Any) -> list[checks.CheckMessage]:
    """A warning where a proxy is in front and everybody has its address."""
    if not settings.HTTPS or settings.TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "HTTPS implies a proxy, but TRUSTED_PROXIES is 0: wrong passwords from one client lock "
            "out everyone.",
            hint="Set TRUSTED_PROXIES to the number of proxies that append to X-Forwarded-For.",
            id="sensejudge.W002",
        )
    ]


def _counted(word: str) -> str:
    """An address as it is counted; "" for a word that is none."""
    try:
        address = ip_address(word)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), _NETWORK_BITS), strict=False).network_address)
    return str(address)


LOOPBACK: Final = frozenset({"127.0.0.1", "::1"})
"""These two exactly: another address of 127.0.0.0/8 may be given to a proxy or a container."""

_LISTENING: Final = "sensejudge.listening"  # no header: those of a client begin with HTTP_
_PROXY: Final = (
    *("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP", "HTTP_TRUE_CLIENT_IP"),
    *("HTTP_CF_CONNECTING_IP", "HTTP_X_CLUSTER_CLIENT_IP", "HTTP_FASTLY_CLIENT_IP"),
)
_PROXY_PREFIX: Final = "HTTP_X_FORWARDED"


def with_addresses(application: WSGIApplication, addresses: Sequence[str]) -> WSGIApplication:
    """The application, which learns of each request where its server listens.

    `addresses` is read at each request: a server knows them only after it was made.
    """

    def listening(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_LISTENING] = addresses
        return application(environ, start_response)

    return listening


def is_from_this_machine(environ: Mapping[str, Any]) -> bool:
    """Whether a request came to a loopback address, and no proxy says that it passed it on."""
    if any(name in _PROXY or name.startswith(_PROXY_PREFIX) for name in environ):
        return False
    addresses = _addresses(environ)
    return bool(addresses) and LOOPBACK.issuperset(addresses)


def _addresses(environ: Mapping[str, Any]) -> Sequence[str]:
    """Every address that the request's socket may have at this end; none where nobody knows."""
    if _LISTENING in environ:
        addresses: Sequence[str] = environ[_LISTENING]
        return addresses
    if environ.get("SERVER_SOFTWARE") == "Granian":
        return [environ["SERVER_NAME"]]  # the address it was bound to; others write the Host here
    return []


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


_ANY_NAME: Final = "*"  # in the column of the user agent: a user name may be anything


class Handler(AxesDatabaseHandler):  # type: ignore[misc]  # axes ships no types
    """What django-axes asks before a password is checked, and tells of what came of it."""

    def is_allowed(self, request: Any, credentials: dict[str, Any] | None = None) -> bool:
        """Count an attempt.

        Raises:
            LockedOutError: there were too many; this one was not counted.
        """
        address = request.axes_ip_address
        now = timezone.now()
        with transaction.atomic():
            of_address = _count(address, "", _ANY_NAME, now)  # holds back others of the address
            _check(of_address, settings.ADDRESS_FAILURE_LIMIT, now)
            of_name = _count(address, (credentials or {})["username"], "", now)
            _check(of_name, settings.AXES_FAILURE_LIMIT, now)
            for count in (of_address, of_name):
                count.failures_since_start += 1
                count.save(update_fields=["failures_since_start", "attempt_time"])
        request.counted_attempt = (of_address, of_name)
        return True

    def user_login_failed(
        self, _sender: Any, _credentials: dict[str, Any], request: Any = None, **_more: Any
    ) -> None:
        """Say that this was the last attempt for now; it was counted before.

        Raises:
            LockedOutError: it was.
        """
        request = getattr(request, "_request", request)  # of REST framework's request
        if not hasattr(request, "counted_attempt"):
            return
        of_address, of_name = request.counted_attempt
        _check(of_address, settings.ADDRESS_FAILURE_LIMIT, timezone.now())
        _check(of_name, settings.AXES_FAILURE_LIMIT, timezone.now())

    def user_logged_in(self, _sender: Any, request: Any, _user: Any, **_more: Any) -> None:
        """Take the attempt back."""
        take_back(getattr(request, "_request", request))  # of REST framework's request

    def user_logged_out(self, *_arguments: Any, **_more: Any) -> None:
        """Nothing: signing out says nothing of passwords."""


def take_back(request: Any) -> None:
    """Count a request's attempt no more, nor any with its user name from there; tidy up.

    Nothing for a request that did not ask for a password.
    """
    if not hasattr(request, "counted_attempt"):
        return
    of_address, of_name = request.counted_attempt
    AccessAttempt.objects.filter(pk=of_name.pk).delete()
    AccessAttempt.objects.filter(pk=of_address.pk, failures_since_start__gt=0).update(
        failures_since_start=F("failures_since_start") - 1
    )
    _remove_ended()


def _count(address: str, username: str, user_agent: str, now: datetime) -> AccessAttempt:
    """A count that has not ended, locked until the transaction's end and not yet stored again."""
    count, _new = AccessAttempt.objects.select_for_update().get_or_create(
        username=username,
        ip_address=address,
        user_agent=user_agent,
        defaults={"failures_since_start": 0},
    )
    if not count.failures_since_start or count.attempt_time <= now - settings.AXES_COOLOFF_TIME:
        count.failures_since_start = 0
        count.attempt_time = now
    return count


def _check(count: AccessAttempt, limit: int, now: datetime) -> None:
    if count.failures_since_start >= limit:
        left = count.attempt_time + settings.AXES_COOLOFF_TIME - now
        raise LockedOutError(by_name=count.user_agent != _ANY_NAME, left=left)


@transaction.atomic
def _remove_ended() -> None:
    """Remove counts that ended, but those that somebody is counting on at this moment."""
    ended = AccessAttempt.objects.select_for_update(skip_locked=True).filter(
        attempt_time__lt=timezone.now() - settings.AXES_COOLOFF_TIME
    )
    AccessAttempt.objects.filter(pk__in=list(ended.values_list("pk", flat=True))).delete()
