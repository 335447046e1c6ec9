"""What readers may ask by address; anything malformed is an address that does not exist."""

from __future__ import annotations

from typing import Final, TypeVar

from django import forms
from django.http import Http404, QueryDict
from django.utils.translation import gettext_lazy as _

from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.gold import Section
from benchmark.queries.annotators import PeopleQuestion
from benchmark.queries.disagreements import DisagreementQuestion
from benchmark.queries.gold import GoldQuestion
from benchmark.queries.judges import JudgeWay, TablesQuestion
from benchmark.queries.ranking import LeaderboardQuestion, Source
from benchmark.queries.rows import VOICES, NumberOwner, VerdictMatch
from benchmark.queries.trust import TrustQuestion
from judging.core.votes import VoteRule

_LARGEST_ID: Final = 2**63 - 1

RULES: Final = [
    (VoteRule.DEFAULT.value, _("even split: one half")),
    (VoteRule.PAPER.value, _("even split: first shown")),
    (VoteRule.SOFT.value, _("summed log-odds")),
]
POLICIES: Final = [
    (InvalidPolicy.EXCLUDED.value, _("left out")),
    (InvalidPolicy.WRONG.value, _("counted as wrong")),
]


def _id() -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, max_value=_LARGEST_ID)


class TrustForm(forms.Form):
    """A question to the trust page.

    `was_dataset` and `was_annotator` are what the filters were drawn for: of another dataset, or of
    another annotator, the finer choices mean nothing.
    """

    dataset = forms.SlugField(required=False, max_length=80)
    annotator = _id()
    run = _id()
    scenario = _id()
    rule = forms.ChoiceField(required=False, choices=RULES)
    policy = forms.ChoiceField(required=False, choices=POLICIES)
    was_dataset = forms.SlugField(required=False, max_length=80)
    was_annotator = _id()

    def question(self) -> TrustQuestion:
        """What is asked."""
        asked = self.cleaned_data
        same_dataset = asked["was_dataset"] in {"", asked["dataset"]}
        same_annotator = same_dataset and asked["was_annotator"] in {None, asked["annotator"]}
        return TrustQuestion(
            dataset=asked["dataset"],
            annotator=asked["annotator"] if same_dataset else None,
            run=asked["run"] if same_annotator else None,
            scenario=asked["scenario"] if same_dataset else None,
            rule=VoteRule(asked["rule"] or VoteRule.DEFAULT),
            policy=InvalidPolicy(asked["policy"] or InvalidPolicy.EXCLUDED),
        )


class RowsForm(TrustForm):
    """A question to the rows behind a number of the trust page."""

    of = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in NumberOwner]
    )
    who = forms.CharField(required=False, max_length=200, strip=False)
    outcome = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in VerdictMatch]
    )

    def behind(self) -> NumberOwner:
        """Whose number the rows stand behind."""
        return NumberOwner(self.cleaned_data["of"] or NumberOwner.SELECTED)

    def outcome_asked(self) -> VerdictMatch | None:
        """Which outcome alone, None for all."""
        return VerdictMatch(self.cleaned_data["outcome"]) if self.cleaned_data["outcome"] else None


class TablesForm(forms.Form):
    """A question to the tables of judges; an annotator of another dataset means nothing."""

    dataset = forms.SlugField(required=False, max_length=80)
    of = forms.RegexField(r"^(gold|[1-9][0-9]{0,17})$", required=False)
    rule = forms.ChoiceField(required=False, choices=RULES)
    policy = forms.ChoiceField(required=False, choices=POLICIES)
    was_dataset = forms.SlugField(required=False, max_length=80)

    def question(self) -> TablesQuestion:
        """What is asked."""
        asked = self.cleaned_data
        return TablesQuestion(
            dataset=asked["dataset"],
            of=asked["of"] if asked["was_dataset"] in {"", asked["dataset"]} else "",
            rule=VoteRule(asked["rule"] or VoteRule.DEFAULT),
            policy=InvalidPolicy(asked["policy"] or InvalidPolicy.EXCLUDED),
        )


