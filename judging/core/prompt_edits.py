"""A dataset's own versions of the pairwise prompts: what may be edited, and what must stay.

The words are free. What the code relies on is not: every placeholder in its own tags and in the
same order (so that no value leaves its place, and calls share a prefix), and the closing lines that
say in which form to answer (so that the parser reads the replies).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from judging.core.prompts import LANGUAGES, Prompt, PromptError, load_prompt, prompt_language

CLOSING_LINES: Final[Mapping[str, int]] = {
    "judge_pair": 2,
    "judge_pair_base": 2,
    "judge_pair_letter": 1,
    "judge_pair_letter_base": 1,
    "distil_preference": 0,
    "distil_aggregate": 0,
    "rubric_pair_generic": 3,
    "rubric_pair_generic_turns": 3,
    "rubric_pair_thought": 3,
    "rubric_pair_thought_turns": 3,
    "rubric_pair_reference": 3,
    "rubric_pair_reference_turns": 3,
    "grade_generic": 1,
    "grade_generic_turns": 1,
    "grade_reference": 1,
    "grade_reference_turns": 1,
}
"""The prompts that may be edited, with how many of their last lines dictate the form of a reply."""
EDITED: Final = 0
"""The version of a prompt that was edited; those in files count from 1."""
_PLACE: Final = re.compile(
    r"(?:^(<[a-z_]+>)\n)?^(\{\{[a-z_]+\}\})$(?:\n(</[a-z_]+>)$)?", re.MULTILINE
)
_MARK: Final = re.compile(r"\{\{[^{}]*\}\}")


def edit_faults(name: str, language: str, text: str) -> list[str]:
    """What an edited prompt breaks, a sentence each; none where it can be used."""
    if name not in CLOSING_LINES or language not in LANGUAGES:
        return [f"there is no prompt {name} in {language} to edit"]
    original = load_prompt(name, language=language)
    faults = []
    wanted = _PLACE.findall(original.text)
    if _PLACE.findall(text) != wanted or len(_MARK.findall(text)) != len(wanted):
        order = ", ".join(place for _, place, _ in wanted)
        faults.append(f"these must stand in this order, once, each alone in its tags: {order}")
    closing = original.text.splitlines()[-CLOSING_LINES[name] :] if CLOSING_LINES[name] else []
    if closing and text.splitlines()[-len(closing) :] != closing:
        said = " / ".join(closing)
        faults.append(f"the last lines say how to answer and must stay: {said}")
    return faults


@dataclass(frozen=True, slots=True)
class PromptBook:
    """Where prompts are looked up: the edited ones first, then the files."""

    edited: Mapping[tuple[str, str], Prompt] = field(default_factory=dict)

    def load(self, name: str, *, language: str) -> Prompt:
        """The prompt of a name in the language of a language code.

        Raises:
            PromptError: there is none.
        """
        found = self.edited.get((name, prompt_language(language)))
        return found or load_prompt(name, language=language)

    def to_json(self) -> list[dict[str, str]]:
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
        PromptError: one of them cannot be used.
    """
    found: dict[tuple[str, str], Prompt] = {}
    for name, language, told in edits:
        text = told.replace("\r\n", "\n").rstrip("\n")
        if faults := edit_faults(name, language, text):
            raise PromptError(f"{name} in {language}: {'; '.join(faults)}")
        found[name, language] = Prompt(name, EDITED, language, text)
    return PromptBook(found)


def book_of(stored: Sequence[Mapping[str, Any]]) -> PromptBook:
    """What `PromptBook.to_json` gave."""
    return prompt_book((one["name"], one["language"], one["text"]) for one in stored)
