"""What a manager says of a new study, and the rules of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import StudyKind
from annotation.core.pairing import PairingKind
from annotation.core.studies import StudyPlan
from annotation.core.study_items import ItemChoice, Stratum
from annotation.core.study_rules import UNTOUCHED
from annotation.forms.study_rules import RuleFields, fits
from annotation.models import PairingPlan, Study
from annotation.models.wording import choices_of
from annotation.queries.studies import ItemOffers

if TYPE_CHECKING:
    from django.forms.boundfield import BoundField
    from django_stubs_ext import StrOrPromise


class RulesForm(RuleFields):
    """The rules of a study that exists; those that would harm answers are shown, not changed."""

    name = forms.CharField(label=_("Name"), max_length=200)

    sample = forms.IntegerField(
        label=_("Sample size"),
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text=_("The items are drawn again. Leave empty for all."),
    )

    ask_profile = None  # type: ignore[assignment]  # asked for beside the consent

    field_order = ("name", "sample", "overlap", "lease_minutes")

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        study: Study,
        touched: bool,
    ) -> None:
        super().__init__(data, initial={name: getattr(study, name) for name in self.base_fields})
        for name in [each for each in self.fields if not fits(each, StudyKind(study.kind))]:
            del self.fields[name]
        if touched:
            for name in UNTOUCHED:
                if name in self.fields:
                    self.fields[name].disabled = True

    def rules(self) -> dict[str, Any]:
        """The rules as they are to be."""
        return dict(self.cleaned_data)


TEXT_CHARS: Final = 20_000


def _plan_and_batch(value: str) -> tuple[int, int | None]:
    """A plan by number, with the number of a batch where one is meant (`7:2`)."""
    plan, _colon, batch = value.partition(":")
    return int(plan), int(batch) if batch else None


class StudyForm(RuleFields):
    """A new study on a dataset that was chosen before."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        widget=forms.TextInput(attrs={"autofocus": True}),
        help_text=_("Shown to annotators and used in the study's address."),
    )
    kind = forms.ChoiceField(
        label=_("Task"),
        choices=[
            (StudyKind.PAIRWISE.value, _("Choose the better of two responses")),
            (StudyKind.SATISFACTION.value, _("Rate each reply of a conversation")),
            (
                StudyKind.CONVERSATION.value,
                _("Talk with a model about a task, then rate its replies"),
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
    models = forms.MultipleChoiceField(
        label=_("Models"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Pairs with a response by one of them. Leave empty for all."),
    )
    both_models = forms.BooleanField(
        label=_("Both responses must be by the chosen models"), required=False
    )
    languages = forms.MultipleChoiceField(
        label=_("Languages"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave empty for all."),
    )
    plan_of_pairs = forms.TypedChoiceField(
        label=_("Planned comparisons"),
        required=False,
        coerce=_plan_and_batch,
        empty_value=None,
        help_text=_("Only the comparisons of one plan."),
    )
    sample = forms.IntegerField(
        label=_("Sample size"),
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text=_("The first n in a fixed order, so that studies overlap. Leave empty for all."),
    )
    strata = forms.MultipleChoiceField(
        label=_("Equal numbers of each"),
        required=False,
        choices=choices_of(Stratum),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("If one has too few, the others fill the sample."),
    )
    annotators = forms.MultipleChoiceField(
        label=_("Annotators"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("You can add more later, or invite them with a link on the study's page."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2_147_483_647,
        initial=42,
        help_text=_("Sets the positions of gold items and hidden repeats."),
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
        help_text=_("What annotators must agree to first. Leave empty to skip this step."),
    )

    field_order = ("name", "kind", "scenarios", "annotators", "seed")

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        offers: ItemOffers,
        annotators: Sequence[tuple[str, str]],
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.fields["min_turns"].required = False
        for name, choices in (
            ("scenarios", [(each, each) for each in offers.scenarios]),
            ("models", [(each, each) for each in offers.models]),
            ("languages", [(each, each) for each in offers.languages]),
            ("plan_of_pairs", _plans(offers.plans)),
            ("annotators", list(annotators)),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
            field.choices = choices
        for name, needed in (
            ("models", len(offers.models) > 1),
            ("both_models", len(offers.models) > 2),
            ("languages", len(offers.languages) > 1),
            ("plan_of_pairs", bool(offers.plans)),
        ):
            if not needed:
                del self.fields[name]

    @property
    def counted(self) -> str:
        """The names of the fields that the size of the study depends on, for the page's request."""
        return ",".join(COUNTED)

    @property
    def pair_choices(self) -> list[BoundField]:
        """What pairs alone are chosen by."""
        return self.named("models", "both_models", "plan_of_pairs")

    @property
    def item_choices(self) -> list[BoundField]:
        """What items of every kind are chosen by, besides scenarios and the sample's size."""
        return self.named("languages", "strata")

    def item_choice(self) -> ItemChoice:
        """Which pairs or sessions come in; what says nothing of the kind is left out."""
        chosen = self.cleaned_data
        plan, batch = chosen.get("plan_of_pairs") or (None, None)
        choice = ItemChoice(
            scenarios=tuple(chosen["scenarios"]),
            models=tuple(chosen.get("models", ())),
            both_models=bool(chosen.get("models")) and chosen.get("both_models", False),
            languages=tuple(chosen.get("languages", ())),
            plan=plan,
            batch=batch,
            sample=chosen["sample"],
            strata=tuple(Stratum(each) for each in chosen["strata"]),
        )
        return choice.of_kind(StudyKind(chosen["kind"]))

    def clean(self) -> dict[str, Any]:
        """A balance needs a size; turns are asked for where people talk, and only there."""
        given = self.cleaned_data
        if given.get("strata") and "sample" in given and given["sample"] is None:
            self.add_error("sample", _("Enter a sample size to balance."))
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
            items=self.item_choice(),
            annotators=tuple(chosen["annotators"]),
            **{**required, **rules},
        )


def _plans(plans: Sequence[tuple[PairingPlan, int]]) -> list[tuple[str, StrOrPromise]]:
    """Pairing plans by number and kind, after what stands for none; batches where a plan adapts."""
    named: list[tuple[str, StrOrPromise]] = [("", _("all"))]
    for plan, last in plans:
        name = f"#{plan.pk} · {plan.get_kind_display()}"
        named.append((str(plan.pk), name))
        if plan.kind == PairingKind.ADAPTIVE:
            batches = range(last, 0, -1)
            named += [(f"{plan.pk}:{each}", f"{name} · {_('batch')} {each}") for each in batches]
    return named


COUNTED: Final = (
    "kind",
    "scenarios",
    "models",
    "both_models",
    "languages",
    "plan_of_pairs",
    "sample",
    "strata",
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
        self, data: QueryDict, *, offers: ItemOffers, annotators: Sequence[tuple[str, str]]
    ) -> None:
        super().__init__(data, offers=offers, annotators=annotators)
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
            items=self.item_choice(),
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
