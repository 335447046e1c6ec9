"""What readers may ask about agreement, and what an adjudicator decides."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.adjudication import QueuePart
from annotation.core.choices import Order, Verdict
from annotation.core.labelling import Answer, AnswerKind, TargetKind, verdict_of
from annotation.core.numbers import number_in
from annotation.forms.labelling import ANCHORS
from annotation.queries.adjudication import AdjudicationQuestion, Decision
from annotation.queries.agreement import AgreementQuestion

_LARGEST_ID: Final = 2**63 - 1


def _id() -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, max_value=_LARGEST_ID)


class AgreementForm(forms.Form):
    """A question to the agreement page.

    `was_dataset`, `was_kind` and `was_study` are what the filters were drawn for: of others the
    finer choices mean nothing.
    """

    dataset = forms.SlugField(required=False, max_length=80)
    kind = forms.ChoiceField(required=False, choices=[(each.value, each) for each in AnswerKind])
    ties = forms.ChoiceField(required=False, choices=[("in", "in"), ("out", "out")])
    scenario = _id()
    models = forms.CharField(required=False, max_length=500, strip=False)
    study = forms.SlugField(required=False, max_length=80)
    was_dataset = forms.SlugField(required=False, max_length=80)
    was_kind = forms.CharField(required=False, max_length=20)
    was_study = forms.SlugField(required=False, max_length=80)

    def question(self) -> AgreementQuestion:
        """What is asked."""
        asked = self.cleaned_data
        same_dataset = asked["was_dataset"] in {"", asked["dataset"]}
        same_kind = same_dataset and asked["was_kind"] in {"", asked["kind"]}
        same_study = same_kind and asked["was_study"] in {"", asked["study"]}
        return AgreementQuestion(
            dataset=asked["dataset"],
            kind=AnswerKind(asked["kind"]) if asked["kind"] and same_dataset else None,
            ties=asked["ties"] != "out",
            scenario=asked["scenario"] if same_dataset else None,
            models=asked["models"] if same_study else "",
            study=asked["study"] if same_kind else "",
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


class QueueForm(forms.Form):
    """A queue; of another dataset than the filters were drawn for, kind and study mean nothing."""

    dataset = forms.SlugField(required=False, max_length=80)
    kind = forms.ChoiceField(required=False, choices=[(each.value, each) for each in AnswerKind])
    study = forms.SlugField(required=False, max_length=80)
    part = forms.ChoiceField(required=False, choices=[(each.value, each) for each in QueuePart])
    was_dataset = forms.SlugField(required=False, max_length=80)

    def question(self) -> AdjudicationQuestion:
        """What is asked."""
        asked = self.cleaned_data
        same = asked["was_dataset"] in {"", asked["dataset"]}
        return AdjudicationQuestion(
            dataset=asked["dataset"],
            kind=AnswerKind(asked["kind"]) if asked["kind"] and same else None,
            study=asked["study"] if same else "",
            part=QueuePart(asked["part"] or QueuePart.OPEN),
        )


class DecisionForm(forms.Form):
    """The answer to an item and the reason for it."""

    answer = forms.ChoiceField(label=_("Decision"), widget=forms.RadioSelect)
    rationale = forms.CharField(
        label=_("Rationale"),
        max_length=4000,
        help_text=_("The reason for your decision; saved with the answer."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    replaces = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)
    over = forms.CharField(required=False, max_length=10, widget=forms.HiddenInput)

    def __init__(
        self, data: QueryDict | None = None, *, kind: TargetKind, stands: Decision | None
    ) -> None:
        initial = {}
        if stands is not None:
            initial = {
                "answer": str(stands.answer),
                "rationale": stands.rationale,
                "replaces": stands.decided_at.isoformat(),
            }
        super().__init__(data, initial=initial)
        self.fields["answer"] = forms.ChoiceField(
            label=_("Decision"), widget=forms.RadioSelect, choices=_choices(kind)
        )

    def clean_replaces(self) -> datetime | None:
        """When the decision was made that stood as the page was read."""
        try:
            return datetime.fromisoformat(self.cleaned_data["replaces"])
        except ValueError:
            return None

    def clean_over(self) -> Verdict | int | None:
        """The stored gold answer that the decision may change, as the page named it."""
        named: str = self.cleaned_data["over"]
        return Verdict(named) if named in set(Verdict) else number_in(named)

    def shown(self, answer: object) -> str:
        """How an answer reads."""
        field = self.fields["answer"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        return str(dict(field.choices)[str(answer)])  # type: ignore[arg-type]

    def decision(self, order: Order) -> Verdict | int:
        """What was decided, in the coordinates in which it is stored."""
        answer: str = self.cleaned_data["answer"]
        return int(answer) if answer.isdigit() else verdict_of(Answer(answer), order)


def _choices(kind: TargetKind) -> list[tuple[str, Any]]:
    if kind is TargetKind.COMPARISON:
        return [
            (Answer.FIRST.value, _("The first is better")),
            (Answer.TIE.value, _("Tie")),
            (Answer.SECOND.value, _("The second is better")),
        ]
    return [(str(score), f"{score} {words}") for score, words, _more in ANCHORS]
