"""The ways of asking an LLM how satisfied a user is: one table, one line a variant (protocols A2).

A variant is a prompt file a level, what it is shown beside the conversation, and the form of its
reply. Everything else (rows, calls, repair, calibration, pages) knows of it only what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from annotation.core.refusals import gettext_noop
from judging.core.structured import PLAIN, SATISFIED, ReplyForm, ScoreFlag


class Level(StrEnum):
    """What is scored: one response, or a conversation as a whole (seed 003, appendix F)."""

    TURN = "TURN"
    SESSION = "SESSION"


class Need(StrEnum):
    """What a variant is shown beside the conversation and the task.

    MEMORY comes with the profile. NEAREST are the user's own turns, EXAMPLES and RUBRICS come from
    training users, never from those who are scored.
    """

    NOTHING = "NOTHING"
    MEMORY = "MEMORY"
    NEAREST = "NEAREST"
    EXAMPLES = "EXAMPLES"
    RUBRICS = "RUBRICS"

    @property
    def personal(self) -> bool:
        """Whether it shows something of the user; without it the no-memory prompt is asked."""
        return self in (Need.MEMORY, Need.NEAREST)

    @property
    def from_training(self) -> bool:
        """Whether it is taken from training users."""
        return self in (Need.EXAMPLES, Need.RUBRICS)


class Variant(StrEnum):
    """How a judge is asked about satisfaction; stored with a run."""

    CHECKLIST = "CHECKLIST"
    BOUNDARY = "BOUNDARY"
    TWO_STAGE = "TWO_STAGE"
    TASK_GUARDED = "TASK_GUARDED"
    NO_MEMORY = "NO_MEMORY"
    ZERO_SHOT = "ZERO_SHOT"
    FEW_SHOT = "FEW_SHOT"
    RETRIEVAL = "RETRIEVAL"
    TASK_RUBRIC = "TASK_RUBRIC"
    PROMETHEUS = "PROMETHEUS"
    SPUR = "SPUR"

    @property
    def word(self) -> str:
        """As written after a judge's name in a command: two-stage."""
        return self.value.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class VariantSpec:
    """One variant: its prompt at each level it has, what that is shown, how the reply is read."""

    prompts: Mapping[Level, str]
    need: Need = Need.NOTHING
    form: ReplyForm = field(default=PLAIN)


_TWO_BOUNDARIES: Final = ReplyForm(flags=(ScoreFlag("reaches_4", 4), ScoreFlag("reaches_5", 5)))
_SIDE_FIRST: Final = ReplyForm(flags=(ScoreFlag(SATISFIED, 4),))
_GUARDED: Final = ReplyForm(flags=(ScoreFlag("task_met", 4, only_caps=True),))
_FEEDBACK_FIRST: Final = ReplyForm(analysis_first=True)
_SIDE_ALONE: Final = ReplyForm(flags=(ScoreFlag(SATISFIED, 4),), binary=True)


def _turn(name: str) -> Mapping[Level, str]:
    return {Level.TURN: f"score_turn_{name}"}


SPECS: Final[Mapping[Variant, VariantSpec]] = {
    Variant.CHECKLIST: VariantSpec(
        {Level.TURN: "score_turn", Level.SESSION: "score_session"}, Need.MEMORY
    ),
    Variant.BOUNDARY: VariantSpec(_turn("boundary"), Need.MEMORY, _TWO_BOUNDARIES),
    Variant.TWO_STAGE: VariantSpec(_turn("two_stage"), Need.MEMORY, _SIDE_FIRST),
    Variant.TASK_GUARDED: VariantSpec(
        {Level.SESSION: "score_session_task_guarded"}, Need.MEMORY, _GUARDED
    ),
    Variant.NO_MEMORY: VariantSpec(
        {Level.TURN: "score_turn_no_memory", Level.SESSION: "score_session_no_memory"}
    ),
    Variant.ZERO_SHOT: VariantSpec(_turn("zero_shot")),
    Variant.FEW_SHOT: VariantSpec(_turn("few_shot"), Need.EXAMPLES),
    Variant.RETRIEVAL: VariantSpec(_turn("retrieval"), Need.NEAREST),
    Variant.TASK_RUBRIC: VariantSpec(_turn("task_rubric")),
    Variant.PROMETHEUS: VariantSpec(_turn("prometheus"), form=_FEEDBACK_FIRST),
    Variant.SPUR: VariantSpec(_turn("spur"), Need.RUBRICS, _SIDE_ALONE),
}


VARIANT_TEXTS: Final[Mapping[Variant, str]] = {
    Variant.CHECKLIST: gettext_noop("Checklist with the user's memory, as in the paper"),
    Variant.BOUNDARY: gettext_noop("Boundaries 3/4 and 4/5, with the user's memory"),
    Variant.TWO_STAGE: gettext_noop("Satisfied or not, then the score, with the user's memory"),
    Variant.TASK_GUARDED: gettext_noop("Task completion, then the user's memory"),
    Variant.NO_MEMORY: gettext_noop("Checklist without a memory"),
    Variant.ZERO_SHOT: gettext_noop("Plain question (zero-shot)"),
    Variant.FEW_SHOT: gettext_noop("Ten examples from training users (few-shot)"),
    Variant.RETRIEVAL: gettext_noop("The user's own most similar turns (retrieval)"),
    Variant.TASK_RUBRIC: gettext_noop("Rubric for the task type"),
    Variant.PROMETHEUS: gettext_noop("Feedback by a rubric, then the score (Prometheus-style)"),
    Variant.SPUR: gettext_noop("Rubrics induced from training users (SPUR-style)"),
}
LEVEL_TEXTS: Final[Mapping[Level, str]] = {
    Level.TURN: gettext_noop("Each rated response"),
    Level.SESSION: gettext_noop("Each rated conversation as a whole"),
}
"""Marked for the translators; translated at the edge."""


def variant_of(word: str) -> Variant:
    """The variant that an argument names.

    Raises:
        ValueError: there is none of that name.
    """
    return Variant(word.upper().replace("-", "_"))


def variants_at(level: Level) -> tuple[Variant, ...]:
    """The variants that can be asked at a level, in the order of the table."""
    return tuple(variant for variant, spec in SPECS.items() if level in spec.prompts)
