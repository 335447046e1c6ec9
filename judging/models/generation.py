"""Responses that models were asked for: where each came from."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.models import Response, Turn
from annotation.models.wording import JUDGMENT_STATUSES
from judging.models.engine import JudgeRun, LlmCall


class GeneratedResponse(models.Model):
    """A reply to a turn that a run asks its endpoint for, and the response that it became.

    Model, context and sampling are the run's (`JudgeRun.config`). Equal replies are one response,
    which several rows then point to; `is_new` says which of them made it. `previous` is the row of
    the turn before whose own reply this one continues, NULL where the original line is continued.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="generated"
    )
    turn = models.ForeignKey(
        Turn, verbose_name=_("turn"), on_delete=models.PROTECT, related_name="generated"
    )
    sample = models.PositiveSmallIntegerField(_("sample"), default=0)
    previous = models.ForeignKey(
        "self",
        verbose_name=_("continues"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="following",
    )
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    response = models.ForeignKey(
        Response,
        verbose_name=_("response"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="generated",
    )
    is_new = models.BooleanField(_("new"), default=False)
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="generated",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")

    class Meta:
        verbose_name = _("generated response")
        verbose_name_plural = _("generated responses")
        constraints = [
            models.UniqueConstraint(fields=["run", "turn", "sample"], name="generated_once"),
            models.CheckConstraint(
                condition=Q(status="DONE", response__isnull=False)
                | (~Q(status="DONE") & Q(response__isnull=True)),
                name="generated_response_when_done",
            ),
            models.CheckConstraint(
                condition=(Q(status__in=["UNPARSEABLE", "FAILED"]) & ~Q(error_code=""))
                | (Q(status__in=["PENDING", "DONE"]) & Q(error_code="")),
                name="generated_error_when_failed",
            ),
        ]
        indexes = [models.Index(fields=["run", "status"], name="generated_by_status")]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.turn_id}/{self.sample}"
