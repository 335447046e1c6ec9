"""Whether somebody may join a study by a link, and how a link looks to its manager."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

NEW_ACCOUNTS: Final = 60
"""Accounts that one link without a number of places makes within `NEW_ACCOUNTS_WITHIN`.

A seminar joins within minutes, and who expects more gives the number of places. A link that got
out makes no more than these before somebody can withdraw it.
"""

NEW_ACCOUNTS_WITHIN: Final = timedelta(hours=1)


class InvitationRefusal(StrEnum):
    """Why a link lets nobody in."""

    UNKNOWN = "invitation:unknown"
    WITHDRAWN = "invitation:withdrawn"
    EXPIRED = "invitation:expired"
    CLOSED = "invitation:closed"
    FULL = "invitation:full"
    REMOVED = "invitation:removed"


@dataclass(frozen=True, slots=True)
class InvitationRow:
    """One link as its manager sees it.

    Attributes:
        number: Names it in addresses for managers.
        note: For whom it was made.
        token: What stands in the link; a signature, so that nobody can make one up.
        places: How many people may join by it; None for any number.
        joined: How many people in the study came by it.
        expires_at: When it stops working; None for when its places are taken.
        made_by: Who made it.
        made_at: When.
        refusal: Why it lets nobody in now; None where it does.
    """

    number: int
    note: str
    token: str
    places: int | None
    joined: int
    expires_at: datetime | None
    made_by: str
    made_at: datetime
    refusal: InvitationRefusal | None


def refusal_of(
    *,
    revoked_at: datetime | None,
    expires_at: datetime | None,
    study_closed: bool,
    places: int | None,
    joined: int,
    now: datetime,
) -> InvitationRefusal | None:
    """Why nobody can join by this link now; None where somebody can."""
    if revoked_at is not None:
        return InvitationRefusal.WITHDRAWN
    if study_closed:
        return InvitationRefusal.CLOSED
    if expires_at is not None and expires_at <= now:
        return InvitationRefusal.EXPIRED
    if places is not None and joined >= places:
        return InvitationRefusal.FULL
    return None
