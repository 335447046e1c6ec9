"""What humans answered. What must never happen is a constraint here."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models.data import Comparison, Response, Session
from annotation.models.studies import Study
from annotation.models.wording import (
    HALLUCINATIONS,
    REASONS,
    SHOWN_ORDERS,
    VERDICTS,
    word_in,
)


class LabelBase(models.Model):
    """What every label records about how it was given."""

    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.PROTECT,
        related_name="%(class)ss",
    )
    study = models.ForeignKey(
        Study,
        verbose_name=_("study"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="%(class)ss",
    )
    repeat_index = models.PositiveSmallIntegerField(_("repeat"), default=0)
    submission_id = models.UUIDField(_("submission"), null=True, blank=True)
    comment = models.TextField(_("comment"), blank=True, default="")
    active_seconds = models.FloatField(_("active seconds"), null=True, blank=True)
    idle_seconds = models.FloatField(_("idle seconds"), null=True, blank=True)
    input_device = models.CharField(_("input device"), max_length=16, blank=True, default="")
    edits = models.PositiveIntegerField(_("edits"), default=0)
    guidelines_version = models.PositiveIntegerField(_("guideline version"), null=True, blank=True)
    app_version = models.CharField(_("SenseJudge version"), max_length=40, blank=True, default="")
    extra = models.JSONField(_("other fields"), default=dict, blank=True)
    created_at = models.DateTimeField(_("submitted"), default=timezone.now)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        abstract = True


class PairwiseLabel(LabelBase):
    """A human verdict on a comparison, in the comparison's own coordinates.

    `strength` is 1 (better) or 2 (much better) where it was asked; `shown_order` is NULL where
    nobody knows it.
    """

    comparison = models.ForeignKey(
        Comparison, verbose_name=_("comparison"), on_delete=models.PROTECT, related_name="labels"
    )
    verdict = models.CharField(_("verdict"), max_length=3, choices=VERDICTS)
    strength = models.PositiveSmallIntegerField(_("strength"), null=True, blank=True)
    both_bad = models.BooleanField(_("both bad"), default=False)
    shown_order = models.CharField(
        _("presentation order"), max_length=8, choices=SHOWN_ORDERS, null=True, blank=True
    )

    class Meta:
        verbose_name = _("pairwise label")
        verbose_name_plural = _("pairwise labels")
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "comparison", "study", "repeat_index"],
                condition=Q(study__isnull=False),
                name="pairwise_label_once_in_study",
            ),
            models.UniqueConstraint(
                fields=["annotator", "comparison", "repeat_index"],
                condition=Q(study__isnull=True),
                name="pairwise_label_once",
            ),
            models.CheckConstraint(
                condition=word_in(VERDICTS, "verdict"), name="pairwise_verdict_known"
            ),
            models.CheckConstraint(
                condition=Q(shown_order__isnull=True) | word_in(SHOWN_ORDERS, "shown_order"),
                name="pairwise_shown_order_known",
            ),
            models.CheckConstraint(
                condition=Q(strength__isnull=True) | (Q(strength__in=[1, 2]) & ~Q(verdict="TIE")),
                name="pairwise_strength_of_a_winner",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id}:{self.comparison_id}={self.verdict}"


class SatisfactionLabel(LabelBase):
    """A human rating of a response, or of a whole session; the reason exactly at 3 and below."""

    response = models.ForeignKey(
        Response,
        verbose_name=_("response"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="labels",
    )
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="labels",
    )
    score = models.PositiveSmallIntegerField(
        _("score"), validators=[MinValueValidator(1), MaxValueValidator(5)]
    )
    reason = models.CharField(_("reason"), max_length=24, choices=REASONS, null=True, blank=True)
    hallucination = models.CharField(
        _("hallucination"), max_length=6, choices=HALLUCINATIONS, null=True, blank=True
    )

    class Meta:
        verbose_name = _("satisfaction label")
        verbose_name_plural = _("satisfaction labels")
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "response", "study", "repeat_index"],
                condition=Q(response__isnull=False, study__isnull=False),
                name="turn_label_once_in_study",
            ),
            models.UniqueConstraint(
                fields=["annotator", "response", "repeat_index"],
                condition=Q(response__isnull=False, study__isnull=True),
                name="turn_label_once",
            ),
            models.UniqueConstraint(
                fields=["annotator", "session", "study", "repeat_index"],
                condition=Q(session__isnull=False, study__isnull=False),
                name="session_label_once_in_study",
            ),
            models.UniqueConstraint(
                fields=["annotator", "session", "repeat_index"],
                condition=Q(session__isnull=False, study__isnull=True),
                name="session_label_once",
            ),
            models.CheckConstraint(
                condition=Q(response__isnull=False, session__isnull=True)
                | Q(response__isnull=True, session__isnull=False),
                name="satisfaction_of_one_target",
            ),
            models.CheckConstraint(
                condition=Q(score__gte=1, score__lte=5), name="satisfaction_score_1_to_5"
            ),
            models.CheckConstraint(
                condition=Q(score__gt=3, reason__isnull=True)
                | Q(score__lte=3, reason__isnull=False),
                name="satisfaction_reason_when_dissatisfied",
            ),
            models.CheckConstraint(
                condition=Q(reason__isnull=True) | word_in(REASONS, "reason"),
                name="satisfaction_reason_known",
            ),
            models.CheckConstraint(
                condition=Q(hallucination__isnull=True) | word_in(HALLUCINATIONS, "hallucination"),
                name="satisfaction_hallucination_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id}:{self.response_id or self.session_id}={self.score}"


class SessionQuestionnaire(models.Model):
    """The questions asked after a session (memory, detail, availability, diversity)."""

    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.PROTECT,
        related_name="questionnaires",
    )
    session = models.ForeignKey(
        Session, verbose_name=_("session"), on_delete=models.CASCADE, related_name="questionnaires"
    )
    study = models.ForeignKey(
        Study,
        verbose_name=_("study"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="questionnaires",
    )
    answers = models.JSONField(_("answers"), default=list)
    created_at = models.DateTimeField(_("submitted"), default=timezone.now)

    class Meta:
        verbose_name = _("session questionnaire")
        verbose_name_plural = _("session questionnaires")
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "session", "study"],
                condition=Q(study__isnull=False),
                name="questionnaire_once_in_study",
            ),
            models.UniqueConstraint(
                fields=["annotator", "session"],
                condition=Q(study__isnull=True),
                name="questionnaire_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id}:{self.session_id}"


class GoldSource(models.TextChoices):
    """Where a gold answer comes from."""

    DATASET = "DATASET", _("Dataset")
    MANAGER = "MANAGER", _("Manager")
    ADJUDICATION = "ADJUDICATION", _("Adjudication")


class GoldLabel(models.Model):
    """The answer held to be right for a comparison, a response or a session."""

    comparison = models.ForeignKey(
        Comparison,
        verbose_name=_("comparison"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="gold_labels",
    )
    response = models.ForeignKey(
        Response,
        verbose_name=_("response"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="gold_labels",
    )
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="gold_labels",
    )
    verdict = models.CharField(_("verdict"), max_length=3, choices=VERDICTS, null=True, blank=True)
    score = models.PositiveSmallIntegerField(_("score"), null=True, blank=True)
    source = models.CharField(_("source"), max_length=16, choices=GoldSource.choices)
    rationale = models.TextField(_("rationale"), blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="gold_labels",
    )
    created_at = models.DateTimeField(_("submitted"), default=timezone.now)

    class Meta:
        verbose_name = _("gold label")
        verbose_name_plural = _("gold labels")
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "source"],
                condition=Q(comparison__isnull=False),
                name="gold_comparison_once_by_source",
            ),
            models.UniqueConstraint(
                fields=["response", "source"],
                condition=Q(response__isnull=False),
                name="gold_response_once_by_source",
            ),
            models.UniqueConstraint(
                fields=["session", "source"],
                condition=Q(session__isnull=False),
                name="gold_session_once_by_source",
            ),
            models.CheckConstraint(
                condition=Q(
                    comparison__isnull=False,
                    response__isnull=True,
                    session__isnull=True,
                    verdict__isnull=False,
                    score__isnull=True,
                )
                | Q(
                    comparison__isnull=True,
                    verdict__isnull=True,
                    score__isnull=False,
                    score__gte=1,
                    score__lte=5,
                )
                & (
                    Q(response__isnull=False, session__isnull=True)
                    | Q(response__isnull=True, session__isnull=False)
                ),
                name="gold_of_one_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.comparison_id or self.response_id or self.session_id}"


class AuditEvent(models.Model):
    """Who did what to which row, and when; never changed, never deleted."""

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("actor"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="audit_events",
    )
    action = models.CharField(_("action"), max_length=60)
    target = models.CharField(_("target"), max_length=60)
    target_id = models.PositiveBigIntegerField(_("number of the target"), null=True, blank=True)
    detail = models.JSONField(_("details"), default=dict, blank=True)
    created_at = models.DateTimeField(_("when"), default=timezone.now)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        indexes = [models.Index(fields=["target", "target_id"], name="audit_by_target")]

    def __str__(self) -> str:
        return f"{self.action} {self.target}/{self.target_id}"
