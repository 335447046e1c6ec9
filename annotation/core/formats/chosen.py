"""Rows that are a dialogue, or a chosen and a rejected side, each a response or a whole dialogue.

What both dialogues share is the context, and the first responses that differ are compared. Later
turns have no place, because they answer different things: they are kept with the comparison.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import (
    SpokenMessage,
    code_block,
    open_turn,
    placeholder,
    read_message,
    shared_start,
    spoken,
    turns_of,
    without_system,
)
from annotation.core.formats.compared import SAME_TEXTS, chosen_turn, name_of
from annotation.core.formats.fields import MODEL_CHARS, Fields
from annotation.core.formats.records import (
    Extra,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

SIDES: Final = ("chosen", "rejected")
MODELS: Final = ("chosen_model", "rejected_model", "chosen-model", "rejected-model")
"""Fields that name the model of a side."""
SYSTEMS: Final = ("system", "system_prompt", "system_message", "system_instruction")
"""Columns of the system prompt."""
BESIDE: Final = (*SYSTEMS, "tools", "functions", "images", "videos", "audios", "image")
"""Columns of a row that `system_of`, `tools_of` and `with_media` read."""

_MEDIA: Final = {"images": "image", "image": "image", "videos": "video", "audios": "audio"}
_NO_PAIR: Final = gettext_noop(
    "The dialogues differ in their length alone, or first in what the user says, so that no two "
    "responses answer the same message"
)


def side(fields: Fields, name: str, speaker: Speaker = Speaker.ASSISTANT) -> list[SpokenMessage]:
    """The messages of a side or a prompt: one message, a list of them, or the text of one."""
    if isinstance(fields.data.get(name), list | Mapping):
        return read_message(fields, name)
    return [spoken(fields, name, speaker)]


def system_of(fields: Fields) -> dict[str, str]:
    """The system prompts in columns of a row, by column."""
    return {name: fields.text(name) for name in SYSTEMS if fields.data.get(name)}


def tools_of(fields: Fields) -> str:
    """The tools that a model may call, as a code block that pages fold."""
    given = [fields.data[name] for name in ("tools", "functions") if fields.data.get(name)]
    texts = [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in given
    ]
    return "\n\n".join(
        code_block("tools", each) for each in texts if each.strip() not in ("", "[]")
    )


def with_tools(fields: Fields, system: str) -> str:
    """The system prompt and the tools of a row, as chat templates give them to a model."""
    return "\n\n".join(each for each in (system, tools_of(fields)) if each)


def with_media(fields: Fields, messages: Sequence[SpokenMessage]) -> list[SpokenMessage]:
    """The messages, the last one of the user with a placeholder for each picture, film or sound.

    A text that names them itself, as `<image>` or with a part of its own, stays as it is.
    """
    kinds = [kind for name, kind in _MEDIA.items() for _each in _listed(fields.data.get(name))]
    told = " ".join(message.text for message in messages)
    missing = [kind for kind in kinds if f"<{kind}>" not in told and f"[{kind}" not in told]
    asked = [place for place, each in enumerate(messages) if each.role is Speaker.USER]
    found = list(messages)
    if missing and not asked:
        fields.fault(next(iter(media_of(fields))), gettext_noop("No text says where this belongs"))
    elif missing:
        marks = " ".join(placeholder(kind, {}) for kind in missing)
        found[asked[-1]] = SpokenMessage(Speaker.USER, f"{marks}\n\n{found[asked[-1]].text}")
    for name in _MEDIA:
        if fields.data.get(name):
            fields.notes.kept.append(name)
    return found


def media_of(fields: Fields) -> dict[str, object]:
    """The columns of pictures, films and sounds, to be kept."""
    return {name: fields.data[name] for name in _MEDIA if fields.data.get(name)}


def chosen_session(
    fields: Fields,
    prompt: Sequence[SpokenMessage],
    chosen: Sequence[SpokenMessage],
    rejected: Sequence[SpokenMessage],
    *,
    scenario: str,
    names: tuple[str, str] = SIDES,
    extra: Extra | None = None,
    is_tie: bool = False,
) -> SessionRecord:
    """A session whose last turn is the first that both sides answer differently.

    Args:
        fields: The row; its columns of the system prompt and of tools are read.
        prompt: What both answer; empty where the sides are whole dialogues.
        chosen: The better response, or a dialogue that ends on it; it may repeat the prompt.
        rejected: The other one.
        scenario: The session's scenario.
        names: The fields of the two sides.
        extra: What else is kept with the comparison.
        is_tie: Whether they are equally good after all.
    """
    given = dict(zip(("prompt", *names), (prompt, chosen, rejected), strict=True))
    split = {name: without_system(fields, name, said) for name, said in given.items()}
    system = one_system(fields, {name: text for name, (text, _said) in split.items() if text})
    whole = [_whole(fields, split["prompt"][1], name, split[name][1]) for name in names]
    shared = shared_start(*whole)
    sides = [said[shared] if shared < len(said) else None for said in whole]
    if sides == [None, None]:
        fields.notes.skip(SAME_TEXTS)
    elif any(each is None or each.role is not Speaker.ASSISTANT for each in sides):
        fields.notes.skip(_NO_PAIR)
    context = with_media(fields, whole[0][:shared])
    turns, message = open_turn(context)
    one, other = (_response(fields, *each) for each in zip(SIDES, sides, strict=True))
    kept = {**(extra or {}), **media_of(fields), **_later(fields, whole, shared)}
    kept |= _of_messages(fields)
    turn = chosen_turn(
        message,
        one,
        other,
        # A pair may stand in a file twice, with other fields beside it.
        name=name_of(fields) or _digest(kept),
        extra=kept,
        is_tie=is_tie,
    )
    # Without a context nothing but the responses tells a row from others.
    told = steps_of(context or [each for each in sides if each])
    return SessionRecord(
        key=content_key(scenario, system, *told),
        scenario=scenario,
        turns=(*turns, turn),
        system_prompt=system,
    )


def dialogue_session(
    fields: Fields,
    messages: Sequence[SpokenMessage],
    *,
    scenario: str,
    key: str = "",
    user: str | None = None,
    language: str = "",
    extra: Extra | None = None,
    rating: SatisfactionRecord | None = None,
) -> SessionRecord:
    """A session of one dialogue, whose last response may be rated.

    Args:
        fields: The row; its columns of the system prompt, of tools and of media are read.
        messages: The dialogue; its responses are the original ones, but for one that is rated:
            other rows may rate other responses to the same dialogue.
        scenario: The session's scenario.
        key: What the file calls it; else its content does.
        user: Who spoke with the model.
        language: The dialogue's.
        extra: What else is kept with the session, or with the response that is rated.
        rating: What is said of the last response.
    """
    notes = fields.notes
    name = first_of(fields, "messages", "conversations", "conversation", "prompt")
    told, said = without_system(fields, name, messages)
    if not said:
        fields.notes.skip(gettext_noop("The conversation has no messages"))
    system = one_system(fields, {name: told} if told else {})
    said = with_media(fields, said)
    kept = {**(extra or {}), **media_of(fields)}
    turns = turns_of(said)
    steps = steps_of(said)
    if rating is not None:
        if not said or said[-1].role is not Speaker.ASSISTANT:
            fields.fault(name, gettext_noop("Must end with an assistant message"))
            return SessionRecord("", scenario, turns)
        [last] = turns[-1].responses
        kept |= _of_messages(fields)
        rated = replace(last, original=False, extra={**last.extra, **kept}, satisfaction=(rating,))
        turns = (*turns[:-1], replace(turns[-1], responses=(rated,)))
        # Without a request, only the response can tell this row from others.
        steps = steps[:-1] or steps
        kept = {}
    else:
        # A dialogue may stand in a file twice, with other fields beside it.
        steps += [
            text
            for text in (_digest(kept, notes.messages, *(each.extra for each in said)),)
            if text
        ]
    return SessionRecord(
        key=key or content_key(scenario, system, *steps),
        scenario=scenario,
        turns=turns,
        user=user,
        system_prompt=system,
        language=language,
        extra=kept,
    )


def _response(fields: Fields, key: str, said: SpokenMessage | None) -> ResponseRecord:
    """The response of a side; a row without one is at fault or skipped already."""
    told = (fields.text_or(each, longest=MODEL_CHARS) for each in MODELS if each.startswith(key))
    model = next(filter(None, told), "")
    if said is None:
        return ResponseRecord(key, None, model)
    return ResponseRecord(key, said.answer, model or said.model, extra=said.extra or {})


def _of_messages(fields: Fields) -> dict[str, object]:
    """The other fields of a row's messages, which stay with the row: rows may share a session."""
    told = dict(fields.notes.messages)
    fields.notes.messages.clear()
    return {"messages": told} if told else {}


