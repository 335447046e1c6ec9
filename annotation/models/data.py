"""What is labelled: datasets of conversations with candidate responses and comparisons of them."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, Final

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.core.item_names import ItemKey
from annotation.core.pairing import CANDIDATE_CHARS
from annotation.core.reasoning import reasoning_of
from annotation.models.wording import PAIRING_KINDS, word_in


def text_hash(text: str | None) -> str:
    """SHA-256 of a response's text, hexadecimal; "" for a text that is not available."""
    if text is None:
        return ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


STAGED_RATERS: Final = "raters"
"""In what else is known of a dataset that is being written: the users that its import made."""


class PublishedManager(models.Manager["Dataset"]):
    """The datasets that anybody may see."""

    def get_queryset(self) -> models.QuerySet[Dataset]:
        """All but those that an import is still writing, or that were deleted."""
        return super().get_queryset().filter(staged_at__isnull=True, archived_at__isnull=True)


class Dataset(models.Model):
    """A set of conversations imported together; `simulated` marks labels that no person gave.

    While a long import writes its conversations they hang on a dataset of their own, which has a
    `staged_at` (its last sign of life) and is left out everywhere. So is one that was deleted, at
    `archived_at`: its rows stay, and who asks for it by name or by an old address is told so.
    """

    slug = models.SlugField(_("short name"), max_length=80, unique=True)
    name = models.CharField(_("name"), max_length=200)
    description = models.TextField(_("description"), blank=True, default="")
    source = models.CharField(_("source"), max_length=300, blank=True, default="")
    licence = models.CharField(_("licence"), max_length=100, blank=True, default="")
    simulated = models.BooleanField(_("simulated"), default=False)
    extra = models.JSONField(_("other fields"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    staged_at = models.DateTimeField(null=True, blank=True, editable=False)
    archived_at = models.DateTimeField(_("deleted"), null=True, blank=True, editable=False)

    objects: ClassVar[PublishedManager] = PublishedManager()
    with_staged: ClassVar[models.Manager[Dataset]] = models.Manager()

    class Meta:
        verbose_name = _("dataset")
        verbose_name_plural = _("datasets")

    def __str__(self) -> str:
        return self.name


class LabelSampling(models.Model):
    """What a manager states of imported labels: that they are a random sample, and how drawn."""

    dataset = models.OneToOneField(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="label_sampling"
    )
    statement = models.TextField(_("how the labels were sampled"))
    stated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("stated by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    stated_at = models.DateTimeField(_("stated"))

    class Meta:
        verbose_name = _("sampling of imported labels")
        verbose_name_plural = _("samplings of imported labels")
        constraints = [
            models.CheckConstraint(condition=~Q(statement=""), name="label_sampling_says_how")
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id}: {self.statement}"


class Scenario(models.Model):
    """A topic, category or task family of a dataset."""

    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="scenarios"
    )
    name = models.CharField(_("name"), max_length=120)
    position = models.PositiveIntegerField(_("position"), default=0)

    class Meta:
        verbose_name = _("scenario")
        verbose_name_plural = _("scenarios")
        constraints = [
            models.UniqueConstraint(fields=["dataset", "name"], name="scenario_once_in_dataset")
        ]

    def __str__(self) -> str:
        return self.name


class Session(models.Model):
    """One conversation; keys that the format does not know are kept in `extra`."""

    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="sessions"
    )
    scenario = models.ForeignKey(
        Scenario, verbose_name=_("scenario"), on_delete=models.PROTECT, related_name="sessions"
    )
    key = models.CharField(_("key"), max_length=200)
    position = models.PositiveIntegerField(_("place in file"), default=0)
    system_prompt = models.TextField(_("system prompt"), blank=True, default="")
    task_context = models.TextField(_("task background"), blank=True, default="")
    language = models.CharField(_("language"), max_length=16, blank=True, default="")
    original_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("original user"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="own_sessions",
    )
    profile_snapshot = models.JSONField(_("profile at that time"), default=dict, blank=True)
    extra = models.JSONField(_("other fields"), default=dict, blank=True)

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="session_key_once_in_dataset")
        ]
        indexes = [models.Index(fields=["dataset", "position"], name="session_in_file_order")]

    def __str__(self) -> str:
        return self.key

    @property
    def number(self) -> int:
        """Its place in the file, from 1."""
        return self.position + 1

    @property
    def name(self) -> ItemKey:
        """What people call it; reads its turns, if they are not prefetched."""
        opening = (turn.user_message for turn in self.turns.all() if turn.position == 0)
        return self.named(next(opening, None))

    def named(self, message: str | None) -> ItemKey:
        """What people call it by a message of it."""
        return ItemKey.of(self.key, self.position, message)


