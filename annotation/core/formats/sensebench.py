"""SenseBench prompts: lists of messages {from, content: [{type, value}]}, the topic on the first.

A final Assistant message is the original response of the last turn, like every other one. Dialogues
carry no id, so they are named by their content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, turns_of
from annotation.core.formats.fields import SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import SessionRecord, TurnRecord, content_key
from annotation.core.refusals import gettext_noop

NAME: Final = "sensebench"

_MESSAGES: Final = "messages"
_ROLES: Final = {"human": Speaker.USER, "assistant": Speaker.ASSISTANT, "system": Speaker.SYSTEM}
_TOPIC_PREFIX: Final = "sense_bmk:"


def looks_like(row: object) -> bool:
    """Whether a row is a list of messages, bare or under `messages`."""
    messages = row.get(_MESSAGES) if isinstance(row, Mapping) else row
    return (
        isinstance(messages, list)
        and bool(messages)
        and isinstance(messages[0], Mapping)
        and {"from", "content"} <= messages[0].keys()
    )


def as_object(row: object) -> object:
    """A bare list of messages under the name that paths in faults show."""
    return {_MESSAGES: row} if isinstance(row, list) else row


def parse(fields: Fields) -> SessionRecord:
    """One dialogue as a session."""
    fields.refuse_unplaced(_MESSAGES, "topic")
    messages = fields.items(_MESSAGES)
    key, system_prompt, turns = dialogue(fields, _MESSAGES, messages)
    return SessionRecord(
        key=key,
        scenario=_topic(fields, messages),
        turns=turns,
        system_prompt=system_prompt,
        extra=fields.kept(_MESSAGES, "topic"),
    )


def dialogue(
    fields: Fields, name: str, messages: list[Fields]
) -> tuple[str, str, tuple[TurnRecord, ...]]:
    """The key, the system prompt and the turns of the messages in a field."""
    if not messages:
        reason = gettext_noop("Expected at least one message")
        fields.fault(name, reason, fields.data.get(name))
    spoken = [_message(message) for message in messages]
    system_prompt = ""
    if spoken and spoken[0].role is Speaker.SYSTEM:
        system_prompt = spoken.pop(0).text
    for message, said in zip(messages[-len(spoken) :] if spoken else [], spoken, strict=True):
        if said.role is Speaker.SYSTEM:
            message.fault(
                "from", gettext_noop("A system message must come first"), message.data.get("from")
            )
    key = content_key(system_prompt, *(f"{said.role}:{said.text}" for said in spoken))
    return key, system_prompt, turns_of(spoken)


def _message(fields: Fields) -> SpokenMessage:
    fields.refuse_unplaced()
    role = fields.text("from")
    if role and role.strip().lower() not in _ROLES:
        fields.fault("from", gettext_noop("Expected Human, Assistant or System"), role)
    parts = []
    for part in _parts(fields):
        if part.text_or("type", "text") != "text":
            part.fault("type", gettext_noop("Only text is supported"), part.data.get("type"))
        parts.append(part.text("value"))
    extra = fields.kept("from", "content", "topic")
    return SpokenMessage(
        _ROLES.get(role.strip().lower(), Speaker.USER), "\n".join(parts), extra=extra or None
    )


def _parts(fields: Fields) -> list[Fields]:
    content = fields.data.get("content")
    if isinstance(content, list) and content:
        return fields.items("content")
    if isinstance(content, str | int | float):
        return [Fields({"value": content}, fields.notes, fields.at("content"))]
    fields.fault("content", gettext_noop("Expected a list of parts {type, value}"), content)
    return []


def _topic(fields: Fields, messages: list[Fields]) -> str:
    """The topic of the row or of its first message that has one."""
    holder = next((each for each in (fields, *messages) if each.has("topic")), fields)
    return topic_of(holder, "topic")


def topic_of(fields: Fields, name: str) -> str:
    """The scenario that a field names."""
    topic = fields.short(name, SCENARIO_CHARS + len(_TOPIC_PREFIX))
    return topic.removeprefix(_TOPIC_PREFIX)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("SenseBench prompts"),
        line=gettext_noop("Dialogues without verdicts, sorted by topic."),
        looks_like=looks_like,
        parse=parse,
        as_object=as_object,
    ),
)
