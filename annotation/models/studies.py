"""Who labels what, under which rules; a claim is an annotator's lease on an item."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.core.quality import FAST_SHARE
from annotation.models.data import Comparison, Dataset, Session
from annotation.models.wording import SHOWN_ORDERS, STUDY_KINDS, word_in


class StudyStatus(models.TextChoices):
    """Whether a study gives out items."""

    DRAFT = "DRAFT", _("Draft")
    OPEN = "OPEN", _("Open")
    PAUSED = "PAUSED", _("Paused")
    CLOSED = "CLOSED", _("Closed")


class ItemKind(models.TextChoices):
    """Why an item is in a study; annotators cannot tell."""

    NORMAL = "NORMAL", _("Normal")
    GOLD = "GOLD", _("Gold")
    REPEAT = "REPEAT", _("Repeat")


class ClaimState(models.TextChoices):
    """Where an annotator's lease on an item stands; only ACTIVE and DONE hold a slot."""

    ACTIVE = "ACTIVE", _("Active")
    DONE = "DONE", _("Done")
    SKIPPED = "SKIPPED", _("Skipped")
    RELEASED = "RELEASED", _("Returned")


class Study(models.Model):
    """Items of one dataset given to invited annotators, each item to `overlap` of them.

    `newest_target` is the highest number among what its items were drawn from, NULL where nobody
    kept it: what came later had no chance.
    """

    slug = models.SlugField(_("short name"), max_length=80, unique=True)
    name = models.CharField(_("name"), max_length=200)
    kind = models.CharField(_("kind"), max_length=16, choices=STUDY_KINDS)
    status = models.CharField(
        _("status"), max_length=8, choices=StudyStatus.choices, default=StudyStatus.DRAFT
    )
    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.PROTECT, related_name="studies"
    )
    annotators = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        through="annotation.Participation",
        blank=True,
        related_name="studies",
        verbose_name=_("annotators"),
    )
    overlap = models.PositiveSmallIntegerField(
        _("annotators per item"), default=1, validators=[MinValueValidator(1)]
    )
    lease_minutes = models.PositiveSmallIntegerField(
        _("item reservation (minutes)"), default=15, validators=[MinValueValidator(1)]
    )
    allow_tie = models.BooleanField(_("allow ties"), default=False)
    allow_strength = models.BooleanField(_("ask how much better"), default=False)
    allow_both_bad = models.BooleanField(_("allow “both bad”"), default=False)
    ask_hallucination = models.BooleanField(_("ask about made-up facts"), default=False)
    ask_questionnaire = models.BooleanField(_("ask the session questionnaire"), default=False)
    reveal_turns = models.BooleanField(_("reveal turns as they are rated"), default=False)
    gold_rate = models.FloatField(
        _("share of gold items"),
        default=0.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(0.5)],
    )
    repeat_rate = models.FloatField(
        _("share of hidden repeats"),
        default=0.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(0.5)],
    )
    guidelines = models.TextField(_("guidelines"), blank=True, default="")
    guidelines_version = models.PositiveIntegerField(_("guideline version"), default=1)
    pause_gold_below = models.FloatField(
        _("pause below this gold accuracy"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
    )
    pause_repeats_below = models.FloatField(
        _("pause below this repeat consistency"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
    )
    pause_after = models.PositiveSmallIntegerField(
        _("answers before the pause rule applies"), default=5, validators=[MinValueValidator(1)]
    )
    fast_share = models.FloatField(
        _("attention above this share of fast answers"),
        null=True,
        blank=True,
        default=FAST_SHARE,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
    )
    fast_seconds = models.FloatField(
        _("an answer is fast below (seconds)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0.1), MaxValueValidator(3600.0)],
    )
    completion_answers = models.PositiveSmallIntegerField(
        _("answers for the completion code"), default=1, validators=[MinValueValidator(1)]
    )
    consent = models.TextField(_("consent"), blank=True, default="")
    contact = models.CharField(_("contact"), max_length=300, blank=True, default="")
    quiz = models.JSONField(_("quiz"), default=list, blank=True)
    ask_profile = models.BooleanField(_("ask for the annotator profile"), default=False)
    min_turns = models.PositiveSmallIntegerField(
        _("minimum turns"), default=1, validators=[MinValueValidator(1)]
    )
    seed = models.PositiveIntegerField(_("seed"), default=42)
    selection = models.JSONField(_("selection of items"), default=dict, blank=True)
    newest_target = models.PositiveBigIntegerField(null=True, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="created_studies",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("study")
        verbose_name_plural = _("studies")
        constraints = [
            models.CheckConstraint(condition=word_in(STUDY_KINDS, "kind"), name="study_kind_known"),
            models.CheckConstraint(
                condition=Q(status__in=StudyStatus.values), name="study_status_known"
            ),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="study_overlap_positive"),
            models.CheckConstraint(condition=Q(lease_minutes__gte=1), name="study_lease_positive"),
            models.CheckConstraint(
                condition=Q(gold_rate__gte=0.0, gold_rate__lte=0.5), name="study_gold_rate_range"
            ),
            models.CheckConstraint(
                condition=Q(repeat_rate__gte=0.0, repeat_rate__lte=0.5),
                name="study_repeat_rate_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def sample(self) -> int | None:
        """How many items were to be drawn; None for all there are."""
        size: int | None = self.selection.get("sample")
        return size

    @sample.setter
    def sample(self, size: int | None) -> None:
        others = {name: value for name, value in self.selection.items() if name != "sample"}
        self.selection = others if size is None else {**others, "sample": size}


class StudyItem(models.Model):
    """One comparison or one session in a study; a repeat names the item that it repeats.

    `language` is empty in a study whose items are all in one language. `inclusion_chance` is the
    probability with which its target came into the study; None where nobody knows.
    """

    study = models.ForeignKey(
        Study, verbose_name=_("study"), on_delete=models.CASCADE, related_name="items"
    )
    comparison = models.ForeignKey(
        Comparison,
        verbose_name=_("comparison"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="study_items",
    )
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="study_items",
    )
    kind = models.CharField(
        _("kind"), max_length=8, choices=ItemKind.choices, default=ItemKind.NORMAL
    )
    repeat_of = models.ForeignKey(
        "self",
        verbose_name=_("repeat of"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="repeats",
    )
    position = models.PositiveIntegerField(_("position"))
    language = models.CharField(_("language"), max_length=16, blank=True, default="")
    inclusion_chance = models.FloatField(_("inclusion probability"), null=True, blank=True)

    class Meta:
        verbose_name = _("study item")
        verbose_name_plural = _("study items")
        constraints = [
            models.UniqueConstraint(fields=["study", "position"], name="item_position_once"),
            models.UniqueConstraint(
                fields=["study", "comparison"],
                condition=Q(comparison__isnull=False) & ~Q(kind="REPEAT"),
                name="comparison_once_in_study",
            ),
            models.UniqueConstraint(
                fields=["study", "session"],
                condition=Q(session__isnull=False) & ~Q(kind="REPEAT"),
                name="session_once_in_study",
            ),
            models.CheckConstraint(
                condition=Q(comparison__isnull=False, session__isnull=True)
                | Q(comparison__isnull=True, session__isnull=False),
                name="item_is_one_target",
            ),
            models.CheckConstraint(
                condition=Q(kind="REPEAT", repeat_of__isnull=False)
                | (Q(kind__in=["NORMAL", "GOLD"]) & Q(repeat_of__isnull=True)),
                name="item_repeat_names_its_first",
            ),
            models.CheckConstraint(
                condition=Q(inclusion_chance__isnull=True)
                | Q(inclusion_chance__gt=0, inclusion_chance__lte=1),
                name="item_chance_is_a_probability",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.position}"


class Claim(models.Model):
    """An annotator's lease on an item.

    One row per annotator and item, so that the presentation order survives a release. An active or
    finished claim holds a slot 0..overlap-1, and (item, slot) is unique: overlap is a constraint.
    An item that a manager gave to somebody (`given`) does not move their place in the study.
    `conversation` is the session that the annotator held where the item is a task to talk about.
    """

    item = models.ForeignKey(
        StudyItem, verbose_name=_("item"), on_delete=models.CASCADE, related_name="claims"
    )
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.PROTECT,
        related_name="claims",
    )
    slot = models.PositiveSmallIntegerField(_("slot"), null=True, blank=True)
    state = models.CharField(
        _("state"), max_length=8, choices=ClaimState.choices, default=ClaimState.ACTIVE
    )
    shown_order = models.CharField(
        _("presentation order"), max_length=8, choices=SHOWN_ORDERS, null=True, blank=True
    )
    conversation = models.OneToOneField(
        Session,
        verbose_name=_("conversation"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="held_under",
    )
    given = models.BooleanField(_("assigned by a manager"), default=False)
    skip_reason = models.CharField(_("skip reason"), max_length=300, blank=True, default="")
    claimed_at = models.DateTimeField(_("assigned"))
    expires_at = models.DateTimeField(_("expires"))
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("assignment")
        verbose_name_plural = _("assignments")
        constraints = [
            models.UniqueConstraint(fields=["item", "annotator"], name="claim_once"),
            models.UniqueConstraint(
                fields=["item", "slot"], condition=Q(slot__isnull=False), name="claim_slot_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["ACTIVE", "DONE"], slot__isnull=False)
                | Q(state__in=["SKIPPED", "RELEASED"], slot__isnull=True),
                name="claim_slot_while_held",
            ),
        ]
        indexes = [
            models.Index(fields=["annotator", "state", "item"], name="claim_by_state"),
            models.Index(fields=["annotator", "claimed_at"], name="claim_by_time_given"),
            models.Index(fields=["annotator", "finished_at"], name="claim_by_time_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}/{self.annotator_id}"


class SubmissionKind(models.TextChoices):
    """What a page sent under a claim; one page may send several kinds under one id."""

    ANSWER = "ANSWER"
    SKIP = "SKIP"
    MESSAGE = "MESSAGE"
    RETRY = "RETRY"
    WITHDRAW = "WITHDRAW"
    STOP = "STOP"
    TICK = "TICK"


class Submission(models.Model):
    """A submission that was accepted under a claim, whatever it changed: it never acts again."""

    claim = models.ForeignKey(
        Claim,
        verbose_name=_("assignment"),
        on_delete=models.CASCADE,
        related_name="submissions",
        db_index=False,  # the constraint's index begins with it
    )
    kind = models.CharField(_("kind"), max_length=8, choices=SubmissionKind.choices)
    uuid = models.UUIDField(_("submission"))
    accepted_at = models.DateTimeField(_("accepted"))

    class Meta:
        verbose_name = _("submission")
        verbose_name_plural = _("submissions")
        constraints = [
            models.UniqueConstraint(fields=["claim", "uuid", "kind"], name="submission_once"),
            models.CheckConstraint(
                condition=Q(kind__in=SubmissionKind.values), name="submission_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.claim_id}/{self.uuid}"
