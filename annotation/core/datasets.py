"""How much a dataset holds, what can be done with it, and fields that no column knows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

Facts = tuple[tuple[str, str], ...]
"""Fields of a file that have no column, as name and text."""


def facts_of(fields: Mapping[str, object]) -> Facts:
    """Fields as a reader likes them: texts as they are, lists of texts joined, the rest as JSON."""
    return tuple((name, _shown(value)) for name, value in fields.items())


def answers_of(answers: Iterable[Mapping[str, object]]) -> Facts:
    """The answers of a questionnaire as question and answer; of another shape: field by field."""
    facts: list[tuple[str, str]] = []
    for answer in answers:
        question = answer.get("query") or answer.get("summary")
        if question and "option" in answer:
            facts.append((_shown(question), _shown(answer["option"])))
        else:
            facts.extend(facts_of(answer))
    return tuple(facts)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class DatasetCounts:
    """How much there is: `labels` are pairwise verdicts, `ratings` satisfaction scores."""

    sessions: int = 0
    turns: int = 0
    responses: int = 0
    comparisons: int = 0
    labels: int = 0
    ratings: int = 0


def next_steps(counts: DatasetCounts, has: Collection[str]) -> list[str]:
    """What one can do with a dataset, the likeliest first, by the names that the page knows.

    Whatever there is, something can be done.

    Args:
        counts: how much there is.
        has: `gold` answers of comparisons, comparisons with both `texts` (which files of votes
            lack), `verdicts` of judges, several named `models`, turns that several of them
            `answered` and that not all are compared on, responses of the `original` line.
    """
    texts = "texts" in has
    verdicts = "verdicts" in has
    steps = {
        "learn": counts.labels > 0 and texts,
        "score": counts.ratings > 0,
        "gold": "gold" in has and verdicts,
        "people": counts.labels > 0 and verdicts,
        "judges": verdicts,
        "leaderboard": "models" in has and (counts.labels > 0 or verdicts),
        "judge": texts,
        "label": texts,
        "compare": "answered" in has,
        "rate": "original" in has and not counts.comparisons,
        "generate": counts.turns > 0 and not texts and not counts.ratings,
        "answers": counts.turns > 0 and not texts and not counts.ratings,
        "talk": not counts.turns,
    }
    return [name for name, possible in steps.items() if possible]
