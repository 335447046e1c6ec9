"""How an endpoint wants to be asked: learned from its refusals, applied to what is sent.

A request's key stays that of what was asked for, so that a lesson never has a call paid twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from annotation.core.conversations import Message, Speaker
from judging.core.problems import Problem

OLD_LIMIT: Final = "max_tokens"
NEW_LIMIT: Final = "max_completion_tokens"
_LEAST_TEMPERATURE: Final = 0.01
"""For endpoints that take no 0: nearly always the likeliest token."""
_USUAL_LEAST: Final = 16
_USUAL_ALTERNATIVES: Final = 5
_MOST: Final = 10**7


def without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same conversation for a model without a system role.

    What the system said stands, in its order, before the first user message; where no user speaks
    it becomes the first one.
    """
    said = "\n\n".join(message.text for message in messages if message.role is Speaker.SYSTEM)
    rest = [message for message in messages if message.role is not Speaker.SYSTEM]
    if not said:
        return tuple(rest)
    for place, message in enumerate(rest):
        if message.role is Speaker.USER:
            rest[place] = Message(Speaker.USER, f"{said}\n\n{message.text}")
            return tuple(rest)
    return (Message(Speaker.USER, said), *rest)


@dataclass(frozen=True, slots=True)
class Manners:
    """What an endpoint takes. The defaults are those of chat completions.

    `limit_name` is the field of the longest reply, which must lie between `least_tokens` and
    `most_tokens`. `temperature` says whether that field is sent, `warm` that it must be above 0.
    `most_alternatives` is how many alternatives of a token may be asked for. `streams` is None
    where both ways of answering will do.
    """

    limit_name: str = OLD_LIMIT
    least_tokens: int | None = None
    most_tokens: int | None = None
    temperature: bool = True
    warm: bool = False
    logprobs: bool = True
    most_alternatives: int | None = None
    json_schema: bool = True
    system_role: bool = True
    streams: bool | None = None
    stream_options: bool = True

    def wire(self, body: Mapping[str, Any], *, told: bool = False) -> Mapping[str, Any]:
        """What is sent for the body of a request.

        Args:
            body: as `ChatRequest.body` gives it.
            told: the reply is told while it is written, if the endpoint can.
        """
        streams = self.streams is not False and (told or self.streams is True)
        if self is PLAIN and not streams:
            return body
        sent = self.whole(body)
        if streams:
            sent["stream"] = True
            if self.stream_options:
                sent["stream_options"] = {"include_usage": True}
        return sent

    def whole(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a reply that comes whole, as those of batch files do."""
        sent = {self._name(name): value for name, value in body.items()}
        if (limit := sent.get(self.limit_name)) is not None:
            limit = max(limit, self.least_tokens or limit)
            sent[self.limit_name] = min(limit, self.most_tokens or limit)
        if not self.temperature:
            sent.pop("temperature", None)
        elif self.warm and sent.get("temperature") == 0:
            sent["temperature"] = _LEAST_TEMPERATURE
        if not self.logprobs:
            sent.pop("logprobs", None)
            sent.pop("top_logprobs", None)
        elif self.most_alternatives and "top_logprobs" in sent:
            sent["top_logprobs"] = min(sent["top_logprobs"], self.most_alternatives)
        if not self.json_schema:
            sent.pop("response_format", None)
        if not self.system_role:
            sent["messages"] = _merged(sent["messages"])
        return sent

    def _name(self, name: str) -> str:
        return self.limit_name if name == OLD_LIMIT else name

    def takes(self, ability: str) -> bool:
        """Whether no refusal spoke against "logprobs", "json_schema" or "system_role"."""
        return bool(getattr(self, ability))

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {
            name: value for name, usual in _USUAL.items() if (value := getattr(self, name)) != usual
        }


PLAIN: Final = Manners()
_USUAL: Final = {each.name: each.default for each in fields(Manners)}


def manners_of(stored: Mapping[str, Any]) -> Manners:
    """What `to_json` gave; names that are not known are passed over."""
    known = {name: value for name, value in stored.items() if name in _USUAL}
    return replace(PLAIN, **known) if known else PLAIN


def _merged(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    texts = (Message(Speaker(each["role"]), each["content"]) for each in messages)
    merged = without_system(tuple(texts))
    return [{"role": each.role.value, "content": each.text} for each in merged]


def lesson_in(problem: Problem, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What a refusal teaches, as fields of `Manners`; nothing unless it names what was sent.

    Args:
        problem: what the endpoint said.
        sent: the body that it refused.
    """
    words = problem.words.replace("upstream", "")
    numbers = _numbers(problem.message)
    return (
        _stream(words, sent)
        or _limit(words, sent, numbers)
        or _temperature(words, sent)
        or _alternatives(words, sent, numbers)
        or _schema(words, sent)
        or _system(words, sent)
        or _optional(words, sent)
    )


_WANTS_STREAM: Final = (
    "must have stream",
    "stream=true",
    "stream: true",
    "stream mode",
    "streaming mode",
    "stream must be",
    "stream should be",
    "'stream' must",
    "only support stream",
    "only supports stream",
    "only stream",
    "non-stream",
    "nonstream",
    "non stream",
    "enable stream",
    "enable the stream",
    "requires stream",
    "require stream",
    "stream is required",
    "streaming is required",
    "streaming is strongly recommended",
    "set stream",
    "use stream",
    "with stream",
    "流式",
)


def _stream(words: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    if not sent.get("stream"):
        return {"streams": True} if _any(words, _WANTS_STREAM) else {}
    if "stream_options" in sent and "stream_options" in words.replace(" ", "_"):
        return {"stream_options": False}
    return {"streams": False} if "stream" in words else {}


_TOO_LARGE: Final = (
    "too large",
    "at most",
    "maximum",
    "range",
    "should be [1,",
    "<=",
    "less than or equal",
    "no more than",
    "exceed",
)
_TOO_SMALL: Final = (
    "higher max_tokens",
    "below minimum",
    "minimum value",
    "at least",
    ">=",
    "greater than or equal",
    "model output limit was reached",
)


def _limit(words: str, sent: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """The name of the longest reply, or how long it may be."""
    name = NEW_LIMIT if NEW_LIMIT in sent else OLD_LIMIT
    limit = sent.get(name)
    named = any(each in words for each in (OLD_LIMIT, NEW_LIMIT, "max_output_tokens"))
    if not named or not isinstance(limit, int):
        return {}
    if _any(words, _TOO_SMALL):
        least = min((one for one in numbers if one > limit), default=_USUAL_LEAST)
        return {"least_tokens": least} if limit < least else {}
    below = [one for one in numbers if 1 < one < limit]
    if below and _any(words, _TOO_LARGE):
        return {"most_tokens": max(below)}
    if name == OLD_LIMIT:
        return {"limit_name": NEW_LIMIT}
    return {"limit_name": OLD_LIMIT} if NEW_LIMIT in words else {}


_ABOVE_ZERO: Final = ("positive", "greater than 0", "> 0", "(0", "above 0", "0.01", "larger than 0")


def _temperature(words: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    if "temperature" not in words or "temperature" not in sent:
        return {}
    is_cold = sent["temperature"] == 0
    return {"warm": True} if is_cold and _any(words, _ABOVE_ZERO) else {"temperature": False}


_FEWER: Final = (
    *_TOO_LARGE,
    "between",
    "greater than",
    "more than",
    "up to",
    "limit",
    "must ",
    "[0",
)


_LOGPROBS: Final = ("logprobs", "log_probs", "log probabilities", "top_n_tokens")


def _alternatives(words: str, sent: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """How many alternatives it gives; none if it refuses log-probabilities as such."""
    if not sent.get("logprobs") or not _any(words, _LOGPROBS):
        return {}
    asked = sent.get("top_logprobs", 0)
    if not _any(words, _FEWER) or asked <= 1:
        return {"logprobs": False}
    if f"{asked})" in words:  # a range that ends before it, as [1, 20)
        return {"most_alternatives": asked - 1}
    usual = min(_USUAL_ALTERNATIVES, asked - 1)
    fewer = max((one for one in numbers if 0 < one < asked), default=usual)
    return {"most_alternatives": fewer}


_SCHEMA: Final = (
    "response_format",
    "response format",
    "responseformat",
    "response_schema",
    "json_schema",
    "json schema",
    "jsonschema",
    "json mode",
    "json_object",
    "structured output",
    "structured_output",
    "guided",
    "grammar",
    "invalid schema",
)


def _schema(words: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    return {"json_schema": False} if "response_format" in sent and _any(words, _SCHEMA) else {}


_SYSTEM: Final = (
    "system role",
    "system message",
    "system prompt",
    "system instruction",
    "developer instruction",
    "'system'",
    '"system"',
    "`system`",
    "role system",
    "role: system",
    "role=system",
    "roles must alternate",
    "roles should alternate",
    "only user",
    "unexpected role",
    "unknown role",
    "invalid role",
    "unsupported role",
    "'user' or 'assistant'",
    "不支持system",
    "不支持 system",
    "system角色",
    "system 角色",
)


def _system(words: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    has_system = any(each["role"] == Speaker.SYSTEM.value for each in sent["messages"])
    return {"system_role": False} if has_system and _any(words, _SYSTEM) else {}


def _optional(words: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """OpenRouter does not say which parameter none of its providers takes."""
    if "requested parameters" not in words:
        return {}
    if sent.get("logprobs"):
        return {"logprobs": False}
    return {"json_schema": False} if "response_format" in sent else {}


def _any(words: str, phrases: Sequence[str]) -> bool:
    return any(phrase in words for phrase in phrases)


_NUMBER: Final = re.compile(r"\d[\d,]*")


def _numbers(words: str) -> list[int]:
    """Whole numbers of a text, as far as they can be meant."""
    found = (each.replace(",", "") for each in _NUMBER.findall(words))
    return [number for each in found if len(each) <= 8 and (number := int(each)) <= _MOST]
