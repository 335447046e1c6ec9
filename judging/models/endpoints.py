"""Models at endpoints: where each is asked, its limits and prices, and what it can do."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import (
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
    URLValidator,
)
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.refusals import Refused
from judging.core.chat import OWN_FIELDS, checked_extra
from judging.core.endpoints import RESERVED_NAMES, SITE_SECRETS, checked_headers, may_hold_key
from judging.core.manners import PLAIN, Manners, manners_of


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


def validate_extra_headers(value: object) -> None:
    """Refuse headers that cannot be sent along, and variables not meant to hold a key.

    Raises:
        ValidationError: it is no JSON object of names of headers and variables, or one is not
            allowed.
    """
    try:
        pairs = checked_headers(value)
    except Refused as error:
        raise ValidationError(
            _(
                "Enter a JSON object with names of headers and of environment variables, such as "
                '{"api-key": "LLM_AZURE_KEY"}. Headers of the connection, such as Host and '
                "Content-Length, cannot be set."
            )
        ) from error
    for variable in pairs.values():
        validate_key_variable(variable)


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

    `found_context_tokens` is the longest context (prompt and reply) that the endpoint told of
    itself, `found_tokens_per_second` how fast it wrote one short reply; None where it cannot be
    told. They hold for the address `measured_address`: read them by `told_context` and `speed`.
    `context_tokens` is what somebody wants to be used of it: longer conversations are shortened.

    `learned_manners` is what its refusals taught of how it wants to be asked (core.manners), for
    the address `manners_address`: read it by `manners`.
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
    extra_headers = models.JSONField(
        _("extra request headers"),
        default=dict,
        blank=True,
        validators=[validate_extra_headers],
        help_text=_(
            "A JSON object of header names, each with the name of the environment variable that "
            'holds its value, such as {"api-key": "LLM_AZURE_KEY"}. The same rules as for the API '
            "key variable apply."
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
    found_context_tokens = models.PositiveIntegerField(
        _("context told by the endpoint (tokens)"), null=True, blank=True, editable=False
    )
    found_tokens_per_second = models.FloatField(
        _("measured speed (tokens per second)"), null=True, blank=True, editable=False
    )
    measured_address = models.CharField(
        _("measured for"), max_length=520, blank=True, default="", editable=False
    )
    learned_manners = models.JSONField(
        _("Learned from its answers"), default=dict, blank=True, editable=False
    )
    manners_address = models.CharField(
        _("learned for"), max_length=520, blank=True, default="", editable=False
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
        if not self.manners.takes(ability):
            return False
        return self.stated(ability)

    def stated(self, ability: str) -> bool | None:
        """The same without what refusals taught later: requests keep the form they began in."""
        if self.probe_address not in {"", self.address}:
            return None
        known: bool | None = getattr(self, f"has_{ability}")
        return known

    @property
    def manners(self) -> Manners:
        """How it wants to be asked."""
        return manners_of(self.learned_manners) if self.manners_address == self.address else PLAIN

    @property
    def lessons(self) -> list[str]:
        """The same in sentences, one for each thing that its refusals taught."""
        taught = self.manners
        names = {"most": taught.most_tokens, "least": taught.least_tokens}
        sentences = {
            gettext("Max output tokens are sent as max_completion_tokens."): (
                taught.limit_name != PLAIN.limit_name
            ),
            gettext("At most %(most)s output tokens are requested.") % names: taught.most_tokens,
            gettext("At least %(least)s output tokens are requested.") % names: taught.least_tokens,
            gettext("Temperature is not sent; the model uses its own."): not taught.temperature,
            gettext("Temperature 0 is sent as 0.01."): taught.temperature and taught.warm,
            gettext("Log-probabilities are not requested."): not taught.logprobs,
            gettext("At most %(n)s alternatives are requested per token.")
            % {"n": taught.most_alternatives}: taught.logprobs and taught.most_alternatives,
            gettext("No JSON schema is sent."): not taught.json_schema,
            gettext("System messages are sent at the start of the first user message."): (
                not taught.system_role
            ),
            gettext("Replies are streamed."): taught.streams is True,
            gettext("Replies are never streamed."): taught.streams is False,
            gettext("Token counts are not requested in streams."): not taught.stream_options,
        }
        return [sentence for sentence, is_learned in sentences.items() if is_learned]

    @property
    def abilities(self) -> tuple[tuple[str, bool | None], ...]:
        """What runs ask of it, in words, and whether it can; None: unknown."""
        return (
            (gettext("Log-probabilities"), self.can("logprobs")),
            (gettext("JSON schema"), self.can("json_schema")),
        )

    def state(self, abilities: Mapping[str, bool | None]) -> None:
        """What somebody states, by the names of columns, holds for the address of now.

        Of another one nothing but that stays known.
        """
        if self.probe_address not in {"", self.address}:
            self.has_logprobs = self.has_json_schema = self.has_system_role = None
        for name, known in abilities.items():
            setattr(self, name, known)
            self.learned_manners.pop(name.removeprefix("has_"), None)
        self.probe_address = self.address

    @property
    def is_measured(self) -> bool:
        """Whether its context and its speed were asked for, whatever was found."""
        return self.measured_address == self.address

    @property
    def told_context(self) -> int | None:
        """The tokens of a prompt and its reply that it can take; None: unknown."""
        return self.found_context_tokens if self.is_measured else None

    @property
    def speed(self) -> float | None:
        """Tokens that it writes in a second; None: unknown."""
        return self.found_tokens_per_second if self.is_measured else None

    @property
    def has_prices(self) -> bool:
        """Whether its calls cost anything, so that a budget can be kept."""
        return bool(self.input_price or self.cached_input_price or self.output_price)
