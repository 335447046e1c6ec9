"""Prompts are text files: judging/prompts/<name>.v<version>.<language>.txt, stored with a hash.

A value (what users and models wrote) enters a prompt in one pass, so nothing in it is taken for a
placeholder, and with the prompts' own delimiters neutralised, so nothing in it can end its place,
open another one or change who speaks. What it says stays as it is: a value may name a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from annotation.core.refusals import Refused
from judging.core.plain_text import storable

FOLDER: Final = Path(__file__).resolve().parent.parent / "prompts"
LANGUAGES: Final = ("en", "zh")

TAGS: Final = (
    "dialogue",
    "system",
    "user",
    "assistant",
    "response_a",
    "response_b",
    "response",
    "preference",
    "pair",
    "chosen",
    "rejected",
    "profile",
    "memory",
    "task",
    "history",
    "turn",
    "reference",
    "scenario",
    "examples",
    "rubrics",
    "rating",
    "reasons",
)
"""Every tag that prompts are built of."""

_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_OPENERS: Final = re.compile(
    r"<(?=\s*/?\s*(?:" + "|".join(TAGS) + r")\b)"  # our own tags, whole or cut short
    r"|<(?=\|[\w/ .-]{1,60}\|>)"  # <|im_start|>, <|eot_id|>, …
    r"|<(?=｜[^<>]{1,60}｜>)"  # the same with full-width bars
    r"|<(?=\s*/?\s*(?:think|thinking|s|bos|eos|start_of_turn|end_of_turn)\s*>)"
    r"|<(?=</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\])",
    re.IGNORECASE,
)
_HARMLESS: Final = {"<": "‹", "[": "⟦"}


class PromptText(str):
    """A text composed of values that are already neutralised; it enters a prompt as it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt in one language."""

    name: str
    version: int
    language: str
    text: str

    @property
    def label(self) -> str:
        """Its file name without the ending, as stored with a run; 0 is an edited version."""
        version = f"v{self.version}" if self.version else "edited"
        return f"{self.name}.{version}.{self.language}"

    @property
    def digest(self) -> str:
        """SHA-256 of the text: two runs with one digest asked the same question."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def placeholders(self) -> frozenset[str]:
        """The names it takes values for."""
        return frozenset(_PLACEHOLDER.findall(self.text))

    def render(self, values: Mapping[str, str]) -> str:
        """The prompt with its values; each is neutralised, unless it is a `PromptText`.

        Raises:
            Refused: the values are not exactly those that the prompt names.
        """
        if values.keys() != self.placeholders:
            wrong = ", ".join(sorted(values.keys() ^ self.placeholders))
            raise Refused("prompt:broken", f"{self.label}: missing or unknown values: {wrong}")
        ready = {
            name: value if isinstance(value, PromptText) else neutralise(value)
            for name, value in values.items()
        }
        return _PLACEHOLDER.sub(lambda found: ready[found.group(1)], self.text)


def neutralise(value: str) -> str:
    """The value with every delimiter opened by another character that looks alike.

    Concerns the prompts' own tags, the control tokens of chat templates and reasoning marks; all
    other text, mark-up and code included, is left alone. Applying it twice changes nothing more.
    Characters that cannot be sent or stored become U+FFFD.
    """
    return storable(_OPENERS.sub(lambda found: _HARMLESS[found.group()], value))


def prompt_language(language: str) -> str:
    """The prompt language for a language code: "zh" for any Chinese, else "en"."""
    return "zh" if language.lower().startswith("zh") else "en"


@cache
def load_prompt(name: str, *, language: str, version: int = 1) -> Prompt:
    """Read a prompt file once.

    Args:
        name: its name, such as "judge_pair".
        language: any language code; see `prompt_language`.
        version: the number after "v".

    Raises:
        Refused: there is no such file.
    """
    found = Prompt(name, version, prompt_language(language), "")
    path = FOLDER / f"{found.label}.txt"
    if not path.is_file():
        raise Refused("prompt:broken", f"there is no prompt {found.label}")
    text = path.read_text(encoding="utf-8").rstrip("\n")
    return Prompt(name, version, found.language, text)
