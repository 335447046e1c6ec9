"""Edited versions of prompts: what may be changed, and what must stay.

The words are free. What the code relies on is not, and is read off the released file, so that a
new prompt can be edited as soon as its file is there: every placeholder in its own tags and in the
same order (no value leaves its place, and calls share a prefix), the closing lines that say in
which form to answer, and the reasons that a reply may name (the parser reads both).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from annotation.core.refusals import Refused
from judging.core.prompts import (
    FOLDER,
    LANGUAGES,
    TAGS,
    Prompt,
    load_prompt,
    prompt_language,
    reason_words,
)

EDITED: Final = 0
"""The version of a prompt that was edited; those in files count from 1."""
MOST_CHARACTERS: Final = 20_000
_MARK: Final = re.compile(r"\{\{[^{}]*\}\}")
_TAG: Final = re.compile(r"</?(?:" + "|".join(TAGS) + r")>")
_STEP: Final = re.compile(r"(?:\d+\.|-) ")
_BRACKETS: Final = {"}": "{", "]": "["}


@dataclass(frozen=True, slots=True)
class EditFault:
    """One thing that an edit broke: a code of `error_texts`, and the texts that must stay."""

    code: str
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.code}: {', '.join(self.parts)}" if self.parts else self.code


@dataclass(frozen=True, slots=True)
class PlaceholderPosition:
    """Where a value enters: its placeholder, alone on a line or not, and the tags around it."""

    mark: str
    alone: bool
    opens: str = ""
    closes: str = ""


@dataclass(frozen=True, slots=True)
class PromptRequirement:
    """A text that must stay in a prompt, and whether it is where it belongs."""

    text: str
    met: bool


@cache
def prompt_names() -> tuple[str, ...]:
    """Every prompt that there is a file of, by name."""
    return tuple(sorted({path.name.split(".")[0] for path in FOLDER.glob("*.v*.*.txt")}))


def plain_text(told: str) -> str:
    """A text as it is stored: without what a browser makes of line ends, nor lines at the end."""
    return told.replace("\r\n", "\n").rstrip("\n")


def places(text: str) -> tuple[PlaceholderPosition, ...]:
    """Where values enter a prompt, in order."""
    lines = ["", *text.splitlines(), ""]
    found = []
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        if _MARK.fullmatch(line):
            opens = before if _TAG.fullmatch(before) and not before.startswith("</") else ""
            closes = after if _TAG.fullmatch(after) and after.startswith("</") else ""
            found.append(PlaceholderPosition(line, alone=True, opens=opens, closes=closes))
        else:
            found += [PlaceholderPosition(mark, alone=False) for mark in _MARK.findall(line)]
    return tuple(found)


def closing_lines(text: str) -> tuple[str, ...]:
    """The last lines of a prompt, which say in which form to answer.

    The JSON at the end with the line that announces it; else what follows the last step of the
    list that ends the prompt, which may be nothing; else the last line.
    """
    lines = text.splitlines()
    if lines[-1] in _BRACKETS:
        start = len(lines) - 1 - lines[::-1].index(_BRACKETS[lines[-1]])
        return tuple(lines[max(0, start - 1) :])
    last = len(lines) - 1 - lines[::-1].index("") if "" in lines else -1
    steps = [place for place in range(last + 1, len(lines)) if _STEP.match(lines[place])]
    return tuple(lines[steps[-1] + 1 :] if steps else lines[-1:])


def requirements(original: Prompt, text: str) -> tuple[PromptRequirement, ...]:
    """What an edit of a prompt must keep, each with whether this text does."""
    wanted, given = places(original.text), places(text)
    right = [place for place, same in zip(wanted, given, strict=False) if place == same]
    closing = closing_lines(original.text)
    kept = text.splitlines()[-len(closing) :] == list(closing)
    return (
        *(PromptRequirement(each.mark, each in right) for each in wanted),
        *(PromptRequirement(word, word in text) for word in _reasons(original)),
        *((PromptRequirement("\n".join(closing), kept),) if closing else ()),
    )


def _reasons(original: Prompt) -> tuple[str, ...]:
    """The reasons that a reply may name, where the prompt lists them all."""
    words = reason_words(original.language)
    return words if all(word in original.text for word in words) else ()


def edit_faults(name: str, language: str, text: str) -> tuple[EditFault, ...]:
    """What an edited prompt breaks; nothing where it can be used."""
    if name not in prompt_names() or language not in LANGUAGES:
        return (EditFault("prompt:unknown", (name, language)),)
    original = load_prompt(name, language=language)
    return tuple(_faults(original, text))


def _faults(original: Prompt, text: str) -> Iterable[EditFault]:
    if len(text) > MOST_CHARACTERS:
        yield EditFault("prompt:too-long")
    wanted = places(original.text)
    if places(text) != wanted:
        yield EditFault("prompt:places", tuple(each.mark for each in wanted))
    elif Counter(_TAG.findall(text)) != Counter(_TAG.findall(original.text)):
        yield EditFault("prompt:tags")
    if lost := tuple(word for word in _reasons(original) if word not in text):
        yield EditFault("prompt:reasons", lost)
    closing = closing_lines(original.text)
    if closing and text.splitlines()[-len(closing) :] != list(closing):
        yield EditFault("prompt:closing", closing)


@dataclass(frozen=True, slots=True)
class PromptBook:
    """Where prompts are looked up: the edited ones first, then the files."""

    edited: Mapping[tuple[str, str], Prompt] = field(default_factory=dict)

    def load(self, name: str, *, language: str) -> Prompt:
        """The prompt of a name in the language of a language code.

        Raises:
            Refused: there is none.
        """
        found = self.edited.get((name, prompt_language(language)))
        return found or load_prompt(name, language=language)

    def to_json(self) -> list[dict[str, Any]]:
        """The edited prompts whole, as kept in a run's configuration."""
        return [
            {"name": one.name, "language": one.language, "text": one.text, "digest": one.digest}
            for one in self.edited.values()
        ]


FILES: Final = PromptBook()
"""The prompts as they come with the product."""


def prompt_book(edits: Iterable[tuple[str, str, str]]) -> PromptBook:
    """A book with some edited prompts: name, language and text of each.

    Raises:
        Refused: one of them cannot be used.
    """
    found: dict[tuple[str, str], Prompt] = {}
    for name, language, told in edits:
        text = plain_text(told)
        if faults := edit_faults(name, language, text):
            said = "; ".join(map(str, faults))
            raise Refused("prompt:broken", f"{name} in {language} cannot be used: {said}")
        found[name, language] = Prompt(name, EDITED, language, text)
    return PromptBook(found)


def book_of(stored: Sequence[Mapping[str, Any]]) -> PromptBook:
    """What `PromptBook.to_json` gave; what was good enough to be asked is asked again as it was.

    Raises:
        Refused: a text is not the one that was stored.
    """
    found: dict[tuple[str, str], Prompt] = {}
    for one in stored:
        prompt = Prompt(one["name"], EDITED, one["language"], one["text"])
        if prompt.digest != one["digest"]:
            raise Refused(
                "prompt:broken", f"{prompt.label}: the stored text is not the one that was asked"
            )
        found[one["name"], one["language"]] = prompt
    return PromptBook(found)
