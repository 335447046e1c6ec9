"""Inviting people to a study, and joining it by a link."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F

from annotation.core.invitations import InvitationRefusal
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Invitation,
    LookAlikeError,
    Participation,
    Role,
    Study,
    User,
)
from annotation.queries.invitations import (
    ACCOUNT_MADE,
    accounts_again_at,
    invitation_of,
    refusal_now,
    was_taken_out,
)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """What a newcomer says of themselves; the password was validated before."""

    username: str
    password: str
    display_name: str = ""


@transaction.atomic
def invite(
    *,
    study: str,
    by: User,
    now: datetime,
    note: str = "",
    places: int | None = None,
    expires_at: datetime | None = None,
) -> Invitation:
    """Make a link by which people join a study; it has places, or a time at which it expires.

    Raises:
        IntegrityError: It has neither.
        Study.DoesNotExist: There is no such study.
    """
    row = Study.objects.get(slug=study)
    made = Invitation.objects.create(
        study=row, note=note, places=places, expires_at=expires_at, created_by=by, created_at=now
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


def open_invitation(*, token: str, user: User | None, now: datetime) -> Invitation:
    """The invitation of a link that lets somebody in now, with its study; it holds no place.

    Raises:
        Refused: It does not; `user` is None for a newcomer.
    """
    found = _named(token)
    _check(found, user, now)
    return found


@transaction.atomic
def join(*, token: str, user: User, now: datetime) -> Study:
    """Become an annotator of the study that a link invites to; who is in it stays as they are.

    Raises:
        Refused: The link is made up, withdrawn, expired or full, the study closed, or a manager
            took them out of it; nobody who is in the study is told so.
    """
    invitation = _held(token)
    if not invitation.study.participations.filter(annotator=user).exists():
        _take_place(invitation, user, now)
    return invitation.study


@transaction.atomic
def join_as_newcomer(*, token: str, account: NewAccount, now: datetime) -> tuple[User, Study]:
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
    _take_place(invitation, user, now)
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


def _take_place(invitation: Invitation, user: User, now: datetime) -> None:
    """Store the part in the study; the place was counted under the invitation's lock."""
    _check(invitation, user, now)
    _part, is_new = Participation.objects.get_or_create(
        study=invitation.study,
        annotator=user,
        defaults={"invitation": invitation, "joined_at": now},
    )
    if is_new:
        _record(invitation.study, user, "study.joined", {"invitation": invitation.pk})


def _record(study: Study, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )
