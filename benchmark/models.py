"""Frozen results: what was measured, on which rows, with which settings."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset
from judging.models import JudgeRun, ModelEndpoint


class BenchmarkVersion(models.Model):
    """A frozen, versioned set of items with its datasheet; never changed once written."""

    dataset = models.ForeignKey(
        Dataset,
        verbose_name=_("dataset"),
        on_delete=models.PROTECT,
        related_name="benchmark_versions",
    )
    version = models.CharField(_("version"), max_length=40)
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
        constraints = [
            models.UniqueConstraint(fields=["dataset", "version"], name="benchmark_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id}@{self.version}"


class ReplayRun(models.Model):
    """Candidate models answer fixed prefixes, a frozen evaluator scores the answers."""

    benchmark = models.ForeignKey(
        BenchmarkVersion,
        verbose_name=_("benchmark"),
        on_delete=models.PROTECT,
        related_name="replays",
    )
    candidate = models.ForeignKey(
        ModelEndpoint, verbose_name=_("candidate"), on_delete=models.PROTECT, related_name="replays"
    )
    variant = models.CharField(_("generation context"), max_length=120)
    evaluator_run = models.ForeignKey(
        JudgeRun,
        verbose_name=_("evaluator run"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="replays",
    )
    config = models.JSONField(_("configuration"), default=dict)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("replay run")
        verbose_name_plural = _("replay runs")
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "candidate", "variant"], name="replay_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.candidate_id}/{self.variant}"


class LeaderboardSnapshot(models.Model):
    """A leaderboard as it stood, with the settings that made it."""

    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="leaderboards"
    )
    run = models.ForeignKey(
        JudgeRun,
        verbose_name=_("run"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="leaderboards",
    )
    settings = models.JSONField(_("settings"), default=dict)
    rows = models.JSONField(_("rows"), default=list)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("leaderboard snapshot")
        verbose_name_plural = _("leaderboard snapshots")

    def __str__(self) -> str:
        return f"{self.dataset_id} {self.created_at:%Y-%m-%d}"


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
