"""Merging a session record into the stored tree: add what is new, refuse what contradicts.

A record that says less than what is stored is no contradiction, and turns may be added at the end
of a session; what says something else than the stored field is a fault, never an overwrite.
"""

from __future__ import annotations

from datetime import datetime

from annotation.core.formats.fields import Notes
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import Refused
from annotation.models import Dataset, Session
from annotation.services.imports.labels import LabelMerger
from annotation.services.imports.people import BY_SIGNING_IN, TOO_LONG, People, Places, names_in
from annotation.services.imports.tree import Batch, SessionNode, new_row
from annotation.services.imports.turns import (
    ComparisonPlaces,
    TurnMerger,
    compare_extra,
    contradicts,
)


class Merger:
    """Merges records into batches; keeps the next places in file order between batches."""

    def __init__(self, *, dataset: Dataset, people: People, places: Places, now: datetime) -> None:
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
        node = batch.sessions.get(record.key)
        if node is None:
            if record.user is not None and self._people.is_account(record.user):
                notes.fault("user", BY_SIGNING_IN, record.user)
                return
            node = self._new_session(batch, record)
        elif not self._same_session(node.row, record, notes):
            return
        if record.user is not None:
            self._people.describe(record.user, record)
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
