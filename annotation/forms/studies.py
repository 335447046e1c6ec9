"""What a manager says of a new study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import StudyKind
from annotation.core.studies import StudyPlan
from annotation.forms.study_rules import RuleFields, fits

TEXT_CHARS: Final = 20_000


class StudyForm(RuleFields):
    """A new study on a dataset that was chosen before."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        help_text=_("Annotators see it. The address of the study is made from it."),
    )
    kind = forms.ChoiceField(
        label=_("What is asked"),
        choices=[
            (StudyKind.PAIRWISE.value, _("Which of two responses is better")),
            (StudyKind.SATISFACTION.value, _("How satisfying each reply of a conversation is")),
            (
                StudyKind.CONVERSATION.value,
                _("To talk with a model about a task, then rate its replies"),
            ),
        ],
        widget=forms.RadioSelect,
        initial=StudyKind.PAIRWISE.value,
    )
    scenarios = forms.MultipleChoiceField(
        label=_("Scenarios"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave empty for all."),
    )
    annotators = forms.MultipleChoiceField(
        label=_("Annotators"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("More can join later: by you, or by a link that you make on the study's page."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2_147_483_647,
        initial=42,
        help_text=_("Decides the random order of the items. The same seed gives the same study."),
    )
    guidelines = forms.CharField(
        label=_("Guidelines"),
        required=False,
        max_length=TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("What annotators read before they begin. Markdown."),
    )
    consent = forms.CharField(
        label=_("Consent"),
        required=False,
        max_length=TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("What annotators agree to before anything else. Empty: they are not asked."),
    )

    field_order = ("name", "kind", "scenarios", "annotators", "seed")

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        scenarios: Sequence[str],
        annotators: Sequence[tuple[str, str]],
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.fields["min_turns"].required = False
        for name, choices in (
            ("scenarios", [(each, each) for each in scenarios]),
            ("annotators", list(annotators)),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
            field.choices = choices

    def clean(self) -> dict[str, Any]:
        """Turns are asked for where people talk; elsewhere there is no field to fill in."""
        given = self.cleaned_data
        talks = given.get("kind") == StudyKind.CONVERSATION
        if talks and "min_turns" in self.fields and given.get("min_turns", 0) is None:
            self.add_error("min_turns", self.fields["min_turns"].error_messages["required"])
        return given

    def plan(self, dataset: str) -> StudyPlan:
        """What the study is to be; rules of other kinds are as if not said."""
        chosen = dict(self.cleaned_data)
        kind = StudyKind(chosen["kind"])
        rules = {
            name: chosen[name]
            for name in (*RuleFields.base_fields, "guidelines", "consent", "seed")
            if fits(name, kind)
        }
        required = {"allow_tie": False, "allow_strength": False, "ask_hallucination": False}
        return StudyPlan(
            name=chosen["name"],
            kind=kind,
            dataset=dataset,
            scenarios=tuple(chosen["scenarios"]),
            annotators=tuple(chosen["annotators"]),
            **{**required, **rules},
        )


COUNTED: Final = (
    "kind",
    "scenarios",
    "annotators",
    "overlap",
    "allow_tie",
    "gold_rate",
    "repeat_rate",
    "seed",
)
"""What the size of a study depends on."""


class CountsForm(StudyForm):
    """As much of a new study as its size depends on, while it is being filled in."""

    def __init__(
        self, data: QueryDict, *, scenarios: Sequence[str], annotators: Sequence[tuple[str, str]]
    ) -> None:
        super().__init__(data, scenarios=scenarios, annotators=annotators)
        for name in set(self.fields) - set(COUNTED):
            del self.fields[name]

    def plan(self, dataset: str) -> StudyPlan:
        """A plan of that size."""
        chosen = self.cleaned_data
        kind = StudyKind(chosen["kind"])
        return StudyPlan(
            name="",
            kind=kind,
            dataset=dataset,
            scenarios=tuple(chosen["scenarios"]),
            annotators=tuple(chosen["annotators"]),
            overlap=chosen["overlap"],
            allow_tie=chosen["allow_tie"],
            allow_strength=False,
            ask_hallucination=False,
            guidelines="",
            gold_rate=chosen["gold_rate"] if fits("gold_rate", kind) else 0.0,
            repeat_rate=chosen["repeat_rate"] if fits("repeat_rate", kind) else 0.0,
            seed=chosen["seed"],
        )
