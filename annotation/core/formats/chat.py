"""Messages of a conversation, whatever words a file has for who speaks and what was said.

A message is an object with a role (`role`, `from` or `speaker`) and a text (`content`, `value` or
`text`). A text may come in parts: texts are joined, anything else leaves a placeholder that says
what it was. Calls of tools and their results become code blocks named `tool-call` and
`tool-result`, which pages fold. What a model thought is kept apart from its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.fields import Fields
from annotation.core.formats.records import (
    Extra,
    ResponseRecord,
    SatisfactionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop

REASONING: Final = "reasoning"
"""The key of a response's `extra` with what the model thought before it answered."""

TOOL: Final = "tool"
"""What a message is that holds a tool's result: one of the model's steps, no speaker of its own."""

ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("system", "developer"), Speaker.SYSTEM),
    **dict.fromkeys(("user", "human", "prompter", "seeker"), Speaker.USER),
    **dict.fromkeys(
        ("assistant", "gpt", "chatgpt", "bot", "bing", "bard", "model", "ai"), Speaker.ASSISTANT
    ),
    **dict.fromkeys(("tool", "function", "observation", "ipython", "tool_response"), TOOL),
    **dict.fromkeys(("function_call", "tool_call"), TOOL),
}
_ROLE_FIELDS: Final = ("role", "from", "speaker")
_TEXT_FIELDS: Final = ("content", "value", "text")
_THOUGHT_FIELDS: Final = ("thinking", "reasoning_content", "reasoning", "thought")
_CALLS: Final = ("tool_calls", "function_call")
_KNOWN: Final = (*_ROLE_FIELDS, *_TEXT_FIELDS, *_THOUGHT_FIELDS, *_CALLS, "tool_call_id", "name")
_TEXT_PARTS: Final = ("text", "input_text", "output_text")
_THOUGHT_PARTS: Final = ("thinking", "reasoning")
_CALL_ROLES: Final = ("function_call", "tool_call")


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """One message as a file has it, with what the file says about it."""

    role: Speaker
    text: str
    model: str = ""
    extra: Extra | None = None
    satisfaction: tuple[SatisfactionRecord, ...] = ()


@dataclass(slots=True)
class _Step:
    """A message that was read: its role, or TOOL, the pieces of its text, and what else it has."""

    role: str
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)
    has_calls: bool = False

    @property
    def text(self) -> str:
        """Its pieces, an empty line between each two."""
        return "\n\n".join(self.pieces)


def read_messages(
    fields: Fields, name: str, *, keep: Sequence[str] = (), drop: Sequence[str] = ()
) -> list[SpokenMessage]:
    """The messages of a field, the model's steps with a tool as one message.

    A fault is noted for a message without a role or a text that is known.

    Args:
        fields: The object with the list.
        name: The list's field.
        keep: Fields of a message that are kept in its `extra` without being counted.
        drop: Fields of a message that say nothing beside what is read.
    """
    steps = [_step(item, keep, drop) for item in fields.items(name)]
    return [_spoken(each) for each in _joined(steps)]


def read_message(fields: Fields, name: str) -> list[SpokenMessage]:
    """The messages of a field that holds one message, or a list of them."""
    if isinstance(fields.data.get(name), Mapping):
        item = Fields(fields.mapping(name), fields.notes, fields.at(name))
        return [_spoken(_step(item, (), ()))]
    return read_messages(fields, name)


def read_text(fields: Fields, name: str) -> str:
    """A text, or the texts of a list of parts; other parts leave a placeholder."""
    step = _Step(Speaker.USER)
    _read_content(fields, name, step)
    return step.text


def without_system(
    fields: Fields, name: str, messages: Sequence[SpokenMessage]
) -> tuple[str, list[SpokenMessage]]:
    """The system prompt that messages begin with, and the others; a later one is a fault."""
    found = list(messages)
    system = []
    while found and found[0].role is Speaker.SYSTEM:
        system.append(found.pop(0).text)
    for message in found:
        if message.role is Speaker.SYSTEM:
            fields.fault(name, gettext_noop("A system message must come first"), message.text)
    return "\n\n".join(system), found


def shared_start(*dialogues: Sequence[SpokenMessage]) -> int:
    """How many messages all dialogues begin with."""
    same = 0
    for said in zip(*dialogues, strict=False):
        if any((each.role, each.text) != (said[0].role, said[0].text) for each in said):
            break
        same += 1
    return same


def turns_of(messages: Iterable[SpokenMessage]) -> tuple[TurnRecord, ...]:
    """The turns of a conversation, every assistant message the original response of its turn.

    Two user messages in a row leave the first turn unanswered; an assistant message with no user
    message before it opens a turn whose user message is None. Responses are keyed by their turn,
    counted from 0.
    """
    turns: list[TurnRecord] = []
    answered = True
    for message in messages:
        if message.role is Speaker.USER:
            turns.append(TurnRecord(message.text))
            answered = False
            continue
        opened = turns.pop().user_message if not answered else None
        response = ResponseRecord(
            key=str(len(turns)),
            text=message.text,
            model=message.model,
            original=True,
            extra=message.extra or {},
            satisfaction=message.satisfaction,
        )
        turns.append(TurnRecord(opened, (response,)))
        answered = True
    return tuple(turns)


