"""Reading a memory's texts: from a judge's reply, from a person's edit, from a stored row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from annotation.core.refusals import Refused
from judging.core.calibration import LEVELS
from judging.core.memory import (
    Memory,
    MemoryTexts,
    Observation,
    ScenarioScores,
    ScoreStatistics,
    Statement,
)

MAX_TEXT: Final = 2_000
MAX_ITEMS: Final = 30


@dataclass(frozen=True, slots=True)
class ParsedTexts:
    """Texts that keep only citations of the history, and how many others were dropped."""

    texts: MemoryTexts
    unknown_citations: int


def parse_texts(raw: Mapping[str, object], *, turn_ids: Iterable[str]) -> ParsedTexts:
    """Validate a judge's texts against the history they were written from.

    Args:
        raw: the keys of `TEXT_FIELDS`; further keys are ignored, so a mean or a distribution that
            a judge wrote never reaches a memory.
        turn_ids: ids of the history; a citation of anything else is dropped and counted.

    Raises:
        Refused: a field is absent or of the wrong form, a text is too long, or `scoring_style` is
            empty.
    """
    reader = _Reader(frozenset(turn_ids))
    texts = reader.texts(raw)
    if not texts.scoring_style.text:
        raise Refused("memory:unparseable", "scoring_style is empty")
    return ParsedTexts(texts, reader.unknown)


def memory_from_content(stored: Mapping[str, object]) -> Memory:
    """A memory from what `memory.content` gave.

    Raises:
        Refused: the stored data does not have that form.
    """
    stats, texts = _field(stored, "statistics"), _field(stored, "texts")
    if not isinstance(stats, Mapping) or not isinstance(texts, Mapping):
        raise Refused("memory:unparseable", "statistics or texts is not an object")
    reader = _Reader(None)
    return Memory(_statistics(stats), reader.texts(texts))


def _statistics(stored: Mapping[str, object]) -> ScoreStatistics:
    sessions = _field(stored, "sessions")
    if not isinstance(sessions, int):
        raise Refused("memory:unparseable", "sessions is not a number")
    scenarios: list[ScenarioScores] = []
    for item in _items(stored, "scenarios"):
        if not isinstance(item, Mapping):
            raise Refused("memory:unparseable", "an item of scenarios is not an object")
        scenarios.append(ScenarioScores(_text(_field(item, "scenario"), "scenario"), _counts(item)))
    return ScoreStatistics(_counts(stored), sessions, tuple(scenarios))


def _counts(stored: Mapping[str, object]) -> tuple[int, ...]:
    counts = _field(stored, "counts")
    if not isinstance(counts, list) or len(counts) != LEVELS:
        raise Refused("memory:unparseable", f"counts is not a list of {LEVELS} numbers")
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise Refused("memory:unparseable", f"counts is not a list of {LEVELS} numbers")
    return tuple(counts)


class _Reader:
    """Reads texts field by field and counts citations of turns outside the history."""

    def __init__(self, known: frozenset[str] | None) -> None:
        """Citations outside `known` are dropped; None keeps them all."""
        self.known = known
        self.unknown = 0

    def texts(self, raw: Mapping[str, object]) -> MemoryTexts:
        return MemoryTexts(
            scoring_style=self.statement(raw, "scoring_style"),
            four_vs_five_distinction=self.statement(raw, "four_vs_five_distinction"),
            three_vs_four_distinction=self.statement(raw, "three_vs_four_distinction"),
            user_specific_requirements=self.requirements(raw),
            preferred_response_format=self.statement(raw, "preferred_response_format"),
            task_specific_observations=self.observations(raw),
        )

    def statement(self, raw: Mapping[str, object], name: str) -> Statement:
        return self._statement(_field(raw, name), name)

    def requirements(self, raw: Mapping[str, object]) -> tuple[Statement, ...]:
        name = "user_specific_requirements"
        items = [self._statement(item, name) for item in _items(raw, name)]
        return tuple(item for item in items if item.text)

    def observations(self, raw: Mapping[str, object]) -> tuple[Observation, ...]:
        name = "task_specific_observations"
        found: list[Observation] = []
        for item in _items(raw, name):
            if not isinstance(item, Mapping):
                raise Refused("memory:unparseable", f"an item of {name} is not an object")
            task = _text(_field(item, "task_name"), "task_name")
            text = _text(_field(item, "observation"), "observation")
            if text:
                found.append(Observation(task, text, self._citations(item, name)))
        return tuple(found)

    def _statement(self, value: object, name: str) -> Statement:
        if isinstance(value, Mapping):
            return Statement(_text(_field(value, "text"), name), self._citations(value, name))
        return Statement(_text(value, name))

    def _citations(self, value: Mapping[str, object], name: str) -> tuple[str, ...]:
        ids = value.get("turn_ids", [])
        if not isinstance(ids, list) or not all(isinstance(item, str | int) for item in ids):
            raise Refused("memory:unparseable", f"turn_ids of {name} is not a list of ids")
        cited = list(dict.fromkeys(str(item) for item in ids))
        if self.known is None:
            return tuple(cited)
        kept = tuple(item for item in cited if item in self.known)
        self.unknown += len(cited) - len(kept)
        return kept


def _field(raw: Mapping[str, object], name: str) -> object:
    if name not in raw:
        raise Refused("memory:unparseable", f"{name} is missing")
    return raw[name]


def _items(raw: Mapping[str, object], name: str) -> list[object]:
    value = _field(raw, name)
    if not isinstance(value, list):
        raise Refused("memory:unparseable", f"{name} is not a list")
    if len(value) > MAX_ITEMS:
        raise Refused("memory:unparseable", f"{name} has more than {MAX_ITEMS} items")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise Refused("memory:unparseable", f"{name} is not a text")
    text = " ".join(value.split())
    if len(text) > MAX_TEXT:
        raise Refused("memory:unparseable", f"{name} is longer than {MAX_TEXT} characters")
    return text
