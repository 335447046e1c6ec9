"""Reading a memory's texts: from a judge's reply, from a person's edit, from a stored row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.refusals import Refused
from judging.core.calibration import LEVELS
from judging.core.memory import (
    TEXT_FIELDS,
    Memory,
    MemoryTexts,
    Observation,
    ScenarioScores,
    ScoreStatistics,
    Statement,
)
from judging.core.structured import last_object

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
    if type(sessions) is not int:
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
    if not all(type(count) is int and count >= 0 for count in counts):
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


def read_memory(reply: str, *, aliases: Mapping[str, str]) -> dict[str, object]:
    """The texts of a memory, each citation turned from its alias into the turn's id.

    Args:
        reply: what the model said.
        aliases: alias by turn id, as the prompt named the turns. What cites anything else is
            kept as a citation that no history has, so that whoever stores the texts counts it.

    Raises:
        Refused: no JSON object, or not in the form of `core.memory.TEXT_FIELDS`.
    """
    found = last_object(reply, key="scoring_style")
    if found is None:
        raise Refused("memory:unparseable", "the reply holds no memory")
    ids = {alias: turn_id for turn_id, alias in aliases.items()}
    texts: dict[str, object] = {
        name: _with_ids(found[name], ids) for name in TEXT_FIELDS if name in found
    }
    parse_texts(texts, turn_ids=aliases)
    return texts


def _with_ids(value: object, ids: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_with_ids(item, ids) for item in value]
    if isinstance(value, dict) and isinstance(value.get("turn_ids"), list):
        return value | {"turn_ids": [_turn_id(item, ids) for item in value["turn_ids"]]}
    return value


def _turn_id(cited: object, ids: Mapping[str, str]) -> object:
    if not isinstance(cited, str):
        return cited if not isinstance(cited, int) else f"unknown {cited}"
    return ids.get(cited.strip(" []()").upper(), f"unknown {cited}")


@dataclass(frozen=True, slots=True)
class PlainTexts:
    """The texts of a memory as somebody types them: one requirement or observation a line."""

    scoring_style: str
    four_vs_five_distinction: str
    three_vs_four_distinction: str
    user_specific_requirements: Sequence[str]
    preferred_response_format: str
    task_specific_observations: Mapping[str, Sequence[str]]


def plain(texts: MemoryTexts) -> PlainTexts:
    """What an editor starts from; observations by scenario in order of first mention."""
    observations: dict[str, list[str]] = {}
    for item in texts.task_specific_observations:
        observations.setdefault(item.task_name, []).append(item.observation)
    return PlainTexts(
        scoring_style=texts.scoring_style.text,
        four_vs_five_distinction=texts.four_vs_five_distinction.text,
        three_vs_four_distinction=texts.three_vs_four_distinction.text,
        user_specific_requirements=[item.text for item in texts.user_specific_requirements],
        preferred_response_format=texts.preferred_response_format.text,
        task_specific_observations=observations,
    )


def revise(texts: MemoryTexts, edit: PlainTexts) -> MemoryTexts:
    """The texts after an edit.

    Raises:
        Refused: a text is too long, there are too many, or the scoring style is empty.
    """
    cited = _citations(texts)

    def statement(text: str) -> dict[str, object]:
        return {"text": text, "turn_ids": cited.get(("", _folded(text)), [])}

    return parse_texts(
        {
            "scoring_style": statement(edit.scoring_style),
            "four_vs_five_distinction": statement(edit.four_vs_five_distinction),
            "three_vs_four_distinction": statement(edit.three_vs_four_distinction),
            "user_specific_requirements": [
                statement(text) for text in edit.user_specific_requirements
            ],
            "preferred_response_format": statement(edit.preferred_response_format),
            "task_specific_observations": [
                {
                    "task_name": task,
                    "observation": text,
                    "turn_ids": cited.get((task, _folded(text)), []),
                }
                for task, lines in edit.task_specific_observations.items()
                for text in lines
            ],
        },
        turn_ids=texts.cited(),
    ).texts


def _citations(texts: MemoryTexts) -> dict[tuple[str, str], list[str]]:
    """Scenario ("" for none) and text to the turns that it cites."""
    statements = (
        texts.scoring_style,
        texts.four_vs_five_distinction,
        texts.three_vs_four_distinction,
        *texts.user_specific_requirements,
        texts.preferred_response_format,
    )
    found = {("", item.text): list(item.turn_ids) for item in statements}
    for item in texts.task_specific_observations:
        found[item.task_name, item.observation] = list(item.turn_ids)
    return found


def _folded(text: str) -> str:
    return " ".join(text.split())
