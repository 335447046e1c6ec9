"""Chosen and rejected responses in RewardBench's layout: prompt, chosen, rejected, subset, id.

A row is one comparison with a gold answer. Which of the two is A follows from the content, so that
the letter is no hint of the answer. A prompt is a text or a list of messages that ends on the user;
chosen and rejected are texts, or message lists that end on the response. Lists that repeat the
prompt before it, as whole dialogues do, must agree up to the response: what they share is the
context. A `system` column is the system prompt.

RewardBench 2 has lists of texts instead: each chosen against each rejected one is a comparison, and
all of a row are one item (`extra.best_of`), answered rightly where every chosen response beats all
rejected ones. The gold answer is also the label of an annotator named BENCHMARK: preferences can be
distilled from a part of it and judges run on the rest, as seed 001 does for its table 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, spoken, turns_of
from annotation.core.formats.compared import SAME_TEXTS, chosen_comparison, chosen_turn, name_of
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields, Notes
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

_SIDES: Final = ("chosen", "rejected")
_SYSTEMS: Final = ("system", "system_prompt")
"""Columns of the system prompt."""
_OF_ULTRAFEEDBACK: Final = frozenset({"score_chosen", "chosen-rating"})
"""Fields by which UltraFeedback's pairs are told from this format."""
_ALWAYS: Final = ("prompt", *_SIDES, *_SYSTEMS, "subset")
_KNOWN: Final = (*_ALWAYS, "chosen_model", "rejected_model")
_KNOWN_OF_LISTS: Final = (*_ALWAYS, "models", "num_correct")
_ROLES: Final = {"system": Speaker.SYSTEM, "user": Speaker.USER, "assistant": Speaker.ASSISTANT}


