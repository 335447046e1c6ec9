"""Who is in a study, as far as managers decide it; people also join by invitation."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    Participation,
    Study,
    User,
)


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
    }
    part.delete()
    held = Claim.objects.filter(item__study=row, annotator=annotator, state=ClaimState.ACTIVE)
    detail["released"] = held.update(state=ClaimState.RELEASED, slot=None)
    _record(row, by, "study.annotator-removed", detail)


def _record(study: Study, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )
