"""Inviting people to a study, and joining it by a link."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F

from annotation.core.invitations import InvitationRefusal
from annotation.models import AuditEvent, Invitation, Participation, Role, Study, User
from annotation.queries.invitations import invitation_of, refusal_now, was_taken_out


class InvitationRefusedError(Exception):
    """A link lets nobody in; `code` says why."""

    def __init__(self, code: InvitationRefusal) -> None:
        super().__init__(code.value)
        self.code = code


class NameTakenError(Exception):
    """Somebody else goes by this user name, in capital letters or small ones."""

    code = "account:name-taken"


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
    """Make a link by which people join a study.

    Raises:
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
        InvitationRefusedError: It does not; `user` is None for a newcomer.
    """
    found = _named(token)
    _check(found, user, now)
    return found


@transaction.atomic
def join(*, token: str, user: User, now: datetime) -> Study:
    """Become an annotator of the study that a link invites to; who is in it stays as they are.

    Raises:
        InvitationRefusedError: The link is made up, withdrawn, expired or full, the study closed,
            or a manager took them out of it; nobody who is in the study is told so.
    """
    invitation = _held(token)
    if not invitation.study.participations.filter(annotator=user).exists():
        _take_place(invitation, user, now)
    return invitation.study


@transaction.atomic
def join_as_newcomer(*, token: str, account: NewAccount, now: datetime) -> tuple[User, Study]:
    """Make an annotator's account and join by a link, or neither.

    Raises:
        InvitationRefusedError: As `join`.
        NameTakenError: The user name is somebody's.
    """
    invitation = _held(token)
    _check(invitation, None, now)
    if User.objects.filter(username__iexact=account.username).exists():
        raise NameTakenError
    try:
        with transaction.atomic():
            user = User.objects.create_user(
                account.username,
                account.password,
                role=Role.ANNOTATOR,
                display_name=account.display_name,
            )
    except IntegrityError as taken:
        raise NameTakenError from taken
    _take_place(invitation, user, now)
    return user, invitation.study


def _named(token: str) -> Invitation:
    found = invitation_of(token)
    if found is None:
        raise InvitationRefusedError(InvitationRefusal.UNKNOWN)
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
        raise InvitationRefusedError(refusal)


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
