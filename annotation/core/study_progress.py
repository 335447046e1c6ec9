"""How a study goes: who works, who is stuck, how long the rest will take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

SLOW_TIMES: Final = 3
"""An item at hand for so many times the annotator's median is taking long."""

SLOW_AT_LEAST: Final = timedelta(minutes=5)
"""Nothing takes long before that: a pause over one item is no trouble."""

SILENT_AFTER: Final = timedelta(days=1)
"""Whoever has items left and answered nothing for so long is silent."""

ACTIVE_WITHIN: Final = timedelta(hours=1)
"""Whoever answered something within that time counts as active."""


class AnnotatorStatus(StrEnum):
    """What an annotator of a study is doing now; see `standing_of`."""

    GONE = "GONE"
    PAUSED = "PAUSED"
    SLOW = "SLOW"
    WORKING = "WORKING"
    LAPSED = "LAPSED"
    FINISHED = "FINISHED"
    SILENT = "SILENT"
    AWAY = "AWAY"

    @property
    def is_stuck(self) -> bool:
        """Whether somebody should have a look."""
        return self in {
            AnnotatorStatus.PAUSED,
            AnnotatorStatus.SLOW,
            AnnotatorStatus.LAPSED,
            AnnotatorStatus.SILENT,
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stored about an annotator's work in a study.

    Attributes:
        member: Whether they are in the study; who was taken out may still have answers in it.
        paused: Whether they are given no items.
        joined: When they came in; None where they are out.
        done: Items answered.
        skipped: Items given back.
        left: Items they may still get, those at hand included.
        running: Items at hand whose lease runs.
        lapsed: Items at hand whose lease ran out.
        reserved: Items that a manager gave them and they have not opened.
        since: When the oldest item whose lease runs was given out.
        last_answer: When they answered something last.
        last_hour: Items answered within the last hour.
        seconds: Median active time of their recent answers; None where none was measured.
    """

    member: bool
    paused: bool
    joined: datetime | None
    done: int
    skipped: int
    left: int
    running: int
    lapsed: int
    reserved: int
    since: datetime | None
    last_answer: datetime | None
    last_hour: int
    seconds: float | None

    @property
    def total(self) -> int:
        """All that they may answer as things stand: done and left."""
        return self.done + self.left

    @property
    def held(self) -> int:
        """Items with them, whatever their lease."""
        return self.running + self.lapsed + self.reserved


def long_after(seconds: float | None) -> timedelta:
    """How long an item may be at hand before it takes long, by the median time of an answer."""
    if seconds is None:
        return SLOW_AT_LEAST
    return max(SLOW_AT_LEAST, SLOW_TIMES * timedelta(seconds=seconds))


def standing_of(facts: Facts, *, usual: float | None, now: datetime) -> AnnotatorStatus:
    """What an annotator is doing; of what applies, the first in this order.

    GONE: taken out of the study. PAUSED. SLOW: an item at hand, renewed by its open page, takes
    long. WORKING: an item at hand. LAPSED: the lease of an item ran out without an answer.
    FINISHED: nothing left for them. SILENT: items left, and no answer for a day. AWAY: none of it.

    Args:
        facts: The annotator's work.
        usual: Median time of an answer of everybody, used where the annotator has none yet.
        now: The moment.
    """
    if not facts.member:
        return AnnotatorStatus.GONE
    if facts.paused:
        return AnnotatorStatus.PAUSED
    if facts.since is not None:
        own = facts.seconds if facts.seconds is not None else usual
        begun = max(facts.since, facts.last_answer or facts.since)
        return AnnotatorStatus.SLOW if now - begun > long_after(own) else AnnotatorStatus.WORKING
    if facts.lapsed:
        return AnnotatorStatus.LAPSED
    if not facts.left:
        return AnnotatorStatus.FINISHED
    heard = facts.last_answer or facts.joined
    silent = heard is not None and now - heard > SILENT_AFTER
    return AnnotatorStatus.SILENT if silent else AnnotatorStatus.AWAY


class NoEstimate(StrEnum):
    """Why nobody can say how long a study will take."""

    NO_TIMES = "NO_TIMES"
    NOBODY = "NOBODY"


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """How long the rest takes if all go on as they do: seconds, or why nobody can say."""

    seconds: float | None
    why_not: NoEstimate | None = None


def time_left(*, answers: int, seconds: float | None, active: int) -> TimeLeft:
    """Median active time of an answer, times the answers missing, over those who are active."""
    if answers <= 0:
        return TimeLeft(0.0)
    if seconds is None:
        return TimeLeft(None, NoEstimate.NO_TIMES)
    if active <= 0:
        return TimeLeft(None, NoEstimate.NOBODY)
    return TimeLeft(answers * seconds / active)


def is_active(facts: Facts) -> bool:
    """Whether somebody takes part, answered within the hour or has an item open."""
    return facts.member and not facts.paused and bool(facts.last_hour or facts.running)


def medians(times: Iterable[tuple[int, float]]) -> tuple[float | None, Mapping[int, float]]:
    """The median of all times, and of each annotator's, of pairs of annotator and seconds."""
    by_annotator: dict[int, list[float]] = {}
    for annotator, seconds in times:
        by_annotator.setdefault(annotator, []).append(seconds)
    everything = [seconds for each in by_annotator.values() for seconds in each]
    usual = median(everything) if everything else None
    return usual, {annotator: median(each) for annotator, each in by_annotator.items()}
