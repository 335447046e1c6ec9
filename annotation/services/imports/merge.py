"""Merging a session record into the stored tree: add what is new, refuse what contradicts.

A record that says less than what is stored is no contradiction. Turns may be added at the end of a
session, and the other fields of a sketch to a stored one. What says something else than the stored
field is a fault, never an overwrite.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from annotation.core.formats.fields import Notes
from annotation.core.formats.records import (
    ComparisonRecord,
    Extra,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    split_profile,
)
from annotation.core.refusals import Refused, gettext_noop
from annotation.models import Comparison, Dataset, Response, Session, Turn, text_hash
from annotation.services.imports.labels import (
    BY_SIGNING_IN,
    TOO_LONG,
    ImportPeople,
    LabelMerger,
    Places,
    names_in,
)
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
            if record.responses:  # a turn that nobody answered is continued past
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
    if record.text is not None or not (record.model or record.variant):
        return None
    known = [
        node for key, node in turn.responses.items() if key[:2] == (record.model, record.variant)
    ]
    return known[0] if len(known) == 1 else None


class Merger:
    """Merges records into batches; keeps the next places in file order between batches."""

    def __init__(
        self, *, dataset: Dataset, people: ImportPeople, places: Places, now: datetime
    ) -> None:
        stored = Session.objects.filter(dataset=dataset.pk).order_by("-position")
        last = stored.first() if dataset.pk else None
        self._dataset = dataset
        self._people = people
        self._places = places
        self._now = now
        self._next_session = 0 if last is None else last.position + 1
        self._comparison_places = ComparisonPlaces(dataset)

    def merge(self, batch: Batch, record: SessionRecord, notes: Notes) -> None:
        """One record: what it adds goes to the batch, what it contradicts to the notes."""
        for name in names_in(record):
            try:
                self._people.id_of(name)
            except Refused as error:
                notes.fault("annotator", TOO_LONG, name, longest=error.values["longest"])
                return
        node = self._session(batch, record, notes)
        if node is None:
            return
        if record.user is not None and record.profile:
            self._people.describe(record.user, record.profile, record.extra.get("profile"))
        for name, profile in record.profiles.items():
            self._people.describe(name, *split_profile(profile))
        labels = LabelMerger(
            batch=batch,
            session=node,
            people=self._people,
            places=self._places,
            now=self._now,
            notes=notes,
        )
        turns = TurnMerger(
            batch=batch, session=node, labels=labels, places=self._comparison_places, notes=notes
        )
        turns.merge(record.turns, sketch=record.sketch)
        labels.ratings(node.ratings, record.satisfaction, session=node.row.pk)
        labels.questionnaires(node, record.questionnaires)
        labels.gold(node.gold, record.gold, session=node.row.pk)

    def _session(self, batch: Batch, record: SessionRecord, notes: Notes) -> SessionNode | None:
        """The session of a record, known or new; None where there is a fault."""
        node = batch.sessions.get(record.key)
        if record.sketch and record.extra and (node is None or node.fresh):
            notes.fault("question_id", gettext_noop("Import this question first"), record.key)
            return None
        if record.needs_texts and node is None:
            reason = gettext_noop(
                "The texts are in another file: import that one into this dataset first"
            )
            notes.fault("", reason, record.key)
            return None
        if node is None:
            if record.user is not None and self._people.is_account(record.user):
                notes.fault("user", BY_SIGNING_IN, record.user)
                return None
            return self._new_session(batch, record)
        if not self._same_session(node.row, record, notes):
            return None
        if record.sketch and not record.extra.keys() <= node.row.extra.keys():
            batch.extend(node, record.extra)
        return node

    def _new_session(self, batch: Batch, record: SessionRecord) -> SessionNode:
        user = None if record.user is None else self._people.id_of(record.user)
        row = new_row(
            Session,
            dataset_id=self._dataset.pk,
            scenario_id=self._places.scenario(record.scenario),
            key=record.key,
            position=self._next_session,
            system_prompt=record.system_prompt,
            task_context=record.task_context,
            language=record.language,
            original_user_id=user,
            profile_snapshot=dict(record.profile),
            extra=dict(record.extra),
        )
        self._next_session += 1
        node = batch.sessions[record.key] = SessionNode(row, fresh=True)
        batch.add(row, node)
        return node

    def _same_session(self, row: Session, record: SessionRecord, notes: Notes) -> bool:
        user = None if record.user is None else self._people.id_of(record.user)
        said = {
            "scenario": ("" if record.sketch else record.scenario, self._places.scenario_name(row)),
            "system_prompt": (record.system_prompt, row.system_prompt),
            "task_context": (record.task_context, row.task_context),
            "language": (record.language, row.language),
            "user": (user, row.original_user_id),
            "profile": (dict(record.profile), row.profile_snapshot),
        }
        before = len(notes.faults)
        for name, (told, stored) in said.items():
            if told and told != stored:
                contradicts(notes, name, record.user if name == "user" else told)
        compare_extra(notes, "extra", record.extra, row.extra)
        return len(notes.faults) == before
