"""URS-style CSV: one session a row, rated as a whole by the user who held it.

Told by its columns `question` and `satisfaction`. The conversation stands either in `question` and
`response`, or in `dialogue` as a JSON list of {role, content}. Other columns go to `extra`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, spoken, turns_of
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import (
    MAX_ROW_CHARS,
    RawRow,
    open_text,
    refuse_bare_returns,
    storable,
)
from annotation.core.formats.records import (
    Fault,
    LabelDetails,
    SatisfactionRecord,
    SessionRecord,
    content_key,
    shown,
)
from annotation.core.refusals import Refused, gettext_noop

NAME: Final = "urs"

_NEEDED: Final = ("satisfaction", "user_intent")
_TOLD: Final = (
    "session",
    "user",
    "user_id",
    "user_intent",
    "language",
    "model",
    "question",
    "response",
    "dialogue",
    "satisfaction",
    "comment",
)
_WHO: Final = ("user", "user_id")
_ROLES: Final = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}


def knows_text(first_line: str) -> bool:
    """Whether a file whose first line this is has the format."""
    try:
        columns = next(csv.reader([first_line.lstrip("\ufeff")]), [])
    except csv.Error:
        return False
    return set(_NEEDED) <= {name.strip() for name in columns}


def read_file(path: Path) -> Iterator[RawRow]:
    """The rows of the table by column; a row's `line` is where it ends.

    Raises:
        Refused: The header lacks a column that must be there, or is no CSV.
    """
    csv.field_size_limit(MAX_ROW_CHARS)
    refuse_bare_returns(path)
    with open_text(path) as stream:
        rows = csv.reader(stream, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
        except csv.Error as error:
            raise Refused("import:unreadable", f"{path.name}: {error}") from error
        missing = [name for name in _NEEDED if name not in header]
        if missing:
            raise Refused(
                "import:unreadable", f"{path.name}: no column {', '.join(missing)} in its header"
            )
        while True:
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                reason = gettext_noop("Not CSV: %(error)s")
                fault = Fault(rows.line_num, "", reason, "", {"error": str(error)})
                yield RawRow(rows.line_num, fault=fault)
                continue
            if cells:
                yield _row(rows.line_num, header, cells)


def _row(line: int, header: list[str], cells: list[str]) -> RawRow:
    if len(cells) != len(header):
        reason = gettext_noop("%(found)d cells for %(columns)d columns")
        parts = {"found": len(cells), "columns": len(header)}
        return RawRow(line, fault=Fault(line, "", reason, shown(cells[0]), parts))
    return storable(line, {name: cell for name, cell in zip(header, cells, strict=True) if cell})


def parse(fields: Fields) -> SessionRecord:
    """One session with its user's rating of the whole."""
    fields.refuse_unplaced(*_TOLD)
    model = fields.text_or("model", longest=MODEL_CHARS)
    said = _dialogue(fields, model) if fields.has("dialogue") else _single(fields, model)
    content = content_key(*(f"{each.role}:{each.text}" for each in said))
    who = next((name for name in _WHO if fields.has(name)), None)
    user = fields.annotator(who) if who else f"user {content[:12]}"
    score = fields.whole("satisfaction", 1, 5)
    rating = SatisfactionRecord(
        LabelDetails(user, comment=fields.text_or("comment")),
        score,
        Reason.NOT_RECORDED if score < SATISFIED_FROM else None,
    )
    return SessionRecord(
        key=fields.text_or("session", content, longest=KEY_CHARS),
        scenario=fields.short("user_intent", SCENARIO_CHARS),
        turns=turns_of(said),
        user=user,
        language=fields.text_or("language", longest=16).lower(),
        extra=fields.kept(*_TOLD),
        satisfaction=(rating,),
    )


def _single(fields: Fields, model: str) -> list[SpokenMessage]:
    question = SpokenMessage(Speaker.USER, fields.short("question", MAX_ROW_CHARS))
    if not fields.has("response"):
        return [question]
    return [question, spoken(fields, "response", Speaker.ASSISTANT, model=model)]


def _dialogue(fields: Fields, model: str) -> list[SpokenMessage]:
    text = fields.text("dialogue")
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        messages = None
    if not isinstance(messages, list) or not messages:
        fields.fault("dialogue", gettext_noop("Expected a JSON list of {role, content}"), text)
        return []
    said = []
    for message in Fields({"dialogue": messages}, fields.notes, fields.path).items("dialogue"):
        role = _ROLES.get(message.text("role").strip().lower())
        if role is None:
            reason = gettext_noop("Expected user or assistant")
            message.fault("role", reason, message.data.get("role"))
            continue
        told = model if role is Speaker.ASSISTANT else ""
        said.append(spoken(message, "content", role, model=told))
    return said


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("URS: rated conversations (CSV)"),
        line=gettext_noop(
            "A row a conversation, rated as a whole from 1 to 5, with the user’s intent."
        ),
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
    ),
)
