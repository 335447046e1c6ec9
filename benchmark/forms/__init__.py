"""What readers may ask by address; anything malformed is an address that does not exist."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.pairing import MOST_SAMPLED, PairingKind, PairingRules
from annotation.forms import AnyForm
from annotation.forms import asked as asked_form
from annotation.forms.datasets import grouped_datasets
from annotation.models import Dataset, User
from annotation.models.wording import choices_of
from annotation.queries.pairing import compared_models
from annotation.queries.participants import annotators
from annotation.queries.studies import scenario_choices
from benchmark.core.ablation import Vary
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.gold import Section
from benchmark.forms.fields import budget_field, id_field, offer, one_of
from benchmark.queries.annotators import PeopleQuestion
from benchmark.queries.disagreements import DisagreementQuestion
from benchmark.queries.gold import GoldQuestion
from benchmark.queries.judges import JudgeWay, TablesQuestion
from benchmark.queries.ranking import Source
from benchmark.queries.rows import VOICES, NumberOwner, VerdictMatch
from benchmark.queries.satisfaction import with_ratings
from benchmark.queries.trust import TrustQuestion
from benchmark.services.ablation_runs import AblationRequest, who_labelled
from benchmark.services.evaluation_runs import MOST_DRAWS, EvaluationRequest
from benchmark.services.failures import scenarios_with_gold
from benchmark.services.pairing import Verdicts
from benchmark.services.satisfaction_evaluation import DEFAULT_EVALUATORS, STORED, with_memory_judge
from judging.core.rules import Level
from judging.core.verdicts import VerdictRule
from judging.core.votes import VoteRule
from judging.services.judges import LEXICAL, comparing_judges
from judging.templatetags.run_settings import evaluator_label

RULES: Final = [
    (VoteRule.DEFAULT.value, _("even split: one half")),
    (VoteRule.PAPER.value, _("even split: first shown")),
    (VoteRule.SOFT.value, _("summed log-odds")),
]
RULES_BY_LOG_ODDS: Final = [(VoteRule.DEFAULT.value, _("mean log-odds of both orders"))]
"""Of a judge that is read by l*."""
POLICIES: Final = [
    (InvalidPolicy.EXCLUDED.value, _("left out")),
    (InvalidPolicy.WRONG.value, _("counted as wrong")),
]


class OutcomeForm(forms.Form):
    """How the decisions that are asked for turned out."""

    outcome = one_of(VerdictMatch)

    def outcome_asked(self) -> VerdictMatch | None:
        """Which outcome alone, None for all."""
        return VerdictMatch(self.cleaned_data["outcome"]) if self.cleaned_data["outcome"] else None


class DatasetForm(forms.Form):
    """A question about a dataset; finer choices that were drawn for another mean nothing."""

    dataset = forms.SlugField(required=False, max_length=80)
    was_dataset = forms.SlugField(required=False, max_length=80)

    def same_dataset(self) -> bool:
        """Whether the finer choices were drawn for the dataset asked for."""
        return self.cleaned_data["was_dataset"] in {"", self.cleaned_data["dataset"]}


class TrustForm(DatasetForm):
    """A question to the trust page.

    `was_dataset`, `was_annotator` and `was_run` are what the filters were drawn for: of another
    dataset, or of another annotator, the finer choices mean nothing.
    """

    annotator = id_field()
    run = id_field()
    scenario = id_field()
    rule = forms.ChoiceField(required=False, choices=RULES)
    policy = forms.ChoiceField(required=False, choices=POLICIES)
    until = id_field()
    was_annotator = id_field()
    was_run = id_field()

    def question(self) -> TrustQuestion:
        """What is asked."""
        asked = self.cleaned_data
        same_dataset = self.same_dataset()
        same_annotator = same_dataset and asked["was_annotator"] in {None, asked["annotator"]}
        same_run = same_annotator and asked["was_run"] in {None, asked["run"]}
        return TrustQuestion(
            dataset=asked["dataset"],
            annotator=asked["annotator"] if same_dataset else None,
            run=asked["run"] if same_annotator else None,
            scenario=asked["scenario"] if same_dataset else None,
            rule=VoteRule(asked["rule"] or VoteRule.DEFAULT),
            policy=InvalidPolicy(asked["policy"] or InvalidPolicy.EXCLUDED),
            rule_of=asked["was_run"],
            until=asked["until"] if same_run else None,
        )


class RowsForm(TrustForm, OutcomeForm):
    """A question to the rows behind a number of the trust page."""

    of = one_of(NumberOwner)
    who = forms.CharField(required=False, max_length=200, strip=False)

    def behind(self) -> NumberOwner:
        """Whose number the rows stand behind."""
        return NumberOwner(self.cleaned_data["of"] or NumberOwner.SELECTED)


class TablesForm(DatasetForm):
    """A question to the tables of judges; an annotator of another dataset means nothing."""

    of = forms.RegexField(r"^(gold|[1-9][0-9]{0,17})$", required=False)
    rule = forms.ChoiceField(required=False, choices=RULES)
    policy = forms.ChoiceField(required=False, choices=POLICIES)

    def question(self) -> TablesQuestion:
        """What is asked."""
        asked = self.cleaned_data
        return TablesQuestion(
            dataset=asked["dataset"],
            of=asked["of"] if self.same_dataset() else "",
            rule=VoteRule(asked["rule"] or VoteRule.DEFAULT),
            policy=InvalidPolicy(asked["policy"] or InvalidPolicy.EXCLUDED),
        )


class TableRowsForm(TablesForm, OutcomeForm):
    """A question to the comparisons behind a cell."""

    judge = forms.CharField(max_length=200, strip=False)
    way = forms.CharField(required=False, max_length=40)
    voice = forms.ChoiceField(choices=[(each.value, each.value) for each in VOICES])
    scenario = id_field()

    def name(self) -> JudgeWay:
        """Whose line."""
        return JudgeWay(self.cleaned_data["judge"], self.cleaned_data["way"])

    def behind(self) -> NumberOwner:
        """Under which preferences."""
        return NumberOwner(self.cleaned_data["voice"])


class JudgeForm(DatasetForm):
    """A judge's verdicts over a whole dataset; a run of another dataset means nothing."""

    run = forms.RegexField(r"^[0-9]{1,18}[sv]?$", required=False)

    def run_asked(self) -> str:
        """The run's key, "" for the one to read."""
        return self.cleaned_data["run"] if self.same_dataset() else ""