class TableRowsForm(TablesForm):
    """A question to the comparisons behind a cell."""

    judge = forms.CharField(max_length=200, strip=False)
    way = forms.CharField(required=False, max_length=40)
    voice = forms.ChoiceField(choices=[(each.value, each.value) for each in VOICES])
    scenario = _id()
    outcome = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in VerdictMatch]
    )

    def name(self) -> JudgeWay:
        """Whose line."""
        return JudgeWay(self.cleaned_data["judge"], self.cleaned_data["way"])

    def behind(self) -> NumberOwner:
        """Under which preferences."""
        return NumberOwner(self.cleaned_data["voice"])

    def outcome_asked(self) -> VerdictMatch | None:
        """Which outcome alone, None for all."""
        return VerdictMatch(self.cleaned_data["outcome"]) if self.cleaned_data["outcome"] else None


class LeaderboardForm(forms.Form):
    """A question to the leaderboard."""

    dataset = forms.SlugField(required=False, max_length=80)
    scenario = _id()
    annotator = _id()
    was_dataset = forms.SlugField(required=False, max_length=80)

    def question(self) -> LeaderboardQuestion:
        """What is asked; a scenario or annotator of another dataset means nothing."""
        asked = self.cleaned_data
        if asked["was_dataset"] not in {"", asked["dataset"]}:
            return LeaderboardQuestion(asked["dataset"])
        return LeaderboardQuestion(asked["dataset"], asked["scenario"], asked["annotator"])


class LeaderboardRowsForm(LeaderboardForm):
    """A question to the comparisons behind one model's rating."""

    model = forms.CharField(max_length=200, strip=False)
    source = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in Source]
    )

    def source_asked(self) -> Source:
        """Whose verdicts."""
        return Source(self.cleaned_data["source"] or Source.HUMAN)


class JudgeForm(forms.Form):
    """A judge's verdicts over a whole dataset; a run of another dataset means nothing."""

    dataset = forms.SlugField(required=False, max_length=80)
    run = forms.RegexField(r"^[0-9]{1,18}s?$", required=False)
    was_dataset = forms.SlugField(required=False, max_length=80)

    def same_dataset(self) -> bool:
        """Whether the finer choices were drawn for the dataset asked for."""
        return self.cleaned_data["was_dataset"] in {"", self.cleaned_data["dataset"]}

    def run_asked(self) -> str:
        """The run's key, "" for the one to read."""
        return self.cleaned_data["run"] if self.same_dataset() else ""


class GoldQuestionForm(JudgeForm):
    """A question to the page of judges against gold answers, or to the rows behind it."""

    policy = forms.ChoiceField(required=False, choices=POLICIES)
    subset = forms.CharField(required=False, max_length=120, strip=False)
    section = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in Section]
    )
    outcome = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in VerdictMatch]
    )

    def question(self) -> GoldQuestion:
        """What is asked."""
        policy = self.cleaned_data["policy"] or InvalidPolicy.EXCLUDED
        return GoldQuestion(self.cleaned_data["dataset"], self.run_asked(), InvalidPolicy(policy))

    def section_asked(self) -> Section | None:
        """Which section of RewardBench alone, None for all."""
        return Section(self.cleaned_data["section"]) if self.cleaned_data["section"] else None

    def outcome_asked(self) -> VerdictMatch | None:
        """Which outcome alone, None for all."""
        return VerdictMatch(self.cleaned_data["outcome"]) if self.cleaned_data["outcome"] else None


class PeopleForm(JudgeForm):
    """A question to the page of judges beside people."""

    people = forms.CharField(required=False, max_length=100, strip=False)

    def question(self) -> PeopleQuestion:
        """What is asked."""
        people = self.cleaned_data["people"] if self.same_dataset() else ""
        return PeopleQuestion(self.cleaned_data["dataset"], self.run_asked(), people)


class DisagreementForm(JudgeForm):
    """A question to the queue of disagreements."""

    annotator = _id()
    scenario = _id()
    opposed = forms.BooleanField(required=False)

    def question(self) -> DisagreementQuestion:
        """What is asked."""
        same = self.same_dataset()
        return DisagreementQuestion(
            dataset=self.cleaned_data["dataset"],
            run=self.run_asked(),
            annotator=self.cleaned_data["annotator"] if same else None,
            scenario=self.cleaned_data["scenario"] if same else None,
            opposed=self.cleaned_data["opposed"],
        )


AnyForm = TypeVar("AnyForm", bound=forms.Form)


def asked(form: type[AnyForm], parameters: QueryDict) -> AnyForm:
    """The form of an address's parameters, checked.

    Raises:
        Http404: they are malformed.
    """
    filled: AnyForm = form(parameters)
    if not filled.is_valid():
        raise Http404
    return filled
