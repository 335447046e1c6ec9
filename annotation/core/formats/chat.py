"""Messages of a conversation, whatever words a file has for who speaks and what was said.

A message is an object with a role (`role`, `from` or `speaker`) and a text (`content`, `value` or
`text`). A text may come in parts: texts are joined, anything else leaves a placeholder that says
what it was. Calls of tools and their results become code blocks named `tool-call` and
`tool-result`, which pages fold. What a model thought is kept apart from its text, as REASONING.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from annotation.core.conversations import Speaker
from annotation.core.formats.fields import MODEL_CHARS, NOT_AVAILABLE, Fields
from annotation.core.formats.records import (
    Extra,
    ResponseRecord,
    SatisfactionRecord,
    TurnRecord,
)
from annotation.core.reasoning import REASONING, reasoning_text
from annotation.core.refusals import gettext_noop

TOOL: Final = "tool"
"""The role of a message with a tool's result, which is a step of the model and not a speaker."""

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
_MEDIA: Final = ("image", "images", "video", "videos", "audio", "audios", "attachments", "files")
_READ: Final = (*_ROLE_FIELDS, *_TEXT_FIELDS, *_CALLS, "tool_call_id", "refusal")
_TEXT_PARTS: Final = ("text", "input_text", "output_text", "refusal")
_THOUGHT_PARTS: Final = ("thinking", "reasoning")
_CALL_ROLES: Final = ("function_call", "tool_call")
_ARGUMENTS: Final = ("arguments", "parameters", "input", "args")
_FENCE_NAME_CHARS: Final = 60
_ADDRESS_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """One message as a file has it, with what the file says about it."""

    role: Speaker
    text: str
    model: str = ""
    extra: Extra | None = None
    satisfaction: tuple[SatisfactionRecord, ...] = ()
    is_available: bool = True

    @property
    def answer(self) -> str | None:
        """Its text as a response has it: None where the file does not have it."""
        return self.text if self.is_available else None


def spoken(
    fields: Fields,
    name: str,
    role: Speaker,
    *,
    model: str = "",
    satisfaction: tuple[SatisfactionRecord, ...] = (),
) -> SpokenMessage:
    """The message whose text a field is; an answer may be null, which says that there is none."""
    text = fields.answer(name) if role is Speaker.ASSISTANT else fields.text(name)
    return SpokenMessage(
        role, text or "", model, satisfaction=satisfaction, is_available=text is not None
    )


@dataclass(slots=True)
class _Step:
    """A message that was read: its role, or TOOL, the pieces of its text, and what else it has.

    `results` are those of tools that stand in a user's message, as some interfaces have it.
    """

    role: str
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    has_calls: bool = False
    model: str = ""
    is_available: bool = True

    @property
    def text(self) -> str:
        """Its pieces that are not empty, an empty line between each two."""
        return "\n\n".join(each for each in self.pieces if each)


