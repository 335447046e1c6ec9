"""Chosen and rejected responses in RewardBench's layout: prompt, chosen, rejected, subset, id.

A row is one comparison with a gold answer. Which of the two is A follows from the content, so that
the letter is no hint of the answer. A prompt is a text or a list of messages; chosen and rejected
are texts, or message lists that end on the response and may repeat the prompt. A `system` column is
the system prompt.

RewardBench 2 has lists of texts instead: each chosen against each rejected one is a comparison, and
all of a row are one item (`extra.best_of`), answered rightly where every chosen response beats all
rejected ones. The gold answer is also the label of an annotator named BENCHMARK: preferences can be
distilled from a part of it and judges run on the rest, as seed 001 does for its table 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import open_turn, without_system
from annotation.core.formats.chosen import (
    SIDES,
    chosen_session,
    one_system,
    rest_of,
    side,
    steps_of,
    with_media,
)
from annotation.core.formats.compared import chosen_comparison, name_of
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "rewardbench"
SCENARIO: Final = "rewardbench"
"""Of rows without a subset."""

_NEEDS: Final = frozenset({"prompt", *SIDES})
_KNOWN: Final = ("prompt", *SIDES, "subset", "chosen_model", "rejected_model")
_KNOWN_OF_LISTS: Final = ("prompt", *SIDES, "subset", "models", "num_correct")
_TOLD_BY: Final = ("subset", "chosen_model", "rejected_model", "num_correct")


def looks_like(row: object) -> bool:
    """Whether a row has a prompt with chosen and rejected responses as RewardBench has them."""
    return (
        isinstance(row, Mapping)
        and row.keys() >= _NEEDS
        and not {"annotator", "source"} <= row.keys()
        and not isinstance(row["chosen"], Mapping)
        and (any(name in row for name in _TOLD_BY) or _are_texts(row["chosen"]))
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    scenario = fields.short("subset", SCENARIO_CHARS) if fields.has("subset") else SCENARIO
    if _are_texts(fields.data.get("chosen")):
        return _lists(fields, scenario)
    prompt = side(fields, "prompt", Speaker.USER)
    if not prompt:
        fields.fault("prompt", gettext_noop("Must not be empty"))
    chosen, rejected = (side(fields, name) for name in SIDES)
    extra = rest_of(fields, *_KNOWN, *_repeated(fields))
    return chosen_session(fields, prompt, chosen, rejected, scenario=scenario, extra=extra)


def _repeated(fields: Fields) -> tuple[str, ...]:
    """The column `messages` where it repeats the chosen dialogue, as in some sets."""
    given = fields.data.get("messages")
    return ("messages",) if given is not None and given == fields.data.get("chosen") else ()


def _are_texts(value: object) -> bool:
    """Whether a value is a list of texts, not of messages."""
    return isinstance(value, list) and any(not isinstance(each, Mapping) for each in value)


def _lists(fields: Fields, scenario: str) -> SessionRecord:
    """A row with several responses: every chosen one against every rejected one."""
    told, messages = without_system(fields, "prompt", side(fields, "prompt", Speaker.USER))
    system = one_system(fields, {"prompt": told} if told else {})
    messages = with_media(fields, messages)
    turns, message = open_turn(messages)
    return SessionRecord(
        key=content_key(scenario, system, *steps_of(messages)),
        scenario=scenario,
        turns=(*turns, _turn(fields, message)),
        system_prompt=system,
    )


def _turn(fields: Fields, message: str | None) -> TurnRecord:
    chosen, rejected = _responses(fields, "chosen", 0), _responses(fields, "rejected", 1)
    wanted = {(one.model, one.text) for one in chosen}
    for one in rejected:
        if (one.model, one.text) in wanted:
            fields.fault("rejected", gettext_noop("Same as a chosen response"), one.text)
    everything = (*chosen, *rejected)
    extra = {
        **rest_of(fields, *_KNOWN_OF_LISTS),
        "best_of": {
            "item": content_key(message or "", *(f"{one.key}:{one.text}" for one in everything)),
            "correct": len(chosen),
            "responses": len(everything),
        },
    }
    return TurnRecord(
        message,
        # In an order by content: the place of a response is no hint either.
        tuple(sorted(everything, key=lambda one: content_key(one.text or "", one.model))),
        tuple(
            chosen_comparison(message, one, other, name=name_of(fields), extra=extra)
            for one in chosen
            for other in rejected
        ),
    )


def _responses(fields: Fields, name: str, side: int) -> list[ResponseRecord]:
    """The texts of a list as responses, each once."""
    given = fields.data.get(name)
    if not isinstance(given, list) or not given:
        fields.fault(name, gettext_noop("Expected a list of strings"), given)
        return []
    if name == "chosen" and fields.has("num_correct"):
        told = fields.whole("num_correct", 1, 2**31 - 1)
        if told != len(given):
            fields.fault(
                "num_correct", gettext_noop("Does not match the number of chosen responses"), told
            )
    models = list(_models(fields))[side]
    found: dict[tuple[str, str | None], ResponseRecord] = {}
    for place, value in enumerate(given):
        text = fields.notes.answer(value, f"{fields.at(name)}[{place}]")
        model = models[place] if place < len(models) else ""
        found.setdefault((model, text), ResponseRecord(f"{name}-{place}", text, model=model))
    return list(found.values())


def _models(fields: Fields) -> Iterator[list[str]]:
    """The models of the chosen responses, then of the rejected; empty where they are not told."""
    models, chosen, rejected = (fields.data.get(name) for name in ("models", "chosen", "rejected"))
    sizes = [len(each) if isinstance(each, list) else 0 for each in (chosen, rejected)]
    if not isinstance(models, list) or len(models) != sum(sizes):
        models = []
    told = [str(each)[:MODEL_CHARS] if isinstance(each, str) else "" for each in models]
    yield told[: sizes[0]]
    yield told[sizes[0] :]


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("RewardBench: chosen and rejected"),
        line=gettext_noop(
            "A chosen and a rejected response to each prompt; the chosen one is the gold "
            "answer. RewardBench 2 too."
        ),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
    ),
)
