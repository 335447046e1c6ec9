"""What a participant does in a live conversation: begin, send, try again, stop, tick, end.

Every message is stored before anything else happens, once however often it is sent; its reply is
asked for after the commit. Nothing here waits for a model. Whatever else a page sends comes with
its id too: the same submission again changes nothing, whatever happened since.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Final, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q

from annotation.core.assignment import lease_end
from annotation.core.choices import StudyKind
from annotation.core.conversations import HeldConversation, HeldTurn, requirements_of
from annotation.core.reasoning import REASONING
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Claim, ClaimState, Session, Study, SubmissionKind, User
from annotation.services.claims import (
    RefusalCode,
    accept,
    hold,
    open_study_of,
    own_claim,
    was_taken_back,
)
from annotation.services.conversations import keep_conversation
from judging.core.conversations import (
    ANSWERED,
    MAX_MESSAGE_CHARACTERS,
    PENDING,
    Ending,
    choose_model,
)
from judging.models import (
    Conversation,
    ConversationMessage,
    ConversationSetup,
    ConversationState,
    ModelEndpoint,
    ReplyStatus,
)
from judging.queries.conversations import last_message, system_prompt_of, talk_of
from judging.services.conversation_replies import get_ready, write_soon

STALE_SECONDS: Final = 10
"""After so long without a sign of life, whoever wrote a reply is taken to be gone."""


def begin(*, study: str, item: int, annotator: User, now: datetime) -> Conversation:
    """The conversation under the annotator's claim, with the model that it has for good.

    Raises:
        Refused: not theirs, the study not open or of another kind, or the item lost;
            `conversation:no-model` where the study has none in use.
    """
    transaction.on_commit(get_ready)
    found = Conversation.objects.filter(
        claim__item=item, claim__item__study__slug=study, claim__annotator=annotator
    ).first()
    if found is not None:
        return found
    with transaction.atomic():
        row, claim = _own_task(study, item, annotator)
        _hold(claim, row, now)
        return _begin(row, claim, now)


@transaction.atomic
def send(
    *, study: str, item: int, annotator: User, text: str, submission: UUID, now: datetime
) -> None:
    """Store a message and have the reply written; the same submission again changes nothing.

    Other words under an id that was used are another message: whoever saw no answer to the first
    may have written on before sending again. A message that was taken back came before, too.

    Raises:
        Refused: as `begin`; the message is empty or too long, or the last one has no reply yet, or
            the conversation has ended; the text is kept to be sent later.
    """
    talk = _open_talk(study, item, annotator, SubmissionKind.MESSAGE, submission, now, content=text)
    if talk is None:
        return
    if not text.strip() or len(text) > MAX_MESSAGE_CHARACTERS:
        raise Refused("conversation:message")
    last = last_message(talk)
    if last is not None and last.status not in ANSWERED:
        raise Refused(
            "conversation:reply-pending" if last.status in PENDING else "conversation:unanswered"
        )
    try:
        with transaction.atomic():
            message = ConversationMessage.objects.create(
                conversation=talk,
                position=0 if last is None else last.position + 1,
                submission=submission,
                text=text,
                sent_at=now,
                heartbeat_at=now,
            )
    except IntegrityError as error:  # another tab was quicker
        raise Refused("conversation:reply-pending") from error
    Conversation.objects.filter(pk=talk.pk).update(unsent="")
    _write_after_commit(message)


@transaction.atomic
def keep_unsent(*, study: str, item: int, annotator: User, text: str) -> None:
    """Keep a message that could not be sent, for the page to show it again."""
    Conversation.objects.filter(
        claim__item=item, claim__item__study__slug=study, claim__annotator=annotator
    ).update(unsent=text[:MAX_MESSAGE_CHARACTERS])


@transaction.atomic
def retry(*, study: str, item: int, annotator: User, submission: UUID, now: datetime) -> None:
    """Have the reply to the last message written again, after a failure.

    Raises:
        Refused: as `begin`; `conversation:nothing-to-retry`, `conversation:ended`.
    """
    talk = _open_talk(study, item, annotator, SubmissionKind.RETRY, submission, now)
    if talk is None:
        return
    last = last_message(talk)
    failed = Q(status=ReplyStatus.FAILED)
    if last is None or not _ask_anew(last, failed, now, attempt=last.attempt + 1):
        raise Refused("conversation:nothing-to-retry")


@transaction.atomic
def withdraw(*, study: str, item: int, annotator: User, submission: UUID, now: datetime) -> None:
    """Take back the last message, which got no reply, to change it: its text stays, unsent.

    Raises:
        Refused: as `begin`; `conversation:nothing-to-retry`, `conversation:ended`.
    """
    talk = _open_talk(study, item, annotator, SubmissionKind.WITHDRAW, submission, now)
    if talk is None:
        return
    last = last_message(talk)
    if last is None or last.status != ReplyStatus.FAILED:
        raise Refused("conversation:nothing-to-retry")
    last.delete()
    Conversation.objects.filter(pk=talk.pk).update(unsent=last.text)


@transaction.atomic
def stop(*, study: str, item: int, annotator: User, submission: UUID, now: datetime) -> None:
    """Ask whoever writes the reply to stop; what has come stays. Without a reply, nothing happens.

    Raises:
        Refused: as `begin`; `conversation:ended`.
    """
    talk = _open_talk(study, item, annotator, SubmissionKind.STOP, submission, now)
    if talk is not None:
        talk.messages.filter(status__in=PENDING).update(stop_wanted=True)


@transaction.atomic
def tick(
    *,
    study: str,
    item: int,
    annotator: User,
    met: Collection[int],
    submission: UUID,
    now: datetime,
) -> None:
    """Keep which requirements of the task the participant finds met, by number from 1.

    Raises:
        Refused: as `begin`; `conversation:ended`.
    """
    talk = _open_talk(study, item, annotator, SubmissionKind.TICK, submission, now)
    if talk is None:
        return
    stated = requirements_of(cast(Session, talk.claim.item.session).extra)
    known = [number for number in range(1, len(stated) + 1) if number in met]
    Conversation.objects.filter(pk=talk.pk).update(requirements_met=known)


@transaction.atomic
def end(*, study: str, item: int, annotator: User, ending: Ending, now: datetime) -> None:
    """End a conversation: it becomes a session of the dataset, for its participant to rate.

    Ending it again changes nothing.

    Raises:
        Refused: as `begin`; `conversation:too-early`.
    """
    row, claim = _own_task(study, item, annotator)
    talk = Conversation.objects.select_related("endpoint").filter(claim=claim).first()
    if talk is None:
        raise Refused("conversation:too-early")
    if talk.state == ConversationState.ENDED:
        return
    _hold(claim, row, now)
    _lock(talk)
    task = cast(Session, claim.item.session)
    requirements = requirements_of(task.extra)
    if not talk_of(talk, requirements=requirements, min_turns=row.min_turns, now=now).may_end(
        ending
    ):
        raise Refused("conversation:too-early")
    keep_conversation(
        study=study,
        item=item,
        annotator=annotator,
        held=_held_conversation(talk, row, task, ending),
        now=now,
    )
    Conversation.objects.filter(pk=talk.pk).update(
        state=ConversationState.ENDED, ending=ending.value, ended_at=now
    )


def follow(message: ConversationMessage, now: datetime) -> None:
    """Have a reply written again whose writer gave no sign of life for a while, if it is pending.

    What one lost with its process is asked for anew; nothing is ever asked for twice, since only
    one caller can raise the generation.
    """
    since = now - timedelta(seconds=STALE_SECONDS)
    if message.status in PENDING and message.heartbeat_at < since:
        silent = Q(status__in=PENDING, heartbeat_at__lt=since)
        with transaction.atomic():
            _ask_anew(message, silent, now, attempt=message.attempt)


def _ask_anew(message: ConversationMessage, where: Q, now: datetime, *, attempt: int) -> bool:
    """Make a message wait for a reply again, where its row still stands so; whether it did."""
    generation = message.generation + 1
    changed = ConversationMessage.objects.filter(
        where, pk=message.pk, generation=message.generation
    ).update(
        status=ReplyStatus.WAITING,
        generation=generation,
        attempt=attempt,
        reply="",
        stop_wanted=False,
        error_code="",
        error_detail="",
        heartbeat_at=now,
    )
    if changed:
        message.generation = generation
        _write_after_commit(message)
    return changed == 1


def _write_after_commit(message: ConversationMessage) -> None:
    transaction.on_commit(partial(write_soon, message=message.pk, generation=message.generation))


def _own_task(study: str, item: int, annotator: User) -> tuple[Study, Claim]:
    """A claim of one's own on a task to talk about."""
    row = open_study_of(study, annotator, kind=StudyKind.CONVERSATION)
    claim = own_claim(row, item, annotator)
    if claim.item.session is None:
        raise Refused(RefusalCode.NOT_ALLOWED)
    return row, claim