def open_turn(messages: Sequence[SpokenMessage]) -> tuple[tuple[TurnRecord, ...], str | None]:
    """The turns before the one that responses to a dialogue answer, and its user message.

    Where the dialogue ends on the model, as after a call of a tool, there is no user message.
    """
    turns = turns_of(messages)
    if turns and not turns[-1].responses:
        return turns[:-1], turns[-1].user_message
    return turns, None


def _step(fields: Fields, keep: Sequence[str], drop: Sequence[str]) -> _Step:
    name = next((each for each in _ROLE_FIELDS if fields.has(each)), _ROLE_FIELDS[0])
    told = fields.text(name).strip().lower()
    role = ROLES.get(told)
    if role is None:
        if told:
            reason = gettext_noop("Expected user, assistant, system or tool")
            fields.fault(name, reason, fields.data.get(name))
        role = Speaker.USER
    step = _Step(role)
    content = next((each for each in _TEXT_FIELDS if fields.has(each)), _TEXT_FIELDS[0])
    calls = [*_calls(fields)]
    if fields.has(content) or not calls:
        _read_content(fields, content, step)
    if role == TOOL:
        named = "tool-call" if told in _CALL_ROLES else "tool-result"
        step.pieces = [_block(named, step.text)]
    step.pieces += [_block("tool-call", each) for each in calls]
    step.has_calls = bool(calls) or role == TOOL
    step.thoughts += [
        fields.text(each)
        for each in _THOUGHT_FIELDS
        if isinstance(fields.data.get(each), str) and fields.data[each]
    ]
    kept = {each: fields.data[each] for each in keep if fields.has(each)}
    step.extra = fields.kept(*_KNOWN, *keep, *drop) | kept
    return step


def _read_content(fields: Fields, name: str, step: _Step) -> None:
    """Add what a text, or a list of parts, says to a step."""
    given = fields.data.get(name)
    if not isinstance(given, list):
        step.pieces.append(fields.text(name))
        return
    for place, part in enumerate(given):
        path = f"{fields.at(name)}[{place}]"
        if isinstance(part, str):
            step.pieces.append(part)
        elif isinstance(part, Mapping):
            _read_part(Fields(part, fields.notes, path), step)
        elif part is not None:
            fields.notes.fault(path, gettext_noop("Expected a string or an object"), part)


def _read_part(fields: Fields, step: _Step) -> None:
    kind = fields.data.get("type") or "text"
    text = next((fields.data[each] for each in ("text", "value") if fields.has(each)), None)
    if kind in _TEXT_PARTS and text is not None:
        step.pieces.append(fields.notes.text(text, fields.at("text")))
    elif kind in _THOUGHT_PARTS:
        thought = fields.data.get("thinking", fields.data.get("reasoning", text))
        step.thoughts += [thought] if isinstance(thought, str) else []
    elif kind in ("tool_use", "tool_call"):
        step.pieces.append(_block("tool-call", _call(fields.data)))
        step.has_calls = True
    elif kind == "tool_result":
        inner = _Step(step.role)
        _read_content(fields, "content", inner)
        step.pieces.append(_block("tool-result", inner.text))
        step.has_calls = True
    elif kind == "text":
        fields.fault("text", gettext_noop("Missing"), None)
    else:
        step.pieces.append(placeholder(kind, fields.data))


def placeholder(kind: object, data: Mapping[str, object]) -> str:
    """What stands in a text for what is none, such as `[image: cat.png]`."""
    told = [data.get(each) for each in ("filename", "file_name", "name", "mimeType", "mime_type")]
    name = next((each for each in told if isinstance(each, str) and each), "")
    word = str(kind).removeprefix("input_").removesuffix("_url").replace("_", " ")
    return f"[{word}: {name}]" if name else f"[{word}]"


def _calls(fields: Fields) -> Iterator[str]:
    """The calls of tools of an assistant's message, each as a text."""
    given = fields.data.get("tool_calls") or fields.data.get("function_call")
    for each in given if isinstance(given, list) else [given]:
        if isinstance(each, Mapping):
            inner = each.get("function", each)
            yield _call(inner if isinstance(inner, Mapping) else each)
        elif each is not None:
            fields.fault("tool_calls", gettext_noop("Expected an object"), each)


def _call(data: Mapping[str, object]) -> str:
    """A call as `name(arguments)`; arguments come as an object, or as its JSON text."""
    arguments = next(
        (data[each] for each in ("arguments", "parameters", "input") if each in data), {}
    )
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return f"{data.get('name') or '?'}({arguments})"


def _block(name: str, text: str) -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{name}\n{text}\n{fence}"


def _joined(steps: Iterable[_Step]) -> Iterator[_Step]:
    """The steps, those of a model around its calls of tools as one."""
    current: _Step | None = None
    for step in steps:
        is_models = step.role in (Speaker.ASSISTANT, TOOL)
        if current is not None and is_models and (current.has_calls or step.has_calls):
            current.pieces += step.pieces
            current.thoughts += step.thoughts
            current.extra |= step.extra
            current.has_calls = step.has_calls or step.role == TOOL
            continue
        if current is not None:
            yield current
            current = None
        if is_models:
            current = replace(step, role=Speaker.ASSISTANT)
        else:
            yield step
    if current is not None:
        yield current


def _spoken(step: _Step) -> SpokenMessage:
    extra: dict[str, object] = dict(step.extra)
    if step.thoughts:
        extra[REASONING] = "\n\n".join(step.thoughts)
    role = Speaker.ASSISTANT if step.role == TOOL else Speaker(step.role)
    return SpokenMessage(role, step.text, extra=extra or None)
