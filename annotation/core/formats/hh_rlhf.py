"""Anthropic's hh-rlhf: whole dialogues as texts with the markers `Human:` and `Assistant:`.

A marker begins a message if an empty line stands before it; within a line it is text. Sets derived
from it have the dialogue up to the response in `prompt`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage
from annotation.core.formats.chosen import SIDES, chosen_session, rest_of
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "hh-rlhf"
SCENARIO: Final = "hh-rlhf"

_SPEAKERS: Final = {"Human": Speaker.USER, "Assistant": Speaker.ASSISTANT}
_MARKER: Final = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant):(?: |(?=\n)|\Z)")


def looks_like(row: object) -> bool:
    """Whether a row has two sides that are texts with markers, or that follow such a prompt."""
    if not isinstance(row, Mapping) or not all(isinstance(row.get(each), str) for each in SIDES):
        return False
    openings = [row["prompt"]] if isinstance(row.get("prompt"), str) else [row[e] for e in SIDES]
    return all(_begins(each) for each in openings)


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    prompt = fields.text_or("prompt")
    chosen, rejected = (_dialogue(fields, name, prompt) for name in SIDES)
    extra = rest_of(fields, "prompt", *SIDES)
    return chosen_session(fields, (), chosen, rejected, scenario=SCENARIO, extra=extra)


def _dialogue(fields: Fields, name: str, prompt: str) -> list[SpokenMessage]:
    """The messages of a side, after those of the prompt."""
    text = fields.text(name)
    found = spoken_in(text if prompt and _begins(text) else prompt + text)
    if not found:
        fields.fault(name, gettext_noop("Expected a text that begins with Human:"), text)
    return found


def spoken_in(text: str) -> list[SpokenMessage]:
    """The messages of a text with markers; none where it does not begin with one."""
    before, *pieces = _MARKER.split(text)
    if before.strip():
        return []
    return [
        SpokenMessage(_SPEAKERS[marker], said)
        for marker, said in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def _begins(text: str) -> bool:
    return text.lstrip().startswith("Human:")


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("hh-rlhf: dialogues with Human: and Assistant:"),
        line=gettext_noop(
            "Chosen and rejected dialogues as texts; the first responses that differ are compared."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
