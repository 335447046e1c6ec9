"""Battles of two models with their outcome: arena logs, MT-Bench votes, GPT-4 verdicts.

A record is an object with `model_a`, `model_b` and `winner`: `model_a`, `model_b`, or a tie, which
these sources write as `tie`, `tie (bothbad)` and `tie (inconsistent)`. A word that is not known is
a fault: read as half a win it would move ratings without a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.reading import RawRow
from annotation.core.refusals import Refused

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
