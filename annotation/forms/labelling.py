"""What annotators send: an answer to a pair, ratings of a session, why they skip."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.assignment import SkipReason
from annotation.core.choices import Hallucination, Reason, is_satisfied
from annotation.core.labelling import (
    Answer,
    Effort,
    Flag,
    InputDevice,
    OwnAnswer,
    RatedTurn,
    Rating,
    RatingTask,
    Rules,
)
from annotation.forms.participants import QuestionnaireForm
from annotation.models.wording import choices_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

COMMENT_CHARS: Final = 2000

ANCHORS: Final = [
    (1, _("Very dissatisfied"), _("not helpful")),
    (2, _("Dissatisfied"), _("not enough to act on")),
    (3, _("Neutral"), _("gives ideas, but not enough detail")),
    (4, _("Satisfied"), _("helpful, could still be better")),
    (5, _("Very satisfied"), _("no obviously better reply")),
]
"""The anchors of the 1-5 scale (seed 003, appendix on annotation instructions)."""

REASONS: Final = [
    (Reason.INSUFFICIENT_DETAIL.value, _("Not enough detail"), "d"),
    (Reason.INSUFFICIENT_DIVERSITY.value, _("Not enough variety"), "v"),
    (Reason.REQUIREMENT_UNMET.value, _("Does not meet the request"), "r"),
    (Reason.UNUSABLE.value, _("Unusable in practice"), "p"),
    (Reason.OTHER.value, _("Other"), "o"),
]
"""The reasons that may be given, each with its key (seed 003, same place)."""

HALLUCINATIONS: Final = [
    (Hallucination.YES.value, _("Yes"), "y"),
    (Hallucination.NO.value, _("No"), "n"),
    (Hallucination.UNSURE.value, _("Not sure"), "m"),
]

SKIP_REASONS: Final = choices_of(SkipReason)

FLAGS: Final = [("", _("No problem")), *choices_of(Flag)]
"""Why somebody should look at an answered pair, or a rated turn, again."""

_ANSWERS: Final = {
    "FIRST_MUCH": (Answer.FIRST, 2),
    "FIRST_BETTER": (Answer.FIRST, 1),
    "FIRST": (Answer.FIRST, None),
    "TIE": (Answer.TIE, None),
    "SECOND": (Answer.SECOND, None),
    "SECOND_BETTER": (Answer.SECOND, 1),
    "SECOND_MUCH": (Answer.SECOND, 2),
}


_CAPS: Final = {"ArrowLeft": "←", "ArrowRight": "→"}

_LONGEST_SECONDS: Final = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """One answer a pair can get: what is sent, what is read, the keys, whether it was given."""

    value: str
    label: StrOrPromise
    keys: str
    pressed: bool

    @property
    def caps(self) -> list[str]:
        """The keys as the button shows them."""
        return [_CAPS.get(key, key) for key in self.keys.split()]


def answer_buttons(rules: Rules, given: OwnAnswer | None) -> list[AnswerButton]:
    """The answers a study allows, from the first response to the second.

    The keys mean the same in every study: 1 and 2 the first, 3 a tie, 4 and 5 the second. Where
    strengths are not asked, the arrows choose too.
    """
    words: list[tuple[str, StrOrPromise, str, bool]] = [
        ("FIRST_MUCH", _("First, clearly"), "1", rules.allow_strength),
        ("FIRST_BETTER", _("First"), "2", rules.allow_strength),
        ("FIRST", _("First"), "ArrowLeft 1 2", not rules.allow_strength),
        ("TIE", _("Tie"), "3", rules.allow_tie),
        ("SECOND", _("Second"), "ArrowRight 4 5", not rules.allow_strength),
        ("SECOND_BETTER", _("Second"), "4", rules.allow_strength),
        ("SECOND_MUCH", _("Second, clearly"), "5", rules.allow_strength),
    ]
    said = (given.answer, given.strength) if given else None
    return [
        AnswerButton(value, label, keys, pressed=_ANSWERS[value] == said)
        for value, label, keys, allowed in words
        if allowed
    ]


class EffortForm(forms.Form):
    """What the page measured; it never costs an answer: what cannot be is as if not measured."""

    active_seconds = forms.FloatField(required=False, min_value=0, max_value=_LONGEST_SECONDS)
    idle_seconds = forms.FloatField(required=False, min_value=0, max_value=_LONGEST_SECONDS)
    input_device = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in InputDevice]
    )

    def effort(self) -> Effort:
        """What holds of it."""
        self.full_clean()
        device = self.cleaned_data.get("input_device")
        return Effort(
            self.cleaned_data.get("active_seconds"),
            self.cleaned_data.get("idle_seconds"),
            InputDevice(device) if device else None,
        )


class CommentField(forms.CharField):
    """Free text, of which a line break counts as one character, as it does in the page."""

    def to_python(self, value: Any) -> str:
        """The text with the line breaks that it was typed with."""
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n")


class SubmissionForm(forms.Form):
    """The page's id of a submission."""

    submission = forms.UUIDField()