def looks_like(row: object) -> bool:
    """Whether a row has a prompt with a chosen and a rejected response, and nobody who chose."""
    return (
        isinstance(row, Mapping)
        and {"prompt", "chosen", "rejected"} <= row.keys()
        and not {"annotator", "source"} <= row.keys()
        and not isinstance(row["chosen"], Mapping)
        and not _OF_ULTRAFEEDBACK & row.keys()
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    scenario = fields.short("subset", SCENARIO_CHARS) if fields.has("subset") else SCENARIO
    is_chosen = fields.data.get("messages") == fields.data.get("chosen")
    fields.refuse_unplaced(*_KNOWN, *(["messages"] if is_chosen else []))
    system, messages = _context(fields)
    for message in messages:
        if message.role is Speaker.SYSTEM:
            fields.fault("prompt", gettext_noop("A system message must come first"), message.text)
    turns = turns_of(messages)
    if not messages or messages[-1].role is not Speaker.USER:
        fields.fault("prompt", gettext_noop("Must end with a user message"))
        turns = (*turns, TurnRecord(None))
    compared = (_lists if _has_lists(fields) else _pair)(fields, turns[-1].user_message)
    told = [f"{message.role}:{message.text}" for message in messages]
    return SessionRecord(
        key=content_key(scenario, system, *told),
        scenario=scenario,
        turns=(*turns[:-1], compared),
        system_prompt=system,
    )


def _context(fields: Fields) -> tuple[str, list[SpokenMessage]]:
    """The system prompt and the messages that both responses answer."""
    prompt = _messages(fields, "prompt", Speaker.USER)
    found = {"prompt": _without_system(prompt)}
    once = Fields(fields.data, Notes(fields.notes.line))  # faults are noted with the responses
    for side in () if _has_lists(fields) else _SIDES:
        if isinstance(fields.data.get(side), list):
            found[side] = _without_system(_messages(once, side, Speaker.ASSISTANT)[:-1])
    systems = {text: name for name, (text, _messages_of) in found.items() if text}
    systems |= {fields.text(name): name for name in _SYSTEMS if fields.data.get(name)}
    if len(systems) > 1:
        system_reason = gettext_noop("Differs from the other system prompt of this row")
        text, name = systems.popitem()
        fields.fault(name, system_reason, text)
    said = {side: messages for side, (_text, messages) in found.items()}
    return next(iter(systems), ""), _shared(fields, said)


def _without_system(messages: list[SpokenMessage]) -> tuple[str, list[SpokenMessage]]:
    if messages and messages[0].role is Speaker.SYSTEM:
        return messages[0].text, messages[1:]
    return "", messages


def _shared(fields: Fields, said: Mapping[str, list[SpokenMessage]]) -> list[SpokenMessage]:
    """The prompt, or the longer dialogue that begins with it and that both responses end."""
    prompt = said["prompt"]
    # A response may repeat the prompt's last messages.
    ends = [prompt[place:] for place in range(len(prompt) + 1)]
    earlier = {side: said.get(side, []) for side in _SIDES}
    earlier = {side: prompt if told in ends else told for side, told in earlier.items()}
    for side, messages in earlier.items():
        if messages[: len(prompt)] != prompt:
            reason = gettext_noop("The messages before the response do not begin with the prompt")
            fields.fault(side, reason, fields.data.get(side))
            return prompt
    if earlier["chosen"] != earlier["rejected"]:
        reason = gettext_noop(
            "The dialogues in chosen and rejected differ before the last message, so they do not "
            "compare two responses to the same message"
        )
        fields.fault("rejected", reason, fields.data.get("rejected"))
    return earlier["chosen"]


def _has_lists(fields: Fields) -> bool:
    """Whether a row has lists of texts, not of messages."""
    given = fields.data.get("chosen")
    return isinstance(given, list) and any(not isinstance(each, Mapping) for each in given)


def _pair(fields: Fields, message: str | None) -> TurnRecord:
    """The turn of a row with one response each."""
    chosen, rejected = _response(fields, "chosen"), _response(fields, "rejected")
    if chosen.text is not None and chosen.text == rejected.text:
        fields.notes.skip(SAME_TEXTS)
    extra = fields.kept(*_KNOWN)
    return chosen_turn(message, chosen, rejected, name=name_of(fields), extra=extra)


def _lists(fields: Fields, message: str | None) -> TurnRecord:
    """The turn of a row with several: every chosen response against every rejected one."""
    chosen, rejected = _responses(fields, "chosen", 0), _responses(fields, "rejected", 1)
    wanted = {(one.model, one.text) for one in chosen}
    for one in rejected:
        if (one.model, one.text) in wanted:
            fields.fault("rejected", gettext_noop("Same as a chosen response"), one.text)
    everything = (*chosen, *rejected)
    extra = {
        **fields.kept(*_KNOWN_OF_LISTS),
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


def _response(fields: Fields, name: str) -> ResponseRecord:
    messages = _messages(fields, name, Speaker.ASSISTANT)
    if not messages or messages[-1].role is not Speaker.ASSISTANT:
        fields.fault(name, gettext_noop("Must end with an assistant message"))
    return ResponseRecord(
        key=name,
        text=messages[-1].answer if messages else None,
        model=fields.text_or(f"{name}_model", longest=MODEL_CHARS),
    )


def _messages(fields: Fields, name: str, speaker: Speaker) -> list[SpokenMessage]:
    """The messages of a field; a plain text is one message of `speaker`."""
    if not isinstance(fields.data.get(name), list):
        return [spoken(fields, name, speaker)]
    said = []
    for item in fields.items(name):
        item.refuse_unplaced()
        role = item.text("role")
        if role and role not in _ROLES:
            item.fault("role", gettext_noop("Expected user, assistant or system"), role)
        said.append(spoken(item, "content", _ROLES.get(role, speaker)))
    return said


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("RewardBench: chosen and rejected"),
        line=gettext_noop(
            "A chosen and a rejected response to each prompt; the chosen one is the gold "
            "answer. RewardBench 2 too."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
