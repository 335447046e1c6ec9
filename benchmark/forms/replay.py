"""What is to be replayed, and which of a replay's rows are to be shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Dataset, User
from annotation.models.wording import choices_of
from benchmark.core.replay import ReplayScale
from benchmark.core.replay_items import HARD_BUDGET, ItemRule, ReplaySelection
from benchmark.forms.fields import budget_field, offer
from benchmark.queries.construction import versions_built_of
from benchmark.queries.replay import AnswerFilter, ReplayOutcome, stored_candidates
from benchmark.services.replay_runs import DEFAULT_SEED, STORED, ReplayRequest
from judging.core.rules import LEARNED, GenerationContext
from judging.services.judges import LEXICAL, comparing_judges
from judging.templatetags.run_settings import evaluator_label


class ReplayForm(forms.Form):
    """Which turns are answered by whom, and who scores; the dataset is chosen before."""

    dataset = forms.CharField(widget=forms.HiddenInput)
    evaluator = forms.ChoiceField(
        label=_("Evaluator"),
        help_text=_("Scores the originals and all candidates on each user's behalf."),
    )
    candidates = forms.MultipleChoiceField(
        label=_("Candidates"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Endpoints write their answers; other models' responses are in the dataset."),
    )
    contexts = forms.MultipleChoiceField(
        label=_("Context shown to candidates"),
        choices=choices_of(GenerationContext),
        widget=forms.CheckboxSelectMultiple,
        initial=[GenerationContext.PREFIX.value],
    )
    items = forms.ChoiceField(
        label=_("Turns to replay"), choices=choices_of(ItemRule), widget=forms.RadioSelect
    )
    size = forms.IntegerField(
        label=_("Number of turns"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=_("For a sample or the hard selection (usually 300)."),
    )
    version = forms.ChoiceField(label=_("Frozen benchmark"), required=False)
    seed = forms.IntegerField(label=_("Seed"), min_value=0, max_value=2_147_483_647)
    budget = budget_field()

    def __init__(self, data: Any = None, *, dataset: Dataset) -> None:
        """Offer the evaluators in use, the endpoints and the models of the dataset."""
        super().__init__(data)
        self._dataset = dataset
        self.fields["dataset"].initial = dataset.slug
        self.fields["seed"].initial = DEFAULT_SEED
        self.fields["items"].initial = ItemRule.ALL.value
        versions = versions_built_of(dataset)
        if versions:
            offer(self, version=[("", _("choose")), *((name, name) for name in versions)])
        else:
            del self.fields["version"]
            offer(self, items=[one for one in choices_of(ItemRule) if one[0] != ItemRule.VERSION])
        judges = comparing_judges()
        there = dict.fromkeys(model for model, _variant in stored_candidates(dataset.pk))
        said = gettext("%(model)s (responses in the dataset)")
        offer(
            self,
            evaluator=[(name, evaluator_label(name)) for name in (LEARNED, *judges)],
            candidates=[
                *((name, name) for name in judges if name != LEXICAL),
                *((f"{STORED}{name}", said % {"model": name}) for name in there if name),
            ],
        )

    def clean(self) -> dict[str, Any]:
        """A sample has a size, and a frozen benchmark a name."""
        cleaned = super().clean() or {}
        if cleaned.get("items") == ItemRule.SAMPLE and cleaned.get("size") is None:
            self.add_error("size", _("Choose how many turns."))
        if cleaned.get("items") == ItemRule.VERSION and not cleaned.get("version"):
            self.add_error("version", _("Choose a benchmark version."))
        return cleaned

    def request(self, *, by: User) -> ReplayRequest:
        """The replay that was asked for."""
        cleaned = self.cleaned_data
        rule = ItemRule(cleaned["items"])
        usual = HARD_BUDGET if rule is ItemRule.HARD else None
        sized = rule in (ItemRule.SAMPLE, ItemRule.HARD)
        size = cleaned["size"] or usual if sized else None
        version = cleaned["version"] if rule is ItemRule.VERSION else ""
        return ReplayRequest(
            dataset=self._dataset,
            evaluator=cleaned["evaluator"],
            candidates=cleaned["candidates"],
            contexts=[GenerationContext(each) for each in cleaned["contexts"]],
            items=ReplaySelection(rule, size, version),
            seed=cleaned["seed"],
            budget=cleaned["budget"],
            created_by=by,
        )


class ReplayRowsForm(forms.Form):
    """A question to the rows behind a figure of a replay."""

    candidate = forms.CharField(required=False, max_length=400, strip=False)
    reference = forms.CharField(required=False, max_length=400, strip=False)
    scale = forms.ChoiceField(required=False, choices=[(each, each) for each in ReplayScale])
    outcome = forms.ChoiceField(required=False, choices=[(each, each) for each in ReplayOutcome])
    score = forms.IntegerField(required=False, min_value=1, max_value=5)
    scenario = forms.CharField(required=False, max_length=120, strip=False)

    def wanted(self) -> AnswerFilter:
        """What is asked."""
        cleaned = self.cleaned_data
        return AnswerFilter(
            candidate=cleaned["candidate"],
            reference=cleaned["reference"],
            scale=ReplayScale(cleaned["scale"] or ReplayScale.CALIBRATED),
            outcome=ReplayOutcome(cleaned["outcome"]) if cleaned["outcome"] else None,
            score=cleaned["score"],
            scenario=cleaned["scenario"],
        )
