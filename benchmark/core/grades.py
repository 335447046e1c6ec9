"""What a judge's grades of single responses say of each model, as MT-Bench scores them.

Zheng et al. (2023), section 3.2 and appendix: a judge grades each response from 1 to 10, and a
model's score is the mean of its grades over all questions and both turns. A reply without a grade
is left out and counted, as in their code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from annotation.core.choices import JudgmentStatus
from annotation.core.intervals import ends
from benchmark.core.corrected import MeanEstimate, clustered_mean

GRADES: Final = (1.0, 10.0)

Key = TypeVar("Key", bound=Hashable)


class GradedResponse(NamedTuple):
    """One response: its turn from 1, and its grade of 1..10; None where `status` says why."""

    model: str
    scenario: str
    session: int
    turn: int
    status: JudgmentStatus
    value: float | None
    response: int = 0


class GradeMean(NamedTuple):
    """The mean of some grades with its interval by sessions; `mean` is None where none is there.

    `unreadable` replies named no grade, `failed` responses got no reply.
    """

    mean: MeanEstimate | None
    unreadable: int
    failed: int

    def record(self) -> dict[str, object]:
        """As cells of a row."""
        value, interval = (self.mean.value, self.mean.interval) if self.mean else (None, None)
        return {
            "mean": value,
            **ends(interval),
            "grades": self.mean.rows if self.mean else 0,
            "sessions": self.mean.units.number if self.mean else 0,
            "unreadable": self.unreadable,
            "failed": self.failed,
        }


class ModelGrades(NamedTuple):
    """One model's mean grade over all turns, MT-Bench's score, and by turn and by scenario."""

    model: str
    score: GradeMean
    turns: Mapping[int, GradeMean]
    scenarios: Mapping[str, GradeMean]

    def records(self) -> Iterator[dict[str, object]]:
        """A row for the score, for each turn and for each scenario; None is all of them."""
        yield {"model": self.model, "turn": None, "scenario": None, **self.score.record()}
        for turn, found in self.turns.items():
            yield {"model": self.model, "turn": turn, "scenario": None, **found.record()}
        for name, found in self.scenarios.items():
            yield {"model": self.model, "turn": None, "scenario": name, **found.record()}


def model_grades(rows: Iterable[GradedResponse]) -> tuple[ModelGrades, ...]:
    """Every model's grades, the best first and those without a grade last; scenarios as they come.

    Args:
        rows: of one judge, asked in one way; a response of no named model is a model "".
    """
    found = [
        ModelGrades(
            model,
            _mean(own),
            dict(sorted(_by(own, lambda row: row.turn).items())),
            _by(own, lambda row: row.scenario),
        )
        for model, own in _grouped(rows, lambda row: row.model).items()
    ]
    return tuple(sorted(found, key=lambda each: (-_value(each.score), each.model)))


def _value(found: GradeMean) -> float:
    return found.mean.value if found.mean else 0.0


def _by(
    rows: Iterable[GradedResponse], key: Callable[[GradedResponse], Key]
) -> dict[Key, GradeMean]:
    return {name: _mean(own) for name, own in _grouped(rows, key).items()}


def _grouped(
    rows: Iterable[GradedResponse], key: Callable[[GradedResponse], Key]
) -> dict[Key, list[GradedResponse]]:
    groups: dict[Key, list[GradedResponse]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _mean(rows: Sequence[GradedResponse]) -> GradeMean:
    given = [(row.value, row.session) for row in rows if row.value is not None]
    values, sessions = [value for value, _ in given], [session for _, session in given]
    statuses = [row.status for row in rows]
    return GradeMean(
        clustered_mean(values, sessions, bounds=GRADES) if given else None,
        statuses.count(JudgmentStatus.UNPARSEABLE),
        statuses.count(JudgmentStatus.FAILED),
    )
