"""How many passwords may be tried: of one user name, and of all, from one address.

An attempt is counted before its password is looked at, in one transaction, and not counted any more
once it has signed somebody in: however many are made at once, no more than the limit are looked at.
A count ends AXES_COOLOFF_TIME after its first attempt. Whoever is locked out is not counted, so the
lock ends in time however often they try; and no count reaches beyond its address, so nobody locks
out somebody else.

The rows are those of django-axes, which lists them in the admin console: one for each user name
with an empty user agent, and one for the whole address.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from sensejudge_site.refused_sign_ins import LockedOutError

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
