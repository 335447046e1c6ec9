"""Who takes part in a study, how they came to it, and what they read before they began."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.core.participants import worker_id
from annotation.models.studies import Study


class GuidelinesVersion(models.Model):
    """The guidelines of a study as they stood at one version; never changed."""

    study = models.ForeignKey(
        Study,
        verbose_name=_("study"),
        on_delete=models.CASCADE,
        related_name="guidelines_versions",
    )
    version = models.PositiveIntegerField(_("version"), validators=[MinValueValidator(1)])
    text = models.TextField(_("text"), blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="guidelines_versions",
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta:
        verbose_name = _("guideline version")
        verbose_name_plural = _("guideline versions")
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="guidelines_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.version}"


class Invitation(models.Model):
    """A link by which people join a study; the link is signed, so no secret is stored.

    It ends by itself: after so many places, or at its time. Who came by it and is through is shown
    `completion`: a code, or an https address.
    """

    study = models.ForeignKey(
        Study, verbose_name=_("study"), on_delete=models.CASCADE, related_name="invitations"
    )
    note = models.CharField(_("note"), max_length=200, blank=True, default="")
    places = models.PositiveIntegerField(
        _("places"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("withdrawn"), null=True, blank=True)
    completion = models.CharField(
        _("completion code or address"), max_length=500, blank=True, default=""
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="invitations",
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        constraints = [
            models.CheckConstraint(
                condition=Q(places__isnull=True) | Q(places__gte=1),
                name="invitation_places_positive",
            ),
            models.CheckConstraint(
                condition=Q(places__isnull=False) | Q(expires_at__isnull=False),
                name="invitation_ends",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.pk}"


class PauseReason(models.TextChoices):
    """Why an annotator is given no more items of a study."""

    MANAGER = "MANAGER", _("Paused by a manager")
    GOLD = "GOLD", _("Gold accuracy too low")
    REPEATS = "REPEATS", _("Repeat consistency too low")


class Participation(models.Model):
    """One annotator's part in one study: when they joined, what they agreed to, whether paused.

    `worker` is what the link said of them, by parameter (`annotation.core.participants`): who they
    are on the platform that pays them. It is for managers alone, and never shown to a model.
    """

    study = models.ForeignKey(
        Study, verbose_name=_("study"), on_delete=models.CASCADE, related_name="participations"
    )
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("annotator"),
        on_delete=models.CASCADE,
        related_name="participations",
    )
    invitation = models.ForeignKey(
        Invitation,
        verbose_name=_("invitation"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="participations",
    )
    worker = models.JSONField(_("paid worker"), default=dict, blank=True)
    joined_at = models.DateTimeField(_("joined"), default=timezone.now)
    consented_at = models.DateTimeField(_("consent given"), null=True, blank=True)
    guidelines_read = models.PositiveIntegerField(
        _("guideline version read"), null=True, blank=True
    )
    quiz_attempts = models.PositiveIntegerField(_("quiz attempts"), default=0)
    quiz_passed_at = models.DateTimeField(_("quiz passed"), null=True, blank=True)
    paused_at = models.DateTimeField(_("paused"), null=True, blank=True)
    pause_reason = models.CharField(
        _("pause reason"), max_length=8, choices=PauseReason.choices, blank=True, default=""
    )
    resumed_at = models.DateTimeField(_("resumed"), null=True, blank=True)

    class Meta:
        verbose_name = _("participation")
        verbose_name_plural = _("participations")
        constraints = [
            models.UniqueConstraint(fields=["study", "annotator"], name="participation_once"),
            models.CheckConstraint(
                condition=Q(paused_at__isnull=True, pause_reason="")
                | Q(paused_at__isnull=False, pause_reason__in=PauseReason.values),
                name="participation_pause_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}:{self.annotator_id}"

    @property
    def worker_id(self) -> str:
        """By what a platform of paid work knows them; "" where their link did not say."""
        return worker_id(self.worker)