def _digest(*extras: Extra | None) -> str:
    """A short text made of other fields; "" without any."""
    told = [json.dumps(each, sort_keys=True) for each in extras if each]
    return content_key(*told)[:8] if told else ""


def _later(
    fields: Fields, whole: Sequence[Sequence[SpokenMessage]], shared: int
) -> dict[str, object]:
    """The turns behind the responses that are compared, to be kept and counted."""
    later = {
        key: [{"role": each.role.value, "content": each.text} for each in said[shared + 1 :]]
        for key, said in zip(SIDES, whole, strict=True)
    }
    kept: dict[str, object] = {key: said for key, said in later.items() if said}
    if not kept:
        return {}
    fields.notes.kept.append("later_turns")
    return {"later_turns": kept}


def steps_of(messages: Sequence[SpokenMessage]) -> list[str]:
    """The role and text of each message, from which the key of a session is made."""
    return [f"{each.role}:{each.text}" for each in messages]


def _listed(value: object) -> list[object]:
    """The items of a list, or the one value that stands for it."""
    if isinstance(value, list):
        return [each for each in value if each]
    return [value] if value else []


def one_system(fields: Fields, told: Mapping[str, str]) -> str:
    """The system prompt that all places of a row agree on."""
    places = {text: name for name, text in told.items()}
    places |= {text: name for name, text in system_of(fields).items()}
    if len(places) > 1:
        reason = gettext_noop("Differs from the other system prompt of this row")
        text, name = places.popitem()
        fields.fault(name, reason, text)
    return with_tools(fields, next(iter(places), ""))


