"""A request to a chat endpoint, its reply, and the key under which a reply is stored.

The wire format is that of OpenAI-compatible chat completions. The key is the SHA-256 of canonical
JSON of everything that could change the reply: base URL, model, messages, sampling, schema,
log-probability request, sample index and attempt (design.md, "Data model"), and of the occasion
where a reply is for one moment alone.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from annotation.core.conversations import Message
from annotation.core.reasoning import (
    BETWEEN,
    REASONING_FIELDS,
    REASONING_PARTS,
    join_reasoning,
    reasoning_text,
    split_reasoning,
)
from annotation.core.refusals import Refused
from judging.core.structured import storable
from judging.core.tokens import aligned, readable_token
from judging.core.verdicts import TokenLogprob


def lines_of(stream: bytes) -> list[bytes]:
    """Splits at feeds and returns alone: JSON may hold other ends of lines as they are."""
    return stream.replace(b"\r", b"\n").split(b"\n")


def is_stream(content: bytes) -> bool:
    """Whether an answer is a stream of events, whatever its type says."""
    return content.removeprefix(BOM_UTF8).lstrip().startswith(_EVENT_STARTS)


def event_data(line: bytes) -> bytes:
    """What a line of a stream tells; b"" of a comment, an event's name, or the end of one."""
    name, _, data = line.removeprefix(BOM_UTF8).partition(b":")
    return data.strip() if name in _TELLING_FIELDS else b""


_EVENT_STARTS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_TELLING_FIELDS: Final = (b"data", b"error")
"""Older servers of llama.cpp tell errors in a field of their own."""


