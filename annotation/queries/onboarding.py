"""What an annotator still has to do before a study gives them items, and what each page shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count

from annotation.core.guidelines import ChangedPiece, changes
from annotation.core.onboarding import Asked, Done, Step, finished, first_open, steps_of
from annotation.core.quiz import Quiz, from_records
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    GuidelinesVersion,
    Participation,
    Study,
    StudyStatus,
    User,
)
from annotation.queries.statements import Joined

_PART: Final = Joined(
    """
FROM annotation_participation part
JOIN annotation_study study ON study.id = part.study_id
LEFT JOIN annotation_annotatorprofile profile ON profile.user_id = part.annotator_id
WHERE study.slug = %(slug)s AND part.annotator_id = %(annotator)s
""",
    part=Participation,
    study=Study,
    profile=AnnotatorProfile,
)


@dataclass(frozen=True, slots=True)
class Onboarding:
    """Where somebody is between joining a study and its first item.

    Attributes:
        study: The study's row.
        participation: Their part in it.
        steps: All that the study asks for, in order.
        finished: Those of them that are done.
        open: The step that comes next; None where they may label.
    """

    study: Study
    participation: Participation
    steps: tuple[Step, ...]
    finished: tuple[Step, ...]
    open: Step | None


@dataclass(frozen=True, slots=True)
class ReadGuidelines:
    """The guidelines in force, and what is new in them.

    `changed` is None where the reader saw none before, where nothing is known of what they saw, or
    where the texts are too long to compare; `before` is the version they read.
    """

    version: int
    text: str
    before: int | None
    changed: tuple[ChangedPiece, ...] | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version of the guidelines in a study's history.

    `readers` read it last of all; `changed` is None for the first version, and for texts too long.
    """

    version: int
    text: str
    made_by: str
    made_at: datetime
    readers: int
    changed: tuple[ChangedPiece, ...] | None


def study_named(slug: str) -> Study | None:
    """The study of a short name, for the pages on which a manager edits what comes before it."""
    return Study.objects.filter(slug=slug).first()


def consent_version(study: Study) -> int:
    """What grows with every change of a study's consent: the number of its last trace."""
    traces = AuditEvent.objects.filter(
        target="study", target_id=study.pk, action="study.consent"
    ).order_by("-pk")
    return traces.values_list("pk", flat=True).first() or 0


def participation_of(slug: str, annotator: User) -> Participation | None:
    """Somebody's part in a study, with the study and whether they have a profile."""
    for row in _PART.rows(slug=slug, annotator=annotator.pk):
        part: Participation = row["part"]
        part.study = row["study"]
        part.__dict__["profile"] = row["profile"]
        return part
    return None


def open_step(participation: Participation) -> Step | None:
    """The step before labelling that is open; None where none is. It comes from the query above."""
    study = participation.study
    return first_open(_asked(study), _done(participation))


def onboarding_of(slug: str, annotator: User) -> Onboarding | None:
    """Where somebody stands in a study that is open or paused; None where they are not in it."""
    row = participation_of(slug, annotator)
    if row is None or row.study.status in {StudyStatus.DRAFT, StudyStatus.CLOSED}:
        return None
    return Onboarding(
        study=row.study,
        participation=row,
        steps=steps_of(_asked(row.study)),
        finished=finished(_asked(row.study), _done(row)),
        open=open_step(row),
    )


def guidelines_history(study: Study) -> list[VersionRow]:
    """All versions of a study's guidelines, the newest first, each with what changed in it.

    A study that never published any has its guidelines as the one version they are.
    """
    rows = list(
        GuidelinesVersion.objects.filter(study=study)
        .select_related("created_by")
        .order_by("version")
    )
    if study.guidelines_version not in {row.version for row in rows}:
        rows.append(
            GuidelinesVersion(
                study=study,
                version=study.guidelines_version,
                text=study.guidelines,
                created_by=study.created_by,
                created_at=study.created_at,
            )
        )
    readers = dict(
        Participation.objects.filter(study=study, guidelines_read__isnull=False)
        .values_list("guidelines_read")
        .annotate(n=Count("pk"))
        .order_by()
    )
    texts = [None, *(row.text for row in rows)]
    history = [
        VersionRow(
            version=row.version,
            text=row.text,
            made_by=str(row.created_by) if row.created_by else "",
            made_at=row.created_at,
            readers=readers.get(row.version, 0),
            changed=None if before is None else changes(before, row.text),
        )
        for row, before in zip(rows, texts, strict=False)
    ]
    return history[::-1]


def profile_of(user: User) -> AnnotatorProfile | None:
    """What somebody said of themselves."""
    return AnnotatorProfile.objects.filter(user=user).first()


def quiz_of(study: Study) -> Quiz:
    """A study's questions.

    Raises:
        Refused: What is stored is no quiz; the page that stores one refuses such.
    """
    return from_records(study.quiz)


def guidelines_to_read(study: Study, read: int | None) -> ReadGuidelines:
    """The guidelines in force, and what changed since the version that somebody read."""
    before = None
    if read is not None and read != study.guidelines_version:
        before = GuidelinesVersion.objects.filter(study=study, version=read).first()
    return ReadGuidelines(
        version=study.guidelines_version,
        text=study.guidelines,
        before=before.version if before else None,
        changed=changes(before.text, study.guidelines) if before else None,
    )


def _asked(study: Study) -> Asked:
    return Asked(
        consent=bool(study.consent.strip()),
        profile=study.ask_profile,
        guidelines=study.guidelines_version if study.guidelines.strip() else None,
        quiz=bool(study.quiz),
    )


def _done(row: Participation) -> Done:
    return Done(
        consent=row.consented_at is not None,
        profile=row.__dict__["profile"] is not None,
        guidelines=row.guidelines_read,
        quiz=row.quiz_passed_at is not None,
    )
