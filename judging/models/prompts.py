"""A dataset's own versions of prompts."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset
from judging.core.prompt_edits import CLOSING_LINES, edit_faults


class PromptOverride(models.Model):
    """The text of one prompt in one language for all new runs of a dataset.

    A run keeps the whole text with its hash, so that what was asked can be read after an edit.
    """

    dataset = models.ForeignKey(
        Dataset, verbose_name=_("dataset"), on_delete=models.CASCADE, related_name="prompts"
    )
    name = models.CharField(
        _("prompt"), max_length=60, choices=[(name, name) for name in CLOSING_LINES]
    )
    language = models.CharField(
        _("language"), max_length=2, choices=[("en", "English"), ("zh", "中文")]
    )
    text = models.TextField(_("text"))
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("edited prompt")
        verbose_name_plural = _("edited prompts")
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "name", "language"], name="edited_prompt_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}.{self.language}"

    def clean(self) -> None:
        """Refuse a text that the code could not fill in, or whose replies it could not read.

        Raises:
            ValidationError: with everything that is wrong.
        """
        self.text = self.text.replace("\r\n", "\n").rstrip("\n")
        if faults := edit_faults(self.name, self.language, self.text):
            raise ValidationError({"text": faults})