class CompletionPieces:
    """Collects the events of one streamed completion."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._tokens: list[object] = []
        self._others: dict[str, object] = {}
        self._choice: dict[str, object] = {}
        self._usage: object = None
        self._finish_reason = ""
        self.ended = False

    def add(self, event: object) -> bool:
        """Takes an event; whether the text grew."""
        fields = _mapping(event)
        if fields.get("usage"):
            self._usage = fields["usage"]
        choice = _mapping(_first(fields.get("choices")))
        if not choice:
            return False
        if reason := _text(choice.get("finish_reason")):
            self._finish_reason = reason
            self.ended = True
        tokens = _mapping(choice.get("logprobs")).get("content")
        self._tokens += tokens if isinstance(tokens, list) else []
        self._choice |= {name: choice[name] for name in _TELLING_WHY if choice.get(name)}
        return self._add_delta(_mapping(choice.get("delta")) or _mapping(choice.get("message")))

    def _add_delta(self, delta: Mapping[str, object]) -> bool:
        self._reasoning.append(_apart(delta))
        self._refusal.append(_text(delta.get("refusal")))
        self._others |= {name: delta[name] for name in _CALLS if delta.get(name)}
        content = _content(delta.get("content"))
        if not content:
            return False
        self._content.append(content)
        return True

    @property
    def content(self) -> str:
        """The text so far, with what reasoning stands in it."""
        return "".join(self._content)

    def completion(self) -> dict[str, Any]:
        """The JSON of the same completion as if it had not been streamed; {} if nothing came."""
        message = {
            "content": self.content,
            "reasoning_content": "".join(self._reasoning),
            "refusal": "".join(self._refusal),
            **self._others,
        }
        if not (any(message.values()) or self._choice or self._finish_reason):
            return {}
        choice = {"message": message, "finish_reason": self._finish_reason, **self._choice}
        if self._tokens:
            choice["logprobs"] = {"content": self._tokens}
        return {"choices": [choice], "usage": self._usage}


_TELLING_WHY: Final = ("error", "content_filter_results")
_CALLS: Final = ("tool_calls", "function_call")


_TELLING: Final = re.compile(r"\W*+(?:[A-Za-z0-9]|true|false)\W*+", re.IGNORECASE)
"""A letter, a digit, a yes or no: the tokens whose alternatives say how sure a model was."""


OWN_FIELDS: Final = (
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "stream",
    "response_format",
    "logprobs",
    "top_logprobs",
)
"""Fields of a request that are filled in here and nowhere else."""


def checked_extra(value: object) -> Mapping[str, Any]:
    """Further fields of a request, once they are found to be usable.

    Raises:
        Refused: they are not.
    """
    if not isinstance(value, Mapping) or any(name in OWN_FIELDS for name in value):
        message = f"extra fields must be a JSON object without {', '.join(OWN_FIELDS)}"
        raise Refused("llm:bad-endpoint", message)
    return value


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn; `max_tokens` counts reasoning too.

    `extra` are further fields of the request, such as `reasoning_effort`; None leaves a field out.
    """

    temperature: float = 0.0
    max_tokens: int = 1024
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The form a reply must have, where the endpoint can hold a model to it."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One reply to ask for.

    `top_logprobs` is how many alternatives of each token to return (0: none). `sample` numbers
    wanted repetitions of one question; `attempt` numbers what is asked after an unreadable reply,
    with a reminder among its messages or, where replies are drawn, as it was. `occasion` names the
    one moment that a reply is for: two people who say the same in live conversations must not
    share a reply.
    """

    base_url: str
    model: str
    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    schema: JsonSchema | None = None
    top_logprobs: int = 0
    sample: int = 0
    attempt: int = 0
    occasion: str = ""

    def body(self) -> dict[str, object]:
        """The JSON body of the call."""
        body: dict[str, object] = {
            "model": self.model,
            "messages": [
                {"role": message.role.value, "content": message.text} for message in self.messages
            ],
            "temperature": self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
        }
        if self.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": self.schema.name,
                    "schema": dict(self.schema.schema),
                    "strict": True,
                },
            }
        body |= self.sampling.extra
        return {name: value for name, value in body.items() if value is not None}

    @property
    def is_drawn(self) -> bool:
        """Whether the same request may get another reply, as far as its temperature says."""
        return self.body().get("temperature") != 0

    def key(self) -> str:
        """64 hexadecimal digits; equal for equal questions, whoever asks."""
        parts = self.body() | {
            "base_url": self.base_url.rstrip("/"),
            "sample": self.sample,
            "attempt": self.attempt,
        }
        if self.occasion:
            parts["occasion"] = self.occasion
        canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return sha256(canonical.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; None where it does not say."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenStep:
    """One token of a reply: where it starts (UTF-8 bytes into the text) and what was likely."""

    offset: int
    token: str
    top: tuple[TokenLogprob, ...]


CUT: Final = "llm:cut"
"""A reply reached its longest length: a text is not whole, or what was asked for is missing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said. `text` has its reasoning stripped; `reasoning` keeps it.

    `steps` is None where no log-probabilities came; otherwise it holds the first token and every
    token that is a lone letter or digit, which is all that verdicts and scores are read from.
    """

    key: str
    text: str
    reasoning: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()
    steps: tuple[TokenStep, ...] | None = None
    latency_ms: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether the reply was cut at its largest number of tokens."""
        return self.finish_reason.lower() in _CUT_REASONS


_CUT_REASONS: Final = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    }
)


def read_completion(key: str, data: object, *, latency_ms: int) -> Reply:
    """The reply in a chat completion's JSON.

    Reasoning is taken out here, once: what is marked as such in the text, and what some servers
    send apart.

    Raises:
        Refused: `data` has no first choice with a message.
    """
    choice = _mapping(_first(_mapping(data).get("choices")))
    message = _mapping(choice.get("message"))
    if not message:
        raise Refused("llm:malformed", "the completion has no message")
    content = storable(_content(message.get("content")))
    found = split_reasoning(content)
    text = found.answer.strip()
    pieces = list(found.pieces) if text else [(0, 0)]
    pieces[0] = (pieces[0][0] + found.answer.find(text), pieces[0][1])
    return Reply(
        key=key,
        text=text,
        reasoning=storable(join_reasoning(_apart(message), found.reasoning)),
        finish_reason=storable(_text(choice.get("finish_reason"))),
        usage=_usage(_mapping(_mapping(data).get("usage"))),
        steps=_steps(choice.get("logprobs"), content=content, pieces=pieces),
        latency_ms=latency_ms,
    )


def steps_to_json(steps: Sequence[TokenStep] | None) -> list[list[object]] | None:
    """Steps as stored: [offset, token, [[alternative, log-probability], ...]]."""
    if steps is None:
        return None
    return [
        [step.offset, step.token, [[entry.token, entry.logprob] for entry in step.top]]
        for step in steps
    ]


