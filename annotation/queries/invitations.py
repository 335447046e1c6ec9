"""Invitations: their signed links, and what managers see of them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.core.signing import BadSignature, Signer
from django.db.models import Count

from annotation.core.invitations import (
    NEW_ACCOUNTS,
    NEW_ACCOUNTS_WITHIN,
    InvitationRefusal,
    InvitationRow,
    refusal_of,
)
from annotation.models import AuditEvent, Invitation, Study, StudyStatus, User

ACCOUNT_MADE: Final = "invitation.account-made"

_SALT: Final = "annotation.invitation"


def token_of(invitation: Invitation) -> str:
    """What stands in an invitation's link.

    It names the row and the moment it was made, so that a link from before the database was made
    anew opens nothing; the signature is what nobody can make up. Nothing secret is stored.
    """
    made = int(invitation.created_at.timestamp() * 1_000_000)
    return _signer().sign(f"{invitation.pk}-{made:x}")


def invitation_of(token: str) -> Invitation | None:
    """The invitation of a link, with its study; None where the link was made up or is cut short."""
    try:
        number, _dash, _made = _signer().unsign(token).partition("-")
    except BadSignature:
        return None
    found = Invitation.objects.select_related("study").filter(pk=int(number)).first()
    return found if found is not None and token_of(found) == token else None


def refusal_now(invitation: Invitation, now: datetime) -> InvitationRefusal | None:
    """Why nobody can join by an invitation now; None where somebody can."""
    return _refusal(invitation, invitation.participations.count(), now)


def study_joined(token: str, user: User) -> Study | None:
    """The study of a link, where somebody is in it already, however they came to it."""
    found = invitation_of(token)
    if found is None or not found.study.participations.filter(annotator=user).exists():
        return None
    return found.study


def was_taken_out(invitation: Invitation, user: User) -> bool:
    """Whether a manager took somebody out of the study after the invitation was made."""
    return AuditEvent.objects.filter(
        target="study",
        target_id=invitation.study_id,
        action="study.annotator-removed",
        detail__annotator=user.pk,
        created_at__gt=invitation.created_at,
    ).exists()


def accounts_again_at(invitation: Invitation, now: datetime) -> datetime | None:
    """When a link makes accounts again; None where it does now.

    They are counted by the audit trail: who declined has no part in the study any more.
    """
    if invitation.places is not None:
        return None
    latest = (
        AuditEvent.objects.filter(
            target="invitation",
            target_id=invitation.pk,
            action=ACCOUNT_MADE,
            created_at__gt=now - NEW_ACCOUNTS_WITHIN,
        )
        .order_by("-created_at")
        .values_list("created_at", flat=True)[NEW_ACCOUNTS - 1 : NEW_ACCOUNTS]
    )
    return next((each + NEW_ACCOUNTS_WITHIN for each in latest), None)


def invitation_rows(slug: str, now: datetime) -> list[InvitationRow]:
    """The invitations of a study, the latest first."""
    rows = (
        Invitation.objects.filter(study__slug=slug)
        .select_related("study", "created_by")
        .annotate(joined=Count("participations"))
        .order_by("-created_at", "-pk")
    )
    return [
        InvitationRow(
            number=row.pk,
            note=row.note,
            token=token_of(row),
            places=row.places,
            joined=row.joined,
            expires_at=row.expires_at,
            made_by=str(row.created_by) if row.created_by else "",
            made_at=row.created_at,
            refusal=_refusal(row, row.joined, now),
        )
        for row in rows
    ]


def _refusal(invitation: Invitation, joined: int, now: datetime) -> InvitationRefusal | None:
    return refusal_of(
        revoked_at=invitation.revoked_at,
        expires_at=invitation.expires_at,
        study_closed=invitation.study.status == StudyStatus.CLOSED,
        places=invitation.places,
        joined=joined,
        now=now,
    )


def _signer() -> Signer:
    return Signer(salt=_SALT, sep=".")
