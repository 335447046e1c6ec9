"""Joining and leaving a study: accounts, members, invitations, and the steps before labelling."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import F

from annotation.core.guidelines import Quiz, digest, wrong_ones
from annotation.core.participants import InvitationRefusal, Step
from annotation.core.refusals import Refused
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Claim,
    ClaimState,
    Invitation,
    LookAlikeError,
    Participation,
    Role,
    Study,
    User,
)
from annotation.queries.participants import (
    ACCOUNT_MADE,
    Onboarding,
    accounts_again_at,
    invitation_of,
    onboarding_of,
    quiz_of,
    refusal_now,
    was_taken_out,
)
from annotation.services.claims import lock, release_claims


def change_password(*, user: User, password: str) -> None:
    """Give somebody another password; their sessions and API tokens end by themselves."""
    user.set_password(password)
    user.save(update_fields=["password"])


@transaction.atomic
def add_annotators(*, study: str, usernames: Collection[str], by: User) -> int:
    """Let people into a study; who is in it stays as they are. How many came in.

    Raises:
        Study.DoesNotExist: There is no such study.
    """
    row = Study.objects.get(slug=study)
    added = []
    for user in User.objects.filter(username__in=usernames, is_active=True).order_by("username"):
        _part, created = Participation.objects.get_or_create(study=row, annotator=user)
        if created:
            added.append(user)
    if added:
        _record(row, by, "study.annotators-added", {"annotators": [user.pk for user in added]})
    return len(added)


@transaction.atomic
def remove_annotator(*, study: str, annotator: int, by: User) -> None:
    """Take somebody out of a study: what they answered stays, what they hold goes to others.

    What they agreed to and passed is kept in the trace. Removing again changes nothing.

    Raises:
        Study.DoesNotExist: There is no such study.
    """
    row = Study.objects.get(slug=study)
    lock(annotator)
    part = Participation.objects.filter(study=row, annotator=annotator).first()
    if part is None:
        return
    detail = {
        "annotator": annotator,
        "joined_at": part.joined_at.isoformat(),
        "consented_at": part.consented_at.isoformat() if part.consented_at else None,
        "guidelines_read": part.guidelines_read,
        "quiz_attempts": part.quiz_attempts,
        "quiz_passed_at": part.quiz_passed_at.isoformat() if part.quiz_passed_at else None,
        "invitation": part.invitation_id,
        "paused_at": part.paused_at.isoformat() if part.paused_at else None,
        "pause_reason": part.pause_reason,
        "worker": part.worker_id,
    }
    # Claims come first, as in an answer that pauses its annotator: in turns, they never deadlock.
    held = Claim.objects.filter(item__study=row, annotator=annotator, state=ClaimState.ACTIVE)
    detail["released"] = held.update(state=ClaimState.RELEASED, slot=None)
    part.delete()
    _record(row, by, "study.annotator-removed", detail)


def _record(study: Study, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )


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
) -> tuple[int, ...]:
    """Count an attempt at the quiz; it is passed when every answer is right.

    Returns the numbers of the questions answered wrong, none when passed.

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
    return wrong


def _at(study: str, annotator: User, step: Step) -> Onboarding:
    at = onboarding_of(study, annotator)
    if at is None or at.open is not step:
        raise Refused("onboarding:not-now")
    return at


@dataclass(frozen=True, slots=True)
class NewAccount:
    """What a newcomer says of themselves; the password was validated before."""

    username: str
    password: str
    display_name: str = ""


NO_WORKER: Final[Mapping[str, str]] = MappingProxyType({})


@transaction.atomic
def invite(
    *,
    study: str,
    by: User,
    now: datetime,
    note: str = "",
    places: int | None = None,
    expires_at: datetime | None = None,
    completion: str = "",
) -> Invitation:
    """Make a link by which people join a study; it has places, or a time at which it expires.

    `completion` is the code, or the https address, that they are shown once they are through.

    Raises:
        IntegrityError: It has neither.
        Study.DoesNotExist: There is no such study.
    """
    row = Study.objects.get(slug=study)
    made = Invitation.objects.create(
        study=row,
        note=note,
        places=places,
        expires_at=expires_at,
        completion=completion,
        created_by=by,
        created_at=now,
    )
    detail: dict[str, object] = {
        "invitation": made.pk,
        "places": places,
        "expires_at": expires_at.isoformat() if expires_at else None,
    }
    _record(row, by, "study.invited", detail)
    return made


