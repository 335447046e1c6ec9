"""Making a session of what an annotator said with a model, for them to rate."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from annotation.core.choices import StudyKind
from annotation.core.conversations import HeldConversation, held_key
from annotation.core.formats.records import PROFILE_FIELDS
from annotation.core.refusals import Refused
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Claim,
    Response,
    Session,
    Turn,
    User,
    text_hash,
)
from annotation.services.claims import RefusalCode, hold, open_study_of, own_claim


@transaction.atomic
def keep_conversation(
    *, study: str, item: int, annotator: User, held: HeldConversation, now: datetime
) -> None:
    """Store a conversation that has ended as a session of the study's dataset.

    The claim then shows it to be rated. Storing it again changes nothing.

    Raises:
        Refused: not theirs, the study not open or of another kind, the item taken by others in the
            meantime, or there is nothing to rate.
    """
    row = open_study_of(study, annotator)
    claim = own_claim(row, item, annotator)
    task = claim.item.session
    answered = any(turn.reply is not None for turn in held.turns)
    if row.kind != StudyKind.CONVERSATION or task is None or not answered:
        raise Refused(RefusalCode.NOT_ALLOWED)
    Claim.objects.filter(pk=claim.pk).update(state=F("state"))  # lock it until the commit
    claim.refresh_from_db(fields=["state", "slot", "conversation"])
    if claim.conversation_id is not None:
        return
    hold(claim, row, now)
    session = _store(task, claim, held, _profile_of(annotator))
    Claim.objects.filter(pk=claim.pk).update(conversation=session)
    AuditEvent.objects.create(
        actor=annotator,
        action="conversation.held",
        target="claim",
        target_id=claim.pk,
        detail={"session": session.pk, "turns": len(held.turns)},
    )


def _store(task: Session, claim: Claim, held: HeldConversation, profile: dict[str, Any]) -> Session:
    last = Session.objects.filter(dataset_id=task.dataset_id).aggregate(last=Max("position"))
    session = Session.objects.create(
        dataset_id=task.dataset_id,
        scenario_id=task.scenario_id,
        key=_free_key(task, claim),
        position=last["last"] + 1,
        system_prompt=held.system_prompt,
        task_context=task.task_context,
        language=task.language,
        original_user_id=claim.annotator_id,
        profile_snapshot=profile,
        extra={"task": task.key, **held.extra},
    )
    turns = Turn.objects.bulk_create(
        Turn(session=session, position=position, user_message=turn.message)
        for position, turn in enumerate(held.turns)
    )
    Response.objects.bulk_create(
        Response(
            turn=turn,
            model=said.model,
            text=said.reply,
            text_hash=text_hash(said.reply),
            original=True,
            extra=dict(said.extra),
        )
        for turn, said in zip(turns, held.turns, strict=True)
        if said.reply is not None
    )
    return session


def _free_key(task: Session, claim: Claim) -> str:
    """A key after the task's, with the claim's number; a later one where a file has just that."""
    sessions = Session.objects.filter(dataset_id=task.dataset_id)
    keys = (held_key(task.key, number) for number in count(claim.pk))
    return next(key for key in keys if not sessions.filter(key=key).exists())


def _profile_of(annotator: User) -> dict[str, Any]:
    """What the annotator said of themselves, as it stands now; only what they answered."""
    profile = AnnotatorProfile.objects.filter(user=annotator).first()
    if profile is None:
        return {}
    said = {name: getattr(profile, name) for name in PROFILE_FIELDS}
    return {name: value for name, value in {**said, **profile.extra}.items() if value}