class GoldQuestionForm(JudgeForm, OutcomeForm):
    """A question to the page of judges against gold answers, or to the rows behind it."""

    policy = forms.ChoiceField(required=False, choices=POLICIES)
    subset = forms.CharField(required=False, max_length=120, strip=False)
    section = one_of(Section)

    def question(self) -> GoldQuestion:
        """What is asked."""
        policy = self.cleaned_data["policy"] or InvalidPolicy.EXCLUDED
        return GoldQuestion(self.cleaned_data["dataset"], self.run_asked(), InvalidPolicy(policy))

    def section_asked(self) -> Section | None:
        """Which section of RewardBench alone, None for all."""
        return Section(self.cleaned_data["section"]) if self.cleaned_data["section"] else None


class PeopleForm(JudgeForm):
    """A question to the page of judges beside people."""

    people = forms.CharField(required=False, max_length=100, strip=False)

    def question(self) -> PeopleQuestion:
        """What is asked."""
        people = self.cleaned_data["people"] if self.same_dataset() else ""
        return PeopleQuestion(self.cleaned_data["dataset"], self.run_asked(), people)


class DisagreementForm(JudgeForm):
    """A question to the queue of disagreements."""

    annotator = id_field()
    scenario = id_field()
    opposed = forms.BooleanField(required=False)

    def question(self) -> DisagreementQuestion:
        """What is asked."""
        return DisagreementQuestion(
            dataset=self.cleaned_data["dataset"],
            run=self.run_asked(),
            annotator=self.cleaned_data["annotator"] if self.same_dataset() else None,
            scenario=self.cleaned_data["scenario"] if self.same_dataset() else None,
            opposed=self.cleaned_data["opposed"],
        )


