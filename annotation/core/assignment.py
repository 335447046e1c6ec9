"""The rules by which items are given out: leases, slots, the order of a study, what is left."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

RESERVED_FOR: Final = timedelta(days=2)
"""How long an item that a manager gave to somebody waits for them: longer than any lease is."""

_RENEW_AT_MOST: Final = 300  # seconds between two renewals of a lease


class SkipReason(StrEnum):
    """Why an annotator gave an item back without an answer."""

    CANNOT_JUDGE = "CANNOT_JUDGE"
    BROKEN = "BROKEN"
    SENSITIVE = "SENSITIVE"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an annotator stands in a study.

    Attributes:
        done: Items answered.
        skipped: Items given back.
        left: Items that this annotator may still get, the one at hand included.
    """

    done: int
    skipped: int
    left: int

    @property
    def total(self) -> int:
        """All that this annotator was or may be given as things stand; no skip changes it."""
        return self.finished + self.left

    @property
    def finished(self) -> int:
        """Items that are behind the annotator: answered or given back."""
        return self.done + self.skipped


def lease_end(now: datetime, minutes: int) -> datetime:
    """When a claim made or renewed now runs out; after that others may take the item."""
    return now + timedelta(minutes=minutes)


def renewal_seconds(minutes: int) -> int:
    """Seconds after which an open page renews a lease: a third of it, at most five minutes."""
    return min(minutes * 60 // 3, _RENEW_AT_MOST)


def free_slot(taken: Collection[int], overlap: int) -> int | None:
    """The lowest slot 0..overlap-1 that nobody holds, or None when the item is full."""
    return next((slot for slot in range(overlap) if slot not in taken), None)


def study_order(targets: Sequence[T], *, seed: int) -> list[T]:
    """The targets in the order in which a study gives them out.

    Seeded and random, so that neither the file's order nor fatigue falls on one scenario.
    """
    order = list(targets)
    Random(seed).shuffle(order)
    return order
