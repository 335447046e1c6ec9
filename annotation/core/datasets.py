"""Datasets, sessions and comparisons as their pages show them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from annotation.core.choices import Verdict

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


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset as lists show it."""

    id: int
    slug: str
    name: str
    description: str
    source: str
    licence: str
    simulated: bool
    counts: DatasetCounts


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """A scenario with its counts."""

    id: int
    name: str
    counts: DatasetCounts


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as lists show it, with how it opens."""

    id: int
    key: str
    scenario: str
    opening: str
    counts: DatasetCounts


@dataclass(frozen=True, slots=True)
class AnnotatorCounts:
    """How much somebody has labelled in a dataset; imported raters cannot sign in."""

    name: str
    imported: bool
    labels: int
    ratings: int


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A verdict in the comparison's own coordinates; `shown_order` is "" where nobody knows it.

    Of an imported label `given_at` is the time of the import where the file named none.
    """

    annotator: str
    verdict: Verdict
    strength: int | None
    both_bad: bool
    shown_order: str
    study: str
    repeat: int
    comment: str
    given_at: datetime
    imported: bool


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A satisfaction score of 1-5, with the words of its reason and hallucination.

    `repeat` is 0 for a first answer, n for the n-th hidden repeat.
    """

    annotator: str
    score: int
    reason: str
    hallucination: str
    study: str
    comment: str
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class GoldRow:
    """An answer held to be right."""

    answer: str
    source: str
    rationale: str


@dataclass(frozen=True, slots=True)
class ResponseView:
    """A response with its ratings; a text of None is not available."""

    id: int
    model: str
    variant: str
    text: str | None
    original: bool
    continues: str
    ratings: tuple[RatingRow, ...] = ()
    gold: tuple[GoldRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A comparison in its session: the models' names, and how the verdicts fell."""

    id: int
    key: str
    model_a: str
    model_b: str
    verdicts: Mapping[Verdict, int]


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn, counted from 1, with what hangs on it."""

    number: int
    user_message: str | None
    responses: tuple[ResponseView, ...]
    comparisons: tuple[ComparisonRow, ...]


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """Somebody's answers after a session."""

    annotator: str
    answers: Facts


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One session with everything about it; `number` is its place in the file, from 1."""

    id: int
    number: int
    key: str
    dataset: str
    dataset_name: str
    scenario: str
    user: str
    language: str
    system_prompt: str
    task_context: str
    profile: Facts
    extra: Facts
    turns: tuple[TurnView, ...]
    ratings: tuple[RatingRow, ...]
    gold: tuple[GoldRow, ...]
    questionnaires: tuple[Questionnaire, ...]


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message before the responses."""

    by_user: bool
    text: str | None


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """One comparison with the dialogue before it and its labels."""

    id: int
    key: str
    session_id: int
    session_number: int
    dataset: str
    dataset_name: str
    scenario: str
    system_prompt: str
    task_context: str
    turn: int
    dialogue: tuple[MessageView, ...]
    a: ResponseView
    b: ResponseView
    labels: tuple[LabelRow, ...]
    gold: tuple[GoldRow, ...]
    extra: Facts


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
