"""What recorded judges said: a session as any format has it, with their verdicts on its pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

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
        if self.verdict is not None:
            return JudgmentStatus.DONE
        if self.error_code == CALL_FAILED:
            return JudgmentStatus.FAILED
        return JudgmentStatus.UNPARSEABLE


@dataclass(frozen=True, slots=True)
class RecordedSession(SessionRecord):
    """A session with the verdicts that a file records on its comparisons."""

    verdicts: tuple[VerdictRecord, ...] = ()


def recorded(session: SessionRecord, verdicts: Iterator[VerdictRecord]) -> RecordedSession:
    """A session as read, with verdicts; one without a verdict has a reason."""
    shared = {name: getattr(session, name) for name in SessionRecord.__dataclass_fields__}
    told = (
        each
        if each.verdict is not None or each.error_code
        else replace(each, error_code=UNPARSEABLE)
        for each in verdicts
    )
    return RecordedSession(**shared, verdicts=tuple(told))
