"""What training users taught a run: folds, few-shot examples, and induced rubrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from annotation.core.choices import JudgmentStatus
from judging.core.questions import HistoryTurn, Rubrics
from judging.models import InducedRubric, JudgeRun, RubricStep
from judging.queries.satisfaction.labels import turns_of_labels

TEACHING: Final = "teaching"
"""In the configuration of a run: for each fold who is judged, by whom, and with which examples."""


def rubric_rows(run_id: int, *steps: RubricStep) -> QuerySet[InducedRubric]:
    """The rows of an induction, of some steps or of all."""
    rows = InducedRubric.objects.filter(run_id=run_id)
    return rows.filter(step__in=steps) if steps else rows


def folds_of(config: Mapping[str, Any]) -> list[dict[str, list[int]]]:
    """The folds of a run's configuration: `judged`, `training` and `examples` (ids of labels)."""
    found: list[dict[str, list[int]]] = config.get(TEACHING, [])
    return found


def fold_by_user(config: Mapping[str, Any]) -> dict[int, int]:
    """The fold in which each user is judged."""
    return {user: at for at, fold in enumerate(folds_of(config)) for user in fold["judged"]}


def examples_by_fold(config: Mapping[str, Any]) -> list[tuple[HistoryTurn, ...]]:
    """The examples of each fold in the order in which they were drawn. One query."""
    folds = folds_of(config)
    wanted = {key for fold in folds for key in fold["examples"]}
    turns = turns_of_labels(wanted) if wanted else {}
    return [tuple(turns[key] for key in fold["examples"] if key in turns) for fold in folds]


def rubrics_by_fold(run_id: int) -> dict[int, Rubrics | None]:
    """The rubrics of each fold; None where one of them could not be induced. One query."""
    found: dict[int, Rubrics | None] = {}
    texts: dict[tuple[int, bool], tuple[str, ...]] = {}
    failed: set[int] = set()
    for row in rubric_rows(run_id, RubricStep.FINAL):
        texts[row.fold, row.satisfied] = row.sentences
        if row.status != JudgmentStatus.DONE:
            failed.add(row.fold)
    for fold in sorted({fold for fold, _ in texts}):
        both = Rubrics(texts.get((fold, True), ()), texts.get((fold, False), ()))
        found[fold] = None if fold in failed else both
    return found


@dataclass(frozen=True, slots=True)
class FoldPage:
    """One fold as a run's page shows it; `turns` are the rated turns that reasons were drawn of."""

    number: int
    judged: int
    training: int
    examples: tuple[HistoryTurn, ...]
    rubrics: Rubrics | None
    turns: int


def teaching_of(run: JudgeRun) -> tuple[FoldPage, ...]:
    """What the folds of a run were taught. No query where nothing was, else three."""
    folds = folds_of(run.config)
    if not folds:
        return ()
    rubrics, examples = rubrics_by_fold(run.pk), examples_by_fold(run.config)
    drawn = list(rubric_rows(run.pk, RubricStep.TURN).values_list("fold", flat=True))
    return tuple(
        FoldPage(
            number=at + 1,
            judged=len(fold["judged"]),
            training=len(fold["training"]),
            examples=examples[at],
            rubrics=rubrics.get(at),
            turns=drawn.count(at),
        )
        for at, fold in enumerate(folds)
    )
