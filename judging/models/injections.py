"""What injected texts did to a judge: one check, and every answer in it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.models.wording import (
    JUDGMENT_STATUSES,
    SHOWN_ORDERS,
    VERDICTS,
    choices_of,
    word_in,
)
from judging.core.injections import AttackFamily
from judging.models.endpoints import ModelEndpoint
from judging.models.engine import JudgeRun, LlmCall


class InjectionCheck(models.Model):
    """One judge, tried with every attempt of the corpus on some pairs; `pairs` holds their texts.

    `config` is what shaped the answers: the judge's snapshot, and the hash of the corpus. `run` is
    the run that asks; checks of before there were such runs have none. Of a REPETITION each pair is
    one response beside itself, in one of which the list is said twice.
    """

    attack = models.CharField(
        _("attack"),
        max_length=12,
        choices=choices_of(AttackFamily),
        default=AttackFamily.TEXTS.value,
    )

    run = models.OneToOneField(
        JudgeRun,
        verbose_name=_("run"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="injection_check",
    )
    judge = models.CharField(_("judge"), max_length=80)
    endpoint = models.ForeignKey(
        ModelEndpoint,
        verbose_name=_("model endpoint"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="injection_checks",
    )
    prompt = models.CharField(_("prompt"), max_length=20)
    config = models.JSONField(_("configuration"), default=dict)
    pairs = models.JSONField(_("pairs"), default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="injection_checks",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("injection check")
        verbose_name_plural = _("injection checks")
        constraints = [
            models.CheckConstraint(
                condition=Q(attack__in=[each.value for each in AttackFamily]),
                name="injection_attack_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judge} {self.pk}"


class InjectedText(models.TextChoices):
    """What stood at the end of the attacked response, or in front of its list (REPEATED).

    LIST is no judgment: it is what a list was rephrased as.
    """

    CLEAN = "CLEAN", _("nothing")
    ATTEMPT = "ATTEMPT", _("an attempt")
    HARMLESS = "HARMLESS", _("a harmless text of the same length")
    LIST = "LIST", _("the list in other words")
    REPEATED = "REPEATED", _("the list once more")


class InjectionTrial(models.Model):
    """A pair in one order, with an attempt, a harmless text, or nothing added, and the answer.

    `verdict` is AS SHOWN (A is the response shown first), and so is `target`, the attacked place.
    `key` names the attempt, "" where nothing was added.
    """

    check_run = models.ForeignKey(
        InjectionCheck, verbose_name=_("check"), on_delete=models.CASCADE, related_name="trials"
    )
    pair = models.PositiveSmallIntegerField(_("pair"))
    order = models.CharField(_("presentation order"), max_length=8, choices=SHOWN_ORDERS)
    added = models.CharField(_("added"), max_length=8, choices=InjectedText.choices)
    key = models.CharField(_("attempt"), max_length=40, blank=True, default="")
    kind = models.CharField(_("kind"), max_length=12, blank=True, default="")
    language = models.CharField(_("language"), max_length=2, blank=True, default="")
    text = models.TextField(_("text"), blank=True, default="")
    target = models.CharField(
        _("attacked place"), max_length=3, choices=VERDICTS, null=True, blank=True
    )
    status = models.CharField(_("status"), max_length=12, choices=JUDGMENT_STATUSES)
    verdict = models.CharField(_("verdict"), max_length=3, choices=VERDICTS, null=True, blank=True)
    log_odds = models.FloatField(_("log odds of A"), null=True, blank=True)
    error_code = models.CharField(_("error"), max_length=60, blank=True, default="")
    call = models.ForeignKey(
        LlmCall,
        verbose_name=_("LLM call"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="injection_trials",
    )
    raw = models.TextField(_("raw reply"), blank=True, default="")

    class Meta:
        verbose_name = _("injection trial")
        verbose_name_plural = _("injection trials")
        constraints = [
            models.UniqueConstraint(
                fields=["check_run", "pair", "order", "added", "key"], name="injection_trial_once"
            ),
            models.CheckConstraint(
                condition=word_in(InjectedText.choices, "added"), name="injection_added_known"
            ),
            models.CheckConstraint(
                condition=Q(added__in=["CLEAN", "LIST"], key="", target__isnull=True)
                | (
                    ~Q(added__in=["CLEAN", "LIST"])
                    & ~Q(key="")
                    & Q(target__in=["A", "B"], target__isnull=False)
                ),
                name="injection_attempt_has_a_place",
            ),
            models.CheckConstraint(
                condition=Q(status=JudgmentStatus.DONE.value, verdict__isnull=False, error_code="")
                | (Q(status=JudgmentStatus.DONE.value, added="LIST", error_code="") & ~Q(text=""))
                | (
                    Q(
                        status__in=[JudgmentStatus.UNPARSEABLE.value, JudgmentStatus.FAILED.value],
                        verdict__isnull=True,
                    )
                    & ~Q(error_code="")
                )
                | Q(status=JudgmentStatus.PENDING.value, verdict__isnull=True, error_code=""),
                name="injection_verdict_or_error",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.check_run_id}/{self.pair}/{self.key or self.added}"
