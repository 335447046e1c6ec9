"""What annotation tools call their own way: fields that people saw, and questions they answered.

A project names its fields and questions itself. The request and the responses are told by common
names, or by being the only ones left; which question gives the verdict likewise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotation.core.formats.chat import are_messages, open_turn, read_messages, without_system
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.headers import guess
from annotation.core.formats.records import (
    Extra,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

_RESPONSE: Final = re.compile(
    r"(?:(?:text|answer|response|output|reply|completion|candidate|option|generation|chatbot"
    r"|回答|回复|答案) ?)?([a-h]|\d{1,2})"
)
_ALONE: Final = frozenset(
    {"response", "answer", "output", "completion", "reply", "回答", "回复", "答案"}
)
_WHY: Final = frozenset({"why", "reason", "reasons", "justification", "feedback", "理由", "原因"})
_NO_RESPONSES: Final = gettext_noop(
    "Cannot tell which fields are the request and the responses: call them prompt, response_1 and "
    "response_2"
)
SEVERAL_VERDICTS: Final = gettext_noop(
    "Several questions could give the verdict (%(names)s): call the one that does preference, or "
    "remove the others from the file"
)


@dataclass(frozen=True, slots=True)
class ShownFields:
    """Which of a project's fields is what; of models, scenario and the like by `known`."""

    prompt: str | None
    responses: tuple[str, ...]
    known: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that have a place."""
        prompt = () if self.prompt is None else (self.prompt,)
        return (*prompt, *self.responses, *self.known.values())


@dataclass(slots=True)
class OtherAnswers:
    """What one annotator said beside the verdict: the reasons given, and anything else."""

    reasons: list[str] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def comment(self) -> str:
        """The reasons, a line each."""
        return "\n".join(self.reasons)

    def add(self, name: str, value: object, *, is_reason: bool = False) -> None:
        """Take an answer: a reason if its question asks for one, or it is said to be one."""
        given = value if isinstance(value, list) else [value]
        texts = [each for each in given if isinstance(each, str)]
        if (is_reason or says_why(name)) and len(texts) == len(given):
            self.reasons += [each for each in texts if each]
        elif value not in (None, "", [], {}):
            self.extra[name] = value


def says_why(name: str) -> bool:
    """Whether a question of this name asks for a comment or a reason."""
    return _plain(name) in _WHY or "comment" in guess([name])


def verdict_question(names: Sequence[str]) -> str | None:
    """The question that gives the verdict, of those that could; None if several could."""
    if len(names) == 1:
        return names[0]
    named = [each for each in names if asks_which(each)]
    return named[0] if len(named) == 1 else None


def asks_which(name: str) -> bool:
    """Whether a question of this name asks which response is better."""
    return "verdict" in guess([name]) or _plain(name).startswith("overall")


def shown_fields(names: Sequence[str], *, only_named: bool = False) -> ShownFields:
    """Which of these fields is what; with `only_named` none because it is the only one left."""
    found = {name: match[1] for name in names if (match := _RESPONSE.fullmatch(_plain(name)))}
    responses = sorted(found, key=lambda name: (len(found[name]), found[name]))
    others = [name for name in names if name not in found]
    guessed = {
        key: others[place]
        for key, place in guess([*others, "a", "b"]).items()
        if place < len(others)
    }
    prompt = guessed.pop("prompt", None)
    if not responses:
        responses = [name for name in others if _plain(name) in _ALONE][:1]
    placed = (prompt, *responses, *guessed.values())
    rest = [name for name in others if name not in placed and not says_why(name)]
    if only_named:
        rest = []
    if not responses and len(rest) == 2:
        responses, rest = rest, []
    if prompt is None and len(rest) == 1:
        prompt = rest[0]
    known = {key: name for key, name in guessed.items() if key in _KNOWN}
    return ShownFields(prompt, tuple(responses), known)


_KNOWN: Final = ("model_a", "model_b", "scenario", "system_prompt")


@dataclass(frozen=True, slots=True)
class Shown:
    """What people saw: the session up to its last turn, that turn's message, and its responses."""

    session: SessionRecord
    message: str | None
    responses: tuple[ResponseRecord, ...]


def read_shown(
    fields: Fields,
    where: ShownFields,
    *,
    key: str,
    scenario: str,
    responses: Sequence[ResponseRecord] = (),
    fewest: int = 2,
) -> Shown:
    """What people saw, by the fields that say it.

    A fault is noted where there are too few responses.

    Args:
        fields: The object that has the fields.
        where: Which field is what.
        key: The session's key; "" for one made of the content.
        scenario: The scenario where no field tells one.
        responses: The responses, where they are no fields of their own.
        fewest: How many responses there must be.
    """
    found = tuple(responses) or _responses(fields, where)
    if len(found) < fewest:
        fields.fault("", _NO_RESPONSES, ", ".join(fields.data))
    system, earlier, message = _request(fields, where)
    told = scenario
    if "scenario" in where.known:
        told = fields.text_or(where.known["scenario"], scenario, longest=SCENARIO_CHARS)
    content = content_key(told, system, message or "", *(each.text or "" for each in found))
    session = SessionRecord(key or content, told, earlier, system_prompt=system)
    return Shown(session, message, found)


def _responses(fields: Fields, where: ShownFields) -> tuple[ResponseRecord, ...]:
    given = [""] * max(len(where.responses), 2)
    for place, key in enumerate(("model_a", "model_b")):
        if key in where.known:
            given[place] = fields.text_or(where.known[key], longest=MODEL_CHARS)
    found: list[ResponseRecord] = []
    for name, model in zip(where.responses, given, strict=False):
        text = fields.answer(name)
        same = any((each.model, each.text) == (model, text) for each in found)
        variant = chr(ord("A") + len(found)) if same else ""
        found.append(ResponseRecord(name, text, model, variant=variant))
    return tuple(found)


def _request(fields: Fields, where: ShownFields) -> tuple[str, tuple[TurnRecord, ...], str | None]:
    """The system prompt, the turns before the request, and the request."""
    system = ""
    if "system_prompt" in where.known:
        system = fields.text_or(where.known["system_prompt"])
    if where.prompt is None or not fields.has(where.prompt):
        return system, (), None
    if not are_messages(fields.data[where.prompt]):
        return system, (), fields.text(where.prompt)
    messages = read_messages(fields, where.prompt)
    first, spoken = without_system(fields, where.prompt, messages)
    return (first or system, *open_turn(spoken))


def rest_of(fields: Fields, *known: str) -> Extra:
    """The fields without a place, which are kept; those that people needed to see are faults."""
    fields.refuse_unplaced(*known)
    return fields.kept(*known)


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", name.casefold()).split())
