"""SHP: two comments on a post, of which the later one has more votes (or the other way round).

`labels` is 1 where comment A is preferred, 0 where B is: what many readers' votes say together, and
so a gold answer. People wrote both comments: they have no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.compared import compared
from annotation.core.formats.fields import SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    GoldRecord,
    ResponseRecord,
    SessionRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "shp"

_TOLD: Final = ("history", "human_ref_A", "human_ref_B", "labels")
_VERDICTS: Final = {1: Verdict.A, 0: Verdict.B}


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and set(_TOLD) <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One row as a session of one turn with one comparison."""
    known = (*_TOLD, "domain")
    fields.refuse_unplaced(*known)
    scenario = fields.text_or("domain", longest=SCENARIO_CHARS) or NAME
    post = fields.text("history")
    turn = compared(
        post,
        (
            ResponseRecord("A", fields.answer("human_ref_A")),
            ResponseRecord("B", fields.answer("human_ref_B")),
        ),
        gold=GoldRecord("DATASET", _VERDICTS.get(fields.whole("labels", 0, 1))),
        extra=fields.kept(*known),
    )
    return SessionRecord(content_key(scenario, post), scenario, (turn,))


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("SHP: comments and their votes"),
        line=gettext_noop(
            "Two comments on a post; the one that readers prefer is the gold answer."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
