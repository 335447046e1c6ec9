"""Studies that ask for something before their first item, and people who did it."""

from __future__ import annotations

from typing import Any

from annotation.models import AnnotatorProfile, Participation, Study, User
from tests.annotation.labelling import NOW, make_pair_study
from tests.factory import make_user

CONSENT = "You may **leave** at any time."
GUIDELINES = "Read *both* responses."
QUIZ = [
    {
        "question": "When is a tie right?",
        "choices": ["Always", "Where I have no preference"],
        "answer": 1,
        "explanation": "A tie is no way out.",
    },
    {
        "question": "Is longer better?",
        "choices": ["No", "Yes", "On Sundays"],
        "answer": 0,
        "explanation": "Length is no merit.",
    },
]
EVERYTHING: dict[str, Any] = {
    "consent": CONSENT,
    "ask_profile": True,
    "guidelines": GUIDELINES,
    "quiz": QUIZ,
}
PROFILE = {
    "gender": "Female",
    "age": "31",
    "background": "Natural sciences",
    "occupation": "-",
    "personality": ["Calm", "Humorous"],
    "daily_interests": ["Music"],
    "travel_habits": ["-"],
    "dining_preferences": ["Street food"],
    "spending_habits": ["Thrift"],
    "other_aspects": ["-"],
}
"""What the profile form sends."""


def make_asking_study(annotators: list[User], *, items: int = 2, **asked: Any) -> Study:
    """A study of pairs that asks for everything, or for those things alone that are said."""
    chosen = asked if set(asked) & set(EVERYTHING) else {**EVERYTHING, **asked}
    return make_pair_study(annotators, items=items, **chosen)


def part_of(study: Study, annotator: User) -> Participation:
    return Participation.objects.get(study=study, annotator=annotator)


def do(study: Study, annotator: User, *steps: str) -> None:
    """Have somebody do steps, as if they had gone through their pages."""
    changes: dict[str, dict[str, Any]] = {
        "consent": {"consented_at": NOW},
        "guidelines": {"guidelines_read": study.guidelines_version},
        "quiz": {"quiz_passed_at": NOW, "quiz_attempts": 1},
    }
    for step in steps:
        if step == "profile":
            AnnotatorProfile.objects.create(user=annotator, gender="Female")
        else:
            Participation.objects.filter(study=study, annotator=annotator).update(**changes[step])


def make_manager() -> User:
    return make_user(role="MANAGER")
