"""Inspect's logs (`.json`): what a model answered to the samples of a task, and what scorers said.

A log is one object; each of its samples is a session. A scorer is a recorded judge whose values C,
P and I (correct, partly, incorrect) or true and false are grades; N, no answer, is none. Numbers
have no scale in a log, so that other values are kept with the response. A text that is an
attachment's address stands for that attachment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, open_turn, read_messages, without_system
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import RawRow, read_rows
from annotation.core.formats.records import ResponseRecord, SessionRecord, TurnRecord
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import (
    JUDGE_CHARS,
    UNPARSEABLE,
    RecordedSession,
    ScoreRecord,
    recorded,
)

NAME: Final = "inspect-log"
SCENARIO: Final = "inspect"
"""Of a log that names no task."""

_GRADES: Final[Mapping[object, float | None]] = {"C": 10.0, "P": 5.5, "I": 1.0, "N": None}
_READ: Final = ("id", "epoch", "input", "target", "messages", "output", "scores", "error")
_NOT_KEPT: Final = (
    "store",
    "events",
    "timelines",
    "attachments",
    "model_usage",
    "role_usage",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
    "uuid",
    "error_retries",
    "limit",
)
_OF_MESSAGE: Final = ("id", "source", "working_start", "working_end", "metadata")
_OF_SCORE: Final = ("value", "answer", "explanation")
_ATTACHMENT: Final = "attachment://"


def looks_like(row: object) -> bool:
    """Whether a row is a log."""
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("eval"), Mapping)
        and isinstance(row.get("samples"), list)
    )


def read_file(path: Path) -> Iterator[RawRow]:
    """The samples of a log, each with what is told of the evaluation.

    Raises:
        Refused: The file cannot be read.
    """
    line = 0
    for raw in read_rows(path):
        log = raw.value
        if not isinstance(log, Mapping) or not isinstance(log.get("samples"), list):
            line += 1
            yield replace(raw, line=line)
            continue
        for sample in log["samples"]:
            line += 1
            given = sample.get("attachments") if isinstance(sample, Mapping) else None
            attached = given if isinstance(given, Mapping) else {}
            yield RawRow(line, {"eval": log.get("eval"), "sample": _resolved(sample, attached)})


def _resolved(value: object, attached: Mapping[str, object]) -> object:
    """A value with every attachment in the place of its address."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attached.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list) and attached:
        return [_resolved(each, attached) for each in value]
    if isinstance(value, Mapping) and attached:
        return {name: _resolved(each, attached) for name, each in value.items()}
    return value


def parse(fields: Fields) -> RecordedSession:
    """One sample as a session, with the model's answer and the scorers' grades."""
    fields.refuse_unplaced()
    about = Fields(fields.mapping("eval"), fields.notes, "eval")
    sample = Fields(fields.mapping("sample"), fields.notes, "sample")
    output = Fields(sample.mapping("output"), fields.notes, sample.at("output"))
    model = output.text_or("model", longest=MODEL_CHARS)
    model = model or about.text_or("model", longest=MODEL_CHARS)
    scenario = about.text_or("task", longest=SCENARIO_CHARS) or SCENARIO
    system, spoken = without_system(sample, "messages", _spoken(sample, output))
    answer = spoken.pop() if spoken and spoken[-1].role is Speaker.ASSISTANT else None
    earlier, message = open_turn(spoken)
    scores, others = _scores(sample, len(earlier), model)
    extra = {**((answer.extra if answer else None) or {}), **others}
    error = sample.mapping("error")
    if error:
        extra["error"] = error.get("message") or dict(error)
        fields.notes.kept.append("error")
    text = answer.answer if answer else None
    response = ResponseRecord("0", None if error and not text else text, model, extra=extra)
    fields.notes.kept += others
    turns = (*earlier, TurnRecord(message, (response, *_choices(output, model))))
    session = SessionRecord(
        key=_key(sample, scenario),
        scenario=scenario,
        turns=turns,
        system_prompt=system,
        extra={**sample.kept(*_READ, *_NOT_KEPT), **_reference(sample, len(turns))},
    )
    return recorded(session, iter(()), scores)


