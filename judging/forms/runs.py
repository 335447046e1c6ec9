"""Starting a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.refusals import text_of
from annotation.models import Dataset, User
from annotation.models.wording import choices_of
from annotation.queries.participants import annotators
from judging.core.rules import (
    LEARNED,
    DistilPrompt,
    JudgePrompt,
    Level,
    PairwiseSettings,
    SatisfactionSettings,
    Variant,
    variants_at,
)
from judging.models import ModelEndpoint, RunKind
from judging.services.judges import LEXICAL
from judging.services.run_requests import RunRequest

KINDS = [
    (RunKind.DISTIL.value, _("Learn: distil preferences, judge the dev part, select")),
    (RunKind.TEST.value, _("Measure: judge the test part with the selected preferences")),
    (RunKind.SATISFACTION.value, _("Score satisfaction")),
]


PROMPTS = [
    (JudgePrompt.PERSONAL.value, _("With this annotator's preferences")),
    (JudgePrompt.PAIRWISE.value, _("Compare by a generic rubric")),
    (JudgePrompt.THOUGHT.value, _("Compare after solving the request itself")),
    (JudgePrompt.REFERENCE.value, _("Compare beside a reference answer, where there is one")),
    (JudgePrompt.OWN_REFERENCE.value, _("Compare beside a reference answer that the judge writes")),
    (JudgePrompt.SINGLE.value, _("Grade each response from 1 to 10")),
    (JudgePrompt.SINGLE_REFERENCE.value, _("Grade beside a reference answer, where there is one")),
    (JudgePrompt.REWARD.value, _("By the scores of a reward model")),
]


DISTIL_PROMPTS = [
    (DistilPrompt.SENTENCES.value, _("In about three sentences")),
    (DistilPrompt.SENTENCE.value, _("In one sentence")),
]

FIELDS_OF = {
    RunKind.DISTIL: ("distil_prompt",),
    RunKind.TEST: ("prompt",),
    RunKind.SATISFACTION: ("level", "variant", "train"),
}
"""Fields that one kind of run alone asks."""


class RunForm(forms.Form):
    """What to run, for whom, by which judge; the dataset is chosen before."""

    kind = forms.ChoiceField(label=_("What to do"), choices=KINDS, widget=forms.RadioSelect)
    annotator = forms.TypedChoiceField(
        label=_("Annotator"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=_(
            "Everybody: learning starts a run for each annotator with labels, scoring one run for "
            "all. Measuring needs one annotator."
        ),
    )
    judge = forms.MultipleChoiceField(
        label=_("Judge"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Each judge has a run of its own over the same items; several are shown side by side. "
            "The lexical judge needs no endpoint, nor does the learned evaluator, which scores "
            "satisfaction alone: each user by what the others' ratings teach. Neither is a "
            "language model."
        ),
    )
    distil_prompt = forms.ChoiceField(
        label=_("How to write a preference when learning"),
        choices=DISTIL_PROMPTS,
        required=False,
        help_text=_(
            "What each comparison shows of the annotator: in about three sentences as in the "
            "paper, or in one as its code can. Language models alone are asked so."
        ),
    )
    prompt = forms.ChoiceField(
        label=_("How to ask when measuring"),
        choices=PROMPTS,
        required=False,
        help_text=_(
            "All but the first are what a personal judge is compared with: they take no "
            "preferences, and an endpoint answers them."
        ),
    )
    level = forms.ChoiceField(
        label=_("What to score"),
        choices=choices_of(Level),
        required=False,
    )
    variant = forms.ChoiceField(
        label=_("How to ask about satisfaction"),
        choices=choices_of(Variant),
        required=False,
        help_text=_(
            "Language models alone are asked in these ways; the lexical judge reads the memory or "
            "does without. What is shown of training users never comes from those who are scored."
        ),
    )
    train = forms.ChoiceField(
        label=_("Training users"),
        required=False,
        help_text=_(
            "Who teaches examples and rubrics. Here: those who are not scored, and where all are, "
            "each half of them teaches the other."
        ),
    )
    budget = forms.DecimalField(
        label=_("Budget of each run"),
        required=False,
        min_value=0,
        max_digits=14,
        decimal_places=4,
        help_text=_(
            "In the currency of the endpoint's prices. A call that could pass it is not sent; what "
            "was answered stays, and the run can go on with more. Empty: no limit."
        ),
    )
    again = forms.BooleanField(
        label=_("Start a new run anyway"),
        required=False,
        help_text=_(
            "Start another run even if an identical one is in progress. Stored replies are "
            "reused, so no call is billed twice."
        ),
    )

    def __init__(self, data: Any = None, *, dataset: Dataset, **kwargs: Any) -> None:
        """Offer the dataset's annotators and the judges in use."""
        super().__init__(data, **kwargs)
        people = [(each.id, each.name) for each in annotators(dataset=dataset)]
        self._field("annotator").choices = [("", _("everybody")), *people]
        endpoints = ModelEndpoint.objects.filter(enabled=True).order_by("name")
        others = Dataset.objects.exclude(pk=dataset.pk).order_by("name").values_list("slug", "name")
        self._field("train").choices = [("", _("others of this dataset")), *others]
        names = [LEXICAL, LEARNED, *endpoints.values_list("name", flat=True)]
        self._field("judge").choices = [(name, name) for name in names]

    def rows(self) -> list[tuple[str, forms.BoundField]]:
        """Each field with the kind of run that alone asks it, empty where all do."""
        kinds = {name: kind.value for kind, names in FIELDS_OF.items() for name in names}
        return [(kinds.get(field.name, ""), field) for field in self.visible_fields()]

    def _field(self, name: str) -> forms.ChoiceField | forms.MultipleChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField | forms.MultipleChoiceField)  # noqa: S101 - declared above
        return field

    def clean(self) -> dict[str, Any]:
        """What is measured are one annotator's preferences; what another kind asks is left out."""
        cleaned = super().clean() or {}
        measures = cleaned.get("kind") == RunKind.TEST
        self._leave_out(cleaned)
        if measures and cleaned.get("annotator") is None and "annotator" not in self.errors:
            self.add_error("annotator", _("Choose whose preferences to measure."))
        if LEARNED in cleaned.get("judge", ()) and cleaned.get("kind") != RunKind.SATISFACTION:
            self.add_error("judge", _("The learned evaluator scores satisfaction only."))
        if _prompt(cleaned) is not JudgePrompt.PERSONAL and LEXICAL in cleaned.get("judge", ()):
            self.add_error("judge", _("The lexical judge compares in its own way only."))
        self._clean_ratings(cleaned)
        return cleaned

    def _leave_out(self, cleaned: dict[str, Any]) -> None:
        """Empty the fields that only another kind of run asks: the page hides them."""
        for kind, names in FIELDS_OF.items():
            if cleaned.get("kind") != kind:
                for name in names:
                    cleaned[name] = ""
                    self.errors.pop(name, None)

    def _clean_ratings(self, cleaned: Mapping[str, Any]) -> None:
        """What concerns ratings alone, and fits together."""
        variant, level = _variant(cleaned), _level(cleaned)
        if variant not in variants_at(level):
            self.add_error("variant", gettext(text_of("run:variant-level")))
        elif LEARNED in cleaned.get("judge", ()) and level is Level.SESSION:
            self.add_error("judge", _("The learned evaluator scores responses only."))

    def requests(self, *, dataset: Dataset, by: User) -> list[RunRequest]:
        """What is asked for, of each judge that was chosen."""
        cleaned = self.cleaned_data
        key = cleaned["annotator"]
        request = RunRequest(
            kind=RunKind(cleaned["kind"]),
            dataset=dataset,
            annotator=None if key is None else User.objects.get(pk=key),
            prompt=_prompt(cleaned),
            pairwise=PairwiseSettings(distil_prompt=_distil(cleaned)),
            satisfaction=SatisfactionSettings(
                variant=_variant(cleaned), level=_level(cleaned), train=cleaned["train"]
            ),
            budget=cleaned["budget"],
            created_by=by,
        )
        return [replace(request, judge=judge) for judge in cleaned["judge"]]


def _variant(cleaned: Mapping[str, Any]) -> Variant:
    return Variant(cleaned.get("variant") or Variant.CHECKLIST)


def _level(cleaned: Mapping[str, Any]) -> Level:
    return Level(cleaned.get("level") or Level.TURN)


def _prompt(cleaned: Mapping[str, Any]) -> JudgePrompt:
    return JudgePrompt(cleaned.get("prompt") or JudgePrompt.PERSONAL)


def _distil(cleaned: Mapping[str, Any]) -> DistilPrompt:
    return DistilPrompt(cleaned.get("distil_prompt") or DistilPrompt.SENTENCES)


class BudgetForm(forms.Form):
    """What a run may cost from now on, and whether what failed is asked again at once."""

    budget = forms.DecimalField(required=False, min_value=0, max_digits=14, decimal_places=4)
    go_on = forms.BooleanField(required=False)
