"""Pairwise labels with a column for each annotator: a row a labelled comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from django.db.models import QuerySet

from annotation.core.formats.headers import VERDICT_OF
from annotation.core.formats.wide import COLUMNS, TYPE
from annotation.core.tables import Row
from annotation.exports.export import Export
from annotation.exports.sessions import dialogues_before
from annotation.exports.streams import in_order
from annotation.models import Comparison, Dataset, PairwiseLabel, Study
from annotation.queries.participants import names_of


def _labels(of: Dataset | Study) -> QuerySet[PairwiseLabel]:
    """First answers of a dataset, or of a study alone."""
    labels = PairwiseLabel.objects.filter(repeat_index=0)
    if isinstance(of, Study):
        return labels.filter(study=of)
    return labels.filter(comparison__turn__session__dataset=of)


def _annotators(of: Dataset | Study) -> dict[int, str]:
    """The columns of those who labelled, by number, in the order of their names."""
    names = names_of(dataset=of.dataset if isinstance(of, Study) else of)
    who = _labels(of).order_by().values_list("annotator_id", flat=True).distinct()
    return {key: f"{VERDICT_OF}{names[key]}" for key in sorted(who, key=lambda key: names[key])}


def _columns(of: Dataset | Study) -> tuple[str, ...]:
    return (*COLUMNS, *_annotators(of).values())


def _rows(of: Dataset | Study) -> Iterator[Row]:
    columns = _annotators(of)
    nobody = dict.fromkeys(columns.values())
    comparisons = Comparison.objects.filter(pk__in=_labels(of).order_by().values("comparison"))
    rows = Comparison.objects.select_related("response_a", "response_b", "turn__session__scenario")
    for chunk in in_order(comparisons, rows, "position", "pk"):
        verdicts: dict[int, dict[str, str]] = defaultdict(dict)
        labels = _labels(of).filter(comparison__in=chunk).order_by("pk")
        for comparison, annotator, verdict in labels.values_list(
            "comparison_id", "annotator_id", "verdict"
        ):
            verdicts[comparison][columns[annotator]] = verdict
        dialogues = dialogues_before({each.turn for each in chunk})
        for each in chunk:
            yield {**_pair(each, dialogues[each.turn_id]), **nobody, **verdicts[each.pk]}


def _pair(comparison: Comparison, dialogue: list[dict[str, str]]) -> Row:
    session = comparison.turn.session
    a, b = comparison.response_a, comparison.response_b
    return {
        "type": TYPE,
        "session": session.key,
        "scenario": session.scenario.name,
        "system_prompt": session.system_prompt,
        "task_context": session.task_context,
        "dialogue": dialogue,
        "comparison": comparison.key,
        "model_a": a.model,
        "variant_a": a.variant,
        "text_a": a.text,
        "model_b": b.model,
        "variant_b": b.variant,
        "text_b": b.text,
    }


LABELS_WIDE: Final = Export(
    "labels_wide",
    COLUMNS,
    _rows,
    study_rows=_rows,
    columns_of=_columns,
    empty="export:no-labels",
)
