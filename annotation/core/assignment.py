"""The rules by which items are given out: leases, slots, the order of a study, what is left."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from heapq import heappop, heapreplace
from typing import Final, TypeVar

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop
from annotation.core.splits import DEFAULT_SEED, rank_of

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


def study_order(targets: Iterable[tuple[T, str, str]]) -> list[T]:
    """The targets in the order in which a study gives them out (protocols A1.1).

    It is the order in which splits draw sessions, so that annotators who stop early share their
    development pairs; every session's first comparison comes before any second. The ranks are as
    good as random: neither the file's order nor fatigue falls on one scenario.

    Args:
        targets: each with the key of its session, and its own within that.
    """
    seed = str(DEFAULT_SEED)
    ranked = sorted(targets, key=lambda target: rank_of(seed, *target[1:]))
    met: Counter[str] = Counter()
    order: list[tuple[int, tuple[int, tuple[str, ...]], int, T]] = []
    for target, session, _key in ranked:
        order.append((met[session], rank_of(seed, session), len(order), target))
        met[session] += 1
    return [target for *_rank, target in sorted(order, key=lambda one: one[:3])]


Strata = tuple[str, ...]
"""Where an item stands in what a draw balances, the coarsest first; may be empty."""


def draw_evenly(
    items: Sequence[tuple[T, Strata]], size: int, *, drawn: Iterable[Strata] = ()
) -> list[T]:
    """At most `size` of the items, balanced over their strata as far as these allow.

    Each draw is from the stratum with the fewest draws so far that has items left (water-filling),
    so two strata differ by at most one unless the smaller is used up; within it the same holds for
    the finer strata. Of equal ones that comes first whose name was drawn less often anywhere, then
    the one whose next item stands earlier.

    Args:
        items: in the order in which a stratum gives them up, all with equally many strata.
        size: 0 or more.
        drawn: the strata of what was drawn before, which counts.
    """
    if size >= len(items):
        return [item for item, _strata in items]
    draw = _Draw(strata for _item, strata in items)
    for strata in drawn:
        draw.count(strata)
    return [items[draw.next_place()][0] for _ in range(size)]


class _Draw:
    """The items that wait in and below each stratum, by place, and what was drawn from it."""

    def __init__(self, strata_of: Iterable[Strata]) -> None:
        self._waiting: dict[Strata, deque[int]] = {}
        for place, strata in enumerate(strata_of):
            for depth in range(len(strata) + 1):
                self._waiting.setdefault(strata[:depth], deque()).append(place)
        self._taken: set[int] = set()
        self._counts: Counter[Strata] = Counter()
        self._named: Counter[tuple[int, str]] = Counter()
        self._below: dict[Strata, list[tuple[tuple[int, int, int], Strata]]] = {}
        for strata, places in self._waiting.items():  # in the order of their first places
            if strata:
                self._below.setdefault(strata[:-1], []).append(((0, 0, places[0]), strata))

    def count(self, strata: Strata) -> None:
        self._counts.update(strata[:depth] for depth in range(1, len(strata) + 1))
        self._named.update(enumerate(strata))

    def next_place(self) -> int:
        strata: Strata = ()
        while strata in self._below:
            strata = self._first_of(self._below[strata])
        place = self._waiting[strata][0]
        self.count(strata)
        self._taken.add(place)
        for depth in range(len(strata) + 1):
            waiting = self._waiting[strata[:depth]]
            while waiting and waiting[0] in self._taken:
                waiting.popleft()
        return place

    def _first_of(self, heap: list[tuple[tuple[int, int, int], Strata]]) -> Strata:
        """What is to be drawn from next; what a heap says of a stratum only ever grows."""
        while True:
            said, strata = heap[0]
            waiting = self._waiting[strata]
            if not waiting:
                heappop(heap)
                continue
            now = self._counts[strata], self._named[len(strata) - 1, strata[-1]], waiting[0]
            if now == said:
                return strata
            heapreplace(heap, (now, strata))


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
