"""Traces of LangSmith and Langfuse with their texts and what was said of them, a trace a row.

LangSmith: a run with `inputs`, `outputs` and `feedback`, or a feedback row that carries both texts.
Langfuse: a trace with `input`, `output` and `scores`. A key whose values are all whole numbers from
1 to 5 is a scale of these; of one with only 0 and 1, or true and false, these are the ends, 1 and
5.
What a model said is a grade of a recorded judge. Of people, and of an application that passes on
what its users said, one key is the rating: the only one, or the one that is named so. Other values,
and what nobody knows whom said, are kept with the response.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import (
    SpokenMessage,
    are_messages,
    is_message,
    open_turn,
    read_message,
    read_messages,
    without_system,
)
from annotation.core.formats.fields import KEY_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format, ReadRows
from annotation.core.formats.headers import guess
from annotation.core.formats.reading import RawRow, read_rows
from annotation.core.formats.records import (
    LabelDetails,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import JUDGE_CHARS, RecordedSession, ScoreRecord, recorded

LANGSMITH: Final = "langsmith"
LANGFUSE: Final = "langfuse"

_MODELS: Final = frozenset({"model", "auto_eval", "eval"})
_NAMES: Final = ("question", "input", "prompt", "query", "text", "content", "message")
_ANSWERS: Final = ("output", "answer", "response", "text", "content", "result", "completion")
_SPEAKERS: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_LOWEST: Final = 1
_HIGHEST: Final = 5
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    LANGSMITH: ("inputs", "outputs", "feedback", "id", "run_id", "name"),
    LANGFUSE: ("input", "output", "scores", "id", "name", "userId", "observations", "htmlPath"),
}
_OF_FEEDBACK: Final = ("key", "score", "value", "comment", "feedback_source", "created_at")
_SEVERAL: Final = gettext_noop(
    "Several keys could be the rating (%(names)s): call the one that is rating, or remove the "
    "others from the file"
)
_NO_TEXT: Final = gettext_noop("Cannot tell which text of it is the request or the answer")


@dataclass(frozen=True, slots=True)
class _Said:
    """One value that somebody gave a trace: by whom, or by which model; "" is not known."""

    name: str
    value: object
    person: str = ""
    judge: str = ""
    comment: str = ""
    given_at: datetime | None = None


def looks_like_langsmith(row: object) -> bool:
    """Whether a row is a run with feedback, or feedback with the texts of its run."""
    return (
        isinstance(row, Mapping)
        and {"inputs", "outputs"} <= row.keys()
        and ("feedback" in row or {"key", "score"} <= row.keys())
    )


def looks_like_langfuse(row: object) -> bool:
    """Whether a row is a trace with its texts and scores."""
    return isinstance(row, Mapping) and {"id", "input", "output", "scores", "timestamp"} <= (
        row.keys()
    )


@dataclass(slots=True)
class _Scales:
    """The scales of a file's keys, by all their values."""

    values: dict[str, set[float]] = field(default_factory=dict)
    of_people: dict[str, None] = field(default_factory=dict)

    def add(self, row: object) -> None:
        """Look at the values of one more row."""
        for name, value, is_models in _values_of(row):
            if not is_models:
                self.of_people[name] = None
            number = _number(value)
            found = self.values.setdefault(name, set())
            found.add(-1.0 if number is None else number)

    def as_dict(self) -> dict[str, str]:
        """Which scale each key has: "1-5", "0-1", or none that is known."""
        scales = {}
        for name, found in self.values.items():
            if found <= {0.0, 1.0}:
                scales[name] = "0-1"
            elif all(1 <= each <= _HIGHEST and each.is_integer() for each in found):
                scales[name] = "1-5"
        return scales

    @property
    def ratings(self) -> list[str]:
        """The keys that could be people's rating: of several those that are named so."""
        scales = self.as_dict()
        found = [name for name in self.of_people if name in scales]
        named = [name for name in found if "score" in guess(["prompt", "response", name])]
        return named if len(found) > 1 and len(named) == 1 else found


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, bool | int | float) else None


