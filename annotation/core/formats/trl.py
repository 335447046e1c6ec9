"""Preferences as TRL trains on them: `chosen` and `rejected`, with a `prompt` or without one.

Both sides are texts or messages. Without a prompt the dialogues share it: what their messages agree
on is the context. Two plain texts without a prompt are whole texts, because nothing says where a
prompt in them would end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats import hh_rlhf, rewardbench
from annotation.core.formats.chosen import MODELS, SIDES, chosen_session, first_of, rest_of, side
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "trl-preference"
SCENARIO: Final = "preference"

_PROMPTS: Final = ("prompt", "question", "query")
_SCORES: Final = (
    ("score_chosen", "score_rejected"),
    ("chosen_score", "rejected_score"),
    ("chosen_rating", "rejected_rating"),
)
_KNOWN: Final = (*_PROMPTS, *SIDES, *MODELS, "messages")
_OTHERS: Final = (
    {"annotator", "source"},
    {"score_chosen", "score_rejected"},
    {"chosen-rating", "rejected-rating"},
    {"instruction"},
    {"conversations"},
)
"""Fields by which other formats with a chosen and a rejected side are told."""


def looks_like(row: object) -> bool:
    """Whether a row has a chosen and a rejected side that no other format knows better."""
    return (
        isinstance(row, Mapping)
        and set(SIDES) <= row.keys()
        and all(isinstance(row[name], str | list | None) for name in SIDES)
        and not any(names <= row.keys() for names in _OTHERS)
        and not rewardbench.looks_like(row)
        and not hh_rlhf.looks_like(row)
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    name = first_of(fields, *_PROMPTS)
    has_prompt = any(fields.has(each) for each in _PROMPTS)
    prompt = side(fields, name, Speaker.USER) if has_prompt else []
    chosen, rejected = (side(fields, each) for each in SIDES)
    # Some sets repeat the chosen dialogue as `messages`.
    is_repeated = fields.data.get("messages") in (None, fields.data.get("chosen"))
    known = _KNOWN if is_repeated else _KNOWN[:-1]
    scores = [tuple(fields.data.get(each) for each in names) for names in _SCORES]
    return chosen_session(
        fields,
        prompt,
        chosen,
        rejected,
        scenario=SCENARIO,
        extra=rest_of(fields, *known),
        is_tie=any(one is not None and one == other for one, other in scores),
    )


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Preference pairs for training (TRL)"),
        line=gettext_noop(
            "Chosen and rejected texts or dialogues, with a prompt or with the dialogue that they "
            "share."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
