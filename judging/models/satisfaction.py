"""User memories, and satisfaction scores by a judge."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.models import Dataset, Response, SatisfactionLabel, Scenario, Session
from annotation.models.wording import JUDGMENT_STATUSES, REASONS, choices_of
from judging.core.rules import Level
from judging.core.targets import TurnPart
from judging.models.engine import JudgeRun, LlmCall


class UserMemory(models.Model):
    """The frozen profile of how a user judges, from every scenario but the target one.

    `statistics` are computed by code over the whole history; `texts` are the judge's, or a person's
    in a later version. `evidence` lists the turns shown to the judge, by score.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="memories"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.PROTECT,
        related_name="memories",
    )
    target_scenario = models.ForeignKey(
        Scenario,
        verbose_name=_("judged scenario"),
        on_delete=models.CASCADE,
        related_name="memories",
    )
    version = models.PositiveIntegerField(_("version"), default=1)
    previous = models.ForeignKey(
        "self",
        verbose_name=_("previous version"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="next_versions",
    )
    judge = models.CharField(_("built by"), max_length=80)
    language = models.CharField(_("language"), max_length=16, default="en")
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    statistics = models.JSONField(_("statistics"), default=dict)
    texts = models.JSONField(_("texts"), default=dict)
    evidence = models.JSONField(_("evidence"), default=dict)
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="memories",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("edited by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="edited_memories",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("user memory")
        verbose_name_plural = _("user memories")
        constraints = [
            models.UniqueConstraint(
                fields=["run", "user", "target_scenario", "version"], name="memory_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id}/{self.target_scenario_id} v{self.version}"


class SatisfactionJudgment(models.Model):
    """A judge's score of a response (or session) for one user; never a default score.

    `score` is raw, `calibrated` on the user's own scale; `fallback_reason` says why the raw score
    stands in (no history, fewer than 5 history turns, no reference). `part` is what the target was
    to the user when the run began.
    """

    run = models.ForeignKey(
        JudgeRun,
        verbose_name=_("run"),
        on_delete=models.CASCADE,
        related_name="satisfaction_judgments",
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.PROTECT,
        related_name="satisfaction_judgments",
    )
    response = models.ForeignKey(
        Response,
        verbose_name=_("response"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="satisfaction_judgments",
    )
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="satisfaction_judgments",
    )
    memory = models.ForeignKey(
        UserMemory,
        verbose_name=_("user memory"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="judgments",
    )
    part = models.CharField(
        _("what it is to the user"),
        max_length=12,
        choices=choices_of(TurnPart),
        default=TurnPart.RATED.value,
    )
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    score = models.PositiveSmallIntegerField(_("raw score"), null=True, blank=True)
    expected_score = models.FloatField(_("expected score"), null=True, blank=True)
    calibrated = models.PositiveSmallIntegerField(_("calibrated score"), null=True, blank=True)
    calibration = models.CharField(_("calibration"), max_length=24, blank=True, default="")
    fallback_reason = models.CharField(_("fallback"), max_length=60, blank=True, default="")
    reason = models.CharField(_("reason"), max_length=24, choices=REASONS, null=True, blank=True)
    analysis = models.TextField(_("analysis"), blank=True, default="")
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="satisfaction_judgments",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("satisfaction judgment")
        verbose_name_plural = _("satisfaction judgments")
        constraints = [
            models.UniqueConstraint(
                fields=["run", "user", "response"],
                condition=Q(response__isnull=False),
                name="turn_judgment_once",
            ),
            models.UniqueConstraint(
                fields=["run", "user", "session"],
                condition=Q(session__isnull=False),
                name="session_judgment_once",
            ),
            models.CheckConstraint(
                condition=Q(response__isnull=False, session__isnull=True)
                | Q(response__isnull=True, session__isnull=False),
                name="satisfaction_judgment_of_one_target",
            ),
            models.CheckConstraint(
                condition=Q(status="DONE", score__isnull=False, score__gte=1, score__lte=5)
                | (~Q(status="DONE") & Q(score__isnull=True)),
                name="satisfaction_score_when_done",
            ),
            models.CheckConstraint(
                condition=Q(part__in=[part.value for part in TurnPart]), name="turn_part_known"
            ),
            models.CheckConstraint(
                condition=Q(calibrated__isnull=True)
                | Q(status="DONE", calibrated__gte=1, calibrated__lte=5),
                name="calibrated_score_1_to_5",
            ),
        ]
        indexes = [models.Index(fields=["run", "status"], name="turn_judgment_by_status")]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.response_id or self.session_id}={self.score}"


class LearnedModel(models.Model):
    """A trained evaluator of satisfaction: numbers in `artefact`, and what it was trained on.

    `level` is what was rated, single responses or whole sessions. `held_out` keeps its training
    users' held-out predictions, turn by turn. A row is never changed: other labels, or another
    method, make another version.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="learned_models")
    version = models.PositiveIntegerField(_("version"))
    level = models.CharField(
        _("level"), max_length=8, choices=choices_of(Level), default=Level.TURN.value
    )
    method = models.PositiveIntegerField(_("method version"))
    ratings_digest = models.CharField(_("ratings digest"), max_length=64)
    settings = models.JSONField(_("settings"), default=dict)
    manifest = models.JSONField(_("trained on"), default=dict)
    held_out = models.JSONField(_("held-out predictions"), default=dict)
    artefact = models.BinaryField(_("numbers"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("learned evaluator")
        verbose_name_plural = _("learned evaluators")
        constraints = [
            models.UniqueConstraint(fields=["dataset", "version"], name="learned_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id} v{self.version}"


class RubricStep(models.TextChoices):
    """How far the induction of rubrics is."""

    TURN = "TURN", _("reasons from one rated turn")
    CHUNK = "CHUNK", _("condensed reasons from several turns")
    FINAL = "FINAL", _("rubrics")


class InducedRubric(models.Model):
    """Sentences that say what satisfied or dissatisfied training users; FINAL ones are judged by.

    `fold` tells which part of a run's users is judged by them; their own ratings taught nothing of
    it. `position` orders the rows of a step: chunk n condenses the nth part of the turns.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="rubrics"
    )
    fold = models.PositiveSmallIntegerField(_("user group"), default=0)
    satisfied = models.BooleanField(_("from satisfied users"))
    step = models.CharField(_("step"), max_length=5, choices=RubricStep.choices)
    position = models.PositiveIntegerField(_("place"), default=0)
    label = models.ForeignKey(
        SatisfactionLabel,
        verbose_name=_("rating"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="rubrics",
    )
    language = models.CharField(_("language"), max_length=16, default="en")
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    text = models.TextField(_("sentences, one per line"), null=True, blank=True)
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="rubrics",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")

    class Meta:
        verbose_name = _("induced rubric")
        verbose_name_plural = _("induced rubrics")
        constraints = [
            models.UniqueConstraint(
                fields=["run", "step", "fold", "satisfied", "position"], name="rubric_once"
            ),
            models.CheckConstraint(
                condition=(Q(status="DONE", text__isnull=False) & ~Q(text=""))
                | (~Q(status="DONE") & Q(text__isnull=True)),
                name="rubric_text_when_done",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.step}/{self.fold}/{self.position}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, a sentence each."""
        return tuple((self.text or "").splitlines())