class Turn(models.Model):
    """One user message with its responses; without any response it is an unanswered turn.

    `user_message` is NULL where an assistant message follows another one, or opens the session.
    """

    session = models.ForeignKey(
        Session, verbose_name=_("session"), on_delete=models.CASCADE, related_name="turns"
    )
    position = models.PositiveIntegerField(_("position"))
    user_message = models.TextField(_("user message"), null=True, blank=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        constraints = [
            models.UniqueConstraint(fields=["session", "position"], name="turn_position_once")
        ]

    def __str__(self) -> str:
        return f"{self.session_id}/{self.position}"

    @property
    def number(self) -> int:
        """Its place in the session, from 1."""
        return self.position + 1


class Response(models.Model):
    """One model's text for a turn. NULL text: not available (vote files); empty text: a response.

    `continues` is the response of the previous turn that this one follows (NULL: the original
    line); `variant` names the generation context, and tells equal texts of one unnamed model apart.
    """

    turn = models.ForeignKey(
        Turn, verbose_name=_("turn"), on_delete=models.CASCADE, related_name="responses"
    )
    model = models.CharField(_("model"), max_length=200, blank=True, default="")
    text = models.TextField(_("text"), null=True, blank=True)
    text_hash = models.CharField(
        _("text hash"), max_length=64, blank=True, default="", editable=False
    )
    original = models.BooleanField(_("original"), default=False)
    continues = models.ForeignKey(
        "self",
        verbose_name=_("continues"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="continued_by",
    )
    variant = models.CharField(_("variant"), max_length=120, blank=True, default="")
    position = models.PositiveIntegerField(_("position"), default=0)
    extra = models.JSONField(_("other fields"), default=dict, blank=True)

    class Meta:
        verbose_name = _("response")
        verbose_name_plural = _("responses")
        constraints = [
            models.UniqueConstraint(
                fields=["turn", "model", "variant", "text_hash"], name="response_once"
            ),
            models.UniqueConstraint(
                fields=["turn"], condition=Q(original=True), name="one_original_response"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.turn_id}/{self.position}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Keep the hash true to the text (bulk writers set both)."""
        self.text_hash = text_hash(self.text)
        super().save(*args, **kwargs)

    @property
    def reasoning(self) -> str:
        """What its model thought before it answered, "" where nothing is known."""
        return reasoning_of(self.extra)


class Comparison(models.Model):
    """Two responses to one turn; verdicts on it are always in terms of its own A and B."""

    turn = models.ForeignKey(
        Turn, verbose_name=_("turn"), on_delete=models.CASCADE, related_name="comparisons"
    )
    response_a = models.ForeignKey(
        Response, verbose_name=_("response A"), on_delete=models.PROTECT, related_name="as_a"
    )
    response_b = models.ForeignKey(
        Response, verbose_name=_("response B"), on_delete=models.PROTECT, related_name="as_b"
    )
    key = models.CharField(_("key"), max_length=200)
    position = models.PositiveIntegerField(_("place in file"), default=0)
    extra = models.JSONField(_("other fields"), default=dict, blank=True)

    class Meta:
        verbose_name = _("comparison")
        verbose_name_plural = _("comparisons")
        constraints = [
            models.UniqueConstraint(fields=["turn", "key"], name="comparison_key_once_in_turn"),
            models.CheckConstraint(
                condition=~Q(response_a=F("response_b")), name="comparison_of_two_responses"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def name(self) -> ItemKey:
        """What people call it; reads its turn."""
        return ItemKey.of(self.key, self.position, self.turn.user_message)


class PairingPlan(models.Model):
    """Comparisons that were planned together from stored responses, batch by batch.

    `size` is that of a sample, or of each adaptive batch. `selection` holds the filters, as
    core.pairing writes them.
    """

    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="pairing_plans"
    )
    kind = models.CharField(_("kind"), max_length=8, choices=PAIRING_KINDS)
    anchor = models.CharField(_("anchor model"), max_length=CANDIDATE_CHARS, blank=True, default="")
    size = models.PositiveIntegerField(_("size"), null=True, blank=True)
    cap = models.PositiveSmallIntegerField(_("comparisons of two models on one prompt"), default=1)
    seed = models.PositiveIntegerField(_("seed"))
    selection = models.JSONField(_("filters"), default=dict, blank=True)
    comparisons = models.ManyToManyField(
        Comparison,
        through="annotation.PlannedComparison",
        related_name="pairing_plans",
        verbose_name=_("comparisons"),
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="pairing_plans",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("pairing plan")
        verbose_name_plural = _("pairing plans")
        constraints = [
            models.CheckConstraint(
                condition=word_in(PAIRING_KINDS, "kind"), name="pairing_kind_known"
            ),
            models.CheckConstraint(condition=Q(cap__gte=1), name="pairing_cap_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id}/{self.pk}"


class PlannedComparison(models.Model):
    """A comparison in a pairing plan; batches count from 1."""

    plan = models.ForeignKey(
        PairingPlan, verbose_name=_("plan"), on_delete=models.CASCADE, related_name="planned"
    )
    comparison = models.ForeignKey(
        Comparison, verbose_name=_("comparison"), on_delete=models.CASCADE, related_name="planned"
    )
    batch = models.PositiveSmallIntegerField(_("batch"), default=1)

    class Meta:
        verbose_name = _("planned comparison")
        verbose_name_plural = _("planned comparisons")
        constraints = [
            models.UniqueConstraint(fields=["plan", "comparison"], name="planned_once_in_plan")
        ]

    def __str__(self) -> str:
        return f"{self.plan_id}/{self.comparison_id}"
