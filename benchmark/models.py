"""Frozen results: what was measured, on which rows, with which settings."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.models import Dataset, Response, Session, Turn
from annotation.models.wording import JUDGMENT_STATUSES, choices_of, word_in
from benchmark.core.construction import BuildStage, DropReason, ReviewDecision
from benchmark.core.snapshots import SnapshotKind
from judging.core.categories import Category
from judging.models import JudgeRun, LlmCall, SatisfactionJudgment


class ConstructionItem(models.Model):
    """A raw dialogue on its way into a benchmark, in one construction (a run).

    It is in play until a stage drops it: then `dropped_at` names the stage, `reason` why, and
    `details` what was measured or found. `status`, `error_code`, `call` and `raw` are of the judge
    that was asked for its category. `candidate` is its copy in the dataset where the two models
    answered it. `decision` is a reviewer's; `request` the text in the place of its last message.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="construction_items"
    )
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        on_delete=models.CASCADE,
        related_name="construction_items",
    )
    position = models.PositiveIntegerField(_("position"))
    dropped_at = models.CharField(
        _("dropped at"), max_length=12, choices=choices_of(BuildStage), blank=True, default=""
    )
    reason = models.CharField(
        _("reason"), max_length=12, choices=choices_of(DropReason), blank=True, default=""
    )
    details = models.JSONField(_("details"), default=dict, blank=True)
    category = models.CharField(
        _("category"), max_length=12, choices=choices_of(Category), blank=True, default=""
    )
    subcategory = models.CharField(_("subcategory"), max_length=60, blank=True, default="")
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="construction_items",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")
    candidate = models.ForeignKey(
        Session,
        verbose_name=_("candidate"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="candidate_of",
    )
    decision = models.CharField(
        _("decision"), max_length=4, choices=choices_of(ReviewDecision), blank=True, default=""
    )
    request = models.TextField(_("edited prompt"), blank=True, default="")
    note = models.TextField(_("note"), blank=True, default="")
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reviewed by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="construction_reviews",
    )
    reviewed_at = models.DateTimeField(_("reviewed"), null=True, blank=True)

    class Meta:
        verbose_name = _("dialogue of a construction")
        verbose_name_plural = _("dialogues of constructions")
        constraints = [
            models.UniqueConstraint(fields=["run", "session"], name="construction_item_once"),
            models.CheckConstraint(
                condition=Q(dropped_at="", reason="")
                | (
                    Q(dropped_at__in=[each.value for each in BuildStage])
                    & Q(reason__in=[each.value for each in DropReason])
                ),
                name="construction_item_dropped_with_reason",
            ),
            models.CheckConstraint(
                condition=word_in(JUDGMENT_STATUSES, "status"),
                name="construction_item_status_known",
            ),
            models.CheckConstraint(
                condition=~Q(decision=ReviewDecision.EDIT.value) | ~Q(request=""),
                name="construction_item_edited_has_text",
            ),
        ]
        indexes = [
            models.Index(fields=["run", "dropped_at", "position"], name="construction_by_stage")
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position}"


class BenchmarkVersion(models.Model):
    """A frozen benchmark: its dialogues as JSON, with a datasheet; never changed once written.

    `dataset` holds the same dialogues to be answered and labelled. `items` and `datasheet` stand
    for themselves: they stay where the source, the run or the dataset are deleted.
    """

    version = models.SlugField(_("version"), max_length=40, unique=True)
    run = models.OneToOneField(
        JudgeRun,
        verbose_name=_("construction"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="benchmark_version",
    )
    dataset = models.OneToOneField(
        Dataset,
        verbose_name=_("dataset"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="benchmark_version",
    )
    items = models.JSONField(_("items"), default=list)
    datasheet = models.JSONField(_("datasheet"), default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("benchmark version")
        verbose_name_plural = _("benchmark versions")

    def __str__(self) -> str:
        return self.version


class ReplayAnswer(models.Model):
    """What the evaluator of a replay said of one answer to one turn in a user's stead.

    `candidate` is "" for the original response, the control. `score` is the evaluator's own,
    `calibrated` the same on the user's scale and `paper` as the released code has it; `fallback`
    says why these are the evaluator's own. `stated` is what the user said of the original.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="replay_answers"
    )
    candidate = models.CharField(_("candidate"), max_length=400, blank=True, default="")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.PROTECT,
        related_name="replay_answers",
    )
    turn = models.ForeignKey(
        Turn, verbose_name=_("turn"), on_delete=models.CASCADE, related_name="replay_answers"
    )
    response = models.ForeignKey(
        Response, verbose_name=_("response"), on_delete=models.PROTECT, related_name="replayed"
    )
    judgment = models.ForeignKey(
        SatisfactionJudgment,
        verbose_name=_("judgment"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="replay_answers",
    )
    score = models.PositiveSmallIntegerField(_("score"))
    expected = models.FloatField(_("unrounded score"), null=True, blank=True)
    calibrated = models.PositiveSmallIntegerField(_("calibrated score"))
    paper = models.PositiveSmallIntegerField(_("score by the paper's code"))
    fallback = models.CharField(_("fallback"), max_length=16, blank=True, default="")
    stated = models.PositiveSmallIntegerField(_("stated score"), null=True, blank=True)

    class Meta:
        verbose_name = _("replayed answer")
        verbose_name_plural = _("replayed answers")
        constraints = [
            models.UniqueConstraint(
                fields=["run", "candidate", "user", "turn"], name="replay_answer_once"
            ),
            models.CheckConstraint(
                condition=Q(score__range=(1, 5), calibrated__range=(1, 5), paper__range=(1, 5)),
                name="replay_scores_of_five",
            ),
            models.CheckConstraint(
                condition=Q(stated__isnull=True) | Q(candidate=""),
                name="replay_stated_of_original",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.candidate}/{self.turn_id}"


class Snapshot(models.Model):
    """A page's figures as they were, with the question and what they rested on.

    `question`, `figures` and `basis` stand for themselves (benchmark.core.snapshots): they stay
    where the dataset is deleted. Its number is a stable address.
    """

    kind = models.CharField(_("kind"), max_length=12, choices=choices_of(SnapshotKind))
    dataset = models.ForeignKey(
        Dataset,
        verbose_name=_("dataset"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="snapshots",
    )
    question = models.JSONField(_("question"), default=dict)
    figures = models.JSONField(_("figures"), default=list)
    basis = models.JSONField(_("basis"), default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        constraints = [
            models.CheckConstraint(
                condition=word_in(choices_of(SnapshotKind), "kind"), name="snapshot_kind_known"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class VerificationReport(models.Model):
    """A report on how far evaluators may be trusted, with the settings and the run that made it.

    Reports of before there were such runs have none.
    """

    dataset = models.ForeignKey(
        Dataset,
        verbose_name=_("dataset"),
        on_delete=models.CASCADE,
        related_name="verification_reports",
    )
    kind = models.CharField(_("kind"), max_length=40)
    run = models.ForeignKey(
        JudgeRun,
        verbose_name=_("run"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="reports",
    )
    settings = models.JSONField(_("settings"), default=dict)
    rows = models.JSONField(_("rows"), default=list)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("verification report")
        verbose_name_plural = _("verification reports")
        constraints = [
            models.UniqueConstraint(fields=["run", "kind"], name="verification_report_once_a_run")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.dataset_id}"
