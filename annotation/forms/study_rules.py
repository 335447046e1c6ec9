"""The fields in which the rules of a study are said, new or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import StudyKind
from annotation.core.quality import FAST_SHARE

if TYPE_CHECKING:
    from django.forms.boundfield import BoundField

_OF_KIND: Final = {
    "allow_tie": {StudyKind.PAIRWISE},
    "allow_strength": {StudyKind.PAIRWISE},
    "allow_both_bad": {StudyKind.PAIRWISE},
    "ask_hallucination": {StudyKind.SATISFACTION, StudyKind.CONVERSATION},
    "ask_questionnaire": {StudyKind.SATISFACTION, StudyKind.CONVERSATION},
    "reveal_turns": {StudyKind.SATISFACTION},
    "min_turns": {StudyKind.CONVERSATION},
    "gold_rate": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "repeat_rate": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "sample": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "pause_gold_below": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "pause_repeats_below": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "pause_after": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "fast_share": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
    "fast_seconds": {StudyKind.PAIRWISE, StudyKind.SATISFACTION},
}
"""Which kinds of study a rule says anything about."""


def fits(rule: str, kind: StudyKind) -> bool:
    """Whether a rule says anything about a kind of study."""
    return kind in _OF_KIND.get(rule, set(StudyKind))


class PercentField(forms.FloatField):
    """A share, typed in percent."""

    def __init__(self, *, highest: int, **options: Any) -> None:
        super().__init__(min_value=0, max_value=highest, step_size=None, **options)
        self.widget.attrs["step"] = "any"

    def clean(self, value: Any) -> float | None:
        """The share, 0-1; None where nothing was typed."""
        number: float | None = super().clean(value)
        # Where the field is disabled this is the stored share itself: nobody typed it.
        return number if number is None or self.disabled else number / 100

    def prepare_value(self, value: Any) -> Any:
        """A stored share as percent; what was typed stays as it was typed."""
        return f"{value * 100:.6g}" if isinstance(value, float) else value


class RuleFields(forms.Form):
    """The rules of a study, new or not."""

    overlap = forms.IntegerField(
        label=_("Annotators for each item"),
        min_value=1,
        max_value=100,
        initial=1,
        help_text=_(
            "How many people answer the same item. Agreement is measured where there are 2 or more."
        ),
    )
    lease_minutes = forms.IntegerField(
        label=_("Item reservation (minutes)"),
        min_value=1,
        max_value=24 * 60,
        initial=15,
        help_text=_("Items stay reserved while open, and for this long after the page is closed."),
    )
    allow_tie = forms.BooleanField(
        label=_("Allow ties"),
        required=False,
        help_text=_("Off by default, as in the SenseJudge paper: every pair gets a winner."),
    )
    allow_strength = forms.BooleanField(
        label=_("Ask how much better (“slightly” / “clearly”)"),
        required=False,
        help_text=_("Each side then has two answers, each with its own key."),
    )
    allow_both_bad = forms.BooleanField(
        label=_("Offer “both bad”"),
        required=False,
        initial=True,
        help_text=_("An extra mark beside the answer; annotators still choose the better one."),
    )
    ask_hallucination = forms.BooleanField(
        label=_("Ask whether each reply makes up facts"), required=False
    )
    ask_questionnaire = forms.BooleanField(
        label=_("Ask four questions about the whole conversation"),
        required=False,
        help_text=_("They cover memory, level of detail, availability and variety."),
    )
    reveal_turns = forms.BooleanField(
        label=_("Reveal each turn after the previous one is rated"),
        required=False,
        initial=True,
        help_text=_("A reply is then judged without knowing what followed it."),
    )
    min_turns = forms.IntegerField(
        label=_("Minimum turns per conversation"),
        min_value=1,
        max_value=100,
        initial=3,
        help_text=_("Participants can always continue for longer."),
    )
    gold_rate = PercentField(
        label=_("Gold items (%)"),
        highest=50,
        initial=0.05,
        help_text=_(
            "Items with a known answer, mixed in with the others; annotators cannot tell them "
            "apart. Limited by the dataset's gold answers."
        ),
    )
    repeat_rate = PercentField(
        label=_("Hidden repeats (%)"),
        highest=50,
        initial=0.05,
        help_text=_(
            "Items shown again much later, pairs with their sides swapped; they measure an "
            "annotator's consistency."
        ),
    )
    pause_gold_below = PercentField(
        label=_("Pause annotators whose gold accuracy falls below (%)"),
        highest=100,
        required=False,
        help_text=_("They get no more items until you resume them. Leave empty to disable."),
    )
    pause_repeats_below = PercentField(
        label=_("Pause annotators whose repeat consistency falls below (%)"),
        highest=100,
        required=False,
        help_text=_("Leave empty to disable."),
    )
    pause_after = forms.IntegerField(
        label=_("Apply only after this many answers"),
        min_value=1,
        max_value=1000,
        initial=5,
        help_text=_(
            "Answers to gold items, to repeats, or with a time; a single slip should not count."
        ),
    )
    fast_share = PercentField(
        label=_("Needs attention if more answers are fast than (%)"),
        highest=100,
        required=False,
        initial=FAST_SHARE,
        help_text=_(
            "Such annotators are named beside those who break the rules above; nobody is paused. "
            "Leave empty to disable."
        ),
    )
    fast_seconds = forms.FloatField(
        label=_("An answer is fast below (seconds)"),
        min_value=0.1,
        max_value=3600,
        required=False,
        help_text=_("Leave empty for the usual: 3 s for a pair, 1 s for a reply."),
    )
    ask_profile = forms.BooleanField(
        label=_("Ask for the annotator profile first"),
        required=False,
        help_text=_("Age, occupation, interests and so on; saved with each conversation."),
    )

    contact = forms.CharField(
        label=_("Contact"),
        required=False,
        max_length=300,
        help_text=_("Shown to annotators: an email address or a name."),
    )
    completion_answers = forms.IntegerField(
        label=_("Answers for the completion code"),
        min_value=1,
        max_value=10_000,
        required=False,
        initial=1,
        help_text=_(
            "Paid participants see the completion code of their invitation only with at least this "
            "many answers, also when the study is closed."
        ),
    )

    def clean_completion_answers(self) -> int:
        """One where nothing was typed."""
        return self.cleaned_data["completion_answers"] or 1

    def named(self, *names: str) -> list[BoundField]:
        """These fields, as far as the form has them."""
        return [self[name] for name in names if name in self.fields]

    @property
    def pair_rules(self) -> list[BoundField]:
        """Rules of pairs alone."""
        return self.named("allow_tie", "allow_strength", "allow_both_bad")

    @property
    def turn_rules(self) -> list[BoundField]:
        """Rules of rated conversations, live ones too."""
        return self.named("ask_hallucination", "ask_questionnaire")

    @property
    def reading_rules(self) -> list[BoundField]:
        """Rules of conversations that others held."""
        return self.named("reveal_turns")

    @property
    def talk_rules(self) -> list[BoundField]:
        """Rules of live conversations alone."""
        return self.named("min_turns")

    @property
    def quality_rules(self) -> list[BoundField]:
        """Rules by which annotators are measured."""
        return self.named("gold_rate", "repeat_rate")

    @property
    def pause_rules(self) -> list[BoundField]:
        """Rules by which annotators are paused, or need attention."""
        return self.named(
            *("pause_gold_below", "pause_repeats_below"),
            *("fast_share", "fast_seconds", "pause_after"),
        )
