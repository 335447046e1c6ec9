"""Preference fine-tuning at OpenAI and Azure: an input, the preferred output and the other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.formats.chat import SpokenMessage, read_messages
from annotation.core.formats.chosen import BESIDE, chosen_session, first_of, rest_of, side
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "openai-preference"
SCENARIO: Final = "preference"

_PREFERRED: Final = ("preferred_output", "preferred_completion")
_OTHER: Final = ("non_preferred_output", "non_preferred_completion")


def looks_like(row: object) -> bool:
    """Whether a row has an input, a preferred output and another one."""
    return (
        isinstance(row, Mapping)
        and "input" in row
        and any(name in row for name in _PREFERRED)
        and any(name in row for name in _OTHER)
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    names = (first_of(fields, *_PREFERRED), first_of(fields, *_OTHER))
    asked = Fields(fields.mapping("input"), fields.notes, "input")
    prompt: list[SpokenMessage] = read_messages(asked, "messages")
    kept = {**rest_of(fields, "input", *names), **rest_of(asked, "messages")}
    # Tools stand within the input.
    beside = {name: asked.data[name] for name in BESIDE if name in asked.data}
    row = Fields({**fields.data, **beside}, fields.notes)
    preferred, other = (side(fields, name) for name in names)
    return chosen_session(row, prompt, preferred, other, scenario=SCENARIO, names=names, extra=kept)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("OpenAI preference fine-tuning"),
        line=gettext_noop("An input with a preferred and another output, tools included."),
        looks_like=looks_like,
        parse=parse,
    ),
)