def _whole(
    fields: Fields, prompt: Sequence[SpokenMessage], name: str, messages: Sequence[SpokenMessage]
) -> list[SpokenMessage]:
    """The dialogue of a side from its first message on."""
    if not messages or messages[-1].role is not Speaker.ASSISTANT:
        fields.fault(name, gettext_noop("Must end with an assistant message"))
        return list(prompt)
    if _repeats(prompt, messages):
        return [*prompt, *messages[len(prompt) :]]
    # A response may repeat the last messages of the prompt, or none.
    earlier = messages[:-1]
    if any(_are_alike(prompt[place:], earlier) for place in range(len(prompt) + 1)):
        return [*prompt, messages[-1]]
    if messages[0].role is Speaker.ASSISTANT:
        return [*prompt, *messages]
    reason = gettext_noop("The messages before the response do not begin with the prompt")
    fields.fault(name, reason, fields.data.get(name))
    return list(prompt)


def _repeats(prompt: Sequence[SpokenMessage], messages: Sequence[SpokenMessage]) -> bool:
    """Whether a dialogue begins with the whole prompt, whatever blanks surround its texts."""
    return len(messages) > len(prompt) and _are_alike(prompt, messages[: len(prompt)])


def _are_alike(some: Sequence[SpokenMessage], others: Sequence[SpokenMessage]) -> bool:
    return [(each.role, each.text.strip()) for each in some] == [
        (each.role, each.text.strip()) for each in others
    ]


def first_of(fields: Fields, *names: str) -> str:
    """The first of these fields that is given, or the first name of all."""
    return next((each for each in names if fields.has(each)), names[0])


def rest_of(fields: Fields, *known: str) -> dict[str, object]:
    """The other fields of a row, kept and counted; those that people need to see are faults."""
    fields.refuse_unplaced(*known, *BESIDE)
    return fields.kept(*known, *BESIDE)
