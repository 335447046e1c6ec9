"""The steps of a run by name, and what a run is about; rejudging with other rules.

A step is under way until none of its rows is pending.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from annotation.core.choices import Order, Verdict


class StageName(StrEnum):
    """What a run is doing, stored in `JudgeRun.stage`."""

    DISTIL = "distil"
    REFERENCE = "reference"
    """In estimates alone: a run writes reference answers within the step that judges."""
    JUDGE = "judge"
    GRADE = "grade"
    COMPARE = "compare"
    SELECT = "select"
    TRAIN = "train"
    LEARN = "learn"
    EXTRACT = "extract"
    CONDENSE = "condense"
    RUBRICS = "rubrics"
    MEMORY = "memory"
    SCORE = "score"
    CALIBRATE = "calibrate"


@dataclass(frozen=True, slots=True)
class StageProgress:
    """The rows of one stage by status, and those without an answer by error code."""

    stage: StageName
    pending: int
    done: int
    unparseable: int
    failed: int
    errors: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """All rows of the stage."""
        return self.pending + self.done + self.unparseable + self.failed

    @property
    def answered(self) -> int:
        """Rows that need no further call."""
        return self.total - self.pending


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run and its stages, in the order in which they are gone through.

    `calls` are the replies that this run paid for (stored ones of earlier runs cost nothing);
    tokens and cost are theirs, None where the endpoint does not say. `unpriced` counts those whose
    cost nobody knows, made before the endpoint had prices for one: `cost` is that of the others. It
    can have a budget where its calls have a price. `held` is the cost with that of calls under way,
    and of those whose fate nobody knows, at their dearest. `pace` is replies paid for a second over
    the last minute, None where the run is not under way.
    """

    run_id: int
    kind: str
    status: str
    stage: str
    error_code: str
    error_detail: str
    stages: tuple[StageProgress, ...]
    calls: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost: float | None
    can_have_budget: bool
    budget: float | None
    held: float
    started_at: datetime | None
    heartbeat_at: datetime | None
    finished_at: datetime | None
    pace: float | None = None
    unpriced: int = 0

    @property
    def total(self) -> int:
        """Rows of all stages."""
        return sum(stage.total for stage in self.stages)

    @property
    def answered(self) -> int:
        """Rows of all stages that need no further call."""
        return sum(stage.answered for stage in self.stages)

    @property
    def done(self) -> int:
        """Rows of all stages with an answer that could be read."""
        return sum(stage.done for stage in self.stages)

    @property
    def seconds(self) -> float | None:
        """How long the run has been at work, as its signs of life tell; None before the first."""
        end = self.finished_at or self.heartbeat_at
        if self.started_at is None or end is None:
            return None
        return max(0.0, (end - self.started_at).total_seconds())

    @property
    def calls_per_second(self) -> float | None:
        """Replies paid for a second; None where there were none."""
        return self.calls / self.seconds if self.calls and self.seconds else None

    @property
    def minutes_left(self) -> float | None:
        """How long the rows that wait take at the present pace; None where it is not known."""
        return (self.total - self.answered) / self.pace / 60 if self.pace else None

    @property
    def whole_cost(self) -> float | None:
        """What all calls cost together; None where that of any is not known."""
        return None if self.unpriced else self.cost

    @property
    def unsettled(self) -> float:
        """What is held for calls without a stored reply."""
        return max(0.0, self.held - (self.cost or 0.0))

    @property
    def errors(self) -> tuple[tuple[str, int], ...]:
        """Rows without an answer by error code, the most frequent first."""
        counts: dict[str, int] = {}
        for stage in self.stages:
            for code, count in stage.errors:
                counts[code] = counts.get(code, 0) + count
        return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


@dataclass(frozen=True, slots=True)
class DistilledScenario:
    """One scenario of a distillation.

    `dev` counts the dev comparisons with a winner, `columns` the preferences tried (the base judge
    is column 0), `selected` the columns of the chosen set. Accuracies are shares of row-orders,
    None where nothing could be selected; `error_code` then says why. `control_accuracy` is what
    the same procedure reaches on labels flipped by a coin.
    """

    scenario: str
    dev: int
    ties: int
    test: int
    columns: int
    selected: tuple[int, ...]
    texts: tuple[str, ...]
    dev_accuracy: float | None
    leave_one_out: float | None
    null_p95: float | None
    p_value: float | None
    control_accuracy: float | None
    error_code: str


