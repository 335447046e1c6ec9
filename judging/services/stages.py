"""What a step of a run is: rows to ask a judge about, or something to compute once they are there.

A run's kind is a list of stages (`services.kinds`). The engine knows of a stage only what is here:
whose rows are pending, how a range of them becomes questions, how a question is asked, and how
answers are written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models.query import QuerySet

from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.models import JudgeRun

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class IdRange:
    """Rows from one id to another, both included; their pending ones are one batch."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class AskingStage(Generic[Question, Answer]):
    """A stage whose rows each take an answer from the judge.

    Args:
        name: as stored in `JudgeRun.stage`.
        rows: by run id, the rows of the stage; they have `status` and `error_code`, and their ids
            ascend in the order in which they should be asked.
        load: the questions of a range's pending rows, in id order.
        ask: puts one question; never raises for an anticipated failure.
        store: writes answers, each only over a pending row. It is called inside a transaction.
    """

    name: StageName
    rows: Callable[[int], QuerySet[Any]]
    load: Callable[[JudgeRun, IdRange], Sequence[Question]]
    ask: Callable[[Judge, Question], Awaitable[Answer]]
    store: Callable[[JudgeRun, Sequence[Answer]], None]


@dataclass(frozen=True, slots=True)
class ComputingStage:
    """A stage that computes from the rows before it; doing it twice gives the same rows.

    Its `compute` raises `Refused` where the run has to end there.
    """

    name: StageName
    compute: Callable[[JudgeRun], None]


Stage = AskingStage[Any, Any] | ComputingStage