class AnswerForm(SubmissionForm):
    """Which response is better, as the buttons of a pair say it."""

    answer = forms.ChoiceField(choices=[(value, value) for value in _ANSWERS])
    both_bad = forms.BooleanField(required=False)
    comment = CommentField(required=False, max_length=COMMENT_CHARS)
    flag = forms.ChoiceField(required=False, choices=FLAGS)

    def given(self) -> OwnAnswer:
        """What was answered, as shown."""
        answer, strength = _ANSWERS[self.cleaned_data["answer"]]
        flag = self.cleaned_data["flag"]
        return OwnAnswer(
            answer,
            strength,
            self.cleaned_data["both_bad"],
            self.cleaned_data["comment"],
            Flag(flag) if flag else None,
        )


class SkipForm(SubmissionForm):
    """Why an item is given back."""

    reason = forms.ChoiceField(choices=SKIP_REASONS)


class UndoSkipForm(forms.Form):
    """Which skip is undone, by its moment."""

    skipped_at = forms.DateTimeField()


class TurnForm(forms.Form):
    """The rating of one turn; the reason is asked for exactly at 3 and below."""

    score = forms.TypedChoiceField(
        coerce=int,
        choices=[(score, short) for score, short, _long in ANCHORS],
        error_messages={"required": _("Choose a score.")},
    )
    reason = forms.ChoiceField(
        required=False, choices=[(value, label) for value, label, _key in REASONS]
    )
    hallucination = forms.ChoiceField(
        choices=[(value, label) for value, label, _key in HALLUCINATIONS],
        error_messages={"required": _("Say whether the reply makes up facts.")},
    )
    flag = forms.ChoiceField(required=False, choices=FLAGS)
    comment = CommentField(required=False, max_length=COMMENT_CHARS)

    def __init__(self, turn: RatedTurn, data: QueryDict | None, *, ask_hallucination: bool) -> None:
        given = turn.given
        initial = asdict(given) if given else {}
        super().__init__(data, prefix=f"turn-{turn.number}", initial=initial)
        self.turn = turn
        self.measured = EffortForm(data, prefix=self.prefix)
        if not ask_hallucination:
            del self.fields["hallucination"]

    def clean(self) -> dict[str, Any]:
        """Ask for a reason below 4; above, one that was chosen before is dropped."""
        cleaned = self.cleaned_data
        score = cleaned.get("score")
        if score is not None and is_satisfied(score):
            cleaned["reason"] = ""
        elif score is not None and not cleaned.get("reason") and "reason" not in self.errors:
            self.add_error("reason", _("Choose the main reason."))
        return cleaned

    def rating(self) -> Rating:
        """The rating as given."""
        reason = self.cleaned_data["reason"]
        hallucination = self.cleaned_data.get("hallucination")
        flag = self.cleaned_data["flag"]
        return Rating(
            score=self.cleaned_data["score"],
            reason=Reason(reason) if reason else None,
            hallucination=Hallucination(hallucination) if hallucination else None,
            flag=Flag(flag) if flag else None,
            comment=self.cleaned_data["comment"],
        )


class SessionForm:
    """The ratings of all turns of a session, valid only together."""

    def __init__(self, task: RatingTask, data: QueryDict | None = None) -> None:
        self._submission = SubmissionForm(data)
        self.turns = {
            turn.number: TurnForm(turn, data, ask_hallucination=task.rules.ask_hallucination)
            for turn in task.ratable
        }
        asked = task.rules.ask_questionnaire
        self.questionnaire = QuestionnaireForm(data, task.questionnaire) if asked else None

    def is_valid(self) -> bool:
        """Whether every turn is rated by the rules."""
        asked: list[forms.Form] = [self._submission, *self.turns.values()]
        if self.questionnaire is not None:
            asked.append(self.questionnaire)
        valid = [form.is_valid() for form in asked]  # all of them: each says what it wants
        return all(valid)

    def faulty(self) -> list[int]:
        """Numbers of the turns that want something."""
        return [number for number, form in self.turns.items() if form.errors]

    @property
    def submission(self) -> UUID:
        """The page's id of this submission."""
        submission: UUID = self._submission.cleaned_data["submission"]
        return submission

    def answers(self) -> dict[str, str] | None:
        """What was said about the whole session; None where nothing is asked."""
        return None if self.questionnaire is None else self.questionnaire.answers()

    def efforts(self) -> dict[int, Effort]:
        """How each was given, by number of the turn."""
        return {number: form.measured.effort() for number, form in self.turns.items()}

    def ratings(self) -> dict[int, Rating]:
        """What was given, by number of the turn."""
        return {number: form.rating() for number, form in self.turns.items()}
