"""Live conversations: who is talked with in a study, and what was said under each claim.

What is said stands here while a conversation lasts; once it has ended it becomes a session of the
dataset, so that datasets, exports and runs never hold half of one.
"""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Claim, Study
from judging.models.endpoints import ModelEndpoint
from judging.models.engine import LlmCall


class ConversationSetup(models.Model):
    """With whom the participants of a study talk, and how replies are drawn."""

    study = models.OneToOneField(
        Study, verbose_name=_("study"), on_delete=models.CASCADE, related_name="conversation_setup"
    )
    endpoints = models.ManyToManyField(
        ModelEndpoint, verbose_name=_("models"), related_name="conversation_setups"
    )
    system_prompt = models.TextField(_("system prompt"), blank=True, default="")
    temperature = models.FloatField(
        _("temperature"),
        default=0.7,
        validators=[MinValueValidator(0.0), MaxValueValidator(2.0)],
    )
    max_tokens = models.PositiveIntegerField(
        _("max output tokens"), default=1024, validators=[MinValueValidator(1)]
    )

    class Meta:
        verbose_name = _("conversation setup")
        verbose_name_plural = _("conversation setups")

    def __str__(self) -> str:
        return str(self.study)


class ConversationState(models.TextChoices):
    """Whether a conversation goes on."""

    OPEN = "OPEN", _("In progress")
    ENDED = "ENDED", _("Ended")


class ConversationEnding(models.TextChoices):
    """Why a participant ended a conversation."""

    SATISFIED = "SATISFIED", _("Got what they wanted")
    NO_FURTHER = "NO_FURTHER", _("Continuing would not help")


class Conversation(models.Model):
    """What an annotator talks about under a claim, with one model to the end.

    `requirements_met` are the numbers of the task's requirements that they ticked, from 1; `unsent`
    is a message that the server keeps for them to send.
    """

    claim = models.OneToOneField(
        Claim, verbose_name=_("claim"), on_delete=models.CASCADE, related_name="live_conversation"
    )
    endpoint = models.ForeignKey(
        ModelEndpoint,
        verbose_name=_("model"),
        on_delete=models.PROTECT,
        related_name="conversations",
    )
    state = models.CharField(
        _("state"),
        max_length=8,
        choices=ConversationState.choices,
        default=ConversationState.OPEN,
    )
    ending = models.CharField(
        _("end reason"), max_length=12, choices=ConversationEnding.choices, blank=True, default=""
    )
    requirements_met = models.JSONField(_("requirements met"), default=list, blank=True)
    unsent = models.TextField(_("not sent"), blank=True, default="")
    started_at = models.DateTimeField(_("started"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        constraints = [
            models.CheckConstraint(
                condition=Q(state="OPEN", ending="", ended_at__isnull=True)
                | Q(state="ENDED", ending__in=ConversationEnding.values, ended_at__isnull=False),
                name="conversation_ended_whole",
            )
        ]

    def __str__(self) -> str:
        return f"{self.claim_id}"


class ReplyStatus(models.TextChoices):
    """Where the reply to a message stands."""

    WAITING = "WAITING", _("Waiting")
    WRITING = "WRITING", _("Generating")
    DONE = "DONE", _("Done")
    STOPPED = "STOPPED", _("Stopped")
    FAILED = "FAILED", _("Failed")


class ConversationMessage(models.Model):
    """A participant's message and the model's reply.

    The row is the truth of a reply under way, whichever process writes it: `reply` holds what has
    come, `heartbeat_at` is the last sign of life of its writer, and `generation` grows whenever the
    reply is asked for anew, so that an older writer drops what it has.
    """

    conversation = models.ForeignKey(
        Conversation,
        verbose_name=_("conversation"),
        on_delete=models.CASCADE,
        related_name="messages",
    )
    position = models.PositiveIntegerField(_("position"))
    submission = models.UUIDField(_("submission"))
    text = models.TextField(_("text"))
    sent_at = models.DateTimeField(_("sent"))
    status = models.CharField(
        _("reply"), max_length=8, choices=ReplyStatus.choices, default=ReplyStatus.WAITING
    )
    reply = models.TextField(_("text of the reply"), blank=True, default="")
    generation = models.PositiveIntegerField(_("start"), default=0)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=0)
    stop_wanted = models.BooleanField(_("stop requested"), default=False)
    heartbeat_at = models.DateTimeField(_("last heartbeat"))
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    error_detail = models.TextField(_("details of the error"), blank=True, default="")
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="conversation_messages",
    )
    finish_reason = models.CharField(_("end reason"), max_length=40, blank=True, default="")
    first_text_ms = models.PositiveIntegerField(_("time to first text (ms)"), null=True, blank=True)
    total_ms = models.PositiveIntegerField(_("time to full reply (ms)"), null=True, blank=True)

    class Meta:
        verbose_name = _("conversation message")
        verbose_name_plural = _("conversation messages")
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "position"], name="message_position_once"
            ),
            models.CheckConstraint(
                condition=Q(status__in=ReplyStatus.values), name="message_reply_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}/{self.position}"
