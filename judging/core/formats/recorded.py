"""What recorded judges said: a session as any format has it, with their verdicts on its pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.formats.records import SessionRecord

UNPARSEABLE: Final = "verdict:unparseable"
"""The source read no verdict in the reply."""

CALL_FAILED: Final = "recorded:call-failed"
"""The source recorded a call that failed, which says nothing of the judge."""

JUDGE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One verdict of a recorded judge, in the coordinates of its comparison.

    `turn` is the place of the comparison's turn in the session, `comparison` its key there. Without
    a verdict `error_code` says why: unparseable, or a call that failed. `raw` is the reply, or
    whatever the source kept of it.
    """

    judge: str
    turn: int
    comparison: str
    order: Order
    verdict: Verdict | None
    raw: str = ""
    log_odds: float | None = None
    error_code: str = ""

    @property
    def status(self) -> JudgmentStatus:
        """Where the judgment stands."""
        return _status(done=self.verdict is not None, error_code=self.error_code)


class ScoreRecord(NamedTuple):
    """One grade of a model's response to a turn, from 1 to 10; without one there is a reason."""

    judge: str
    turn: int
    model: str
    value: float | None
    raw: str = ""
    error_code: str = ""

    @property
    def status(self) -> JudgmentStatus:
        """Where the grade stands."""
        return _status(done=self.value is not None, error_code=self.error_code)


def _status(*, done: bool, error_code: str) -> JudgmentStatus:
    if done:
        return JudgmentStatus.DONE
    return JudgmentStatus.FAILED if error_code == CALL_FAILED else JudgmentStatus.UNPARSEABLE


@dataclass(frozen=True, slots=True)
class RecordedSession(SessionRecord):
    """A session with the verdicts and grades that a file records on what is in it."""

    verdicts: tuple[VerdictRecord, ...] = ()
    scores: tuple[ScoreRecord, ...] = ()


def recorded(
    session: SessionRecord,
    verdicts: Iterator[VerdictRecord],
    scores: tuple[ScoreRecord, ...] = (),
) -> RecordedSession:
    """A session as read, with verdicts and grades; one without a verdict has a reason."""
    shared = {name: getattr(session, name) for name in SessionRecord.__dataclass_fields__}
    told = (
        each
        if each.verdict is not None or each.error_code
        else replace(each, error_code=UNPARSEABLE)
        for each in verdicts
    )
    return RecordedSession(**shared, verdicts=tuple(told), scores=scores)
