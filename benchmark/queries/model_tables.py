"""Satisfaction by model as flat tables, for files, scripts and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from annotation.core.tables import Row
from benchmark.core.model_satisfaction import ModelSatisfaction, mean_cells
from benchmark.queries.model_satisfaction import ModelsBoard, Voice


def _models(board: ModelsBoard) -> Iterator[Row]:
    heard = board.run if board.voice is not Voice.PEOPLE else None
    said = {"voice": board.voice.value, "run": heard and heard.id}
    for row in board.models:
        yield said | row.record()
    for each in board.corrected:
        for record in each.records():
            yield said | record


def _scenarios(board: ModelsBoard) -> Iterator[Row]:
    for row in board.models:
        yield from _of_scenarios(row)


def _of_scenarios(row: ModelSatisfaction) -> Iterator[Row]:
    for name, found in row.scenarios.items():
        yield {
            "model": row.model,
            "scenario": name,
            "answers": found.rows,
            "users": found.units.number,
            **mean_cells(found),
        }


def _differences(board: ModelsBoard) -> Iterator[Row]:
    for each in board.mean_differences:
        yield each.record("mean")
    for each in board.low_differences:
        yield each.record("dissatisfied")


def _questions(board: ModelsBoard) -> Iterator[Row]:
    for each in board.questionnaire:
        for model, counts, total in each.models:
            for option, n in zip(each.options, counts, strict=True):
                yield {
                    "question": each.question,
                    "model": model,
                    "option": option,
                    "n": n,
                    "answered": total,
                }


MODEL_TABLES: Final = {
    "models": _models,
    "scenarios": _scenarios,
    "differences": _differences,
    "questions": _questions,
}
