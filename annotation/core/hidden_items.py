"""Gold items and hidden repeats: where a study has them, and when an annotator meets a repeat.

A gold item has an answer held to be right; a repeat asks again what an annotator answered before,
the other way round. Neither may be told from the rest: not by its place, its number, nor the count
of what is left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from random import Random
from typing import Final, Generic, TypeVar

from annotation.core.choices import StudyKind

T = TypeVar("T", bound=Hashable)

REPEAT_GAPS: Final = {StudyKind.PAIRWISE: 10, StudyKind.SATISFACTION: 4}
"""How many items of an annotator a repeat comes after its first, at least: the 10th pair after it,
or the 4th conversation, which is long enough to read. Where a person talks, nothing is repeated."""


def gap_of(kind: StudyKind) -> int:
    """The least distance of a repeat from its first; that of pairs where nothing is repeated."""
    return REPEAT_GAPS.get(kind, REPEAT_GAPS[StudyKind.PAIRWISE])


_LONGEST: Final = 3
"""A planned repeat comes at most so many times the smallest gap after its first, where one fits."""


class PlannedKind(StrEnum):
    """Why an item stands in a plan."""

    NORMAL = "NORMAL"
    GOLD = "GOLD"
    REPEAT = "REPEAT"


@dataclass(frozen=True, slots=True)
class PlannedItem(Generic[T]):
    """One place of a plan; `first` is the place of the item that a repeat repeats."""

    target: T
    kind: PlannedKind
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of all items of a study, repeats included; each 0 to 1/2."""

    gold: float = 0.0
    repeats: float = 0.0

    def repeats_among(self, targets: int) -> int:
        """Repeats of so many targets; they make the plan longer: r = rate * (targets + r)."""
        return round(targets * self.repeats / (1 - self.repeats))

    def gold_among(self, targets: int, repeats: int) -> int:
        """Wanted gold items of a plan of so many targets and repeats."""
        return round(self.gold * (targets + repeats))


def plan_items(
    targets: Sequence[T], candidates: Collection[T], *, rates: Rates, gap: int, seed: int
) -> list[PlannedItem[T]]:
    """Every target once, some of the candidates among them as gold, and the repeats.

    Gold is spread evenly: the plan is cut into as many stretches as there are gold items, and each
    has one, anywhere within it. Repeats are spread likewise over what follows the first 2 * `gap`
    places; each repeats a normal item that stands `gap` to 3 * `gap` places before it, or further
    where all of those have a repeat. Nothing is repeated twice. There are as many gold items as the
    rate says, or as there are candidates; as many repeats as the rate says, or as find a first.
    Candidates that are not chosen are normal items.

    Args:
        targets: What the study asks about, in the order in which it is given out.
        candidates: Those of the targets that have an answer held to be right.
        rates: The wanted shares.
        gap: The least number of places between a first and its repeat, 1 or more.
        seed: The same seed gives the same plan.
    """
    repeats = rates.repeats_among(len(targets))
    while True:
        random = Random(seed)
        length = len(targets) + repeats
        known = [target for target in targets if target in candidates]
        gold = random.sample(known, min(rates.gold_among(len(targets), repeats), len(known)))
        gold_places = _spread(range(length), len(gold), random)
        firsts = _firsts(length, frozenset(gold_places), repeats, gap, random)
        if len(firsts) == repeats:
            return _filled(targets, dict(zip(gold_places, gold, strict=True)), firsts)
        repeats = len(firsts)


def _firsts(
    length: int, gold: Collection[int], repeats: int, gap: int, random: Random
) -> dict[int, int]:
    """For the place of each repeat that of its first; of so many repeats those that find one."""
    free = [place for place in range(2 * gap, length) if place not in gold]
    places = frozenset(_spread(free, min(repeats, len(free)), random))
    firsts: dict[int, int] = {}
    unrepeated: list[int] = []  # places of normal items, in order
    for place in range(length):
        if place in places and unrepeated and unrepeated[0] <= place - gap:
            end = bisect_right(unrepeated, place - gap)
            start = bisect_left(unrepeated, place - _LONGEST * gap)
            chosen = random.randrange(start, end) if start < end else end - 1
            firsts[place] = unrepeated.pop(chosen)
        elif place not in gold:
            unrepeated.append(place)
    return firsts


def _filled(
    targets: Sequence[T], gold: Mapping[int, T], firsts: Mapping[int, int]
) -> list[PlannedItem[T]]:
    """The plan with gold and repeats at these places and the other targets in their order."""
    chosen = frozenset(gold.values())
    others = (target for target in targets if target not in chosen)
    plan: list[PlannedItem[T]] = []
    for place in range(len(targets) + len(firsts)):
        if place in gold:
            plan.append(PlannedItem(gold[place], PlannedKind.GOLD))
        elif place in firsts:
            target = plan[firsts[place]].target
            plan.append(PlannedItem(target, PlannedKind.REPEAT, firsts[place]))
        else:
            plan.append(PlannedItem(next(others), PlannedKind.NORMAL))
    return plan


def _spread(places: Sequence[int], number: int, random: Random) -> list[int]:
    """So many of the places, one from each of as many equal stretches of them."""
    bounds = [len(places) * each // max(number, 1) for each in range(number + 1)]
    return [places[random.randrange(start, end)] for start, end in pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item that an annotator was given, with a repeat of it that they may still get.

    Attributes:
        item: The item's number.
        place: Its place in the plan.
        repeat: Number of its repeat; None where there is none, they did not answer the item, or
            they were given the repeat.
        repeat_place: The repeat's place in the plan.
    """

    item: int
    place: int
    repeat: int | None = None
    repeat_place: int = 0


def due_repeat(given: Sequence[ShownItem]) -> int | None:
    """The repeat that an annotator is to be given now, if any; of several the first in the plan.

    One is due when the annotator was given as many items since its first as the plan has between
    the two. Who works alone meets every repeat at its place in the plan; of several who share the
    items, each meets them after as many items of their own.

    Args:
        given: The annotator's items, the last one first; an item with two repeats stands twice.
    """
    due = [
        (each.repeat_place, each.repeat)
        for each, since in zip(given, _given_since(given), strict=True)
        if each.repeat is not None and since >= each.repeat_place - each.place - 1
    ]
    return min(due)[1] if due else None


def left_repeats(given: Sequence[ShownItem], *, gap: int) -> list[int]:
    """The repeats that remain for an annotator for whom nothing else is left, the oldest first.

    Their places in the plan cannot be waited for, but the gap is kept: of what the annotator
    answered only just now there is no repeat.

    Args:
        given: As for `due_repeat`.
        gap: The least number of items between a first and its repeat.
    """
    left: list[int] = []
    for each, since in reversed(list(zip(given, _given_since(given), strict=True))):
        if each.repeat is not None and since + len(left) >= gap - 1:
            left.append(each.repeat)
    return left


def _given_since(given: Sequence[ShownItem]) -> list[int]:
    """For each item how many others were given after it."""
    seen: dict[int, int] = {}
    return [seen.setdefault(each.item, len(seen)) for each in given]
