"""What readers may ask about a study's quality; anything malformed is no address."""

from __future__ import annotations

from typing import Final

from django import forms

from annotation.core.quality import QualityMeasure
from annotation.queries.quality import QualityQuestion

SKIPPED: Final = "skipped"
"""Stands beside the figures where rows are asked for: the items that were given back."""

_LARGEST_ID: Final = 2**63 - 1


class QualityForm(forms.Form):
    """A question to the page; below `seconds` an answer is too fast."""

    seconds = forms.FloatField(required=False, min_value=0.1, max_value=3600)

    def question(self, study: str) -> QualityQuestion:
        """What is asked of a study."""
        return QualityQuestion(study=study, seconds=self.cleaned_data["seconds"])


class QualityRowsForm(QualityForm):
    """A question to the answers behind a figure, of one annotator or of all."""

    figure = forms.ChoiceField(
        choices=[(each.value, each.value) for each in QualityMeasure] + [(SKIPPED, SKIPPED)]
    )
    annotator = forms.IntegerField(required=False, min_value=1, max_value=_LARGEST_ID)
    outcome = forms.ChoiceField(required=False, choices=[("hit", "hit"), ("miss", "miss")])