def steps_from_json(stored: Sequence[Sequence[Any]] | None) -> tuple[TokenStep, ...] | None:
    """What `steps_to_json` gave."""
    if stored is None:
        return None
    return tuple(
        TokenStep(offset, token, tuple(TokenLogprob(name, logprob) for name, logprob in top))
        for offset, token, top in stored
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _content(value: object) -> str:
    """The text of a message; some servers send it in parts, of which some are reasoning."""
    if isinstance(value, list):
        return "".join(_content(part) for part in value if not isinstance(part, list))
    if isinstance(value, Mapping) and value.get("type") not in REASONING_PARTS:
        return _text(value.get("text"))
    return _text(value)


def _apart(message: Mapping[str, object]) -> str:
    """The reasoning that a message has beside its text, or in parts of it."""
    for name in REASONING_FIELDS:
        if found := reasoning_text(message.get(name)):
            return found
    content = message.get("content")
    parts = [_mapping(part) for part in content] if isinstance(content, list) else []
    thought = (reasoning_text(part) for part in parts if part.get("type") in REASONING_PARTS)
    return "".join(thought)


def _usage(usage: Mapping[str, object]) -> Usage:
    details = _mapping(usage.get("prompt_tokens_details"))
    cached = details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return Usage(
        _count(usage.get("prompt_tokens")), _count(cached), _count(usage.get("completion_tokens"))
    )


_MOST_TOKENS: Final = 2**31 - 1
"""Largest count that a column holds; a larger one is an error of the endpoint."""


def _count(value: object) -> int | None:
    """A count of an endpoint's JSON; None if it is none, or if no column holds it."""
    if isinstance(value, float) and value.is_integer():  # also false of infinities and NaN
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def _steps(
    logprobs: object, *, content: str, pieces: Sequence[tuple[int, int]]
) -> tuple[TokenStep, ...] | None:
    """The steps worth keeping, with offsets into the answer, counted in bytes.

    The answer are the pieces of the content, with `BETWEEN` between each two.
    """
    tokens = _mapping(logprobs).get("content")
    if not isinstance(tokens, list):
        return None
    entries = [_mapping(token) for token in tokens]
    given = [_bytes(entry) for entry in entries]
    written = aligned([_text(entry.get("token")) for entry in entries], given, content)
    before = max(b"".join(written).rfind(content.encode()), 0)  # reasoning sent apart, if any
    spans = [
        (before + len(content[:start].encode()), len(content[start:end].encode()))
        for start, end in pieces
    ]
    kept: list[TokenStep] = []
    place, told = 0, 0  # in all tokens; in the answer, up to the piece
    for entry, raw, piece in zip(entries, given, written, strict=True):
        while len(spans) > 1 and place >= sum(spans[0]):
            told += spans.pop(0)[1] + len(BETWEEN)
        start = spans[0][0]
        token = readable_token(_text(entry.get("token")), raw)
        is_telling = place < sum(spans[0]) and _TELLING.fullmatch(token)
        if place + len(piece) > start and (is_telling or not kept):
            kept.append(TokenStep(told + place - start, storable(token), _alternatives(entry)))
        place += len(piece)
    return tuple(kept)


def _bytes(entry: Mapping[str, object]) -> bytes | None:
    """The bytes of a token; servers send them because a token may be part of a character."""
    raw = entry.get("bytes")
    if isinstance(raw, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in raw):
        return bytes(raw)
    return None


_LOGPROBS: Final = (-10_000.0, 1.0)
"""What can be one, with room for rounding; servers write -9999 for one that they left out."""


def _alternatives(entry: Mapping[str, object]) -> tuple[TokenLogprob, ...]:
    top = entry.get("top_logprobs")
    found: list[TokenLogprob] = []
    least, most = _LOGPROBS
    for each in top if isinstance(top, list) else []:
        alternative = _mapping(each)
        token = alternative.get("token")
        logprob = finite_number(alternative.get("logprob"))
        if isinstance(token, str) and logprob is not None and least <= logprob <= most:
            readable = readable_token(token, _bytes(alternative))
            found.append(TokenLogprob(storable(readable), logprob))
    return tuple(found)


def finite_number(value: object) -> float | None:
    """A number of an endpoint's JSON; None if it is none, infinite, NaN or beyond a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