def _hold(claim: Claim, study: Study, now: datetime) -> None:
    """Make a claim hold its slot, with the lease renewed."""
    if was_taken_back(claim):
        raise Refused(RefusalCode.TAKEN)
    hold(claim, study, now)
    Claim.objects.filter(pk=claim.pk, state=ClaimState.ACTIVE).update(
        expires_at=lease_end(now, study.lease_minutes)
    )


def _open_talk(
    study: str,
    item: int,
    annotator: User,
    kind: SubmissionKind,
    submission: UUID,
    now: datetime,
    *,
    content: str = "",
) -> Conversation | None:
    """The conversation, locked until the commit and going on; None for what came before."""
    row, claim = _own_task(study, item, annotator)
    if not accept(claim, kind, submission, now, content=content):
        return None
    _hold(claim, row, now)
    talk = Conversation.objects.select_related("claim__item__session").filter(claim=claim).first()
    if talk is None:
        raise Refused(RefusalCode.NOT_ALLOWED)
    if talk.state != ConversationState.OPEN:
        raise Refused("conversation:ended")
    _lock(talk)
    return talk


def _lock(talk: Conversation) -> None:
    Conversation.objects.filter(pk=talk.pk).update(state=F("state"))


def _begin(study: Study, claim: Claim, now: datetime) -> Conversation:
    # Locks the setup's row until the commit, so that two who begin do not choose from one count.
    setups = ConversationSetup.objects.filter(study=study)
    setups.update(temperature=F("temperature"))
    usable = ModelEndpoint.objects.filter(conversation_setups__study=study, enabled=True)
    candidates = list(usable.order_by("pk").values_list("pk", flat=True))
    if not candidates:
        raise Refused("conversation:no-model")
    held = Conversation.objects.filter(claim__item__study=study)
    chosen = choose_model(
        candidates,
        by_participant=_by_model(Q(claim__annotator=claim.annotator_id), study),
        by_task=_by_model(Q(claim__item=claim.item_id), study),
        in_study=_by_model(Q(), study),
        random=Random(f"{study.seed}:{claim.annotator_id}:{claim.item_id}"),
    )
    talk, _created = held.get_or_create(
        claim=claim, defaults={"endpoint_id": chosen, "started_at": now}
    )
    return talk


