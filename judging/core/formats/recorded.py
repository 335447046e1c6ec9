"""What recorded judges said: a session as any format has it, with their verdicts on its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.formats.reading import RawRow
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import Refused

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


WINNERS: Final[Mapping[str, Verdict]] = {
    "model_a": Verdict.A,
    "model_b": Verdict.B,
    "tie": Verdict.TIE,
    "tie (bothbad)": Verdict.TIE,
    "tie (inconsistent)": Verdict.TIE,
}


@dataclass(frozen=True, slots=True)
class Battle:
    """Two models and which of them won."""

    model_a: str
    model_b: str
    verdict: Verdict


def battles(rows: Iterable[RawRow]) -> Iterator[Battle]:
    """The battles in the rows of a file (annotation.core.formats.reading), one at a time.

    Raises:
        Refused: at the first row that is no battle.
    """
    for row in rows:
        if row.fault is not None:
            raise Refused("battles:invalid", f"line {row.line}: {row.fault.reason}")
        if not isinstance(row.value, Mapping):
            raise Refused("battles:invalid", f"line {row.line}: {'not an object'}")
        yield _battle(row.line, row.value)


def _battle(line: int, record: Mapping[str, object]) -> Battle:
    names = []
    for field in ("model_a", "model_b"):
        name = record.get(field)
        if not isinstance(name, str) or not name:
            raise Refused(
                "battles:invalid", f"line {line}: {field} is {name!r}, not a model's name"
            )
        names.append(name)
    winner = record.get("winner")
    if not isinstance(winner, str) or winner not in WINNERS:
        expected = ", ".join(WINNERS)
        raise Refused(
            "battles:invalid", f"line {line}: {f'winner is {winner!r}, not one of {expected}'}"
        )
    return Battle(names[0], names[1], WINNERS[winner])
