"""Live conversations as their participants and as managers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Final

from django.db.models import Count, Max, Q, QuerySet

from annotation.core.conversations import requirements_of
from annotation.models import ClaimState, Session, Study
from judging.core.conversations import (
    ANSWERED,
    PENDING,
    LiveConversation,
    LiveMessage,
    ReplyState,
    Requirement,
    poll_ms,
)
from judging.models import (
    Conversation,
    ConversationMessage,
    ConversationSetup,
    ConversationState,
    ModelEndpoint,
    ReplyStatus,
)

_QUEUED_AFTER: Final = 5  # seconds without a first word


def last_message(talk: Conversation) -> ConversationMessage | None:
    """The latest message of a conversation."""
    return talk.messages.order_by("-position").first()


def talk_of(
    talk: Conversation,
    *,
    requirements: Sequence[str],
    min_turns: int,
    now: datetime,
    under_way: int = 0,
) -> LiveConversation:
    """A conversation as its participant sees it; `under_way` replies are written meanwhile."""
    return LiveConversation(
        messages=tuple(
            message_of(row, now, under_way) for row in talk.messages.order_by("position")
        ),
        requirements=tuple(
            Requirement(number, text, number in talk.requirements_met)
            for number, text in enumerate(requirements, start=1)
        ),
        min_turns=min_turns,
        unsent=talk.unsent,
    )


def message_of(row: ConversationMessage, now: datetime, under_way: int = 0) -> LiveMessage:
    """A message as its participant sees it, while so many replies are written."""
    waited = (now - row.sent_at).total_seconds()
    return LiveMessage(
        id=row.pk,
        submission=str(row.submission),
        text=row.text,
        state=ReplyState(row.status),
        reply=row.reply,
        error=row.error_code,
        queued=row.status == ReplyStatus.WAITING and waited > _QUEUED_AFTER,
        poll_ms=poll_ms(waited, begun=bool(row.reply), under_way=under_way),
    )


def own_message(
    *, study: str, item: int, annotator_id: int, message: int
) -> ConversationMessage | None:
    """A message that this participant sent under this item; None where there is none."""
    return ConversationMessage.objects.filter(
        pk=message,
        conversation__claim__annotator=annotator_id,
        conversation__claim__item=item,
        conversation__claim__item__study__slug=study,
    ).first()


def system_prompt_of(study: Study, task: Session) -> str:
    """What the model is told before the conversation: the study's words, else the task's own."""
    setup = ConversationSetup.objects.filter(study=study).first()
    return (setup.system_prompt if setup else "").strip() or task.system_prompt


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation in the list of those who see everyone."""

    participant: str
    task: str
    scenario: str
    model: str
    state: str
    ending: str
    pending: bool
    skipped: bool
    replies: int
    failed: int
    error: str
    met: int
    stated: int
    session: int | None
    started_at: datetime
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConversationModelRow:
    """How often a model was talked with in a study, and how fast it answered."""

    name: str
    in_use: bool
    conversations: int
    ended: int
    replies: int
    failed: int
    first_text_ms: float | None
    total_ms: float | None


def conversations_of(study: Study) -> QuerySet[Conversation]:
    """The conversations of a study, the latest first, for a pager."""
    messages = "messages__status"
    return (
        Conversation.objects.filter(claim__item__study=study)
        .select_related(
            "endpoint", "claim__annotator", "claim__item__session__scenario", "claim__conversation"
        )
        .annotate(
            n_replies=Count("messages", filter=Q(**{f"{messages}__in": ANSWERED})),
            n_pending=Count("messages", filter=Q(**{f"{messages}__in": PENDING})),
            n_failed=Count("messages", filter=Q(**{messages: ReplyStatus.FAILED})),
            last_at=Max("messages__sent_at"),
            error=Max("messages__error_code"),
        )
        .order_by("-started_at", "-pk")
    )


def conversation_rows(page: Sequence[Conversation]) -> list[ConversationRow]:
    """What the list shows of these conversations, which come from `conversations_of`."""
    return [_row(talk) for talk in page]


def model_rows(study: Study) -> list[ConversationModelRow]:
    """The models of a study with what came of them, by name; chosen ones and used ones."""
    times: dict[int, list[tuple[int, int]]] = {}
    counts: dict[int, list[int]] = {}
    messages = ConversationMessage.objects.filter(conversation__claim__item__study=study)
    for endpoint, status, first, total in messages.values_list(
        "conversation__endpoint", "status", "first_text_ms", "total_ms"
    ):
        count = counts.setdefault(endpoint, [0, 0])
        count[0] += status in ANSWERED
        count[1] += status == ReplyStatus.FAILED
        if first is not None and total is not None:
            times.setdefault(endpoint, []).append((first, total))
    held = Conversation.objects.filter(claim__item__study=study).values_list("endpoint")
    talks = {
        endpoint: (n, ended)
        for endpoint, n, ended in held.annotate(
            n=Count("id"), ended=Count("id", filter=Q(state=ConversationState.ENDED))
        ).order_by()
    }
    chosen = Q(conversation_setups__study=study)
    rows = ModelEndpoint.objects.filter(chosen | Q(pk__in=talks)).distinct().order_by("name")
    in_use = set(ModelEndpoint.objects.filter(chosen, enabled=True).values_list("pk", flat=True))
    return [
        ConversationModelRow(
            name=row.name,
            in_use=row.pk in in_use,
            conversations=talks.get(row.pk, (0, 0))[0],
            ended=talks.get(row.pk, (0, 0))[1],
            replies=counts.get(row.pk, [0, 0])[0],
            failed=counts.get(row.pk, [0, 0])[1],
            first_text_ms=_median([first for first, _ in times.get(row.pk, [])]),
            total_ms=_median([total for _, total in times.get(row.pk, [])]),
        )
        for row in rows
    ]


def _median(values: Sequence[int]) -> float | None:
    return median(values) if values else None


def _row(talk: Conversation) -> ConversationRow:
    claim, counted = talk.claim, talk.__dict__
    task = claim.item.session
    stated = requirements_of(task.extra) if task else ()
    return ConversationRow(
        participant=str(claim.annotator),
        task=task.key if task else "",
        scenario=task.scenario.name if task else "",
        model=talk.endpoint.name,
        state=talk.state,
        ending=talk.get_ending_display(),
        pending=counted["n_pending"] > 0,
        skipped=claim.state == ClaimState.SKIPPED,
        replies=counted["n_replies"],
        failed=counted["n_failed"],
        error=counted["error"] or "",
        met=len(talk.requirements_met),
        stated=len(stated),
        session=claim.conversation_id,
        started_at=talk.started_at,
        last_at=counted["last_at"],
    )
