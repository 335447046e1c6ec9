"""A prompt with one completion and nothing said of it, as TRL trains on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chosen import dialogue_session, rest_of, side
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.kto import looks_like as is_marked
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "prompt-completion"
SCENARIO: Final = "prompt-completion"


def looks_like(row: object) -> bool:
    """Whether a row has a prompt and a completion that nothing is said of."""
    return (
        isinstance(row, Mapping) and {"prompt", "completion"} <= row.keys() and not is_marked(row)
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session with its original response, to be rated or answered by others."""
    messages = side(fields, "prompt", Speaker.USER) + side(fields, "completion")
    extra = rest_of(fields, "prompt", "completion")
    return dialogue_session(fields, messages, scenario=SCENARIO, extra=extra)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Prompts with one completion (TRL)"),
        line=gettext_noop("Prompts, each with one response that is neither rated nor compared."),
        looks_like=looks_like,
        parse=parse,
    ),
)
