"""Merging people and labels: a new one is added, the same is left, another answer is a fault."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, Final

from django.contrib.auth.hashers import make_password

from annotation.core.choices import Reason, StudyKind
from annotation.core.formats.fields import Notes
from annotation.core.formats.records import (
    Extra,
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    SatisfactionRecord,
    SessionRecord,
)
from annotation.core.participants import folded, imported_study_slug, rater_username
from annotation.core.refusals import Refused, gettext_noop
from annotation.models import (
    AnnotatorProfile,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Role,
    SatisfactionLabel,
    Scenario,
    Session,
    SessionQuestionnaire,
    Study,
    StudyStatus,
    User,
)
from annotation.queries.participants import annotators
from annotation.services.imports.staging import Staging
from annotation.services.imports.tree import (
    Batch,
    ComparisonNode,
    LabelKey,
    SessionNode,
    new_row,
)

BY_SIGNING_IN: Final = gettext_noop(
    "This is an account of this site; its answers can only be entered by signing in"
)
TOO_LONG: Final = gettext_noop("Must be at most %(longest)d characters in this dataset")

_USERNAME_CHARS: Final = 150
_LISTS: Final = (
    "personality",
    "daily_interests",
    "travel_habits",
    "dining_preferences",
    "spending_habits",
    "other_aspects",
)
_TEXTS: Final = {"gender": 50, "age": 50, "background": None, "occupation": 200}
"""The profile's text fields and what their columns hold; the session's snapshot keeps all."""


def names_in(record: SessionRecord) -> Iterator[str]:
    """Everybody whom a session names."""
    if record.user is not None:
        yield record.user
    responses = chain.from_iterable(turn.responses for turn in record.turns)
    comparisons = chain.from_iterable(turn.comparisons for turn in record.turns)
    rated = chain.from_iterable(response.satisfaction for response in responses)
    judged = chain.from_iterable(comparison.labels for comparison in comparisons)
    yield from (rating.details.annotator for rating in chain(record.satisfaction, rated))
    yield from (verdict.details.annotator for verdict in judged)
    yield from (answers.annotator for answers in record.questionnaires)


class ImportPeople:
    """The raters of one import, by the names of its file.

    A name that an account of this site goes by in the dataset means that account: its labels may be
    read back unchanged, but never added to from a file. Names that differ in their Unicode form
    only are one person's, whose first spelling stays.
    """

    def __init__(self, dataset: Dataset, staging: Staging) -> None:
        self._dataset = dataset
        self._staging = staging
        self._users: dict[str, int] = {}
        self._profiled: set[int] = set()
        self._accounts: set[str] = set()
        self._spellings: dict[str, str] = {}
        self.created = 0
        for each in annotators(dataset=dataset) if dataset.pk else ():
            self._spellings.setdefault(folded(each.name), each.name)
            if not each.imported:
                self._users[each.name] = each.id
                self._accounts.add(each.name)

    def prepare(self, names: Iterable[str]) -> None:
        """Find or make the raters of these names (at most two queries of what is stored)."""
        new = sorted(set(names) - self._users.keys())
        spelled = {name: self._spellings.setdefault(folded(name), name) for name in new}
        self._find({name for name in spelled.values() if name not in self._users})
        self._users |= {
            name: self._users[first] for name, first in spelled.items() if first in self._users
        }
        self._accounts |= {name for name, first in spelled.items() if first in self._accounts}

    def _find(self, names: Collection[str]) -> None:
        wanted = {rater_username(self._dataset.slug, name): name for name in sorted(names)}
        fitting = {full: name for full, name in wanted.items() if len(full) <= _USERNAME_CHARS}
        if not fitting:
            return
        stored = dict(User.objects.filter(username__in=fitting).values_list("username", "pk"))
        missing = [
            User(
                username=full,
                display_name=name,
                role=Role.ANNOTATOR,
                is_active=False,
                password=make_password(None),
            )
            for full, name in fitting.items()
            if full not in stored
        ]
        self._staging.put(*missing, fresh=True)
        stored |= {user.username: user.pk for user in missing}
        self.created += len(missing)
        self._users |= {name: stored[full] for full, name in fitting.items()}
        profiles = AnnotatorProfile.objects.filter(user__in=stored.values())
        self._profiled.update(profiles.values_list("user_id", flat=True))

    def id_of(self, name: str) -> int:
        """The user id behind a prepared name.

        Raises:
            Refused: the name does not fit behind the dataset's.
        """
        if name not in self._users:
            longest = _USERNAME_CHARS - len(self._dataset.slug) - 1
            raise Refused("import:name", longest=longest)
        return self._users[name]

    def is_account(self, name: str) -> bool:
        """Whether the name means somebody who signs in."""
        return name in self._accounts

    def describe(self, name: str, told: Extra, stray: object) -> None:
        """Store the first profile that is told of a rater, with its stray fields."""
        user_id = self.id_of(name)
        if user_id in self._profiled or self.is_account(name):
            return
        profile = AnnotatorProfile(user_id=user_id, extra=stray if isinstance(stray, dict) else {})
        for field, longest in _TEXTS.items():
            value = told.get(field)
            text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
            setattr(profile, field, text[:longest])
        for field in _LISTS:
            value = told.get(field, [])
            setattr(profile, field, value if isinstance(value, list) else [value])
        self._staging.put(profile)
        self._profiled.add(user_id)


class Places:
    """The scenarios and studies of one import, made on first mention."""

    def __init__(self, dataset: Dataset, staging: Staging) -> None:
        stored = dataset.scenarios.values_list("name", "pk") if dataset.pk else ()
        self._dataset = dataset
        self._staging = staging
        self._scenarios = dict(stored)
        self._names = {key: name for name, key in self._scenarios.items()}
        self._studies: dict[str, int] = {}

    def scenario(self, name: str) -> int:
        """The id of the scenario of this name."""
        if name not in self._scenarios:
            row = Scenario(dataset_id=self._dataset.pk, name=name, position=len(self._scenarios))
            self._staging.put(row, fresh=True)
            self._scenarios[name] = row.pk
            self._names[row.pk] = name
        return self._scenarios[name]

    def scenario_name(self, session: Session) -> str:
        """The name of a session's scenario."""
        return self._names[session.scenario_id]

    def study(self, name: str, kind: StudyKind) -> int | None:
        """The study of this name in the dataset; one that is not there yet is made, closed."""
        if not name:
            return None
        if name not in self._studies:
            self._studies[name] = self._found_or_made(name, kind)
        return self._studies[name]

    def _found_or_made(self, name: str, kind: StudyKind) -> int:
        slug = imported_study_slug(self._dataset.slug, name)
        known = Study.objects.filter(dataset=self._dataset.pk, slug__in=[name, slug])
        stored = dict(known.values_list("slug", "pk")) if self._dataset.pk else {}
        for each in (name, slug):
            if each in stored:
                return stored[each]
        made = Study(
            slug=slug, name=name, kind=kind, dataset_id=self._dataset.pk, status=StudyStatus.CLOSED
        )
        self._staging.put(made)
        return made.pk


class LabelMerger:
    """Merges the labels of one record."""

    def __init__(
        self,
        *,
        batch: Batch,
        session: SessionNode,
        people: ImportPeople,
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
