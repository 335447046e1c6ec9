"""What stands between joining a study and its first item, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """One page before labelling; the names are those of its address and template."""

    CONSENT = "consent"
    PROFILE = "profile"
    GUIDELINES = "guidelines"
    QUIZ = "quiz"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a study asks before it gives out items.

    Attributes:
        consent: Whether annotators agree to something first.
        profile: Whether they fill in their profile.
        guidelines: The version of the guidelines in force; None where there are none to read.
        quiz: Whether they pass a quiz.
    """

    consent: bool
    profile: bool
    guidelines: int | None
    quiz: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What an annotator did of it; `guidelines` is the version they read, None for none."""

    consent: bool
    profile: bool
    guidelines: int | None
    quiz: bool


def steps_of(asked: Asked) -> tuple[Step, ...]:
    """The steps that a study asks for, in their order."""
    wanted = {
        Step.CONSENT: asked.consent,
        Step.PROFILE: asked.profile,
        Step.GUIDELINES: asked.guidelines is not None,
        Step.QUIZ: asked.quiz,
    }
    return tuple(step for step in Step if wanted[step])


def finished(asked: Asked, done: Done) -> tuple[Step, ...]:
    """The steps that a study asks for and that need not be done (again), in their order."""
    is_done = {
        Step.CONSENT: done.consent,
        Step.PROFILE: done.profile,
        Step.GUIDELINES: done.guidelines == asked.guidelines,
        Step.QUIZ: done.quiz,
    }
    return tuple(step for step in steps_of(asked) if is_done[step])


def first_open(asked: Asked, done: Done) -> Step | None:
    """The step that comes next; None where nothing is left to do before labelling."""
    over = finished(asked, done)
    return next((step for step in steps_of(asked) if step not in over), None)
