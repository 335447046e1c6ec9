"""SPUR-style rubrics: reasons drawn from rated turns one by one, condensed in two steps (B 2.2).

For each class, at most 150 turns of training users (drawn with seed 42) give up to 3 reasons each;
reasons of 26 turns at a time (at most 78; the released code takes 80) become up to 20, and those
become up to 10 rubrics.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, TypeVar

from annotation.core.refusals import Refused
from judging.core.structured import last_object

TURNS_A_CLASS: Final = 150
REASONS_A_TURN: Final = 3
TURNS_A_CHUNK: Final = 26
REASONS_A_CHUNK: Final = 20
RUBRICS_A_CLASS: Final = 10
SEED: Final = 42
KEY: Final = "rubrics"
_CHARACTERS: Final = 400

Rated = TypeVar("Rated")


def drawn(turns: Sequence[Rated], *, most: int = TURNS_A_CLASS, seed: int = SEED) -> list[Rated]:
    """At most so many turns of one class, drawn without regard to anything, in their order."""
    if len(turns) <= most:
        return list(turns)
    places = random.Random(seed).sample(range(len(turns)), most)
    return [turns[place] for place in sorted(places)]


def chunks(turns: int) -> int:
    """How many chunks the reasons of so many turns make; one chunk needs no step of its own."""
    return -(-turns // TURNS_A_CHUNK)


def read_phrases(reply: str, *, most: int) -> tuple[str, ...]:
    """The sentences of a reply: {"rubrics": [...]}, each once, at most so many.

    Raises:
        Refused: no such object, or nothing in it.
    """
    found = last_object(reply, key=KEY)
    texts = None if found is None else found[KEY]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused("rubrics:unparseable", "the reply is no list of sentences")
    sentences = dict.fromkeys(" ".join(text.split())[:_CHARACTERS] for text in texts)
    sentences.pop("", None)
    if not sentences:
        raise Refused("rubrics:unparseable", "the reply names no reason")
    return tuple(sentences)[:most]
