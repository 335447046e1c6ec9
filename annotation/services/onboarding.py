"""What annotators do before their first item, each thing once and with its moment."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F

from annotation.core.onboarding import Step
from annotation.core.quiz import Quiz, digest, wrong_ones
from annotation.core.refusals import Refused
from annotation.models import AnnotatorProfile, AuditEvent, Participation, Study, User
from annotation.queries.onboarding import Onboarding, onboarding_of, quiz_of
from annotation.services.leases import release_claims


@dataclass(frozen=True, slots=True)
class QuizResult:
    """What came of an attempt: the numbers of the questions answered wrong, none when passed."""

    wrong: tuple[int, ...]


def text_digest(text: str) -> str:
    """A name for a text, so that agreeing to an older one is noticed."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@transaction.atomic
def consent(*, study: str, annotator: User, text: str, now: datetime) -> None:
    """Keep that they agreed to the study's text, named by `text_digest`.

    Raises:
        Refused: Nothing is to be agreed to; they read another text.
    """
    at = _at(study, annotator, Step.CONSENT)
    if text != text_digest(at.study.consent):
        raise Refused("onboarding:changed")
    Participation.objects.filter(pk=at.participation.pk).update(consented_at=now)
    _record(at.study, annotator, "study.consented", {"text": text})


@transaction.atomic
def decline(*, study: str, annotator: User) -> None:
    """Leave a study instead of agreeing; labels given before stay, items at hand go back.

    The part in the study is deleted, which frees the place of the invitation; but where they were
    paused it stays, paused as it is, so that joining again by the link does not end the pause.

    Raises:
        Refused: Nothing is to be agreed to.
    """
    at = _at(study, annotator, Step.CONSENT)
    release_claims(annotator, study=at.study)
    if at.participation.paused_at is None:
        at.participation.delete()
    _record(at.study, annotator, "study.declined", {})


@transaction.atomic
def store_profile(*, annotator: User, fields: Mapping[str, object]) -> None:
    """Keep what they say of themselves, in place of what they said before; `extra` stays."""
    AnnotatorProfile.objects.update_or_create(user=annotator, defaults=dict(fields))


@transaction.atomic
def read_guidelines(*, study: str, annotator: User, version: int) -> None:
    """Keep that they read a version of the guidelines.

    Raises:
        Refused: There is nothing to read; another version is in force.
    """
    at = _at(study, annotator, Step.GUIDELINES)
    if version != at.study.guidelines_version:
        raise Refused("onboarding:changed")
    Participation.objects.filter(pk=at.participation.pk).update(guidelines_read=version)
    _record(at.study, annotator, "study.guidelines-read", {"version": version})


@transaction.atomic
def answer_quiz(
    *, study: str, annotator: User, quiz: str, given: Mapping[int, int], now: datetime
) -> QuizResult:
    """Count an attempt at the quiz; it is passed when every answer is right.

    Args:
        study: The study's short name.
        annotator: Who answers.
        quiz: The digest of the questions they saw.
        given: The choice by number of the question, from 1.
        now: The moment.

    Raises:
        Refused: There is no quiz to answer; the questions are others by now; nothing was counted.
    """
    at = _at(study, annotator, Step.QUIZ)
    questions: Quiz = quiz_of(at.study)
    if quiz != digest(questions):
        raise Refused("onboarding:changed")
    wrong = wrong_ones(questions, given)
    Participation.objects.filter(pk=at.participation.pk, quiz_passed_at__isnull=True).update(
        quiz_attempts=F("quiz_attempts") + 1, quiz_passed_at=None if wrong else now
    )
    return QuizResult(wrong)


def _at(study: str, annotator: User, step: Step) -> Onboarding:
    at = onboarding_of(study, annotator)
    if at is None or at.open is not step:
        raise Refused("onboarding:not-now")
    return at


def _record(study: Study, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )
