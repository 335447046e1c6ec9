"""The calls of an induction before it is begun: real turns, and stand-ins for their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from judging.core.questions import HistoryTurn, Rubrics
from judging.core.rubrics import REASONS_A_TURN, RUBRICS_A_CLASS, TURNS_A_CHUNK
from judging.core.rules import SatisfactionSettings
from judging.models import InducedRubric, JudgeRun, RubricStep
from judging.queries.satisfaction.labels import turns_of_labels
from judging.services.estimate_tallies import StageEstimates
from judging.services.rubrics import (
    CONDENSE_STAGE,
    EXTRACT_STAGE,
    RUBRICS_STAGE,
    RubricTask,
    ask_rubric,
    question_of,
)
from judging.services.teaching import planned_rubrics

_ASSUMED: Final = "A reason that is not written yet, of the usual length, which is one sentence."
_STAGES: Final = {
    RubricStep.TURN: EXTRACT_STAGE,
    RubricStep.CHUNK: CONDENSE_STAGE,
    RubricStep.FINAL: RUBRICS_STAGE,
}


def try_rubrics(
    tally: StageEstimates, asked: JudgeRun, settings: SatisfactionSettings
) -> dict[int, Rubrics | None]:
    """Tries out the stages of an induction; the rubrics of each fold, by their usual length."""
    rows = planned_rubrics(asked, settings)
    turns = turns_of_labels({row.label_id for row in rows if row.label_id is not None})
    for step, stage in _STAGES.items():
        own = [row for row in rows if row.step == step]
        tally.try_out(stage.name, len(own), partial(_tasks, own, turns), ask_rubric)
    texts = (_ASSUMED,) * RUBRICS_A_CLASS
    return {row.fold: Rubrics(texts, texts) for row in rows}


def _tasks(
    rows: Sequence[InducedRubric], turns: dict[int, HistoryTurn], places: Sequence[int]
) -> list[RubricTask]:
    return [
        RubricTask(
            0,
            question_of(row, reasons=_reasons(row))
            if row.label_id is None
            else question_of(row, turn=turns[row.label_id]),
        )
        for row in (rows[place] for place in places)
    ]


def _reasons(row: InducedRubric) -> tuple[str, ...]:
    """As many as a chunk has, told apart by the row, for no two rows ask the same."""
    own = f"{_ASSUMED} {row.fold}.{row.position}"
    return (own, *(_ASSUMED,) * (TURNS_A_CHUNK * REASONS_A_TURN - 1))