def _key(sample: Fields, scenario: str) -> str:
    """The task, the sample's id, which may be a number, and its epoch."""
    told = sample.data.get("id")
    name = str(told) if isinstance(told, int) else sample.text("id")
    epoch = sample.whole_or_none("epoch", 1, 10**9) or 1
    return f"{scenario}/{name}/{epoch}"[:KEY_CHARS]


def _spoken(sample: Fields, output: Fields) -> list[SpokenMessage]:
    """The whole dialogue, or the input and the answer where the log has no messages."""
    if sample.data.get("messages"):
        return read_messages(sample, "messages", drop=_OF_MESSAGE)
    if isinstance(sample.data.get("input"), list):
        asked = read_messages(sample, "input", drop=_OF_MESSAGE)
    else:
        asked = [SpokenMessage(Speaker.USER, sample.text("input"))]
    return [*asked, *_of_choices(output)[:1]]


def _of_choices(output: Fields) -> list[SpokenMessage]:
    """The answers of the model, of which a sample mostly has one."""
    found = []
    for choice in output.items("choices"):
        held = {"message": [choice.data.get("message")]}
        found += read_messages(
            Fields(held, output.notes, choice.path), "message", drop=_OF_MESSAGE
        )[:1]
    return found


def _choices(output: Fields, model: str) -> Iterator[ResponseRecord]:
    """The answers beside the first one, each a variant of its own."""
    given = output.data.get("choices")
    if not isinstance(given, list) or len(given) < 2:
        return
    for number, each in enumerate(_of_choices(output)[1:], start=1):
        name = f"choice {number}"
        yield ResponseRecord(name, each.answer, model, variant=name, extra=each.extra or {})


def _reference(sample: Fields, turns: int) -> dict[str, object]:
    """The target, with a line for each of several, as the reference of the last turn."""
    given = sample.data.get("target")
    texts = given if isinstance(given, list) else [given]
    target = "\n".join(
        sample.notes.text(each, sample.at("target")) for each in texts if each not in (None, "")
    )
    if not target:
        return {}
    return {"reference": target if turns == 1 else [*[""] * (turns - 1), target]}


def _scores(
    sample: Fields, turn: int, model: str
) -> tuple[tuple[ScoreRecord, ...], dict[str, object]]:
    """The grades, and values that are none by scorer."""
    given = Fields(sample.mapping("scores"), sample.notes, sample.at("scores"))
    found: list[ScoreRecord] = []
    others: dict[str, object] = {}
    for name in given.data:
        score = Fields(given.mapping(name), given.notes, given.at(name))
        value = score.data.get("value")
        if isinstance(value, bool):
            grade: float | None = _GRADES["C" if value else "I"]
        elif isinstance(value, str) and value in _GRADES:
            grade = _GRADES[value]
        elif value is not None:
            others[f"score:{name}"] = dict(score.data)
            continue
        else:
            grade = None
        if not 0 < len(name) <= JUDGE_CHARS:
            reason = gettext_noop("Must have 1 to %(longest)d characters")
            given.fault(name, reason, name, longest=JUDGE_CHARS)
        rest = {each: told for each, told in score.rest(*_OF_SCORE).items() if told}
        if rest:
            others[f"score:{name}"] = rest
        raw = score.text_or("explanation") or json.dumps(value)
        code = UNPARSEABLE if grade is None else ""
        found.append(ScoreRecord(name, turn, model, grade, raw, code))
    return tuple(found), others


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Inspect logs"),
        line=gettext_noop(
            "A model’s answers to the samples of a task, and what scorers said: correct, partly or "
            "incorrect."
        ),
        looks_like=looks_like,
        parse=parse,
        read_file=read_file,
    ),
)
