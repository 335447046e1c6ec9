"""Tables with a message of a conversation a row, as chat logs are kept in spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, cast

from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields, Notes
from annotation.core.formats.reading import MAX_ROW_CHARS, RawRow
from annotation.core.formats.records import (
    Fault,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    shown,
)
from annotation.core.formats.table_values import SCENARIO, as_sign, rated
from annotation.core.formats.values import Meaning, Means
from annotation.core.refusals import gettext_noop

ANNOTATOR: Final = "annotator"
_SAME_OF_ALL: Final = ("scenario", "system_prompt")
_ONLY_OF_REPLIES: Final = ("score", "reason", "gold")
_AFTER_UNREAD: Final = gettext_noop("The row before this one cannot be read")
_Message = tuple[int, Mapping[str, str]]
"""A message by key, with its line."""


def as_conversations(rows: Iterator[RawRow]) -> Iterator[RawRow]:
    """Yields a row a conversation: neighbouring messages of one session, each with its line.

    A session that goes on after another one is a fault, and so is a message without a session.
    """
    messages: list[_Message] = []
    faults: list[Fault] = []
    ended: set[str] = set()
    for row in rows:
        if row.fault is not None or not isinstance(row.value, dict):
            faults += [row.fault, *row.more] if row.fault else []
            continue
        key = row.value.get("session", "")
        if messages and key != messages[0][1].get("session", ""):
            # A row between two conversations that cannot be read may belong to either.
            between = [fault for fault in faults if fault.line > messages[-1][0]]
            yield _conversation(messages, faults)
            ended.add(messages[0][1].get("session", ""))
            messages = []
            faults = [Fault(row.line, "session", _AFTER_UNREAD, shown(key))] if between else []
        if not key:
            faults.append(Fault(row.line, "session", gettext_noop("Missing")))
        elif key in ended and not messages:
            reason = gettext_noop(
                "The messages of this session do not stand together: sort the table by session"
            )
            faults.append(Fault(row.line, "session", reason, shown(key)))
        messages.append((row.line, row.value))
    if messages or faults:
        yield _conversation(messages, faults)


def _conversation(messages: list[_Message], faults: list[Fault]) -> RawRow:
    line = messages[0][0] if messages else faults[0].line
    if sum(len(message.get("text", "")) for _line, message in messages) > MAX_ROW_CHARS:
        faults = [Fault(line, "", gettext_noop("Row too long to read"))]
    if faults:
        return RawRow(line, fault=faults[0], more=tuple(faults[1:]))
    return RawRow(line, {"session": messages[0][1]["session"], "messages": messages})


def parse_conversation(fields: Fields, means: Means) -> SessionRecord:
    """Returns one conversation; the faults of a message bear its own line."""
    turns: list[TurnRecord] = []
    same = {"scenario": "", "system_prompt": ""}
    for message in _messages(fields):
        role = as_sign(message, "role", means)
        text = message.answer("text")
        for name in _SAME_OF_ALL:
            _keep_same(message, name, same)
        _refuse_stray_scores(message, role)
        if role is Meaning.SYSTEM:
            if turns:
                reason = gettext_noop("A system prompt stands before all other messages")
                message.fault("role", reason, message.data["role"])
            same["system_prompt"] = same["system_prompt"] or text or ""
        elif role is Meaning.USER:
            turns.append(TurnRecord(text))
        elif role is Meaning.ASSISTANT:
            _answer(turns, _response(message, text, means))
        fields.notes.faults += message.notes.faults
        fields.notes.skipped = fields.notes.skipped or message.notes.skipped
    if not turns and not fields.notes.faults:
        fields.fault("session", gettext_noop("No messages"), fields.data["session"])
    return SessionRecord(
        key=fields.short("session", KEY_CHARS),
        scenario=same["scenario"] or SCENARIO,
        turns=tuple(turns),
        system_prompt=same["system_prompt"],
    )


def _messages(fields: Fields) -> Iterator[Fields]:
    for line, message in cast("list[_Message]", fields.data["messages"]):
        yield Fields(message, Notes(line))


def _keep_same(message: Fields, name: str, same: dict[str, str]) -> None:
    """Takes over what a message says of the whole conversation, as others do, or do not."""
    longest = SCENARIO_CHARS if name == "scenario" else None
    said = message.text_or(name, longest=longest)
    if said and same[name] and said != same[name]:
        reason = gettext_noop("Differs from the messages of this session before it")
        message.fault(name, reason, said)
    same[name] = same[name] or said


def _refuse_stray_scores(message: Fields, role: Meaning) -> None:
    if role in {Meaning.USER, Meaning.SYSTEM}:
        for name in _ONLY_OF_REPLIES:
            if message.text_or(name):
                reason = gettext_noop("Only replies of the assistant are rated")
                message.fault(name, reason, message.data[name])


def _response(message: Fields, text: str | None, means: Means) -> ResponseRecord:
    ratings, gold = rated(message, ANNOTATOR, means)
    model = message.text_or("model", longest=MODEL_CHARS)
    return ResponseRecord("0", text, model, original=True, satisfaction=ratings, gold=gold)


def _answer(turns: list[TurnRecord], response: ResponseRecord) -> None:
    """Adds a reply to the last message of the user, or after another reply as a turn of its own."""
    if turns and not turns[-1].responses:
        turns[-1] = replace(turns[-1], responses=(response,))
    else:
        turns.append(TurnRecord(None, (response,)))
