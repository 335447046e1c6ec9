"""The known side of a batch: the sessions that its rows speak of, with all that hangs on them.

Known is what is stored, and what earlier batches of the same import staged. Rows are merged into
this tree, and what is new is staged in bulk. A batch costs a fixed number of queries, whatever its
size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeVar

from django.db.models import Model
from django.db.models.base import ModelState

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
from annotation.services.imports.staging import Staging

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
    """A session with its turns, its own ratings and questionnaires; `fresh` is not stored yet."""

    row: Session
    fresh: bool
    turns: list[TurnNode] = field(default_factory=list)
    ratings: dict[LabelKey, SatisfactionLabel] = field(default_factory=dict)
    gold: dict[str, GoldLabel] = field(default_factory=dict)
    questionnaires: dict[tuple[int, int | None], SessionQuestionnaire] = field(default_factory=dict)


class Batch:
    """The tree of one batch, and what is new in it; `extended` are fields of stored sessions."""

    def __init__(self, staging: Staging) -> None:
        self.staging = staging
        self.sessions: dict[str, SessionNode] = {}
        self.new: dict[type[Model], list[tuple[Model, int, bool]]] = defaultdict(list)
        self.extended: dict[int, dict[str, object]] = {}
        self.added = 0

    def extend(self, session: SessionNode, extra: Mapping[str, object]) -> None:
        """Keep fields for a stored session that it does not have."""
        session.row.extra = self.extended[session.row.pk] = {**session.row.extra, **extra}
        self.added += 1

    def add(self, row: Model, session: SessionNode) -> None:
        """Keep a new row of a session for writing; it gets its id here."""
        kind = type(row)
        row.pk = self.staging.new_id(kind)
        fresh = session.fresh and getattr(row, "study_id", None) is None
        self.new[kind].append((row, session.row.pk, fresh))
        self.added += 1

    def counts(self) -> dict[str, int]:
        """How many new rows wait to be written, by the words of the report."""
        counts = {_COUNTED[kind]: len(rows) for kind, rows in self.new.items()}
        return {**counts, "references": len(self.extended)} if self.extended else counts

    def write(self) -> None:
        """Stage what is new."""
        for kind, rows in self.new.items():
            self.staging.write(kind, rows)
        self.new.clear()


def new_row(model: type[_Row], /, **values: object) -> _Row:
    """A row with these values by column, and else the fields' defaults.

    What the class itself would make, at a fifth of its price: a file has hundreds of thousands.
    Defaults that are made anew for each row, as the time, must be among the values.
    """
    row = model.__new__(model)
    row.__dict__ |= {**_defaults(model), "_state": ModelState(), **values}
    return row


@cache
def _defaults(model: type[Model]) -> dict[str, object]:
    return vars(model())


def label_key(label: PairwiseLabel | SatisfactionLabel) -> LabelKey:
    """What a label is unique by, beside its target."""
    return (label.annotator_id, label.study_id, label.repeat_index)


def load_batch(staging: Staging, dataset: Dataset, keys: Collection[str]) -> Batch:
    """The known sessions of these keys with all that hangs on them.

    Two queries, or up to twenty if any session is known.
    """
    batch = Batch(staging)
    if not keys:
        return batch
    stored = Session.objects.filter(dataset=dataset.pk, key__in=keys) if dataset.pk else ()
    nodes = {row.pk: SessionNode(row, fresh=False) for row in stored}
    nodes |= {row.pk: SessionNode(row, fresh=True) for row in staging.sessions(keys)}
    batch.sessions = {node.row.key: node for node in nodes.values()}
    if nodes:
        _load_tree(_Known(staging, nodes), nodes)
    return batch


class _Known:
    """The stored and the staged rows of some sessions."""

    def __init__(self, staging: Staging, nodes: Mapping[int, SessionNode]) -> None:
        self._staging = staging
        self._all = list(nodes)
        self._stored = [key for key, node in nodes.items() if not node.fresh]

    def rows(
        self,
        model: type[_Row],
        *paths: str,
        order: tuple[str, ...] = (),
        without: tuple[str, ...] = (),
    ) -> Iterator[_Row]:
        """Those of a model; `paths` lead to the session, of each row one of them."""
        if self._stored:
            for path in paths:
                rows = model._default_manager.filter(  # noqa: SLF001 - Django's own name
                    **{f"{path}__in": self._stored}
                )
                yield from rows.defer(*without).order_by(*order)
        yield from self._staging.rows(model, self._all, without=without)


def _load_tree(known: _Known, sessions: Mapping[int, SessionNode]) -> None:
    turns: dict[int, TurnNode] = {}
    for turn in known.rows(Turn, "session", order=("session_id", "position")):
        turns[turn.pk] = TurnNode(turn)
        sessions[turn.session_id].turns.append(turns[turn.pk])
    responses: dict[int, ResponseNode] = {}
    in_order = ("position", "pk")
    for response in known.rows(Response, "turn__session", order=in_order, without=("text",)):
        node = responses[response.pk] = ResponseNode(response)
        turn_node = turns[response.turn_id]
        turn_node.responses[(response.model, response.variant, response.text_hash)] = node
        if response.original:
            turn_node.original = node
    for node in responses.values():
        if node.row.continues_id is not None:
            node.parent = responses[node.row.continues_id]
    comparisons: dict[int, ComparisonNode] = {}
    for comparison in known.rows(Comparison, "turn__session"):
        a, b = responses[comparison.response_a_id], responses[comparison.response_b_id]
        comparisons[comparison.pk] = ComparisonNode(comparison, a, b)
        turns[comparison.turn_id].comparisons[comparison.key] = comparisons[comparison.pk]
    _load_labels(known, sessions, responses, comparisons)


def _load_labels(
    known: _Known,
    sessions: Mapping[int, SessionNode],
    responses: Mapping[int, ResponseNode],
    comparisons: Mapping[int, ComparisonNode],
) -> None:
    for verdict in known.rows(PairwiseLabel, "comparison__turn__session"):
        comparisons[verdict.comparison_id].labels[label_key(verdict)] = verdict
    for rating in known.rows(SatisfactionLabel, "response__turn__session", "session"):
        rated = _target(rating, sessions, responses)
        rated.ratings[label_key(rating)] = rating
    paths = ("comparison__turn__session", "response__turn__session", "session")
    for gold in known.rows(GoldLabel, *paths):
        if gold.comparison_id is not None:
            comparisons[gold.comparison_id].gold[gold.source] = gold
        else:
            _target(gold, sessions, responses).gold[gold.source] = gold
    for answers in known.rows(SessionQuestionnaire, "session"):
        key = (answers.annotator_id, answers.study_id)
        sessions[answers.session_id].questionnaires[key] = answers


def _target(
    label: SatisfactionLabel | GoldLabel,
    sessions: Mapping[int, SessionNode],
    responses: Mapping[int, ResponseNode],
) -> ResponseNode | SessionNode:
    """What a label is about that is about no comparison."""
    if label.response_id is not None:
        return responses[label.response_id]
    return sessions[label.session_id or 0]  # never 0: a constraint says so
