"""Merging the turns of a session: user messages, candidate responses, comparisons."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.core.formats.fields import Notes
from annotation.core.formats.records import (
    ComparisonRecord,
    Extra,
    ResponseRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop
from annotation.models import Comparison, Dataset, Response, Turn, text_hash
from annotation.services.imports.labels import LabelMerger
from annotation.services.imports.tree import (
    Batch,
    ComparisonNode,
    ResponseKey,
    ResponseNode,
    SessionNode,
    TurnNode,
    new_row,
)


def contradicts(notes: Notes, field: str, value: object) -> None:
    """Note that a field says something else than what is stored."""
    notes.fault(field, gettext_noop("Differs from the existing data"), value)


def compare_extra(notes: Notes, field: str, told: Extra, stored: Mapping[str, object]) -> None:
    """Note every key of a JSON object that both sides know and that differs."""
    for key, value in told.items():
        if key in stored and stored[key] != value:
            contradicts(notes, f"{field}.{key}", value)


class ComparisonPlaces:
    """The places of comparisons in file order, over all batches of an import."""

    def __init__(self, dataset: Dataset) -> None:
        in_dataset = Comparison.objects.filter(turn__session__dataset=dataset.pk)
        last = in_dataset.order_by("-position").first() if dataset.pk else None
        self._next = 0 if last is None else last.position + 1

    def take(self, told: int | None) -> int:
        """The place that a file tells, else the next free one."""
        place = self._next if told is None else told
        self._next = max(self._next, place + 1)
        return place


class TurnMerger:
    """Merges the turns of one record."""

    def __init__(
        self,
        *,
        batch: Batch,
        session: SessionNode,
        labels: LabelMerger,
        places: ComparisonPlaces,
        notes: Notes,
    ) -> None:
        self._batch = batch
        self._session = session
        self._labels = labels
        self._places = places
        self._notes = notes

    def merge(self, turns: tuple[TurnRecord, ...], *, sketch: bool = False) -> None:
        """Every turn in its place; a user message that is not the stored one ends the merging.

        A sketch says nothing of user messages.
        """
        session = self._session
        previous: dict[str, ResponseNode] = {}
        for position, record in enumerate(turns):
            path = f"turns[{position}]"
            if position == len(session.turns):
                row = new_row(
                    Turn,
                    session_id=session.row.pk,
                    position=position,
                    user_message=record.user_message,
                )
                self._batch.add(row, session)
                session.turns.append(TurnNode(row))
            turn = session.turns[position]
            if not sketch and turn.row.user_message != record.user_message:
                contradicts(self._notes, f"{path}.user", record.user_message)
                return
            nodes: dict[str, ResponseNode] = {}
            for place, response in enumerate(record.responses):
                parent = previous.get(response.continues or "")
                node = self._response(
                    turn, response, parent, f"{path}.responses[{place}]", sketch=sketch
                )
                if node is not None:
                    nodes[response.key] = node
            for place, comparison in enumerate(record.comparisons):
                self._comparison(turn, comparison, nodes, f"{path}.comparisons[{place}]")
            previous = nodes

    def _response(
        self,
        turn: TurnNode,
        record: ResponseRecord,
        parent: ResponseNode | None,
        path: str,
        *,
        sketch: bool,
    ) -> ResponseNode | None:
        """The node of a response with its labels merged; None where it is at fault."""
        key = (record.model, record.variant, text_hash(record.text))
        node = _known_response(turn, record, key) or (_only_one(turn, record) if sketch else None)
        if node is not None and not self._same_response(turn, node, record, parent, path):
            return None
        if node is None:
            if record.original and turn.original is not None:
                reason = gettext_noop("This turn already has another original response")
                self._notes.fault(path, reason, record.text)
                return None
            node = self._new_response(turn, record, key, parent)
        self._labels.ratings(node.ratings, record.satisfaction, response=node.row.pk)
        self._labels.gold(node.gold, record.gold, response=node.row.pk)
        return node

    def _new_response(
        self,
        turn: TurnNode,
        record: ResponseRecord,
        key: ResponseKey,
        parent: ResponseNode | None,
    ) -> ResponseNode:
        row = new_row(
            Response,
            turn_id=turn.row.pk,
            model=record.model,
            text=record.text,
            text_hash=key[2],
            original=record.original,
            continues_id=None if parent is None else parent.row.pk,
            variant=record.variant,
            position=len(turn.responses),
            extra=dict(record.extra),
        )
        self._batch.add(row, self._session)
        node = turn.responses[key] = ResponseNode(row, parent)
        if record.original:
            turn.original = node
        return node

    def _same_response(
        self,
        turn: TurnNode,
        node: ResponseNode,
        record: ResponseRecord,
        parent: ResponseNode | None,
        path: str,
    ) -> bool:
        before = len(self._notes.faults)
        if record.original and turn.original is not node:
            contradicts(self._notes, f"{path}.original", value=True)
        if parent is not None and node.parent is not parent:
            contradicts(self._notes, f"{path}.continues", record.continues)
        compare_extra(self._notes, f"{path}.extra", record.extra, node.row.extra)
        return len(self._notes.faults) == before

    def _comparison(
        self,
        turn: TurnNode,
        record: ComparisonRecord,
        responses: Mapping[str, ResponseNode],
        path: str,
    ) -> None:
        a, b = responses.get(record.a), responses.get(record.b)
        if a is None or b is None:  # a response of it is at fault already
            return
        node = turn.comparisons.get(record.key)
        if node is None:
            node = self._new_comparison(turn, record, a, b)
        elif not self._same_comparison(node, record, a, b, path):
            return
        self._labels.verdicts(node, record.labels)
        self._labels.gold(node.gold, record.gold, comparison=node.row.pk)

    def _new_comparison(
        self, turn: TurnNode, record: ComparisonRecord, a: ResponseNode, b: ResponseNode
    ) -> ComparisonNode:
        row = new_row(
            Comparison,
            turn_id=turn.row.pk,
            response_a_id=a.row.pk,
            response_b_id=b.row.pk,
            key=record.key,
            position=self._places.take(record.position),
            extra=dict(record.extra),
        )
        self._batch.add(row, self._session)
        turn.comparisons[record.key] = ComparisonNode(row, a, b)
        return turn.comparisons[record.key]

    def _same_comparison(
        self,
        node: ComparisonNode,
        record: ComparisonRecord,
        a: ResponseNode,
        b: ResponseNode,
        path: str,
    ) -> bool:
        before = len(self._notes.faults)
        for side, told, stored in (("a", a, node.a), ("b", b, node.b)):
            if told is not stored:
                contradicts(self._notes, f"{path}.{side}", told.row.model or told.row.text)
        compare_extra(self._notes, f"{path}.extra", record.extra, node.row.extra)
        return len(self._notes.faults) == before


def _known_response(
    turn: TurnNode, record: ResponseRecord, key: ResponseKey
) -> ResponseNode | None:
    """The response that a record means, stored or staged.

    A file that knows only the text of an original response means the original of that text.
    """
    node = turn.responses.get(key)
    nameless = record.original and not record.model and not record.variant
    original = turn.original
    if node is None and nameless and original is not None:
        return original if original.row.text_hash == key[2] else None
    return node


def _only_one(turn: TurnNode, record: ResponseRecord) -> ResponseNode | None:
    """The one stored response of a model that a record names without its text."""
    if record.text is not None or not record.model:
        return None
    known = [
        node for key, node in turn.responses.items() if key[:2] == (record.model, record.variant)
    ]
    return known[0] if len(known) == 1 else None
