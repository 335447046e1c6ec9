"""The raters, profiles, scenarios and studies that rows name, found or made in bulk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from django.contrib.auth.hashers import make_password

from annotation.core.choices import StudyKind
from annotation.core.formats.records import SessionRecord
from annotation.core.naming import imported_study_slug, rater_username
from annotation.core.refusals import Refused, gettext_noop
from annotation.models import (
    AnnotatorProfile,
    Dataset,
    Role,
    Scenario,
    Session,
    Study,
    StudyStatus,
    User,
)
from annotation.queries.annotators import annotators
from annotation.services.imports.staging import Staging

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


class People:
    """The raters of one import, by the names of its file.

    A name that an account of this site goes by in the dataset means that account: its labels may be
    read back unchanged, but never added to from a file.
    """

    def __init__(self, dataset: Dataset, staging: Staging) -> None:
        self._dataset = dataset
        self._staging = staging
        self._users: dict[str, int] = {}
        self._profiled: set[int] = set()
        self._accounts: set[str] = set()
        self.created = 0
        for each in annotators(dataset=dataset) if dataset.pk else ():
            if not each.imported:
                self._users[each.name] = each.id
                self._accounts.add(each.name)

    def prepare(self, names: Iterable[str]) -> None:
        """Find or make the raters of these names (at most two queries of what is stored)."""
        wanted = {
            rater_username(self._dataset.slug, name): name
            for name in sorted(set(names) - self._users.keys())
        }
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

    def describe(self, name: str, record: SessionRecord) -> None:
        """Store the first profile that is told of a rater."""
        user_id = self.id_of(name)
        if not record.profile or user_id in self._profiled or self.is_account(name):
            return
        stray = record.extra.get("profile")
        profile = AnnotatorProfile(user_id=user_id, extra=stray if isinstance(stray, dict) else {})
        for field, longest in _TEXTS.items():
            value = record.profile.get(field)
            text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
            setattr(profile, field, text[:longest])
        for field in _LISTS:
            value = record.profile.get(field, [])
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
