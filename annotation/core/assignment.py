"""The rules by which items are given out: leases, slots, the order of a study, what is left."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from random import Random
from typing import Final, TypeVar

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop

T = TypeVar("T")

RESERVED_FOR: Final = timedelta(days=2)
"""How long an item that a manager gave to somebody waits for them: longer than any lease is."""

_RENEW_AT_MOST: Final = 300  # seconds between two renewals of a lease


class SkipReason(LabelledEnum):
    """Why an annotator gave an item back without an answer."""

    CANNOT_JUDGE = "CANNOT_JUDGE", gettext_noop("I cannot judge this")
    BROKEN = "BROKEN", gettext_noop("Broken or unreadable")
    SENSITIVE = "SENSITIVE", gettext_noop("I would rather not read this")
    OTHER = "OTHER", gettext_noop("Another reason")


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


_HALF_BITS: Final = 20
_MASK: Final = (1 << _HALF_BITS) - 1
_ROUNDS: Final = 4

LIMIT: Final = 1 << 2 * _HALF_BITS
"""Numbers below this can be hidden; hidden ones are below it too."""


def hidden(number: int, *, key: bytes) -> int:
    """The number that stands for an item in addresses; see `revealed` for the way back.

    A Feistel network: every number has one of its own, and who lacks the key sees no order.

    Raises:
        ValueError: a negative number, or one of `LIMIT` and above.
    """
    left, right = _halves(number)
    for turn in range(_ROUNDS):
        left, right = right, left ^ _mixed(right, turn, key)
    return left << _HALF_BITS | right


def revealed(number: int, *, key: bytes) -> int:
    """The item's own number.

    Raises:
        ValueError: a negative number, or one of `LIMIT` and above.
    """
    left, right = _halves(number)
    for turn in reversed(range(_ROUNDS)):
        left, right = right ^ _mixed(left, turn, key), left
    return left << _HALF_BITS | right


def _halves(number: int) -> tuple[int, int]:
    if not 0 <= number < LIMIT:
        raise ValueError(f"no item number: {number}")
    return number >> _HALF_BITS, number & _MASK


def _mixed(half: int, turn: int, key: bytes) -> int:
    said = half.to_bytes(4, "big") + bytes([turn])
    return int.from_bytes(blake2b(said, key=key, digest_size=4).digest(), "big") & _MASK
