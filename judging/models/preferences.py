"""Preferences with their versions, and the sets selected of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.models import Comparison, Dataset, Scenario
from annotation.models.wording import JUDGMENT_STATUSES, VERDICTS
from judging.models.engine import JudgeRun, LlmCall


def name_of(scenario: Scenario | None) -> str:
    """A scenario's name; without one, that all are meant."""
    return gettext("all scenarios") if scenario is None else scenario.name


class PreferenceKind(models.TextChoices):
    """Where a preference text comes from."""

    EMPTY = "EMPTY", _("none (base judge)")
    PAIR = "PAIR", _("one comparison")
    AGGREGATE = "AGGREGATE", _("all dev comparisons")
    HELD_OUT = "HELD_OUT", _("all dev comparisons but one")
    EDITED = "EDITED", _("edited by a person")
    GENERIC = "GENERIC", _("generic rubric")
    STACK = "STACK", _("weighted vote")


class Control(models.TextChoices):
    """Whether labels were real or flipped at random for the control."""

    NONE = "NONE", _("real labels")
    SHUFFLED = "SHUFFLED", _("shuffled labels")


class Preference(models.Model):
    """One preference text. The empty one, the base judge's, is a row like any other (one in all).

    A row is written PENDING when a run is started and gets its text when it is distilled.
    `source_verdict` is the verdict it was distilled from (flipped for the shuffled control). The
    aggregate of a control says of which of its draws it is; its pairs serve all draws in which
    they are flipped, and the annotator's own those in which they are not. A preference that is
    HELD_OUT was distilled from all dev comparisons but its source.

    Nobody changes a text: an edit is a row of its own, the next version, of kind EDITED. It keeps
    the run, the scenario and the source of the `root`, its first version, because what was
    distilled from a comparison still knows of it after an edit. A text that a person added has no
    source and is a first version itself. A version that is not `active` takes no part in the next
    judging.
    """

    run = models.ForeignKey(
        JudgeRun,
        verbose_name=_("run"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="preferences",
    )
    dataset = models.ForeignKey(
        Dataset,
        verbose_name=_("dataset"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="preferences",
    )
    scenario = models.ForeignKey(
        Scenario,
        verbose_name=_("scenario"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="preferences",
    )
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="preferences",
    )
    kind = models.CharField(_("kind"), max_length=10, choices=PreferenceKind.choices)
    control = models.CharField(
        _("control"), max_length=8, choices=Control.choices, default=Control.NONE
    )
    draw = models.PositiveSmallIntegerField(_("draw"), default=0)
    source_comparison = models.ForeignKey(
        Comparison,
        verbose_name=_("distilled from"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="preferences",
    )
    source_verdict = models.CharField(
        _("source verdict"), max_length=3, choices=VERDICTS, null=True, blank=True
    )
    position = models.PositiveIntegerField(_("column"), default=0)
    status = models.CharField(
        _("status"),
        max_length=12,
        choices=JUDGMENT_STATUSES,
        default=JudgmentStatus.PENDING.value,
    )
    text = models.TextField(_("text"), null=True, blank=True)
    language = models.CharField(_("language"), max_length=16, default="en")
    judge = models.CharField(_("distilled by"), max_length=80, blank=True, default="")
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="preferences",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    version = models.PositiveIntegerField(_("version"), default=1)
    previous = models.ForeignKey(
        "self",
        verbose_name=_("previous version"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="next_versions",
    )
    root = models.ForeignKey(
        "self",
        verbose_name=_("first version"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="versions",
        help_text=_("Leave empty for the first version."),
    )
    active = models.BooleanField(_("enabled"), default=True)
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("edited by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="edited_preferences",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("preference")
        verbose_name_plural = _("preferences")
        constraints = [
            models.UniqueConstraint(
                fields=["kind"], condition=Q(kind="EMPTY"), name="one_empty_preference"
            ),
            models.UniqueConstraint(
                fields=["run", "source_comparison", "control"],
                condition=Q(kind="PAIR"),
                name="preference_once_by_pair",
            ),
            models.UniqueConstraint(
                fields=["run", "source_comparison", "control", "draw"],
                condition=Q(kind="HELD_OUT"),
                name="held_out_once_by_pair",
            ),
            models.UniqueConstraint(
                fields=["run", "scenario", "control", "draw"],
                condition=Q(kind="AGGREGATE", scenario__isnull=False),
                name="aggregate_once_by_scenario",
            ),
            models.UniqueConstraint(
                fields=["run", "control", "draw"],
                condition=Q(kind="AGGREGATE", scenario__isnull=True, dataset__isnull=False),
                name="aggregate_once_over_all",
            ),
            models.UniqueConstraint(
                fields=["run", "scenario", "control", "draw"],
                condition=Q(kind="STACK", scenario__isnull=False),
                name="stack_once_by_scenario",
            ),
            models.UniqueConstraint(
                fields=["run", "control", "draw"],
                condition=Q(kind="STACK", scenario__isnull=True),
                name="stack_once_over_all",
            ),
            models.CheckConstraint(
                condition=~Q(kind="EMPTY") | Q(text="", text__isnull=False, status="DONE"),
                name="empty_is_empty",
            ),
            models.CheckConstraint(
                condition=~Q(kind="PAIR")
                | Q(
                    source_comparison__isnull=False,
                    source_verdict__isnull=False,
                    source_verdict__in=["A", "B"],
                ),
                name="pair_preference_has_source",
            ),
            models.CheckConstraint(
                condition=Q(status="DONE", text__isnull=False)
                | (~Q(status="DONE") & Q(text__isnull=True)),
                name="preference_text_when_done",
            ),
            models.UniqueConstraint(fields=["previous"], name="preference_has_one_next_version"),
            models.CheckConstraint(
                condition=Q(version=1, previous__isnull=True, root__isnull=True)
                | Q(version__gt=1, previous__isnull=False, root__isnull=False, kind="EDITED"),
                name="preference_version_follows_another",
            ),
            models.CheckConstraint(
                condition=Q(kind="EDITED", status="DONE", run__isnull=False)
                | (~Q(kind="EDITED") & Q(active=True)),
                name="edited_preference_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def scenario_name(self) -> str:
        """Where it applies."""
        return name_of(self.scenario)

    @property
    def first(self) -> Preference:
        """The version that all others follow: this one, or its root."""
        return self.root or self

    @property
    def origin(self) -> PreferenceKind:
        """Where the first version came from; EDITED for a text that a person added."""
        return PreferenceKind(self.first.kind)


class PreferenceSet(models.Model):
    """The subset selected for an annotator and scenario, with the evidence for it.

    Without a scenario it was selected over all of them, and serves them all. It is used only where
    its leave-one-out accuracy exceeds `base_accuracy`, the base judge's on the same pairs, by the
    margin of judging.core.stand_in; else the base judge stands in its place. `stack` is the
    weighted vote learned from the same labels, where that stands in; why, `selection` says.
    Of the shuffled control there is a set for each `draw` of labels.

    `columns` lists the preference ids in matrix order; `matrix` holds the two correctness matrices
    (rows: dev comparisons by id, see `rows`); `selection` is the stored result with its settings.
    """

    run = models.ForeignKey(
        JudgeRun, verbose_name=_("run"), on_delete=models.CASCADE, related_name="preference_sets"
    )
    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="preference_sets"
    )
    scenario = models.ForeignKey(
        Scenario,
        verbose_name=_("scenario"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="preference_sets",
    )
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.PROTECT,
        related_name="preference_sets",
    )
    control = models.CharField(
        _("control"), max_length=8, choices=Control.choices, default=Control.NONE
    )
    draw = models.PositiveSmallIntegerField(_("draw"), default=0)
    members = models.ManyToManyField(Preference, verbose_name=_("members"), related_name="sets")
    stack = models.ForeignKey(
        Preference,
        verbose_name=_("weighted vote"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="stacked_sets",
    )
    columns = models.JSONField(_("columns"), default=list)
    rows = models.JSONField(_("rows"), default=list)
    matrix = models.JSONField(_("matrix"), default=dict)
    selection = models.JSONField(_("selection"), default=dict)
    dev_accuracy = models.FloatField(_("dev accuracy"), null=True, blank=True)
    leave_one_out = models.FloatField(_("leave-one-out accuracy"), null=True, blank=True)
    base_accuracy = models.FloatField(_("base judge's accuracy"), null=True, blank=True)
    p_over_base = models.FloatField(_("p over the base judge"), null=True, blank=True)
    is_used = models.BooleanField(_("used"), default=True)
    null_p95 = models.FloatField(_("95th percentile under the null"), null=True, blank=True)
    p_value = models.FloatField(_("p-value"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("preference set")
        verbose_name_plural = _("preference sets")
        constraints = [
            models.UniqueConstraint(
                fields=["run", "scenario", "annotator", "control", "draw"],
                name="preference_set_once",
            ),
            models.UniqueConstraint(
                fields=["run", "annotator", "control", "draw"],
                condition=Q(scenario__isnull=True),
                name="preference_set_once_over_all",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.scenario_id}/{self.control}"

    @property
    def scenario_name(self) -> str:
        """Where it applies."""
        return name_of(self.scenario)
