"""What managers look through in a study: who has or had which item, skips, flags, the trace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from annotation.core.studies import HeldPhase


class ClaimFilter(StrEnum):
    """Which claims of a study are listed."""

    ALL = ""
    HELD = "held"
    LAPSED = "lapsed"
    DONE = "done"
    LAST_HOUR = "last-hour"
    SKIPPED = "skipped"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """Somebody's part in an item.

    Attributes:
        claim: Number of the claim.
        item: Number of the study item.
        position: Its place in the study, from 1.
        key: Key of what is asked about.
        annotator: Whose it is, by number.
        name: Their shown name.
        member: Whether they are in the study now.
        state: One of the stored words of `ClaimState`.
        phase: Where it stands, while it waits for an answer.
        taken_back: Whether a manager took it back.
        since: When it was given out.
        until: When its lease ends, or ended.
        finished: When it was answered or skipped.
        reason: Why it was skipped, one of the words of `SkipReason`; "" otherwise.
    """

    claim: int
    item: int
    position: int
    key: str
    annotator: int
    name: str
    member: bool
    state: str
    phase: HeldPhase | None
    taken_back: bool
    since: datetime
    until: datetime
    finished: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that was skipped: how often, and why; reasons with their counts, most first."""

    item: int
    position: int
    key: str
    times: int
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class FlagRow:
    """An answered pair, or a turn of a session, that an annotator wants somebody to look at."""

    item: int | None
    comparison: int | None
    session: int | None
    turn: int | None
    key: str
    annotator: int
    name: str
    flag: str
    comment: str
    given: datetime


@dataclass(frozen=True, slots=True)
class StudyEvent:
    """One event of a study's trace; `about` names what of the study it was done to."""

    when: datetime
    actor: str
    action: str
    about: str
    detail: tuple[tuple[str, str], ...]
