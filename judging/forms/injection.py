"""Starting a check of what texts that address the judge do to its verdicts."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.forms.datasets import grouped_datasets
from annotation.models import Dataset, User
from annotation.models.wording import choices_of
from judging.core.injections import AttackFamily
from judging.core.rules import JudgePrompt
from judging.core.verdicts import VerdictRule
from judging.forms.abilities import Limited, LimitedChoices, shut_for
from judging.forms.runs import PROMPTS
from judging.models import ModelEndpoint, RunKind
from judging.queries.comparisons import with_comparisons
from judging.services.injection import DEFAULT_PAIRS, MOST_PAIRS, dataset_lists, dataset_pairs
from judging.services.judges import LEXICAL, comparing_judges
from judging.services.run_requests import RunRequest

ADVANCED: Final = ("prompt", "verdict")
"""Folded; of which the judge that is chosen may not be able to do everything."""


class CheckForm(forms.Form):
    """An injection check: which attack on which judge, asked how, on how much of which dataset."""

    attack = forms.ChoiceField(
        label=_("Attack"),
        choices=choices_of(AttackFamily),
        initial=AttackFamily.TEXTS.value,
        required=False,
        help_text=_(
            "Repetition takes responses that hold a list of at least three items, repeats the list "
            "in front of itself, and has the judge compare both versions."
        ),
    )
    dataset = forms.ChoiceField(label=_("Pairs or responses from"))
    judge = forms.ChoiceField(label=_("Judge"))
    rephrase = forms.ChoiceField(
        label=_("Judge that rephrases lists"),
        required=False,
        help_text=_("The lexical judge repeats them word for word."),
    )
    prompt = forms.ChoiceField(
        label=_("Judging method"),
        choices=[
            (JudgePrompt.PERSONAL.value, _("As in the paper, without preferences")),
            *(each for each in PROMPTS[1:] if not JudgePrompt(each[0]).grades),
        ],
        widget=LimitedChoices,
        required=False,
    )
    verdict = forms.ChoiceField(
        label=_("Verdict reading"),
        choices=choices_of(VerdictRule),
        initial=VerdictRule.STRICT.value,
        widget=LimitedChoices,
        required=False,
    )
    pairs = forms.IntegerField(
        label=_("Number of pairs or responses"),
        min_value=1,
        max_value=MOST_PAIRS,
        initial=DEFAULT_PAIRS,
    )
    budget = forms.DecimalField(
        label=_("Budget"),
        required=False,
        min_value=0,
        max_digits=14,
        decimal_places=4,
        help_text=_(
            "Maximum cost of all calls together, in the currency of the endpoint's prices. Leave "
            "empty for no limit."
        ),
    )

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        """Offer the datasets with comparisons and the judges that compare."""
        super().__init__(data, **kwargs)
        datasets = grouped_datasets((each.slug, str(each)) for each in with_comparisons())
        judges = [(name, name) for name in comparing_judges()]
        writers = [("", gettext("the judge")), *judges]
        for name, choices in (("dataset", datasets), ("judge", judges), ("rephrase", writers)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
            field.choices = choices
        chosen = str(self.data.get("judge") or LEXICAL)
        self._shut = shut_for([chosen], list(ModelEndpoint.objects.filter(name=chosen)))
        for name in ADVANCED:
            widget = self.fields[name].widget
            assert isinstance(widget, Limited)  # noqa: S101 - declared above
            widget.shut = self._shut[name]

    @property
    def plain(self) -> list[forms.BoundField]:
        """What everybody decides on."""
        return [field for field in self.visible_fields() if field.name not in ADVANCED]

    @property
    def folds(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """What is folded: its title, its fields, and whether it is open for an error in it."""
        is_open = not self.errors.keys().isdisjoint(ADVANCED)
        return [(gettext("Advanced settings"), [self[name] for name in ADVANCED], is_open)]

    def limited_rows(self) -> list[tuple[str, forms.BoundField]]:
        """What is shown anew once another judge is chosen."""
        return [("", self[name]) for name in ADVANCED]

    @property
    def limit(self) -> str:
        """What the chosen judge cannot do of what is chosen, in a sentence; "" where it can."""
        return next((str(self.errors[name][0]) for name in ADVANCED if name in self.errors), "")

    def clean(self) -> dict[str, Any]:
        """Say of what the chosen judge cannot do why."""
        cleaned = super().clean() or {}
        for name in ADVANCED:
            if why := self._shut[name].get(cleaned.get(name) or ""):
                self.add_error(name, why)
        return cleaned

    def request(self, *, by: User) -> RunRequest:
        """The check that was asked for.

        Raises:
            Refused: the dataset has no pair with both texts, or no response with a list.
        """
        cleaned = self.cleaned_data
        dataset = Dataset.objects.get(slug=cleaned["dataset"])
        attack = AttackFamily(cleaned["attack"] or AttackFamily.TEXTS)
        repeats = attack is AttackFamily.REPETITION
        pairs = (dataset_lists if repeats else dataset_pairs)(dataset, count=cleaned["pairs"])
        return RunRequest(
            kind=RunKind.CHECK,
            dataset=dataset,
            judge=cleaned["judge"],
            prompt=JudgePrompt(cleaned.get("prompt") or JudgePrompt.PERSONAL),
            verdict=VerdictRule(cleaned["verdict"] or VerdictRule.STRICT),
            pairs=[each.to_json() for each in pairs],
            attack=attack,
            writer=cleaned["rephrase"] or None if repeats else None,
            budget=cleaned["budget"],
            created_by=by,
        )
