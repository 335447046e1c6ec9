"""Who is asked (endpoints), what they replied (calls), and what was set out to be done (runs)."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import (
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
    URLValidator,
)
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.models.wording import JUDGMENT_STATUSES, word_in
from judging.core.chat import OWN_FIELDS, checked_extra
from judging.core.endpoints import RESERVED_NAMES, SITE_SECRETS, may_hold_key
from judging.core.runs import WRITING


def validate_extra_sampling(value: object) -> None:
    """Refuse what cannot be sent along.

    Raises:
        ValidationError: it is no JSON object, or names a field that the engine fills in itself.
    """
    try:
        checked_extra(value)
    except Refused as error:
        raise ValidationError(
            _("Enter a JSON object without these fields: %(fields)s."),
            params={"fields": ", ".join(OWN_FIELDS)},
        ) from error


def validate_endpoint_name(value: str) -> None:
    """Refuse the names of judges and baselines that need no endpoint.

    Raises:
        ValidationError: such a judge would answer instead of the endpoint.
    """
    if value in RESERVED_NAMES:
        raise ValidationError(
            _("%(name)s is the name of a built-in judge or baseline. Choose another name."),
            params={"name": value},
        )


def validate_key_variable(value: str) -> None:
    """Refuse a variable that was not meant to hold a key.

    Raises:
        ValidationError: its content could be sent to whatever address the endpoint names.
    """
    if not may_hold_key(value, listed=settings.LLM_KEY_VARIABLES):
        raise ValidationError(
            _("Use a variable that begins with LLM_ or is listed in LLM_KEY_VARIABLES."),
            code="llm:key-variable",
        )


class ModelEndpoint(models.Model):
    """An OpenAI-compatible endpoint. Holds the NAME of the variable with the key, never the key.

    What it can do is True, False, or None where nobody knows: it is found out at its first use
    (services.abilities). `probe_address` is the `address` that it was found out or stated for, ""
    where it holds for any. Read it by `can`: of another address it says nothing.
    """

    name = models.SlugField(
        _("name"), max_length=80, unique=True, validators=[validate_endpoint_name]
    )
    base_url = models.CharField(
        _("base URL"), max_length=300, validators=[URLValidator(schemes=["http", "https"])]
    )
    model = models.CharField(_("model"), max_length=200)
    key_variable = models.CharField(
        _("API key environment variable"),
        max_length=80,
        blank=True,
        default="",
        validators=[
            RegexValidator(r"^[A-Z][A-Z0-9_]*\Z", _("Use capital letters, digits and _.")),
            validate_key_variable,
        ],
        help_text=_("Its name must begin with LLM_ or be listed in LLM_KEY_VARIABLES."),
    )
    temperature = models.FloatField(
        _("temperature"),
        default=0.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(2.0)],
    )
    max_tokens = models.PositiveIntegerField(_("max output tokens"), default=1024)
    extra_sampling = models.JSONField(
        _("extra request fields"),
        default=dict,
        blank=True,
        validators=[validate_extra_sampling],
        help_text=_(
            'A JSON object added to every request, such as {"reasoning_effort": "low"}. Use null '
            'to leave out a field, such as {"temperature": null}.'
        ),
    )
    context_tokens = models.PositiveIntegerField(_("context window (tokens)"), default=8192)
    timeout_seconds = models.FloatField(_("timeout (seconds)"), default=120.0)
    concurrency = models.PositiveSmallIntegerField(
        _("max concurrent calls"), default=16, validators=[MinValueValidator(1)]
    )
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"), null=True, blank=True
    )
    tokens_per_minute = models.PositiveIntegerField(_("tokens per minute"), null=True, blank=True)
    input_price = models.DecimalField(
        _("price per 1M input tokens"),
        max_digits=10,
        decimal_places=4,
        default=0,
        validators=[MinValueValidator(0)],
    )
    cached_input_price = models.DecimalField(
        _("price per 1M cached input tokens"),
        max_digits=10,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("Leave empty to use the price of input tokens."),
    )
    output_price = models.DecimalField(
        _("price per 1M output tokens"),
        max_digits=10,
        decimal_places=4,
        default=0,
        validators=[MinValueValidator(0)],
    )
    batch_price_share = models.DecimalField(
        _("batch file price (share of normal price)"),
        max_digits=4,
        decimal_places=3,
        default=1,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("0.5 if the provider charges half price for batch files."),
    )
    has_logprobs = models.BooleanField(
        _("returns log-probabilities"), null=True, blank=True, default=None
    )
    has_json_schema = models.BooleanField(
        _("supports JSON schema"), null=True, blank=True, default=None
    )
    has_system_role = models.BooleanField(
        _("supports system messages"), null=True, blank=True, default=None
    )
    probe_address = models.CharField(
        _("capabilities checked for"), max_length=520, blank=True, default="", editable=False
    )
    has_scores = models.BooleanField(
        _("scores responses"),
        default=False,
        help_text=_(
            "A reward model: it takes a prompt and a response and returns a number, so it can "
            "only judge by scores."
        ),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("model endpoint")
        verbose_name_plural = _("model endpoints")
        constraints = [
            models.CheckConstraint(condition=Q(concurrency__gte=1), name="endpoint_concurrency"),
            models.CheckConstraint(
                condition=~Q(name__in=sorted(RESERVED_NAMES)), name="endpoint_name_not_reserved"
            ),
            models.CheckConstraint(
                condition=~Q(key_variable__in=sorted(SITE_SECRETS)),
                name="endpoint_key_no_site_secret",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        """Which model where; its abilities are those of this pair."""
        return f"{self.base_url} {self.model}"

    def can(self, ability: str) -> bool | None:
        """Whether it has an ability ("logprobs", "json_schema", "system_role"); None: unknown."""
        if self.probe_address not in {"", self.address}:
            return None
        known: bool | None = getattr(self, f"has_{ability}")
        return known

    @property
    def has_prices(self) -> bool:
        """Whether its calls cost anything, so that a budget can be kept."""
        return bool(self.input_price or self.cached_input_price or self.output_price)


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
    says that whoever wanted such a run was led to one under way.

    `writer` is who writes what the judge then judges by: the preferences of a distillation, the
    memories of a satisfaction run; "" where the judge does so itself.
    """

    attached: bool = False

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
