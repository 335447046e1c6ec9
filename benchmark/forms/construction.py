"""What is built of which dialogues, how one is reviewed, how many are frozen."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset, User
from annotation.models.wording import choices_of
from benchmark.core.construction import (
    LIMIT_LABELS,
    REVIEW_REASONS,
    BuildStage,
    DialogueLimits,
    DropReason,
    ReviewDecision,
)
from benchmark.forms.fields import budget_field, offer
from benchmark.queries.construction import LEFT, UNDECIDED, ItemFilter
from benchmark.services.construction_runs import ConstructionRequest
from judging.core.categories import SUBCATEGORIES, Category
from judging.services.judges import LEXICAL, comparing_judges

_MOST = 1_000_000


class ConstructionForm(forms.Form):
    """A benchmark to build; the dataset is chosen before."""

    dataset = forms.CharField(widget=forms.HiddenInput)
    version = forms.SlugField(
        label=_("Version"),
        max_length=40,
        help_text=_("Letters, digits, hyphens, underscores. Its dataset has the same short name."),
    )
    sorter = forms.ChoiceField(
        label=_("Judge that denoises and sorts"),
        help_text=_(
            "The lexical judge needs no key: it goes by words and finds nothing ambiguous or too "
            "simple. The datasheet says which judge was asked."
        ),
    )
    strong = forms.ChoiceField(label=_("Strong model"), required=False)
    weak = forms.ChoiceField(
        label=_("Weak model"),
        required=False,
        help_text=_("Without two models, no dialogue is dropped for being too easy."),
    )
    judge = forms.ChoiceField(
        label=_("Judge that compares"),
        help_text=_("A dialogue is kept where the strong model wins in both orders."),
    )
    budget = budget_field()

    def __init__(self, data: Any = None, *, dataset: Dataset, **kwargs: Any) -> None:
        """Offer the judges and endpoints in use, and a field for each threshold."""
        super().__init__(data, **kwargs)
        self._dataset = dataset
        self.fields["dataset"].initial = dataset.slug
        names = [(name, name) for name in comparing_judges()]
        models = [("", gettext("none")), *(each for each in names if each[0] != LEXICAL)]
        offer(self, sorter=names, judge=names, strong=models, weak=models)
        usual = DialogueLimits()._asdict()
        for name, label in LIMIT_LABELS.items():
            percent = name.endswith("_percent")
            self.fields[name] = forms.IntegerField(
                label=gettext(label),
                initial=usual[name],
                min_value=1 if name == "near_percent" else 0,
                max_value=100 if percent else _MOST,
            )

    def request(self, *, by: User) -> ConstructionRequest:
        """The construction that was asked for."""
        cleaned = self.cleaned_data
        return ConstructionRequest(
            source=self._dataset,
            version=cleaned["version"],
            sorter=cleaned["sorter"],
            judge=cleaned["judge"],
            strong=cleaned["strong"],
            weak=cleaned["weak"],
            limits=DialogueLimits(**{name: cleaned[name] for name in LIMIT_LABELS}),
            budget=cleaned["budget"],
            created_by=by,
        )


class ReviewForm(forms.Form):
    """What a reviewer makes of a dialogue."""

    decision = forms.ChoiceField(choices=choices_of(ReviewDecision))
    request = forms.CharField(
        label=_("Prompt"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 8})
    )
    reason = forms.ChoiceField(required=False, choices=choices_of(REVIEW_REASONS))
    note = forms.CharField(label=_("Note"), required=False, max_length=500)

    def clean(self) -> dict[str, Any]:
        """An edited prompt has a text, a dropped dialogue a reason."""
        cleaned: dict[str, Any] = super().clean() or {}
        decision = cleaned.get("decision")
        if decision == ReviewDecision.EDIT and not cleaned.get("request", "").strip():
            self.add_error("request", gettext("Enter the edited prompt."))
        if decision == ReviewDecision.DROP and not cleaned.get("reason"):
            self.add_error("reason", gettext("Choose why the dialogue is dropped."))
        return cleaned


class FreezeForm(forms.Form):
    """How many dialogues of each category are frozen at most."""

    per_category = forms.IntegerField(
        label=_("Dialogues per category, at most"),
        required=False,
        min_value=1,
        max_value=_MOST,
        help_text=_("Leave empty for all. Reviewed dialogues come first."),
    )


class ItemFilterForm(forms.Form):
    """Which dialogues of a construction are listed."""

    stage = forms.ChoiceField(
        required=False, choices=[(LEFT, LEFT), *((each, each) for each in BuildStage)]
    )
    reason = forms.ChoiceField(required=False, choices=[(each, each) for each in DropReason])
    category = forms.ChoiceField(required=False, choices=[(each, each) for each in Category])
    subcategory = forms.ChoiceField(
        required=False,
        choices=[(name, name) for names in SUBCATEGORIES.values() for name in names],
    )
    decision = forms.ChoiceField(
        required=False, choices=[(each, each) for each in (*ReviewDecision, UNDECIDED)]
    )

    def question(self) -> ItemFilter:
        """The filter that was asked for."""
        return ItemFilter(**self.cleaned_data)
