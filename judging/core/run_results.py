"""What a finished pairwise run amounts to."""

from __future__ import annotations

from dataclasses import dataclass


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