def _values_of(row: object) -> Iterator[tuple[str, object, bool]]:
    """The names and values that stand in a row, and whether a model gave each."""
    if not isinstance(row, Mapping):
        return
    given = row.get("feedback", row.get("scores"))
    told: Iterable[object] = given if isinstance(given, list) else [row]
    for each in told:
        if isinstance(each, Mapping):
            name = each.get("key", each.get("name"))
            value = each.get("score", each.get("value"))
            source = each.get("feedback_source", each.get("source"))
            kind = source.get("type") if isinstance(source, Mapping) else source
            if isinstance(name, str) and value is not None:
                yield name, value, str(kind).lower() in _MODELS


def read_file(path: Path) -> Iterator[RawRow]:
    """The prepared rows of a file.

    Raises:
        Refused: The file cannot be read.
    """
    return prepare(partial(read_rows, path))


def prepare(read: ReadRows) -> Iterator[RawRow]:
    """The rows of a file, each with the scales of all its keys."""
    scales = _Scales()
    for raw in read():
        scales.add(raw.value)
    for raw in read():
        if isinstance(raw.value, Mapping):
            told = {"scales": scales.as_dict(), "ratings": scales.ratings}
            yield replace(raw, value={"row": raw.value, **told})
        else:
            yield raw


def parse_langsmith(fields: Fields) -> RecordedSession:
    """One run with what was said of it."""
    row = Fields(fields.mapping("row"), fields.notes)
    said = [_feedback(each) for each in row.items("feedback")]
    known = _READ[LANGSMITH]
    if "key" in row.data:
        said.append(_feedback(row))
        known = (*known, *_OF_FEEDBACK)
    name = "run_id" if row.has("run_id") else "id"
    return _session(fields, row, (LANGSMITH, name, "inputs", "outputs"), said, known)


def parse_langfuse(fields: Fields) -> RecordedSession:
    """One trace with its scores."""
    row = Fields(fields.mapping("row"), fields.notes)
    user = row.annotator("userId") if row.data.get("userId") else ""
    given = row.data.get("scores")
    said = []
    if isinstance(given, Mapping):
        said = [_Said(str(name), value) for name, value in given.items()]
    else:
        said = [_score(each, user) for each in row.items("scores")]
    return _session(fields, row, (LANGFUSE, "id", "input", "output"), said, _READ[LANGFUSE])


def _feedback(each: Fields) -> _Said:
    source = Fields(each.mapping("feedback_source"), each.notes, each.at("feedback_source"))
    is_models = source.text_or("type").lower() in _MODELS
    name = each.text("key")
    told = each.data.get("score")
    return _Said(
        name,
        each.data.get("value") if told is None else told,
        person="" if is_models else source.text_or("user_id") or "user",
        judge=name if is_models else "",
        comment=each.text_or("comment"),
        given_at=_time(each, "created_at"),
    )


def _score(each: Fields, user: str) -> _Said:
    name = each.text("name")
    is_models = each.text_or("source").lower() in _MODELS
    told = each.data.get("value")
    return _Said(
        name,
        each.data.get("stringValue") if told is None else told,
        person="" if is_models else each.text_or("authorUserId") or user or "user",
        judge=name if is_models else "",
        comment=each.text_or("comment"),
        given_at=_time(each, "timestamp"),
    )


def _time(fields: Fields, name: str) -> datetime | None:
    """A time, in UTC unless it has a zone; one that cannot be read is not known."""
    try:
        moment = datetime.fromisoformat(str(fields.data.get(name)))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _session(
    fields: Fields,
    row: Fields,
    names: tuple[str, str, str, str],
    said: list[_Said],
    known: tuple[str, ...],
) -> RecordedSession:
    """The session of a trace: its request, its answer, and what was said of that."""
    fields.refuse_unplaced()
    tool, key, asked, answered = names
    system, spoken = without_system(row, asked, _request(row, asked))
    earlier, message = open_turn(spoken)
    answer = _answer(row, answered)
    scales, given = fields.mapping("scales"), fields.data.get("ratings")
    keys = [str(each) for each in given] if isinstance(given, list) else []
    if len(keys) > 1:
        listed = ", ".join(keys)
        row.fault("", _SEVERAL, listed, names=listed)
    ratings: dict[str, SatisfactionRecord] = {}
    scores: list[ScoreRecord] = []
    extra = dict((answer.extra if answer else None) or {})
    for each in said:
        rating = _rating(each, scales.get(each.name))
        if rating is not None and each.judge:
            grade = 1 + (rating - _LOWEST) * 9 / (_HIGHEST - _LOWEST)
            raw = each.comment or json.dumps(each.value)
            scores.append(ScoreRecord(each.judge[:JUDGE_CHARS], len(earlier), "", grade, raw))
        elif rating is not None and each.person and [each.name] == keys:
            person = Fields({"person": each.person}, row.notes, row.path).annotator("person")
            details = LabelDetails(
                person, comment=each.comment, given_at=each.given_at, extra={"key": each.name}
            )
            reason = Reason.NOT_RECORDED if rating < SATISFIED_FROM else None
            ratings[each.person] = SatisfactionRecord(details, rating, reason)
        else:
            value = {"value": each.value, "comment": each.comment, "by": each.person or each.judge}
            extra[f"score:{each.name}"] = {name: told for name, told in value.items() if told != ""}
            row.notes.kept.append(f"score:{each.name}")
    response = ResponseRecord(
        "0",
        answer.answer if answer else None,
        original=True,
        extra=extra,
        satisfaction=tuple(ratings.values()),
    )
    session = SessionRecord(
        key=row.text(key)[:KEY_CHARS],
        scenario=row.text_or("name", tool, longest=SCENARIO_CHARS) or tool,
        turns=(*earlier, TurnRecord(message, (response,))),
        system_prompt=system,
        extra=row.kept(*known),
    )
    return recorded(session, iter(()), tuple(scores))


