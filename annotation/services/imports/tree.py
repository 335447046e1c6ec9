"""The stored side of a batch: the sessions that its rows speak of, with all that hangs on them.

Rows are merged into this tree; what is new is kept aside and written in bulk, parents first. A
batch costs a fixed number of queries, whatever its size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from django.db.models import Model

from annotation.models import (
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Turn,
)

LabelKey = tuple[int, int | None, int]
"""Annotator, study (or None), repeat."""
ResponseKey = tuple[str, str, str]
"""Model, variant, hash of the text."""

_Row = TypeVar("_Row", bound=Model)

_COUNTED: Final[Mapping[type[Model], str]] = {
    Session: "sessions",
    Turn: "turns",
    Response: "responses",
    Comparison: "comparisons",
    PairwiseLabel: "labels",
    SatisfactionLabel: "satisfaction",
    SessionQuestionnaire: "questionnaires",
    GoldLabel: "gold",
}


@dataclass(slots=True)
class ResponseNode:
    """A response with the one it continues, and its ratings."""

    row: Response
    parent: ResponseNode | None = None
    ratings: dict[LabelKey, SatisfactionLabel] = field(default_factory=dict)
    gold: dict[str, GoldLabel] = field(default_factory=dict)


@dataclass(slots=True)
class ComparisonNode:
    """A comparison with its verdicts."""

    row: Comparison
    a: ResponseNode
    b: ResponseNode
    labels: dict[LabelKey, PairwiseLabel] = field(default_factory=dict)
    gold: dict[str, GoldLabel] = field(default_factory=dict)


@dataclass(slots=True)
class TurnNode:
    """A turn with its responses and comparisons."""

    row: Turn
    responses: dict[ResponseKey, ResponseNode] = field(default_factory=dict)
    comparisons: dict[str, ComparisonNode] = field(default_factory=dict)
    original: ResponseNode | None = None


@dataclass(slots=True)
class SessionNode:
    """A session with its turns, its own ratings and questionnaires."""

    row: Session
    turns: list[TurnNode] = field(default_factory=list)
    ratings: dict[LabelKey, SatisfactionLabel] = field(default_factory=dict)
    gold: dict[str, GoldLabel] = field(default_factory=dict)
    questionnaires: dict[tuple[int, int | None], SessionQuestionnaire] = field(default_factory=dict)


class Batch:
    """The tree of one batch, and what is new in it."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionNode] = {}
        self.new: dict[type[Model], list[Model]] = defaultdict(list)
        self.added = 0

    def add(self, row: Model) -> None:
        """Keep a new row for writing."""
        self.new[type(row)].append(row)
        self.added += 1

    def counts(self) -> dict[str, int]:
        """How many new rows wait to be written, by the words of the report."""
        return {_COUNTED[kind]: len(rows) for kind, rows in self.new.items()}

    def write(self) -> None:
        """Write what is new, parents before children."""
        Session.objects.bulk_create(self._taken(Session))
        Turn.objects.bulk_create(self._taken(Turn))
        _write_responses(self._taken(Response))
        Comparison.objects.bulk_create(self._taken(Comparison))
        PairwiseLabel.objects.bulk_create(self._taken(PairwiseLabel))
        SatisfactionLabel.objects.bulk_create(self._taken(SatisfactionLabel))
        SessionQuestionnaire.objects.bulk_create(self._taken(SessionQuestionnaire))
        GoldLabel.objects.bulk_create(self._taken(GoldLabel))

    def _taken(self, kind: type[_Row]) -> list[_Row]:
        return [row for row in self.new.pop(kind, []) if isinstance(row, kind)]


def _write_responses(rows: list[Response]) -> None:
    """In waves: a response is written after the one it continues."""
    while rows:
        ready = [row for row in rows if row.continues is None or row.continues.pk]
        Response.objects.bulk_create(ready)
        rows = [row for row in rows if row.pk is None]


def label_key(label: PairwiseLabel | SatisfactionLabel) -> LabelKey:
    """What a label is unique by, beside its target."""
    return (label.annotator_id, label.study_id, label.repeat_index)


def load_batch(dataset: Dataset, keys: Iterable[str]) -> Batch:
    """The stored sessions of these keys with all that hangs on them (1 query, or 11 if any is)."""
    batch = Batch()
    stored = Session.objects.filter(dataset=dataset, key__in=list(keys)).select_related("scenario")
    nodes = {row.pk: SessionNode(row) for row in stored}
    batch.sessions = {node.row.key: node for node in nodes.values()}
    if nodes:
        _load_turns(nodes)
        _load_session_labels(nodes)
    return batch


def _load_turns(nodes: dict[int, SessionNode]) -> None:
    turns: dict[int, TurnNode] = {}
    for turn in Turn.objects.filter(session__in=nodes).order_by("session_id", "position"):
        turns[turn.pk] = TurnNode(turn)
        nodes[turn.session_id].turns.append(turns[turn.pk])
    responses: dict[int, ResponseNode] = {}
    in_sessions = {"turn__session__in": list(nodes)}
    for response in Response.objects.filter(**in_sessions).defer("text").order_by("position", "pk"):
        node = responses[response.pk] = ResponseNode(response)
        turn_node = turns[response.turn_id]
        turn_node.responses[(response.model, response.variant, response.text_hash)] = node
        if response.original:
            turn_node.original = node
    for node in responses.values():
        if node.row.continues_id is not None:
            node.parent = responses[node.row.continues_id]
    comparisons: dict[int, ComparisonNode] = {}
    for comparison in Comparison.objects.filter(**in_sessions):
        a, b = responses[comparison.response_a_id], responses[comparison.response_b_id]
        comparisons[comparison.pk] = ComparisonNode(comparison, a, b)
        turns[comparison.turn_id].comparisons[comparison.key] = comparisons[comparison.pk]
    _load_labels(nodes, responses, comparisons)


def _load_labels(
    nodes: dict[int, SessionNode],
    responses: dict[int, ResponseNode],
    comparisons: dict[int, ComparisonNode],
) -> None:
    """What is filtered by a target has that target: `or 0` only tells the type checker so."""
    sessions = list(nodes)
    for verdict in PairwiseLabel.objects.filter(comparison__turn__session__in=sessions):
        comparisons[verdict.comparison_id].labels[label_key(verdict)] = verdict
    for rating in SatisfactionLabel.objects.filter(response__turn__session__in=sessions):
        responses[rating.response_id or 0].ratings[label_key(rating)] = rating
    for gold in GoldLabel.objects.filter(comparison__turn__session__in=sessions):
        comparisons[gold.comparison_id or 0].gold[gold.source] = gold
    for gold in GoldLabel.objects.filter(response__turn__session__in=sessions):
        responses[gold.response_id or 0].gold[gold.source] = gold


def _load_session_labels(nodes: dict[int, SessionNode]) -> None:
    sessions = list(nodes)
    for rating in SatisfactionLabel.objects.filter(session__in=sessions):
        nodes[rating.session_id or 0].ratings[label_key(rating)] = rating
    for gold in GoldLabel.objects.filter(session__in=sessions):
        nodes[gold.session_id or 0].gold[gold.source] = gold
    for answers in SessionQuestionnaire.objects.filter(session__in=sessions):
        nodes[answers.session_id].questionnaires[(answers.annotator_id, answers.study_id)] = answers