class AblationForm(forms.Form):
    """What to vary, on whose labels, by which judges; the dataset is chosen before."""

    dataset = forms.CharField(widget=forms.HiddenInput)
    vary = forms.ChoiceField(label=_("Varied setting"), choices=choices_of(Vary))
    annotator = forms.TypedChoiceField(
        label=_("Annotator"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=_("Everybody: each annotator separately, then all combined."),
    )
    scenario = forms.ChoiceField(
        label=_("Scenario"),
        required=False,
        help_text=_(
            "For judge prompts only: they judge the comparisons of this scenario that have a gold "
            "answer with a winner."
        ),
    )
    judge = forms.MultipleChoiceField(
        label=_("Judge"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "The first judge distils and judges. To vary models, choose several: each judges "
            "under the preferences distilled by each. To vary judge prompts, each judge uses "
            "each prompt."
        ),
    )
    verdict = forms.ChoiceField(
        label=_("Verdict reading"),
        choices=choices_of(VerdictRule),
        initial=VerdictRule.STRICT.value,
        required=False,
        help_text=_("Letter probabilities need an endpoint that returns log-probabilities."),
    )
    budget = budget_field()

    def __init__(self, data: Any = None, *, dataset: Dataset, **kwargs: Any) -> None:
        """Offer the dataset's annotators and the judges in use."""
        super().__init__(data, **kwargs)
        self._dataset = dataset
        self.fields["dataset"].initial = dataset.slug
        people = [(each.id, each.name) for each in annotators(dataset=dataset)]
        everybody = ("", gettext("everybody"))
        offer(
            self,
            annotator=[everybody, *people],
            scenario=[("", gettext("all")), *((n, n) for n in scenarios_with_gold(dataset))],
            judge=[(n, n) for n in comparing_judges()],
        )

    def request(self, *, by: User) -> AblationRequest:
        """The ablation that was asked for.

        Raises:
            Refused: nobody labelled anything that can be judged.
        """
        cleaned, judges = self.cleaned_data, self.cleaned_data["judge"]
        vary, people = Vary(cleaned["vary"]), list(User.objects.filter(pk=cleaned["annotator"]))
        if vary is Vary.PROMPT:
            people = []
        elif not people:
            people = who_labelled(self._dataset, judge=judges[0])
        return AblationRequest(
            dataset=self._dataset,
            annotators=people,
            vary=vary,
            scenario=cleaned["scenario"],
            judges=judges,
            verdict=VerdictRule(cleaned["verdict"] or VerdictRule.STRICT),
            budget=cleaned["budget"],
            created_by=by,
        )


class PairingForm(forms.Form):
    """A plan of comparisons, who would judge them, and whose verdicts an adaptive plan goes by."""

    kind = forms.ChoiceField(
        label=_("Comparisons to create"), choices=choices_of(PairingKind), widget=forms.RadioSelect
    )
    anchor = forms.ChoiceField(label=_("Anchor model"), required=False)
    size = forms.IntegerField(
        label=_("Number of comparisons"),
        required=False,
        min_value=1,
        max_value=MOST_SAMPLED,
        help_text=_(
            "Size of the sample or of each batch. A batch without a size is a tenth of all "
            "comparisons."
        ),
    )
    verdicts = forms.ChoiceField(
        label=_("Verdicts that decide the next batch"),
        choices=[
            (Source.HUMAN.value, _("annotators' labels")),
            (Source.BASE.value, _("the judge below, without preferences")),
            (Source.SELECTED.value, _("the judge below, under selected preferences")),
        ],
        required=False,
    )
    incomplete = forms.BooleanField(
        label=_("Create the next batch even if the last one lacks verdicts"), required=False
    )
    cap = forms.IntegerField(
        label=_("Max comparisons per model pair and prompt"),
        min_value=1,
        max_value=1000,
        help_text=_("Use more than 1 where models gave several responses to a prompt."),
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
    variants = forms.BooleanField(label=_("Variants as models of their own"), required=False)
    seed = forms.IntegerField(label=_("Seed"), min_value=0, max_value=2_147_483_647)
    judge = forms.ChoiceField(
        label=_("Judge"),
        help_text=_("Used to estimate the price, and for its verdicts if they are chosen above."),
    )

    def __init__(self, data: Any, *, dataset: Dataset) -> None:
        """Offer the dataset's models and scenarios, and the judges that compare."""
        super().__init__(data)
        models = [(name, name) for name in compared_models(dataset)]
        offer(
            self,
            anchor=[("", _("choose")), *models],
            models=models,
            scenarios=[(each, each) for each in scenario_choices(dataset.slug)],
            judge=[(each, each) for each in comparing_judges()],
        )

    def clean(self) -> dict[str, Any]:
        """What the kind of plan needs; what says nothing of it is left out."""
        cleaned = super().clean() or {}
        kind = cleaned.get("kind")
        if kind == PairingKind.ANCHOR and not cleaned.get("anchor"):
            self.add_error("anchor", _("Choose the model that all others are compared with."))
        if kind == PairingKind.SAMPLE and "size" in cleaned and cleaned["size"] is None:
            self.add_error("size", _("Choose how many comparisons."))
        return cleaned

    def rules(self) -> PairingRules:
        """The plan."""
        chosen = self.cleaned_data
        kind = PairingKind(chosen["kind"])
        return PairingRules(
            kind=kind,
            anchor=chosen["anchor"] if kind is PairingKind.ANCHOR else "",
            size=chosen["size"] if kind in (PairingKind.SAMPLE, PairingKind.ADAPTIVE) else None,
            scenarios=tuple(chosen["scenarios"]),
            models=tuple(chosen["models"]),
            **{name: chosen[name] for name in ("cap", "seed", "both_models", "variants")},
        )

    def whose(self) -> Verdicts:
        """Whose verdicts decide an adaptive plan's next batch."""
        chosen = self.cleaned_data
        source = Source(chosen["verdicts"] or Source.HUMAN)
        judge = "" if source is Source.HUMAN else chosen["judge"]
        return Verdicts(source, judge, chosen["incomplete"])


class EvaluationForm(forms.Form):
    """Which evaluators of satisfaction to compare, on whose ratings."""

    test = forms.ChoiceField(
        label=_("Ratings to predict"), help_text=_("The users of this dataset are scored.")
    )
    train = forms.ChoiceField(
        label=_("Training users"),
        help_text=_("The learned evaluator and global baselines learn from these users' ratings."),
    )
    evaluators = forms.MultipleChoiceField(
        label=_("Evaluators"), widget=forms.CheckboxSelectMultiple
    )
    judges = forms.MultipleChoiceField(
        label=_("Further judges"),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Endpoints with the checklist prompt; one that has scored already is reused."),
    )
    memory_judge = forms.ChoiceField(
        label=_("Memory builder"),
        required=False,
        help_text=_("Writes the users' memories, by which the judges chosen above score turns."),
    )
    level = forms.ChoiceField(label=_("Scored items"), choices=choices_of(Level), required=False)
    draws = forms.IntegerField(
        label=_("Bootstrap draws"),
        min_value=0,
        max_value=MOST_DRAWS,
        initial=1000,
        help_text=_("Resamples of users for the intervals; 0 leaves them out."),
    )
    curve = forms.BooleanField(
        label=_("Learning curve: also train on fewer users"),
        required=False,
        help_text=_("Shows how much more users would help. It takes minutes."),
    )
    budget = budget_field()

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        """Offer the datasets with ratings, the evaluators of this program, and the endpoints."""
        super().__init__(data, **kwargs)
        datasets = grouped_datasets((each.slug, str(each)) for each in with_ratings())
        ours = [(name, evaluator_label(name)) for name in DEFAULT_EVALUATORS if name != STORED]
        ours.append((STORED, gettext("every judge that has scored these turns")))
        names = [(name, name) for name in comparing_judges()]
        judges = [each for each in names if each[0] != LEXICAL]
        offer(self, test=datasets, train=datasets, evaluators=ours, judges=judges)
        offer(self, memory_judge=[("", gettext("the judge")), *names])
        if not judges:  # nothing to choose from; the lexical judge writes its own memories
            del self.fields["judges"], self.fields["memory_judge"]
        self.fields["evaluators"].initial = [name for name, _label in ours]

    def request(self, *, by: User) -> EvaluationRequest:
        """The comparison that was asked for."""
        cleaned = self.cleaned_data
        return EvaluationRequest(
            train=Dataset.objects.get(slug=cleaned["train"]),
            test=Dataset.objects.get(slug=cleaned["test"]),
            evaluators=[
                with_memory_judge(name, cleaned.get("memory_judge", ""))
                for name in [*cleaned["evaluators"], *cleaned.get("judges", ())]
            ],
            draws=cleaned["draws"],
            level=Level(cleaned["level"] or Level.TURN),
            curve=cleaned["curve"],
            budget=cleaned["budget"],
            created_by=by,
        )


def asked(form: type[AnyForm], parameters: QueryDict) -> AnyForm:
    """The form of an address's parameters, checked.

    Raises:
        Refused: one is malformed, so that it names nothing that exists.
    """
    return asked_form(form, parameters, code="benchmark:unknown-choice")
