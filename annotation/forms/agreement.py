"""What readers may ask about agreement; anything malformed is an address that does not exist."""

from __future__ import annotations

from typing import Final

from django import forms

from annotation.core.answers import AnswerKind
from annotation.queries.agreement import AgreementQuestion

_LARGEST_ID: Final = 2**63 - 1


def _id() -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, max_value=_LARGEST_ID)


class AgreementForm(forms.Form):
    """A question to the agreement page.

    `was_dataset` and `was_kind` are what the filters were drawn for: in another dataset, or of
    another kind of answer, the finer choices mean nothing.
    """

    dataset = forms.SlugField(required=False, max_length=80)
    kind = forms.ChoiceField(required=False, choices=[(each.value, each) for each in AnswerKind])
    ties = forms.ChoiceField(required=False, choices=[("in", "in"), ("out", "out")])
    scenario = _id()
    models = forms.CharField(required=False, max_length=500, strip=False)
    was_dataset = forms.SlugField(required=False, max_length=80)
    was_kind = forms.CharField(required=False, max_length=20)

    def question(self) -> AgreementQuestion:
        """What is asked."""
        asked = self.cleaned_data
        same_dataset = asked["was_dataset"] in {"", asked["dataset"]}
        same_kind = same_dataset and asked["was_kind"] in {"", asked["kind"]}
        return AgreementQuestion(
            dataset=asked["dataset"],
            kind=AnswerKind(asked["kind"]) if asked["kind"] and same_dataset else None,
            ties=asked["ties"] != "out",
            scenario=asked["scenario"] if same_dataset else None,
            models=asked["models"] if same_kind else "",
        )


class AgreementRowsForm(AgreementForm):
    """A question to the items behind a number; `first` and `second` are two annotators."""

    first = _id()
    second = _id()
    outcome = forms.ChoiceField(
        required=False, choices=[("same", "same"), ("different", "different")]
    )

    def between(self) -> tuple[int, ...]:
        """The two annotators, or nobody where only one is named."""
        first, second = self.cleaned_data["first"], self.cleaned_data["second"]
        return () if first is None or second is None else (first, second)
