"""PKU-SafeRLHF: two responses, which of them helps more and which is safer.

`better_response_id` (0 or 1) is the gold answer. The safer response, whether each is safe, its
severity and its kinds of harm are another criterion, kept with the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.compared import compared
from annotation.core.formats.fields import MODEL_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    GoldRecord,
    ResponseRecord,
    SessionRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "pku-saferlhf"

_TOLD: Final = ("prompt", "response_0", "response_1", "better_response_id")
_SOURCES: Final = ("response_0_source", "response_1_source")
_VERDICTS: Final = {0: Verdict.A, 1: Verdict.B}


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and set(_TOLD) <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One row as a session of one turn with one comparison."""
    known = (*_TOLD, *_SOURCES)
    fields.refuse_unplaced(*known)
    prompt = fields.text("prompt")
    one, other = (
        ResponseRecord(
            number,
            fields.answer(f"response_{number}"),
            fields.text_or(f"response_{number}_source", longest=MODEL_CHARS),
        )
        for number in "01"
    )
    turn = compared(
        prompt,
        (one, other),
        gold=GoldRecord("DATASET", _VERDICTS.get(fields.whole("better_response_id", 0, 1))),
        extra=fields.kept(*known),
    )
    return SessionRecord(content_key(NAME, prompt), NAME, (turn,))


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("PKU-SafeRLHF"),
        line=gettext_noop(
            "Two responses, of which the more helpful one is the gold answer; safety is kept."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
