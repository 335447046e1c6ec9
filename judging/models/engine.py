"""What endpoints replied (calls), and what was set out to be done (runs)."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.models import Dataset
from annotation.models.wording import JUDGMENT_STATUSES, word_in
from judging.core.estimates import TightRequest
from judging.core.runs import WRITING
from judging.models.endpoints import ModelEndpoint


class LlmCall(models.Model):
    """One reply, committed as it came; its key says everything that could change it.

    `key` is the SHA-256 of canonical JSON of base URL, model, messages, sampling, schema,
    log-probability request, sample index and attempt. `reply` has its reasoning stripped;
    `reasoning` keeps it. `run` is the run that paid for it; runs that find it here pay nothing.
    """

    key = models.CharField(_("key"), max_length=64, unique=True)
    endpoint = models.ForeignKey(
        ModelEndpoint,
        verbose_name=_("model endpoint"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="calls",
    )
    run = models.ForeignKey(
        "JudgeRun",
        verbose_name=_("billed to"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="calls",
    )
    base_url = models.CharField(_("base URL"), max_length=300)
    model = models.CharField(_("model"), max_length=200)
    request = models.JSONField(_("request"))
    reply = models.TextField(_("reply"), blank=True, default="")
    reasoning = models.TextField(_("reasoning"), blank=True, default="")
    logprobs = models.JSONField(_("log-probabilities"), null=True, blank=True)
    finish_reason = models.CharField(_("end reason"), max_length=40, blank=True, default="")
    sample_index = models.PositiveSmallIntegerField(_("sample"), default=0)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=0)
    input_tokens = models.PositiveIntegerField(_("input tokens"), null=True, blank=True)
    cached_tokens = models.PositiveIntegerField(_("cached tokens"), null=True, blank=True)
    output_tokens = models.PositiveIntegerField(_("output tokens"), null=True, blank=True)
    cost = models.DecimalField(_("cost"), max_digits=14, decimal_places=8, null=True, blank=True)
    latency_ms = models.PositiveIntegerField(_("latency (ms)"), null=True, blank=True)
    created_at = models.DateTimeField(_("when"), auto_now_add=True)

    class Meta:
        verbose_name = _("LLM call")
        verbose_name_plural = _("LLM calls")

    def __str__(self) -> str:
        return self.key[:12]


class CallClaim(models.Model):
    """A call that somebody is at, so that nobody else asks the same at the same time.

    `owner` is one store of replies in one process (`services.heartbeats`), which says again and
    again that it is alive; past `expires_at` the claim is anybody's. It goes with the reply. `run`
    is the owner's.
    """

    key = models.CharField(_("key"), max_length=64, primary_key=True)
    owner = models.CharField(_("owner"), max_length=200)
    run = models.ForeignKey(
        "JudgeRun",
        verbose_name=_("judge run"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="call_claims",
        db_index=False,  # few rows, and written for each call
    )
    expires_at = models.DateTimeField(_("expires"))

    class Meta:
        verbose_name = _("claimed call")
        verbose_name_plural = _("claimed calls")

    def __str__(self) -> str:
        return self.key[:12]


class RunKind(models.TextChoices):
    """What a run sets out to do; apps above register further kinds (`core.runs.REGISTERED`)."""

    DISTIL = "DISTIL", _("Distil and select preferences")
    TEST = "TEST", _("Judge comparisons")
    GRADE = "GRADE", _("Grade the responses of the test split")
    ABLATION = "ABLATION", _("Ablation: judge the test split under variants")
    RANKING = "RANKING", _("Rank models under preferences drawn at random")
    SATISFACTION = "SATISFACTION", _("Satisfaction")
    TRAIN = "TRAIN", _("Train the learned evaluator")
    CHECK = "CHECK", _("Injection check")
    GENERATE = "GENERATE", _("Generate responses")
    RECORDED = "RECORDED", _("Recorded verdicts")


class RunStatus(models.TextChoices):
    """Where a run stands; its rows say how far it is."""

    PENDING = "PENDING", _("Waiting")
    RUNNING = "RUNNING", _("Running")
    DONE = "DONE", _("Done")
    FAILED = "FAILED", _("Failed")
    CANCELLED = "CANCELLED", _("Cancelled")
    BATCH = "BATCH", _("Waiting for a batch file")


class JudgeRun(models.Model):
    """A snapshot of what was asked of which judge. Rows are the truth, so resuming is dispatching.

    `generation` grows at each dispatch: a batch of an older generation drops itself. `heartbeat_at`
    is the last sign of life of a worker, `worker` the process that gave it (`services.heartbeats`).
    `stage` names the step of the kind that is under way.

    `budget` is the money that its calls may cost in all, None for no limit. `held` is what they
    have cost so far, with those under way, and those whose fate nobody knows, at their dearest.

    `plan` is equal for runs that set out to do the same (`services.run_requests`), of which one at
    a time is under way; "" for a run that others do not attach to. `attached`, which is not stored,
    says that whoever wanted such a run was led to one under way. `tight`, which is not stored
    either, are the requests that may not fit a context (`services.estimate_tallies`); nor is
    `awaited`: how many responses to each target will be there by then, which an estimate adds.

    `writer` is who writes what the judge then judges by: the preferences of a distillation, the
    memories of a satisfaction run; "" where the judge does so itself.
    """

    attached: bool = False
    tight: Sequence[TightRequest] = ()
    awaited: int = 0

    kind = models.CharField(_("kind"), max_length=16, choices=RunKind.choices)
    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="runs"
    )
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="judge_runs",
    )
    judge = models.CharField(_("judge"), max_length=80)
    endpoint = models.ForeignKey(
        ModelEndpoint,
        verbose_name=_("model endpoint"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="runs",
    )
    writer = models.CharField(_("written by"), max_length=80, blank=True, default="")
    writer_endpoint = models.ForeignKey(
        ModelEndpoint,
        verbose_name=_("writer's model endpoint"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="written_runs",
    )
    parent = models.ForeignKey(
        "self",
        verbose_name=_("parent run"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="children",
    )
    learned_model = models.ForeignKey(
        "LearnedModel",
        verbose_name=_("learned evaluator"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="runs",
    )
    config = models.JSONField(_("configuration"), default=dict)
    plan = models.CharField(_("plan"), max_length=64, blank=True, default="", editable=False)
    status = models.CharField(
        _("status"), max_length=10, choices=RunStatus.choices, default=RunStatus.PENDING
    )
    stage = models.CharField(_("stage"), max_length=24, blank=True, default="")
    generation = models.PositiveIntegerField(_("start"), default=0)
    heartbeat_at = models.DateTimeField(_("last heartbeat"), null=True, blank=True)
    worker = models.CharField(_("worker"), max_length=150, blank=True, default="", editable=False)
    budget = models.DecimalField(
        _("budget"),
        max_digits=14,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
    )
    held = models.DecimalField(_("spent or reserved"), max_digits=20, decimal_places=8, default=0)
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    error_detail = models.TextField(_("details of the error"), blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="created_runs",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("judge run")
        verbose_name_plural = _("judge runs")
        constraints = [
            models.CheckConstraint(condition=~Q(kind=""), name="run_kind_named"),
            models.CheckConstraint(
                condition=Q(status__in=RunStatus.values), name="run_status_known"
            ),
            models.CheckConstraint(
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")), name="run_not_own_parent"
            ),
            models.CheckConstraint(
                condition=Q(budget__isnull=True) | Q(budget__gte=0), name="run_budget_not_negative"
            ),
            models.UniqueConstraint(
                fields=["plan"],
                condition=Q(status__in=[RunStatus.PENDING, RunStatus.RUNNING, RunStatus.BATCH])
                & ~Q(plan=""),
                name="run_under_way_once",
            ),
        ]
        indexes = [
            models.Index(fields=["dataset", "kind", "annotator"], name="run_by_dataset"),
            models.Index(fields=["status", "heartbeat_at"], name="run_by_status"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def written_by(self) -> str:
        """Who writes the preferences or the memories: the distiller, the memory builder."""
        return self.writer or self.judge

    def endpoint_at(self, stage: str) -> ModelEndpoint | None:
        """Who is asked in a stage; None for a judge that calls nobody."""
        return self.writer_endpoint if self.writer and stage in WRITING else self.endpoint

    @property
    def can_have_budget(self) -> bool:
        """Whether a budget can be kept: something has a price, and whoever is called has one."""
        called = [row for row in (self.endpoint, self.writer_endpoint) if row is not None]
        return bool(called) and all(row.has_prices for row in called)


class RunUnit(models.Model):
    """One of the long steps that a run takes by itself, often by a run of its own (`child`).

    `plan` says what it is about, `result` what came of it where that is kept. A child that was
    there before is `reused`: it was not paid for here, and goes on where this run is stopped.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="units"
    )
    position = models.PositiveIntegerField(_("position"))
    name = models.CharField(_("name"), max_length=200)
    plan = models.JSONField(_("plan"), default=dict)
    child = models.ForeignKey(
        JudgeRun,
        verbose_name=_("child run"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="unit_of",
    )
    reused = models.BooleanField(_("reused"), default=False)
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    result = models.JSONField(_("result"), default=dict)

    class Meta:
        verbose_name = _("step of a run")
        verbose_name_plural = _("steps of a run")
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="run_unit_once"),
            models.CheckConstraint(
                condition=word_in(JUDGMENT_STATUSES, "status"), name="run_unit_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position}"
