"""Starting a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import StudyKind
from annotation.core.refusals import text_of
from annotation.core.splits import DEFAULT_DEV_SIZE, DEFAULT_SEED, Pooling, SplitSampling
from annotation.forms.datasets import grouped_datasets
from annotation.models import Dataset, PairingPlan, User
from annotation.models.wording import choices_of
from annotation.queries.pairing import pairing_plans
from annotation.queries.studies import studies_of_kind
from judging.core.rules import (
    DRAWN,
    LEARNED,
    NO_SETS,
    Combine,
    DistilPrompt,
    JudgePrompt,
    Level,
    PairwiseSettings,
    SelectionMode,
    Variant,
    Window,
    variants_at,
)
from judging.core.targets import COMPARISON_TARGETS, PLAN, STUDY, TURN_TARGETS, RunTarget
from judging.core.verdicts import VerdictRule
from judging.forms.abilities import Limited, LimitedChoices, LimitedRadios, shut_for, with_abilities
from judging.forms.fields import again_field, budget_field
from judging.forms.run_requests import (
    annotator_choices,
    level_in,
    requests_of,
    usual_sets_text,
    variant_in,
)
from judging.models import RunKind
from judging.queries.preferences import learned_elsewhere, selected_by
from judging.queries.satisfaction.targets import filters_of, rated_elsewhere
from judging.services.endpoints import all_endpoints
from judging.services.judges import LEXICAL
from judging.services.run_requests import RunRequest

KINDS = [
    (RunKind.DISTIL.value, _("Learn: distil preferences, judge the dev split, select")),
    (RunKind.TEST.value, _("Judge: comparisons under the selected preferences")),
    (RunKind.SATISFACTION.value, _("Score satisfaction")),
]


PROMPTS = [
    (JudgePrompt.PERSONAL.value, _("With this annotator's preferences")),
    (JudgePrompt.PAIRWISE.value, _("Compare by a generic rubric")),
    (JudgePrompt.THOUGHT.value, _("Compare after solving the request itself")),
    (JudgePrompt.REFERENCE.value, _("Compare with a reference answer, where available")),
    (JudgePrompt.OWN_REFERENCE.value, _("Compare with a reference answer written by the judge")),
    (JudgePrompt.SINGLE.value, _("Grade each response from 1 to 10")),
    (JudgePrompt.SINGLE_REFERENCE.value, _("Grade with a reference answer, where available")),
    (JudgePrompt.REWARD.value, _("By the scores of a reward model")),
]


DISTIL_PROMPTS = [
    (DistilPrompt.SENTENCES.value, _("In about three sentences")),
    (DistilPrompt.SENTENCE.value, _("In one sentence")),
]

VERDICTS = [
    ("", _("Default: as in selection, or the stated verdict")),
    (VerdictRule.STRICT.value, _("By the stated verdict")),
    (VerdictRule.LOGPROB.value, _("By letter probabilities in both orders")),
    (VerdictRule.PAPER.value, _("As the paper's code reads it")),
]

_FILTERS = ("scenario", "model", "language", "sample")
FIELDS_OF = {
    RunKind.DISTIL: (
        *("distiller", "dev_size", "seed", "sampling", "window", "distil_prompt", "pooling"),
        *("mode", "combine", "verdict"),
    ),
    RunKind.TEST: ("targets", "learned_in", "sets", *_FILTERS, "prompt", "no_control", "verdict"),
    RunKind.SATISFACTION: (
        "turn_targets",
        "history_in",
        *_FILTERS,
        "memory_judge",
        "level",
        "variant",
        "train",
    ),
}
"""Fields that not every kind of run asks."""

ADVANCED = (
    *("dev_size", "seed", "sampling", "window", "verdict", "pooling", "distil_prompt", "mode"),
    *("combine", "learned_in", "no_control", "memory_judge", "level", "train", "again"),
)
"""Folded: each has a default that will do."""
LIMITED = ("kind", "prompt", "verdict", "variant")
"""Of which the judges that were chosen may not be able to do everything."""


class RunForm(forms.Form):
    """What to run, for whom, by which judge; the dataset is chosen before."""

    kind = forms.ChoiceField(label=_("Task"), choices=KINDS, widget=LimitedRadios)
    annotator = forms.TypedChoiceField(
        label=_("Annotator"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=_(
            "Everybody: one run for each annotator with labels or preferences; scoring is one "
            "run for all."
        ),
    )
    judge = forms.MultipleChoiceField(
        label=_("Judge"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Each judge gets its own run over the same items; several are shown side by side. "
            "The lexical judge and the learned evaluator need no endpoint and are not language "
            "models. The learned evaluator only scores satisfaction, each user by what it "
            "learned from the others' ratings."
        ),
    )
    distiller = forms.ChoiceField(
        label=_("Distiller"),
        required=False,
        help_text=_(
            "Writes the preferences; the judges chosen above judge the dev split under them and "
            "select. Stored preferences are reused at no cost."
        ),
    )
    dev_size = forms.IntegerField(
        label=_("Dev comparisons per scenario"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=format_lazy(
            _("Preferences are learned and selected on these. Default: {n}."), n=DEFAULT_DEV_SIZE
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        required=False,
        min_value=0,
        max_value=2**32 - 1,
        help_text=format_lazy(
            _("For drawing the dev comparisons and the control. Default: {n}."), n=DEFAULT_SEED
        ),
    )
    sampling = forms.ChoiceField(
        label=_("Sampling of dev comparisons"), choices=choices_of(SplitSampling), required=False
    )
    window = forms.ChoiceField(
        label=_("Conversation shown"),
        choices=choices_of(Window),
        required=False,
        help_text=_("What a language model sees of each conversation; the lexical judge sees all."),
    )
    distil_prompt = forms.ChoiceField(
        label=_("Preference length"),
        choices=DISTIL_PROMPTS,
        required=False,
        help_text=_(
            "About three sentences, as in the paper, or one, as its code allows. Only language "
            "models are asked this way."
        ),
    )
    pooling = forms.ChoiceField(
        label=_("Preference scope"),
        choices=choices_of(Pooling),
        required=False,
        help_text=_(
            "A scenario with enough labels gets its own preferences; without enough labels, one "
            "set covers all scenarios."
        ),
    )
    mode = forms.ChoiceField(
        label=_("Preference selection"),
        choices=choices_of(SelectionMode),
        required=False,
        help_text=_(
            "Use the paper's code only to compare with its tables: preferences judge the pairs "
            "they come from, so its dev figures are far too high, and a set may even be used "
            "inverted. It has no control and no letter probabilities."
        ),
    )
    combine = forms.ChoiceField(
        label=_("Stand-in for the annotator"),
        required=False,
        help_text=_(
            "Default: a weighted vote for the lexical judge, the selected preferences for others. "
            "For its weights, an endpoint distils once more for each dev comparison and judges it."
        ),
    )
    targets = forms.ChoiceField(
        label=_("Comparisons to judge"),
        required=False,
        help_text=_(
            "Agreement is measured on labelled comparisons that nothing was learned from. The rest "
            "is judged on the annotator's behalf: it counts in rankings, not in agreement."
        ),
    )
    learned_in = forms.ChoiceField(
        label=_("Preferences learned in"),
        required=False,
        help_text=_(
            "A scenario without its own preferences uses those over all scenarios, if there are "
            "any, or else the base judge."
        ),
    )
    sets = forms.ChoiceField(
        label=_("Preferences selected by"),
        required=False,
        help_text=_(
            "The judge chosen above applies them. By default it applies those it selected "
            "itself. The base judge uses none, so nothing needs to be learned first."
        ),
    )
    turn_targets = forms.ChoiceField(
        label=_("Responses to score"),
        required=False,
        help_text=_(
            "Agreement needs a run over all rated responses. Anything else is scored on the "
            "user's behalf, on their own scale: original responses of the same scenario are "
            "scored too, because the others are ranked among them."
        ),
    )
    history_in = forms.ChoiceField(
        label=_("Conversations"),
        required=False,
        help_text=_(
            "One annotator can stand in for everybody: all conversations are then scored by "
            "their ratings in the dataset you choose here. If you choose no annotator above, "
            "each one who rated there gets a run."
        ),
    )
    scenario = forms.MultipleChoiceField(
        label=_("Only these scenarios"), required=False, widget=forms.CheckboxSelectMultiple
    )
    model = forms.MultipleChoiceField(
        label=_("Only these models"), required=False, widget=forms.CheckboxSelectMultiple
    )
    language = forms.MultipleChoiceField(
        label=_("Only these languages"), required=False, widget=forms.CheckboxSelectMultiple
    )
    sample = forms.IntegerField(
        label=_("Max items"),
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text=_("A random sample, drawn without regard to labels. Leave empty for all."),
    )
    prompt = forms.ChoiceField(
        label=_("Judging method"),
        choices=PROMPTS,
        widget=LimitedChoices,
        required=False,
        help_text=_(
            "All but the first use no preferences and need an endpoint. They serve as a "
            "comparison for learned preferences."
        ),
    )
    no_control = forms.BooleanField(
        label=_("Without the other annotators' judges"),
        required=False,
        help_text=_(
            "Leave unticked to have the judges of up to five other annotators judge the labelled "
            "comparisons too. Without them, no judge can be shown to be personal."
        ),
    )
    verdict = forms.ChoiceField(
        label=_("Verdict reading"),
        choices=VERDICTS,
        widget=LimitedChoices,
        required=False,
        help_text=_(
            "Letter probabilities need an endpoint that returns log-probabilities. They cancel a "
            "judge's position bias, so they are recommended where they are available."
        ),
    )
    memory_judge = forms.ChoiceField(
        label=_("Memory builder"),
        required=False,
        help_text=_("Writes the users' memories, by which the judges chosen above score turns."),
    )
    level = forms.ChoiceField(
        label=_("Scored items"),
        choices=choices_of(Level),
        required=False,
    )
    variant = forms.ChoiceField(
        label=_("Scoring method"),
        choices=choices_of(Variant),
        widget=LimitedChoices,
        required=False,
        help_text=_("Examples from training users never come from the users who are scored."),
    )
    train = forms.ChoiceField(
        label=_("Training users"),
        required=False,
        help_text=_(
            "Users who provide examples and rubrics. In this dataset: those who are not scored; "
            "if all are scored, each half provides them for the other."
        ),
    )
    budget = budget_field()
    again = again_field()

    def __init__(self, data: Any = None, *, dataset: Dataset, **kwargs: Any) -> None:
        """Offer the dataset's annotators and the judges in use."""
        super().__init__(data, **kwargs)
        elsewhere, rated = learned_elsewhere(dataset), rated_elsewhere(dataset)
        others = dict.fromkeys([*elsewhere, *rated])
        self._field("annotator").choices = annotator_choices(dataset, others)
        self._field("learned_in").choices = [
            ("", _("this dataset")),
            *((other.slug, str(other)) for other in elsewhere),
        ]
        self._field("history_in").choices = [
            ("", _("each user's own")),
            *(
                (other.slug, gettext("all, by ratings in %(name)s") % {"name": other})
                for other in (dataset, *rated)
            ),
        ]
        self.filters = {
            name: values if len(values) > 1 else [] for name, values in filters_of(dataset).items()
        }
        for name, values in self.filters.items():
            self._field(name).choices = [(value, value) for value in values]
        self._field("targets").choices = [
            *((kind.lower(), gettext(kind.label)) for kind in COMPARISON_TARGETS),
            *_studies(dataset, StudyKind.PAIRWISE),
            *((f"{PLAN}{each.pk}", _plan_name(each)) for each, _asked in pairing_plans(dataset)),
        ]
        self._field("turn_targets").choices = [
            *((kind.lower(), gettext(kind.label)) for kind in TURN_TARGETS),
            *_studies(dataset, StudyKind.SATISFACTION),
        ]
        endpoints = list(all_endpoints().filter(enabled=True))
        rows = Dataset.objects.exclude(pk=dataset.pk).order_by("name").values_list("slug", "name")
        own = ("", _("others of this dataset"))
        self._field("train").choices = [own, *grouped_datasets(rows)]
        names = [(name, name) for name in (LEXICAL, LEARNED)]
        names += [(row.name, with_abilities(row)) for row in endpoints]
        self._field("judge").choices = names
        writers = [LEXICAL, *(row.name for row in endpoints if not row.has_scores)]
        for name in ("distiller", "memory_judge"):
            self._field(name).choices = [("", _("the judge")), *((one, one) for one in writers)]
        self.has_endpoints = bool(endpoints)
        self.shut = shut_for(self._chosen(), endpoints)
        for name, reasons in self.shut.items():
            widget = self._field(name).widget
            assert isinstance(widget, Limited)  # noqa: S101 - declared above
            widget.shut = reasons
        self._field("combine").choices = [("", _("Default")), *choices_of(Combine)]
        self._field("sets").choices = [
            ("", usual_sets_text(dataset)),
            (NO_SETS, _("none (base judge)")),
            (DRAWN, _("five drawn at random, to rank models as in the paper")),
            *((f"{judge}:{writer}", _by(judge, writer)) for judge, writer in selected_by(dataset)),
        ]

    def rows(self) -> list[tuple[str, forms.BoundField]]:
        """Each field with the kinds of run that alone ask it, empty where all do.

        A filter with nothing to choose from is left out.
        """
        return [
            (" ".join(kind for kind, names in FIELDS_OF.items() if field.name in names), field)
            for field in self.visible_fields()
            if self.filters.get(field.name) != []
        ]

    def plain_rows(self) -> list[tuple[str, forms.BoundField]]:
        """What everybody decides on."""
        folded = {*ADVANCED, *_FILTERS}
        return [row for row in self.rows() if row[1].name not in folded]

    def filter_rows(self) -> list[tuple[str, forms.BoundField]]:
        """What narrows down what is judged."""
        return [row for row in self.rows() if row[1].name in _FILTERS]

    def advanced_rows(self) -> list[tuple[str, forms.BoundField]]:
        """What is folded, in the order of ADVANCED."""
        rows = {row[1].name: row for row in self.rows()}
        return [rows[name] for name in ADVANCED]

    def limited_rows(self) -> list[tuple[str, forms.BoundField]]:
        """What is shown anew once other judges are chosen."""
        return [row for row in self.rows() if row[1].name in LIMITED]

    @property
    def usual(self) -> PairwiseSettings:
        """What is done where nothing is entered."""
        return PairwiseSettings()

    @property
    def is_unfolded(self) -> bool:
        """Whether something is wrong in what is folded."""
        return not self.errors.keys().isdisjoint(ADVANCED)

    @property
    def is_filtered(self) -> bool:
        """Whether something is entered in the filters."""
        return self.is_bound and any(self[name].value() for name in _FILTERS)

    @property
    def limit(self) -> str:
        """What the chosen judges cannot do of what is chosen, in a sentence; "" where they can."""
        return next((str(self.errors[name][0]) for name in LIMITED if name in self.errors), "")

    def _chosen(self) -> list[str]:
        """The judges' names as they were sent, or as the page begins."""
        if not self.is_bound:
            return list(self.initial.get("judge", ()))
        return list(self._field("judge").widget.value_from_datadict(self.data, {}, "judge") or ())

    def _field(self, name: str) -> forms.ChoiceField | forms.MultipleChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField | forms.MultipleChoiceField)  # noqa: S101 - declared above
        return field

    def clean(self) -> dict[str, Any]:
        """What another kind asks is left out."""
        cleaned = super().clean() or {}
        self._leave_out(cleaned)
        for name, values in self.shut.items():
            asked = cleaned.get(name) or (JudgePrompt.PERSONAL if name == "prompt" else "")
            if asked in values and (name != "prompt" or cleaned.get("kind") == RunKind.TEST):
                self.add_error(name, values[asked])
        self._clean_ratings(cleaned)
        return cleaned

    def _leave_out(self, cleaned: dict[str, Any]) -> None:
        """Empty the fields that only other kinds of run ask: the page hides them."""
        asked = FIELDS_OF.get(cleaned.get("kind", ""), ())
        for name in {name for names in FIELDS_OF.values() for name in names}.difference(asked):
            cleaned[name] = ""
            self.errors.pop(name, None)

    def _clean_ratings(self, cleaned: Mapping[str, Any]) -> None:
        """What concerns ratings alone, and fits together."""
        variant, level = variant_in(cleaned), level_in(cleaned)
        if variant not in variants_at(level):
            self.add_error("variant", gettext(text_of("run:variant-level")))
        if level is Level.SESSION and cleaned.get("turn_targets") == RunTarget.CANDIDATES.lower():
            message = _("Whole conversations have only original responses.")
            self.add_error("turn_targets", message)

    def requests(self, *, dataset: Dataset, by: User) -> list[RunRequest]:
        """What is asked for, of each judge that was chosen."""
        return requests_of(self.cleaned_data, dataset=dataset, by=by)


def _studies(dataset: Dataset, kind: StudyKind) -> list[tuple[str, str]]:
    return [(f"{STUDY}{slug}", name) for slug, name in studies_of_kind(dataset, kind)]


def _plan_name(plan: PairingPlan) -> str:
    return gettext("planned comparisons #%(n)d (%(kind)s)") % {
        "n": plan.pk,
        "kind": plan.get_kind_display(),
    }


def _by(judge: str, writer: str) -> str:
    if judge == writer:
        return judge
    names = {"judge": judge, "distiller": writer}
    return gettext("%(judge)s, distilled by %(distiller)s") % names


class BudgetForm(forms.Form):
    """What a run may cost from now on, and whether what failed is asked again at once."""

    budget = forms.DecimalField(required=False, min_value=0, max_digits=14, decimal_places=4)
    go_on = forms.BooleanField(required=False)
