"""Pairwise labels, one a row, as `pair` lines: a file of them stands alone and can be imported.

Verdicts are in the comparison's own coordinates; `shown_order` says which response was seen first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from annotation.core.tables import Row
from annotation.exports.dialogues import dialogues_before
from annotation.exports.export import Export, is_for_readers
from annotation.exports.given import GIVEN, given, names_of_studies
from annotation.exports.parts import in_order
from annotation.models import Dataset, PairwiseLabel, Study
from annotation.queries.annotators import names_of
from annotation.queries.withheld import own_labels

_COLUMNS: Final = (
    "type",
    "session",
    "scenario",
    "system_prompt",
    "task_context",
    "dialogue",
    "comparison",
    "position",
    "model_a",
    "variant_a",
    "text_a",
    "model_b",
    "variant_b",
    "text_b",
    "annotator",
    "verdict",
    "strength",
    "both_bad",
    "shown_order",
    *GIVEN,
)


def _rows(
    dataset: Dataset, annotator_id: int | None = None, *, study_id: int | None = None
) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    studies = names_of_studies(dataset)
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    if annotator_id is not None:
        labels = own_labels(labels, annotator_id)
    if study_id is not None:
        labels = labels.filter(study=study_id)
    rows = PairwiseLabel.objects.select_related(
        "comparison__response_a",
        "comparison__response_b",
        "comparison__turn__session__scenario",
    )
    for chunk in in_order(labels, rows, "comparison__position", "comparison_id", "pk"):
        dialogues = dialogues_before({label.comparison.turn for label in chunk})
        for label in chunk:
            yield _row(label, dialogues[label.comparison.turn_id], names, studies)


def _row(
    label: PairwiseLabel,
    dialogue: list[dict[str, str]],
    names: dict[int, str],
    studies: dict[int | None, str],
) -> Row:
    comparison = label.comparison
    session = comparison.turn.session
    a, b = comparison.response_a, comparison.response_b
    return {
        "type": "pair",
        "session": session.key,
        "scenario": session.scenario.name,
        "system_prompt": session.system_prompt,
        "task_context": session.task_context,
        "dialogue": dialogue,
        "comparison": comparison.key,
        "position": comparison.position,
        "model_a": a.model,
        "variant_a": a.variant,
        "text_a": a.text,
        "model_b": b.model,
        "variant_b": b.variant,
        "text_b": b.text,
        "annotator": names[label.annotator_id],
        "verdict": label.verdict,
        "strength": label.strength,
        "both_bad": label.both_bad,
        "shown_order": label.shown_order,
        **given(label, studies),
    }


def _own_rows(dataset: Dataset, annotator_id: int) -> Iterator[Row]:
    for row in _rows(dataset, annotator_id):
        yield {name: value for name, value in row.items() if not is_for_readers(name)}


def _study_rows(study: Study) -> Iterator[Row]:
    return _rows(study.dataset, study_id=study.pk)


LABELS: Final = Export("labels", _COLUMNS, _rows, own_rows=_own_rows, study_rows=_study_rows)
