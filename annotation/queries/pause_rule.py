"""The answers by which the rule of a study pauses an annotator."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from annotation.core.choices import StudyKind, Verdict
from annotation.core.gold import holding
from annotation.core.quality import (
    FAST_REPLY_SECONDS,
    Answered,
    Figure,
    Measured,
    Yardstick,
    measured,
)
from annotation.models import ItemKind, PairwiseLabel, SatisfactionLabel, Study


def rule_rows(
    study: Study, annotator_id: int, *, kind: str, since: datetime | None
) -> list[Measured]:
    """An annotator's answers to gold items, or to repeats, after a moment. One query."""
    pairs = study.kind == StudyKind.PAIRWISE
    own: Any = (PairwiseLabel if pairs else SatisfactionLabel).objects.filter(
        study=study, annotator=annotator_id
    )
    target, said = ("comparison", "verdict") if pairs else ("response", "score")
    if kind == ItemKind.GOLD:
        of = "comparison__study_items" if pairs else "response__turn__session__study_items"
        labels = own.filter(**{f"{of}__study": study, f"{of}__kind": ItemKind.GOLD}, repeat_index=0)
        right: tuple[str, ...] = (
            f"{target}__gold_labels__source",
            f"{target}__gold_labels__{said}",
        )
    else:
        again = own.filter(repeat_index__gt=0).values(target)
        labels = own.filter(**{f"{target}__in": again})
        right = ()
    rows = labels.order_by("pk").values_list(
        "pk", target, said, "repeat_index", "created_at", *right
    )
    return _counted(list(rows), annotator_id, kind, since)


def _counted(
    rows: Iterable[tuple[Any, ...]], annotator_id: int, kind: str, since: datetime | None
) -> list[Measured]:
    answers: dict[int, Answered] = {}
    gold: list[tuple[int, str, Verdict | int]] = []
    for label, target, value, repeat, given, *right in rows:
        answers[label] = Answered(label, annotator_id, target, _value(value), repeat, given=given)
        if right and right[0]:
            gold.append((target, right[0], _value(right[1])))
    figure = Figure.GOLD if kind == ItemKind.GOLD else Figure.REPEATS
    yardstick = Yardstick(gold=holding(gold), fast_seconds=FAST_REPLY_SECONDS)
    return [
        row
        for row in measured(answers.values(), figure, yardstick)
        if since is None or (row.answer.given is not None and row.answer.given > since)
    ]


def _value(stored: str | int) -> Verdict | int:
    """A stored verdict or score."""
    return Verdict(stored) if isinstance(stored, str) else stored