@transaction.atomic
def withdraw(*, study: str, invitation: int, by: User, now: datetime) -> None:
    """Let nobody else in by a link; who joined by it stays. Withdrawing twice changes nothing.

    Raises:
        Invitation.DoesNotExist: The study has no such invitation.
    """
    row = Invitation.objects.select_related("study").get(pk=invitation, study__slug=study)
    if Invitation.objects.filter(pk=row.pk, revoked_at__isnull=True).update(revoked_at=now):
        _record(row.study, by, "study.invitation-withdrawn", {"invitation": row.pk})


@transaction.atomic
def set_completion(*, study: str, invitation: int, completion: str, by: User) -> None:
    """Change what people who came by a link are shown once they are through.

    Raises:
        Invitation.DoesNotExist: The study has no such invitation.
    """
    row = Invitation.objects.select_related("study").get(pk=invitation, study__slug=study)
    if (
        Invitation.objects.filter(pk=row.pk)
        .exclude(completion=completion)
        .update(completion=completion)
    ):
        detail = {"invitation": row.pk, "before": row.completion, "after": completion}
        _record(row.study, by, "study.completion", detail)


def open_invitation(*, token: str, user: User | None, now: datetime) -> Invitation:
    """The invitation of a link that lets somebody in now, with its study; it holds no place.

    Raises:
        Refused: It does not; `user` is None for a newcomer.
    """
    found = _named(token)
    _check(found, user, now)
    return found


@transaction.atomic
def join(*, token: str, user: User, now: datetime, worker: Mapping[str, str] = NO_WORKER) -> Study:
    """Become an annotator of the study that a link invites to; who is in it stays as they are.

    `worker` is what the link said of them (`worker_of`); of who is in it, it is kept where nothing
    was said before.

    Raises:
        Refused: The link is made up, withdrawn, expired or full, the study closed, or a manager
            took them out of it; nobody who is in the study is told so.
    """
    invitation = _held(token)
    parts = invitation.study.participations.filter(annotator=user)
    if not parts.exists():
        _take_place(invitation, user, now, worker)
    elif worker:
        parts.filter(worker={}).update(worker=dict(worker))
    return invitation.study


@transaction.atomic
def join_as_newcomer(
    *, token: str, account: NewAccount, now: datetime, worker: Mapping[str, str] = NO_WORKER
) -> tuple[User, Study]:
    """Make an annotator's account and join by a link, or neither.

    Raises:
        Refused: As `join`; A name is somebody's, or looks like it; the link made many within the
            last hour.
    """
    invitation = _held(token)
    _check(invitation, None, now)
    again_at = accounts_again_at(invitation, now)
    if again_at is not None:
        raise Refused("invitation:too-many-accounts", again_at=again_at)
    user = _new_annotator(account)
    AuditEvent.objects.create(
        actor=user,
        action=ACCOUNT_MADE,
        target="invitation",
        target_id=invitation.pk,
        created_at=now,
    )
    _take_place(invitation, user, now, worker)
    return user, invitation.study


def _new_annotator(account: NewAccount) -> User:
    names = User(username=account.username, display_name=account.display_name)
    if alike := names.look_alikes():
        raise Refused("account:name-taken", names=alike)
    try:
        with transaction.atomic():
            return User.objects.create_user(
                account.username,
                account.password,
                role=Role.ANNOTATOR,
                display_name=account.display_name,
            )
    except (IntegrityError, LookAlikeError) as taken:  # by somebody who was quicker, or who left
        raise Refused("account:name-taken", names=names.look_alikes() or ["username"]) from taken


def _named(token: str) -> Invitation:
    found = invitation_of(token)
    if found is None:
        raise Refused(InvitationRefusal.UNKNOWN)
    return found


def _held(token: str) -> Invitation:
    """The invitation, locked until the commit: people who join by it do so one after another.

    `select_for_update` does nothing on SQLite, where the transaction itself has locked out others.
    """
    found = _named(token)
    Invitation.objects.filter(pk=found.pk).update(places=F("places"))
    found.refresh_from_db(fields=["places", "revoked_at", "expires_at"])
    return found


def _check(invitation: Invitation, user: User | None, now: datetime) -> None:
    refusal = refusal_now(invitation, now)
    if refusal is None and user is not None and was_taken_out(invitation, user):
        refusal = InvitationRefusal.REMOVED
    if refusal is not None:
        raise Refused(refusal)


def _take_place(
    invitation: Invitation, user: User, now: datetime, worker: Mapping[str, str]
) -> None:
    """Store the part in the study; the place was counted under the invitation's lock."""
    _check(invitation, user, now)
    _part, is_new = Participation.objects.get_or_create(
        study=invitation.study,
        annotator=user,
        defaults={"invitation": invitation, "joined_at": now, "worker": dict(worker)},
    )
    if is_new:
        _record(invitation.study, user, "study.joined", {"invitation": invitation.pk})
