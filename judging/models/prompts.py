"""A dataset's or a study's own versions of prompts."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset, Study
from judging.core.prompts import LANGUAGES


class PromptOverride(models.Model):
    """One version of the text of one prompt in one language, for a dataset's or a study's new runs.

    Rows are added and never changed: the newest is in force, and an empty text says that the
    released one is again. A run keeps the whole text with its hash, so what was asked stays.
    """

    dataset = models.ForeignKey(
        Dataset,
        verbose_name=_("dataset"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="prompts",
    )
    study = models.ForeignKey(
        Study,
        verbose_name=_("study"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="prompts",
    )
    name = models.CharField(_("prompt"), max_length=60)
    language = models.CharField(
        _("language"), max_length=2, choices=[("en", "English"), ("zh", "中文")]
    )
    version = models.PositiveIntegerField(_("version"), default=1)
    text = models.TextField(_("text"), blank=True, default="")
    digest = models.CharField(_("SHA-256 of the text"), max_length=64, blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="edited_prompts",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("edited prompt")
        verbose_name_plural = _("edited prompts")
        constraints = [
            models.CheckConstraint(
                condition=Q(dataset__isnull=True, study__isnull=False)
                | Q(dataset__isnull=False, study__isnull=True),
                name="edited_prompt_has_one_owner",
            ),
            models.CheckConstraint(
                condition=Q(language__in=LANGUAGES), name="edited_prompt_language"
            ),
            models.CheckConstraint(
                condition=Q(text="", digest="") | (~Q(text="") & ~Q(digest="")),
                name="edited_prompt_with_its_hash",
            ),
            models.UniqueConstraint(
                fields=["dataset", "name", "language", "version"],
                condition=Q(dataset__isnull=False),
                name="edited_prompt_of_dataset_once",
            ),
            models.UniqueConstraint(
                fields=["study", "name", "language", "version"],
                condition=Q(study__isnull=False),
                name="edited_prompt_of_study_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}.{self.language} {self.version}"