class _Reader:
    """Reads the messages of one list; knows the names of the tools that were called by id."""

    def __init__(self, keep: Sequence[str] = (), drop: Sequence[str] = ()) -> None:
        self._keep = keep
        self._drop = drop
        self._names: dict[str | int, str] = {}

    def steps(self, fields: Fields) -> Iterator[_Step]:
        """A message as a step, after one with the results of tools if it brings them."""
        name = next((each for each in _ROLE_FIELDS if fields.has(each)), _ROLE_FIELDS[0])
        word = fields.text(name).strip().lower()
        if word and word not in ROLES:
            reason = gettext_noop("Expected user, assistant, system or tool")
            fields.fault(name, reason, fields.data.get(name))
        step = _Step(ROLES.get(word, Speaker.USER))
        calls = [*self._calls(fields)]
        content = next((each for each in _TEXT_FIELDS if fields.has(each)), _TEXT_FIELDS[0])
        refusal = fields.text_or("refusal")
        if step.role == Speaker.ASSISTANT and not calls and _is_unavailable(fields, content):
            step.is_available = False
        elif fields.has(content) or not (calls or refusal):
            self.content(fields, content, step)
        step.pieces += [refusal] if refusal else []
        if step.role == TOOL:
            step.pieces = [self._tool_block(fields, word, step.text)]
        step.pieces += [code_block("tool-call", each) for each in calls]
        step.has_calls |= bool(calls) or step.role == TOOL
        self._keep_rest(fields, step)
        if step.results:
            yield _Step(TOOL, step.results, has_calls=True)
        if step.pieces or not step.results:
            yield step

    def content(self, fields: Fields, name: str, step: _Step) -> None:
        """Add what a text, or a list of parts, says to a step."""
        given = fields.data.get(name)
        parts = [given] if isinstance(given, Mapping) else given
        if not isinstance(parts, list):
            step.pieces.append(fields.text(name))
            return
        for place, part in enumerate(parts):
            path = f"{fields.at(name)}[{place}]"
            if isinstance(part, str):
                step.pieces.append(part)
            elif isinstance(part, Mapping):
                self._part(Fields(part, fields.notes, path), step)
            elif part is not None:
                fields.notes.fault(path, gettext_noop("Expected a string or an object"), part)

    def _part(self, fields: Fields, step: _Step) -> None:
        data = fields.data
        kind = data.get("type") or next((each for each in _MEDIA if data.get(each)), "text")
        name = next((each for each in ("text", "value", "refusal") if fields.has(each)), "text")
        if kind in _TEXT_PARTS:
            step.pieces.append(fields.text(name))
            _keep(fields, fields.kept("type", "text", "value", "refusal"))
        elif kind in _THOUGHT_PARTS:
            thought = data.get("thinking", data.get("reasoning", data.get(name)))
            rest = fields.rest("type") if thought is None else thought
            told = reasoning_text(rest) or json.dumps(rest, ensure_ascii=False)
            step.thoughts += [told] if rest else []
        elif kind in ("tool_use", "tool_call"):
            step.pieces.append(code_block("tool-call", self._call(data)))
            step.has_calls = True
        elif kind == "tool_result":
            inner = _Step(step.role)
            if fields.has("content"):
                self.content(fields, "content", inner)
            block = code_block("tool-result", inner.text, self._called(data.get("tool_use_id")))
            (step.results if step.role == Speaker.USER else step.pieces).append(block)
            step.has_calls |= step.role != Speaker.USER
        else:
            step.pieces.append(placeholder(kind, data))

    def _tool_block(self, fields: Fields, word: str, text: str) -> str:
        """The code block of a message that is all a tool's: its call, or its result."""
        if word in _CALL_ROLES:
            return code_block("tool-call", self._call_of_text(text))
        called = fields.text_or("name") or self._called(fields.data.get("tool_call_id"))
        return code_block("tool-result", text, called)

    def _called(self, key: object) -> str:
        return self._names.get(key, "") if isinstance(key, str | int) else ""

    def _calls(self, fields: Fields) -> Iterator[str]:
        """The calls of tools of an assistant's message, each as a text."""
        given = fields.data.get("tool_calls") or fields.data.get("function_call")
        if isinstance(given, str):
            given = _of_json(given)
        for each in given if isinstance(given, list) else [given]:
            if isinstance(each, Mapping):
                yield self._call(each)
            elif isinstance(each, str):
                yield each
            elif each is not None:
                fields.fault("tool_calls", gettext_noop("Expected an object"), each)

    def _call(self, data: Mapping[str, object]) -> str:
        """A call as `name(arguments)`; arguments come as an object, or as its JSON text."""
        named = (data.get(each) for each in ("function", "custom"))
        inner = next((each for each in named if isinstance(each, Mapping)), data)
        arguments = next((inner[each] for each in _ARGUMENTS if each in inner), {})
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        name = str(inner.get("name") or "?")
        key = data.get("id")
        if isinstance(key, str | int):
            self._names[key] = name
        return f"{name}({arguments})"

    def _call_of_text(self, text: str) -> str:
        """A call that is written as JSON text; any other text as it is."""
        found = _of_json(text)
        calls = found if isinstance(found, list) else [found]
        if not calls or not all(isinstance(each, Mapping) and "name" in each for each in calls):
            return text
        return "\n".join(self._call(each) for each in calls)

    def _keep_rest(self, fields: Fields, step: _Step) -> None:
        """Keep what a message says beside its text.

        A response of a model has it in its `extra`, any other message in that of the session.
        """
        thoughts = [each for each in _THOUGHT_FIELDS if isinstance(fields.data.get(each), str)]
        said = [fields.text(each) for each in thoughts if fields.data[each]]
        step.thoughts += dict.fromkeys(said)  # servers send the same under two names
        if step.thoughts:
            fields.notes.kept.append(REASONING)
        known = [*_READ, *thoughts, *self._drop]
        is_models = step.role in (Speaker.ASSISTANT, TOOL)
        if step.role == TOOL:
            known.append("name")
        if is_models and "model" not in self._keep and isinstance(fields.data.get("model"), str):
            known.append("model")
            step.model = fields.text_or("model", longest=MODEL_CHARS)
        media = [each for each in _MEDIA if fields.data.get(each) and each not in known]
        step.pieces += [placeholder(each.removesuffix("s"), {}) for each in media]
        fields.refuse_unplaced(*known, *self._keep, *_MEDIA)
        kept = {each: fields.data[each] for each in self._keep if fields.has(each)}
        step.extra = fields.kept(*known, *self._keep) | kept
        if not is_models:
            thought = {REASONING: "\n\n".join(step.thoughts)} if step.thoughts else {}
            _keep(fields, step.extra | thought)
            step.extra, step.thoughts = {}, []


_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})


