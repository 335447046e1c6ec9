"""The questions asked once a session is rated (seed 003, appendix on annotation instructions).

They and their answers are those of RecLLMSim, whose `summary` names each question; answers are
stored as the files of that data set hold them, in English whatever the language of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a whole session: its name in files, its words, its answers in order."""

    summary: str
    query: str
    options: tuple[str, ...]


QUESTIONS: Final = (
    Question(
        "Memorization",
        "Did the assistant forget what was said earlier in the conversation?",
        ("No", "Yes"),
    ),
    Question(
        "Detail",
        "How detailed were the single suggestions, all in all?",
        ("Detailed", "Fair", "Brief"),
    ),
    Question(
        "Availability",
        "How useful were the replies for such a task in real life?",
        ("Very useful", "Some help", "Not usable"),
    ),
    Question(
        "Diversity",
        "How varied was what the assistant offered in the whole conversation?",
        ("Varied", "Fair", "Monotonous"),
    ),
)


def is_complete(answers: Mapping[str, str]) -> bool:
    """Whether every question, and nothing else, has one of its answers."""
    return set(answers) == {question.summary for question in QUESTIONS} and all(
        answers[question.summary] in question.options for question in QUESTIONS
    )


def to_records(answers: Mapping[str, str]) -> list[dict[str, str]]:
    """Answers by question as they are stored."""
    return [
        {"query": each.query, "summary": each.summary, "option": answers[each.summary]}
        for each in QUESTIONS
    ]


def from_records(records: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Stored answers by question; what is none of these questions' answers is left out."""
    options = {question.summary: question.options for question in QUESTIONS}
    told = [(str(each.get("summary")), str(each.get("option"))) for each in records]
    return {summary: option for summary, option in told if option in options.get(summary, ())}