def _rating(said: _Said, scale: object) -> int | None:
    """The rating from 1 to 5 that a value is; None where its scale is not known."""
    number = _number(said.value)
    if number is None or scale is None:
        return None
    if scale == "0-1":
        return _HIGHEST if number else _LOWEST
    return int(number)


def _request(row: Fields, name: str) -> list[SpokenMessage]:
    """The messages of a trace's input."""
    given = _plain(row.data.get(name))
    if isinstance(given, Mapping) and isinstance(given.get("messages"), list):
        given = given["messages"]
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    if are_messages(given):
        return read_messages(Fields({name: given}, row.notes, row.path), name, drop=("id", "type"))
    text = _text_of(given, _NAMES)
    if text is None:
        row.fault(name, _NO_TEXT, given)
    return [SpokenMessage(Speaker.USER, text or "")]


def _answer(row: Fields, name: str) -> SpokenMessage | None:
    """The answer of a trace's output; None where there is none."""
    given = _plain(row.data.get(name))
    if given in (None, {}, []):
        return None
    if isinstance(given, Mapping) and isinstance(given.get("messages"), list):
        given = given["messages"]
    if isinstance(given, Mapping):
        given = next((given[each] for each in _ANSWERS if is_message(given.get(each))), given)
    last = given[-1] if isinstance(given, list) and are_messages(given) else given
    if is_message(last):
        return read_message(Fields({name: last}, row.notes, row.path), name)[-1]
    text = _text_of(given, _ANSWERS)
    if text is None:
        row.fault(name, _NO_TEXT, given)
    return SpokenMessage(Speaker.ASSISTANT, text or "")


def _text_of(given: object, names: Iterable[str]) -> str | None:
    """The text that a value is, or has under a usual name or as its only one."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        return None
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    named = next((texts[name] for name in names if name in texts), None)
    if named is None and len(texts) == 1:
        return next(iter(texts.values()))
    return named


def _plain(value: object) -> object:
    """A value whose messages have roles: LangChain's say their type, also as it stores them."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if isinstance(value.get("kwargs"), Mapping) and "lc" in value:
        return _plain(value["kwargs"])
    kind = value.get("type")
    if isinstance(kind, str) and kind in _SPEAKERS and "content" in value and "role" not in value:
        return {"role": _SPEAKERS[kind], "content": value["content"]}
    return {name: _plain(each) for name, each in value.items()}


FORMATS: Final = (
    Format(
        name=LANGSMITH,
        title=gettext_noop("LangSmith runs with feedback"),
        line=gettext_noop(
            "A request and its answer a row, with what people and models said of it."
        ),
        looks_like=looks_like_langsmith,
        parse=parse_langsmith,
        read_file=read_file,
        prepare=prepare,
    ),
    Format(
        name=LANGFUSE,
        title=gettext_noop("Langfuse traces with scores"),
        line=gettext_noop("A request and its answer a row, with the scores of people and models."),
        looks_like=looks_like_langfuse,
        parse=parse_langfuse,
        read_file=read_file,
        prepare=prepare,
    ),
)
