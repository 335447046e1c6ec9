"""Merging labels: a new one is added, the same one is left, another answer is a fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from annotation.core.choices import Reason, StudyKind
from annotation.core.formats.fields import Notes
from annotation.core.formats.records import (
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    SatisfactionRecord,
)
from annotation.core.refusals import gettext_noop
from annotation.models import GoldLabel, PairwiseLabel, SatisfactionLabel, SessionQuestionnaire
from annotation.services.imports.people import BY_SIGNING_IN, People, Places
from annotation.services.imports.tree import (
    Batch,
    ComparisonNode,
    LabelKey,
    SessionNode,
    new_row,
)


class LabelMerger:
    """Merges the labels of one record."""

    def __init__(
        self,
        *,
        batch: Batch,
        session: SessionNode,
        people: People,
        places: Places,
        now: datetime,
        notes: Notes,
    ) -> None:
        self._batch = batch
        self._session = session
        self._people = people
        self._places = places
        self._now = now
        self._notes = notes

    def verdicts(self, node: ComparisonNode, records: Iterable[PairwiseRecord]) -> None:
        """The pairwise labels of a comparison."""
        for record in records:
            key = self._key(record.details, StudyKind.PAIRWISE)
            fields = {
                "verdict": record.verdict.value,
                "strength": record.strength,
                "both_bad": record.both_bad,
                "shown_order": None if record.shown_order is None else record.shown_order.value,
            }
            stored = node.labels.get(key)
            if stored is not None:
                self._compare(record.details, {**fields, **_told(record.details)}, stored)
            elif self._may_add(record.details.annotator):
                row = new_row(
                    PairwiseLabel,
                    comparison_id=node.row.pk,
                    **fields,
                    **self._columns(record.details, key),
                )
                node.labels[key] = row
                self._batch.add(row, self._session)

    def ratings(
        self,
        stored_labels: dict[LabelKey, SatisfactionLabel],
        records: Iterable[SatisfactionRecord],
        *,
        response: int | None = None,
        session: int | None = None,
    ) -> None:
        """The satisfaction labels of a response or a session."""
        for record in records:
            key = self._key(record.details, StudyKind.SATISFACTION)
            fields = {
                "score": record.score,
                "reason": None if record.reason is None else record.reason.value,
                "hallucination": record.hallucination and record.hallucination.value,
            }
            stored = stored_labels.get(key)
            if stored is not None:
                said = {**fields, **_told(record.details)}
                if record.reason is Reason.NOT_RECORDED:
                    said["reason"] = None
                self._compare(record.details, said, stored)
            elif self._may_add(record.details.annotator):
                row = new_row(
                    SatisfactionLabel,
                    response_id=response,
                    session_id=session,
                    **fields,
                    **self._columns(record.details, key),
                )
                stored_labels[key] = row
                self._batch.add(row, self._session)

    def questionnaires(self, node: SessionNode, records: Iterable[QuestionnaireRecord]) -> None:
        """The answers after a session."""
        for record in records:
            annotator = self._people.id_of(record.annotator)
            study = self._places.study(record.study, StudyKind.SATISFACTION)
            answers = [dict(answer) for answer in record.answers]
            stored = node.questionnaires.get((annotator, study))
            if stored is not None:
                if stored.answers != answers:
                    field = f"questionnaires[{record.annotator}]"
                    self._notes.fault(
                        field, gettext_noop("Differs from the existing data"), answers
                    )
            elif self._may_add(record.annotator):
                row = new_row(
                    SessionQuestionnaire,
                    annotator_id=annotator,
                    session_id=node.row.pk,
                    study_id=study,
                    answers=answers,
                    created_at=record.given_at or self._now,
                )
                node.questionnaires[(annotator, study)] = row
                self._batch.add(row, self._session)

    def gold(
        self,
        stored_labels: dict[str, GoldLabel],
        records: Iterable[GoldRecord],
        *,
        comparison: int | None = None,
        response: int | None = None,
        session: int | None = None,
    ) -> None:
        """The gold answers of a comparison, a response or a session."""
        for record in records:
            verdict = None if record.verdict is None else record.verdict.value
            stored = stored_labels.get(record.source)
            if stored is None:
                row = new_row(
                    GoldLabel,
                    comparison_id=comparison,
                    response_id=response,
                    session_id=session,
                    verdict=verdict,
                    score=record.score,
                    source=record.source,
                    rationale=record.rationale,
                    created_at=self._now,
                )
                stored_labels[record.source] = row
                self._batch.add(row, self._session)
            elif (stored.verdict, stored.score) != (verdict, record.score):
                told = record.score if verdict is None else verdict
                self._notes.fault(
                    f"gold[{record.source}]", gettext_noop("Differs from the existing data"), told
                )

    def _key(self, details: LabelDetails, kind: StudyKind) -> LabelKey:
        annotator = self._people.id_of(details.annotator)
        return (annotator, self._places.study(details.study, kind), details.repeat)

    def _may_add(self, annotator: str) -> bool:
        if self._people.is_account(annotator):
            self._notes.fault("annotator", BY_SIGNING_IN, annotator)
            return False
        return True

    def _columns(self, details: LabelDetails, key: LabelKey) -> dict[str, Any]:
        return {
            **_told(details),
            "annotator_id": key[0],
            "study_id": key[1],
            "repeat_index": key[2],
            "edits": details.edits,
            "extra": dict(details.extra),
            "created_at": details.given_at or self._now,
        }

    def _compare(
        self,
        details: LabelDetails,
        said: Mapping[str, object],
        stored: PairwiseLabel | SatisfactionLabel,
    ) -> None:
        """A fault for each column that a record tells otherwise than it is stored."""
        for column, value in said.items():
            if value not in (None, "") and getattr(stored, column) != value:
                field = "given_at" if column == "created_at" else column
                self._notes.fault(
                    f"labels[{details.annotator}].{field}",
                    gettext_noop("Differs from the existing data"),
                    value,
                )


def _told(details: LabelDetails) -> dict[str, Any]:
    """How a label was given, by column; None and "" are not told."""
    told: dict[str, Any] = {
        "comment": details.comment,
        "active_seconds": details.active_seconds,
        "idle_seconds": details.idle_seconds,
        "input_device": details.input_device,
        "guidelines_version": details.guidelines_version,
        "app_version": details.app_version,
    }
    if details.given_at is not None:
        told["created_at"] = details.given_at
    return told
