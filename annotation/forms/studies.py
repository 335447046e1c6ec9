"""What a manager says of a new study."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import StudyKind
from annotation.core.studies import StudyPlan
from annotation.models import StudyStatus


class StudyForm(forms.Form):
    """A new study on a dataset that was chosen before."""

    name = forms.CharField(label=_("Name"), max_length=200)
    kind = forms.ChoiceField(
        label=_("What is asked"),
        choices=[
            (StudyKind.PAIRWISE.value, _("Which of two responses is better")),
            (StudyKind.SATISFACTION.value, _("How satisfying each reply of a conversation is")),
        ],
        widget=forms.RadioSelect,
        initial=StudyKind.PAIRWISE.value,
    )
    scenarios = forms.MultipleChoiceField(
        label=_("Scenarios"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: all of them."),
    )
    annotators = forms.MultipleChoiceField(
        label=_("Annotators"), widget=forms.CheckboxSelectMultiple
    )
    overlap = forms.IntegerField(
        label=_("Annotators for each item"),
        min_value=1,
        max_value=100,
        initial=1,
        help_text=_("How many people answer the same item."),
    )
    allow_tie = forms.BooleanField(label=_("A tie is an answer"), required=False)
    allow_strength = forms.BooleanField(
        label=_("Ask whether one is clearly better"), required=False
    )
    ask_hallucination = forms.BooleanField(
        label=_("Ask of each reply whether it invents facts"), required=False
    )
    ask_questionnaire = forms.BooleanField(
        label=_("Ask four questions about each conversation as a whole"), required=False
    )
    guidelines = forms.CharField(
        label=_("Guidelines"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("What annotators read before they begin. Markdown."),
    )

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        scenarios: Sequence[str],
        annotators: Sequence[tuple[str, str]],
    ) -> None:
        super().__init__(data)
        for name, choices in (
            ("scenarios", [(each, each) for each in scenarios]),
            ("annotators", list(annotators)),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
            field.choices = choices

    def plan(self, dataset: str) -> StudyPlan:
        """What the study is to be."""
        chosen = self.cleaned_data
        return StudyPlan(
            name=chosen["name"],
            kind=StudyKind(chosen["kind"]),
            dataset=dataset,
            scenarios=tuple(chosen["scenarios"]),
            annotators=tuple(chosen["annotators"]),
            overlap=chosen["overlap"],
            allow_tie=chosen["allow_tie"],
            allow_strength=chosen["allow_strength"],
            ask_hallucination=chosen["ask_hallucination"],
            ask_questionnaire=chosen["ask_questionnaire"],
            guidelines=chosen["guidelines"],
        )


class StatusForm(forms.Form):
    """Whether a study gives out items."""

    status = forms.ChoiceField(choices=StudyStatus.choices)