def _of_json(text: str) -> Any:
    """The value that a text holds as JSON, or the text itself where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _keep(fields: Fields, extra: Extra) -> None:
    """Keep what a message that is no response says, with the session."""
    told = {name: value for name, value in extra.items() if value not in _NOTHING}
    if told:
        fields.notes.keep(fields.path, told)


def read_messages(
    fields: Fields, name: str, *, keep: Sequence[str] = (), drop: Sequence[str] = ()
) -> list[SpokenMessage]:
    """The messages of a field, the model's steps with a tool as one message.

    A fault is noted for a message without a role or a text that is known. What a message of a user
    or of the system says beside its text is kept in `messages` of the session's `extra`.

    Args:
        fields: The object with the list.
        name: The list's field.
        keep: Fields of a message that are kept without being counted.
        drop: Fields of a message that say nothing beside what is read.
    """
    reader = _Reader(keep, drop)
    steps = [step for item in fields.items(name) for step in reader.steps(item)]
    return [_spoken(each) for each in _joined(steps)]


def read_message(fields: Fields, name: str) -> list[SpokenMessage]:
    """The messages of a field that holds one message, or a list of them."""
    if isinstance(fields.data.get(name), Mapping):
        item = Fields(fields.mapping(name), fields.notes, fields.at(name))
        return [_spoken(each) for each in _joined(_Reader().steps(item))]
    return read_messages(fields, name)


def read_text(fields: Fields, name: str) -> str:
    """A text, or the texts of a list of parts; other parts leave a placeholder."""
    step = _Step(Speaker.ASSISTANT)
    _Reader().content(fields, name, step)
    if step.thoughts:
        fields.notes.kept.append(REASONING)
        fields.notes.keep(fields.at(name), {REASONING: "\n\n".join(step.thoughts)})
    return step.text


def is_message(value: object) -> bool:
    """Whether a value is a message: an object with a role and a text, calls or a refusal."""
    return (
        isinstance(value, Mapping)
        and any(isinstance(value.get(each), str) for each in _ROLE_FIELDS)
        and any(each in value for each in (*_TEXT_FIELDS, *_CALLS, "refusal"))
    )


def are_messages(value: object) -> bool:
    """Whether a value is a list that begins with a message."""
    return isinstance(value, list) and bool(value) and is_message(value[0])


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
            text=message.answer,
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


def _is_unavailable(fields: Fields, name: str) -> bool:
    """Whether an answer is null, or says that there is none."""
    if not fields.has(name):
        return any(each in fields.data for each in _TEXT_FIELDS)
    return fields.data[name] == NOT_AVAILABLE


def placeholder(kind: object, data: Mapping[str, object]) -> str:
    """A placeholder for a part that is not text, such as `[image: cat.png]`."""
    word = str(kind).removeprefix("input_").removesuffix("_url").replace("_", " ")
    inner = data.get(str(kind))
    places = [data, inner] if isinstance(inner, Mapping) else [data]
    names = ("filename", "file_name", "name", "mimeType", "mime_type", "url")
    told = [place.get(each) for place in places for each in names]
    told += [inner, data.get("url"), data.get("path")]
    found = (each for each in told if isinstance(each, str) and each)
    name = next((each for each in found if _is_short(each)), "")
    return f"[{word}: {name}]" if name else f"[{word}]"


def _is_short(name: str) -> bool:
    """Whether a name or address is one to show, and not the content itself."""
    return len(name) <= _ADDRESS_CHARS and not name.startswith("data:")


def code_block(name: str, text: str, called: str = "") -> str:
    """A code block whose fence is longer than any in the text, with the name of what was called."""
    fence = "```"
    while fence in text:
        fence += "`"
    title = re.sub(r"[`\s]+", "_", called)[:_FENCE_NAME_CHARS]
    return f"{fence}{name}{' ' if title else ''}{title}\n{text}\n{fence}"


def _joined(steps: Iterable[_Step]) -> Iterator[_Step]:
    """The steps, those of a model around its calls of tools as one."""
    current: _Step | None = None
    for step in steps:
        is_models = step.role in (Speaker.ASSISTANT, TOOL)
        if current is not None and is_models and (current.has_calls or step.has_calls):
            current.pieces += step.pieces
            current.thoughts += step.thoughts
            current.model = current.model or step.model
            _add_extra(current.extra, step.extra)
            current.has_calls = step.has_calls
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


def _add_extra(extra: dict[str, object], more: Extra) -> None:
    """Add the fields of a later step; one that differs gets the number of its step."""
    for name, value in more.items():
        place, number = name, 1
        while place in extra and extra[place] != value:
            number += 1
            place = f"{name}_{number}"
        extra[place] = value


def _spoken(step: _Step) -> SpokenMessage:
    extra: dict[str, object] = dict(step.extra)
    if step.thoughts:
        extra[REASONING] = "\n\n".join(step.thoughts)
    return SpokenMessage(
        Speaker(step.role),
        step.text,
        model=step.model,
        extra=extra or None,
        is_available=step.is_available or bool(step.pieces),
    )