@dataclass(frozen=True, slots=True)
class JudgedTotals:
    """Judgments of a test run by outcome, and the replies it paid for."""

    judged: int
    failed: int
    unparseable: int
    calls: int
    errors: tuple[tuple[str, int], ...]
    cost: float | None = None


Winners = tuple[tuple[int, Verdict], ...]
"""Comparison ids with the response that the annotator chose, in file order."""

FOR_ABLATION: Final = "ablation"
"""In the configuration of a distillation that only an ablation looks at."""
SCENARIOS: Final = "scenarios"
"""In the configuration of a pairwise run: its plans."""
COLUMNS: Final = "columns"
"""In the configuration of a run over edited preferences: what it judges under."""


@dataclass(frozen=True, slots=True)
class DistilPlan:
    """One scenario of a distillation.

    `dev` and `test` are the split, which all annotators share; `winners` are this annotator's on
    dev, `shuffled` the same with coin-flipped labels (empty without the control), `dev_ties` those
    left out. `test_winners` is what the test run will be scored against.
    """

    scenario_id: int
    scenario: str
    dev: tuple[int, ...]
    test: tuple[int, ...]
    winners: Winners
    shuffled: Winners
    dev_ties: int
    test_winners: Winners
    test_ties: int


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """One scenario of a test run: what is judged, and whose votes are counted.

    `selected` and `shuffled` are preference ids; `None` where the run judges without such a set.
    The base judge is always there.
    """

    scenario_id: int
    scenario: str
    winners: Winners
    ties: int
    base: int
    selected: tuple[int, ...] | None = None
    shuffled: tuple[int, ...] | None = None
    sets: Mapping[str, int] = field(default_factory=dict)

    @property
    def preferences(self) -> tuple[int, ...]:
        """Every preference to judge under, the base judge first, each once."""
        return tuple(dict.fromkeys([self.base, *(self.selected or ()), *(self.shuffled or ())]))


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """The preferences that one scenario is judged under, by id, the base judge's first.

    `control` says from which labels they were distilled.
    """

    scenario_id: int
    control: str
    preferences: tuple[int, ...]


Known = TypeVar("Known", bound=Hashable)

JudgedText = tuple[int, str, Order]
"""(comparison id, preference text, presentation order)."""
ORDERS = (Order.ORIGINAL, Order.SWAPPED)


_SHAPING: Final = (
    "judge",
    "version",
    "base_url",
    "model",
    "temperature",
    "max_tokens",
    "context_tokens",
    "extra_sampling",
    "rule",
    "window",
    "prompt",
)
"""What of a judge's snapshot decides a verdict on a pair, the prompts aside."""


def judges_alike(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two snapshots of a judge put the same questions about pairs, and read them alike.

    Prompts that it asks nothing about pairs by may differ, those that distilled included.
    """

    def pair_prompts(snapshot: Mapping[str, Any]) -> dict[str, str]:
        prompts: Mapping[str, str] = snapshot.get("prompts", {})
        return {name: said for name, said in prompts.items() if name.startswith("judge_pair")}

    return pair_prompts(before) == pair_prompts(after) and all(
        before.get(name) == after.get(name) for name in _SHAPING
    )


@dataclass(frozen=True, slots=True)
class ColumnText:
    """A preference by id with its text; None where it was never distilled."""

    preference: int
    text: str | None


@dataclass(frozen=True, slots=True)
class PlannedCell(Generic[Known]):
    """One judgment of a run: taken over where `known` is there, to be asked where it is None."""

    comparison: int
    column: ColumnText
    order: Order
    known: Known | None

    @property
    def asks(self) -> bool:
        """Whether the judge is asked: not without a text, which is answered by an error code."""
        return self.known is None and self.column.text is not None


def planned_cells(
    comparisons: Sequence[int],
    columns: Sequence[ColumnText],
    judged: Mapping[JudgedText, Known],
) -> Iterator[PlannedCell[Known]]:
    """Every comparison under every column in both orders, in the order in which they are asked.

    All calls of one comparison and order stand together, so that a server can reuse what it read.

    Args:
        comparisons: their ids.
        columns: what they are judged under, the base judge's included.
        judged: what is known by comparison, text and order.
    """
    for comparison in comparisons:
        for order in ORDERS:
            for column in columns:
                known = None
                if column.text is not None:
                    known = judged.get((comparison, column.text, order))
                yield PlannedCell(comparison, column, order, known)
