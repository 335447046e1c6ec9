"""Claims on calls: whoever is to ask for a reply says so first, in a row that others see.

A claim is one row by the call's key, so that of several processes one asks and the others wait for
its reply. It is written and dropped many at a time, in few statements. An owner that gives no sign
of life for `RUN_STALE_SECONDS` has lost its claims, as a run has its worker then; one whose process
is known to have died loses them when its run is taken up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from django.conf import settings
from django.db import connection
from django.utils import timezone

from judging.models import CallClaim
from judging.services.processes import has_died, this_process

KEYS_A_STATEMENT: Final = 500


class CallClaims:
    """The claims of one owner. Called from one thread at a time.

    Args:
        run_id: the run that the owner works on.
    """

    def __init__(self, *, run_id: int | None) -> None:
        self._run_id = run_id
        self._owner = f"{this_process()} {uuid4().hex}"
        self._held: set[str] = set()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._held)

    def __contains__(self, key: str) -> bool:
        """Whether this owner has claimed it."""
        return key in self._held

    def take(self, keys: Sequence[str]) -> list[str]:
        """Claim what nobody else has claimed; those keys."""
        taken: list[str] = []
        for part in _parts(sorted(keys)):  # in one order, or two owners may wait for each other
            taken += self._take(part)
        self._held.update(taken)
        return taken

    def keep(self) -> None:
        """Give a sign of life."""
        for part in _parts(sorted(self._held)):
            CallClaim.objects.filter(key__in=part, owner=self._owner).update(expires_at=_expiry())

    def drop(self, keys: Collection[str]) -> None:
        """Let others ask, or find the reply; keys that are not held are passed over."""
        dropped = self._held.intersection(keys)
        for part in _parts(sorted(dropped)):
            with connection.cursor() as cursor:
                cursor.execute(f"{_DELETE} ({_places(part)})", [self._owner, *part])
        self._held -= dropped

    def drop_all(self) -> None:
        """Leave: without claims, and without those of owners that died long ago."""
        self.drop(self._held)
        CallClaim.objects.filter(expires_at__lt=timezone.now() - _lease()).delete()

    def _take(self, keys: Sequence[str]) -> list[str]:
        now, expiry = map(connection.ops.adapt_datetimefield_value, (timezone.now(), _expiry()))
        values: list[Any] = []
        for key in keys:
            values += (key, self._owner, self._run_id, expiry)
        rows = ", ".join(["(%s, %s, %s, %s)"] * len(keys))
        with connection.cursor() as cursor:
            cursor.execute(f"{_INSERT} {rows} {_UNLESS_CLAIMED}", [*values, now])
            return [key for (key,) in cursor.fetchall()]


def drop_claims_of_the_dead(run_id: int) -> None:
    """Drop a run's claims whose owners are known to have died; the others' may yet be answered."""
    claims = CallClaim.objects.filter(run=run_id)
    owners = claims.order_by().values_list("owner", flat=True).distinct()
    dead = [owner for owner in owners if has_died(owner.rpartition(" ")[0])]
    claims.filter(owner__in=dead).delete()


_INSERT: Final = "INSERT INTO judging_callclaim (key, owner, run_id, expires_at) VALUES"
_UNLESS_CLAIMED: Final = (
    "ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, run_id = excluded.run_id, "
    "expires_at = excluded.expires_at WHERE judging_callclaim.owner = excluded.owner "
    "OR judging_callclaim.expires_at < %s RETURNING key"
)
_DELETE: Final = "DELETE FROM judging_callclaim WHERE owner = %s AND key IN"


def _lease() -> timedelta:
    return timedelta(seconds=settings.RUN_STALE_SECONDS)


def _expiry() -> Any:
    return timezone.now() + _lease()


def _places(keys: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(keys))


def _parts(keys: Sequence[str]) -> list[Sequence[str]]:
    return [
        keys[start : start + KEYS_A_STATEMENT] for start in range(0, len(keys), KEYS_A_STATEMENT)
    ]
