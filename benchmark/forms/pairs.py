"""The verdicts in a file of preference pairs."""

from __future__ import annotations

from dataclasses import replace

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset
from annotation.queries.participants import annotators
from benchmark.exports.pairs import PairChoice, judge_names
from judging.core.formats.pairs import CORRECTED_ENDING, PairSource

MAJORITY = "majority"
LABELS = "labels"
ANNOTATOR = "annotator"
TRAINING = "training"


class PairsFileForm(forms.Form):
    """A choice of verdicts: `majority`, `labels`, or `judge:NAME` and so on."""

    verdicts = forms.ChoiceField(label=_("Verdicts"), required=False)
    layout = forms.ChoiceField(
        label=_("Columns"),
        required=False,
        choices=[
            ("all", _("All: also who chose, models, scenario and session")),
            (TRAINING, _("For trainers (TRL): prompt, chosen, rejected, margin")),
        ],
    )

    def __init__(self, *args: object, dataset: Dataset, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        people = [each.name for each in annotators(dataset=dataset)]
        judges = judge_names(dataset)
        plain = [name for name in judges if not name.endswith(CORRECTED_ENDING)]
        corrected = sorted({name.removesuffix(CORRECTED_ENDING) for name in judges})
        field = self.fields["verdicts"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [
            (MAJORITY, _("People’s majority, one row a comparison")),
            (LABELS, _("Every label of people, one row a label")),
            (_("One annotator’s labels"), _prefixed(ANNOTATOR, people)),
            (_("One judge’s verdicts"), _prefixed(PairSource.JUDGE, plain)),
            (
                _("One judge’s verdicts, corrected by people’s labels"),
                _prefixed(PairSource.CORRECTED, corrected),
            ),
        ]

    def choice(self) -> PairChoice:
        """Returns the choice of a valid form; the majority if nothing was chosen."""
        narrow = self.cleaned_data["layout"] == TRAINING
        return replace(self._verdicts(), training_columns=narrow)

    def _verdicts(self) -> PairChoice:
        kind, _colon, name = (self.cleaned_data["verdicts"] or MAJORITY).partition(":")
        if kind in {MAJORITY, LABELS}:
            return PairChoice(each_label=kind == LABELS)
        if kind == ANNOTATOR:
            return PairChoice(annotator=name)
        return PairChoice(source=PairSource(kind), judge=name)


def _prefixed(kind: str, names: list[str]) -> list[tuple[str, str]]:
    return [(f"{kind}:{name}", name) for name in names]
