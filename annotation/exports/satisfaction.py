"""Satisfaction labels, one a row: of a response, or of a whole session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final, cast

from annotation.core.tables import Row
from annotation.exports.explained import EXPLAINED, item_numbers, skippers
from annotation.exports.export import GIVEN, Export, given, is_for_readers, names_of_studies
from annotation.exports.streams import in_order
from annotation.models import Dataset, Response, SatisfactionLabel, Session, Study
from annotation.queries.participants import names_of
from annotation.queries.quality import gold_scores
from annotation.queries.withheld import own_labels

_COLUMNS: Final = (
    "target",
    "session",
    "scenario",
    "turn",
    "user_message",
    "model",
    "variant",
    "text",
    "annotator",
    "score",
    "reason",
    "hallucination",
    *GIVEN,
)


def _rows(
    dataset: Dataset,
    annotator_id: int | None = None,
    *,
    study_id: int | None = None,
    names: Mapping[int, str] | None = None,
    explain: Callable[[SatisfactionLabel], Row] = lambda _label: {},
) -> Iterator[Row]:
    names = names or names_of(dataset=dataset)
    studies = names_of_studies(dataset)
    labels = SatisfactionLabel.objects.all()
    if annotator_id is not None:
        labels = own_labels(labels, annotator_id)
    if study_id is not None:
        labels = labels.filter(study=study_id)
    of_responses = in_order(
        labels.filter(response__turn__session__dataset=dataset),
        SatisfactionLabel.objects.select_related("response__turn__session__scenario"),
        "response__turn__session__position",
        "response__turn__session_id",
        "response__turn__position",
        "response__position",
        "pk",
    )
    for label in chain.from_iterable(of_responses):
        yield {**_of_response(label), **_answer(label, names, studies), **explain(label)}
    of_sessions = in_order(
        labels.filter(session__dataset=dataset),
        SatisfactionLabel.objects.select_related("session__scenario"),
        "session__position",
        "session_id",
        "pk",
    )
    for label in chain.from_iterable(of_sessions):
        yield {**_of_session(label), **_answer(label, names, studies), **explain(label)}


def _flat_rows(dataset: Dataset, *, study_id: int | None = None) -> Iterator[Row]:
    """The same rows, which say besides what would need other files."""
    items = item_numbers(dataset, "session")
    gold = gold_scores(dataset)
    names = names_of(dataset=dataset)  # once: it looks at all labels
    skipped = skippers(dataset, "session", names)

    def explain(label: SatisfactionLabel) -> Row:
        session = label.response.turn.session_id if label.response else label.session_id
        place = (label.study_id, session or 0)
        return {
            "item": items.get((*place, label.repeat_index)),
            "flag": label.extra.get("flag"),
            "gold": gold.get(label.response_id or 0, (0, None))[1],
            "skipped_by": skipped.get(place),
        }

    return _rows(dataset, study_id=study_id, names=names, explain=explain)


def _study_flat_rows(study: Study) -> Iterator[Row]:
    return _flat_rows(study.dataset, study_id=study.pk)


def _of_response(label: SatisfactionLabel) -> Row:
    response = cast(Response, label.response)
    session = response.turn.session
    return {
        "target": "response",
        "session": session.key,
        "scenario": session.scenario.name,
        "turn": response.turn.position + 1,
        "user_message": response.turn.user_message,
        "model": response.model,
        "variant": response.variant,
        "text": response.text,
    }


def _of_session(label: SatisfactionLabel) -> Row:
    session = cast(Session, label.session)
    return {
        "target": "session",
        "session": session.key,
        "scenario": session.scenario.name,
        "turn": None,
        "user_message": None,
        "model": None,
        "variant": None,
        "text": None,
    }


def _answer(
    label: SatisfactionLabel, names: Mapping[int, str], studies: dict[int | None, str]
) -> Row:
    return {
        "annotator": names[label.annotator_id],
        "score": label.score,
        "reason": label.reason,
        "hallucination": label.hallucination,
        **given(label, studies),
    }


def _own_rows(dataset: Dataset, annotator_id: int) -> Iterator[Row]:
    for row in _rows(dataset, annotator_id):
        yield {name: value for name, value in row.items() if not is_for_readers(name)}


def _study_rows(study: Study) -> Iterator[Row]:
    return _rows(study.dataset, study_id=study.pk)


SATISFACTION: Final = Export(
    "satisfaction",
    _COLUMNS,
    _rows,
    flat_rows=_flat_rows,
    own_rows=_own_rows,
    study_rows=_study_rows,
    study_flat_rows=_study_flat_rows,
    flat_columns=EXPLAINED,
    empty="export:no-ratings",
)