def _by_model(where: Q, study: Study) -> dict[int, int]:
    held = Conversation.objects.filter(where, claim__item__study=study)
    return dict(held.values_list("endpoint").annotate(n=Count("id")).order_by())


def _held_conversation(
    talk: Conversation, study: Study, task: Session, ending: Ending
) -> HeldConversation:
    model = talk.endpoint.model
    stated = requirements_of(task.extra)
    met = [stated[number - 1] for number in talk.requirements_met if number <= len(stated)]
    turns = tuple(
        HeldTurn(message.text, message.reply, model, _known_of(talk, message))
        if message.status in ANSWERED
        else HeldTurn(message.text, None)
        for message in talk.messages.select_related("call").order_by("position")
    )
    extra: dict[str, object] = {"study": study.slug, "ending": ending.value}
    if stated:
        extra |= {"requirements": list(stated), "requirements_met": met}
    return HeldConversation(turns, system_prompt_of(study, task), extra)


def _known_of(talk: Conversation, message: ConversationMessage) -> dict[str, object]:
    known = {
        "endpoint": talk.endpoint.name,
        "finish_reason": message.finish_reason,
        "first_text_ms": message.first_text_ms,
        "total_ms": message.total_ms,
        "sent_at": message.sent_at.isoformat(),
        REASONING: message.call.reasoning if message.call else "",
    }
    return {name: value for name, value in known.items() if value not in {None, ""}}


@transaction.atomic
def set_up(
    *,
    study: Study,
    endpoints: Collection[ModelEndpoint],
    system_prompt: str,
    temperature: float,
    max_tokens: int,
    by: User,
) -> None:
    """Store how conversations of a study are held; those under way keep their model."""
    setup, _created = ConversationSetup.objects.update_or_create(
        study=study,
        defaults={
            "system_prompt": system_prompt,
            "temperature": temperature,
            "max_tokens": max_tokens,
        },
    )
    setup.endpoints.set(endpoints)
    AuditEvent.objects.create(
        actor=by,
        action="study.conversation",
        target="study",
        target_id=study.pk,
        detail={
            "endpoints": sorted(endpoint.name for endpoint in endpoints),
            "system_prompt": system_prompt,
            "temperature": temperature,
            "max_tokens": max_tokens,
        },
    )
