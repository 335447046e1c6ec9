"""DICES: conversations that many raters called safe or not, a row a rater and conversation (CSV).

`context` is the dialogue as lines of USER: and LAMDA:, `response` the reply that is rated. Every
question asks whether something is wrong, `Q_overall` whether the reply is unsafe: Yes is the worst
answer. It becomes a rating (No 5, Unsure 3, Yes 1). Which way `safety_gold` points the source does
not say, so it is kept and no gold answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, open_turn
from annotation.core.formats.fields import KEY_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.published import headers_of, named_rows
from annotation.core.formats.reading import RawRow
from annotation.core.formats.records import (
    LabelDetails,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "dices"
SCENARIO: Final = "dices"

_NEEDED: Final = frozenset({"rater_id", "item_id", "context", "response", "Q_overall"})
_SCORES: Final = {"no": 5, "unsure": 3, "yes": 1}
_SPEAKER: Final = re.compile(r"^\s*(USER|LAMDA|BOT|AGENT)\s*:[ \t]*", re.MULTILINE)
_RATER: Final = "rater_"
_OF_ITEM: Final = ("degree_of_harm", "harm_type", "safety_gold", "safety_gold_reason")
_READ: Final = (*_NEEDED, *_OF_ITEM, "answer_time_ms", "answer_timestamp")
_PROFILE: Final = {"rater_gender": "gender", "rater_age": "age"}
_MILLISECONDS: Final = 1000


def looks_like(row: object) -> bool:
    """Whether a row is what one rater said of a conversation."""
    return isinstance(row, Mapping) and row.keys() >= _NEEDED


def knows_text(first_line: str) -> bool:
    """Whether the first line of a file is the header of such a table."""
    return headers_of(first_line) >= _NEEDED


def read_file(path: Path) -> Iterator[RawRow]:
    """The rows of the table by column; an empty cell is not there.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    for raw in named_rows(path):
        if isinstance(raw.value, Mapping):
            told = {name: cell for name, cell in raw.value.items() if cell or name == "response"}
            yield RawRow(raw.line, told)
        else:
            yield raw


def parse(fields: Fields) -> SessionRecord:
    """One rater's judgment of a conversation, as a rating of its last reply."""
    fields.refuse_unplaced("context")
    rater = fields.annotator("rater_id")
    about = {name: fields.data[name] for name in fields.data if name.startswith(_RATER)}
    del about["rater_id"]
    asked = {name: value for name, value in fields.kept(*_READ).items() if name not in about}
    word = fields.text("Q_overall").strip().lower()
    if word not in _SCORES and fields.has("Q_overall"):
        reason = gettext_noop("Expected one of %(words)s")
        fields.fault("Q_overall", reason, fields.data["Q_overall"], words="Yes, No, Unsure")
    score = _SCORES.get(word, _SCORES["unsure"])
    details = LabelDetails(
        rater,
        given_at=fields.utc_moment("answer_timestamp", suffix=" UTC"),
        active_seconds=_seconds(fields),
        extra={**asked, **about},
    )
    rating = SatisfactionRecord(
        details, score, Reason.NOT_RECORDED if score < SATISFIED_FROM else None
    )
    earlier, message = open_turn(_spoken(fields))
    response = ResponseRecord(
        "rated", fields.answer("response"), original=True, satisfaction=(rating,)
    )
    profile = {_PROFILE.get(name, name): value for name, value in about.items()}
    return SessionRecord(
        key=fields.text_or("item_id", longest=KEY_CHARS),
        scenario=SCENARIO,
        turns=(*earlier, TurnRecord(message, (response,))),
        extra=fields.kept(*(name for name in fields.data if name not in _OF_ITEM)),
        profiles={rater: profile},
    )


def _spoken(fields: Fields) -> list[SpokenMessage]:
    """The messages of the dialogue, which a speaker's name in capitals begins."""
    text = fields.text("context")
    marks = [*_SPEAKER.finditer(text)]
    if not marks or text[: marks[0].start()].strip():
        fields.fault(
            "context", gettext_noop("Expected lines that begin with USER: or LAMDA:"), text
        )
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [
        SpokenMessage(
            Speaker.USER if mark[1] == "USER" else Speaker.ASSISTANT,
            text[mark.end() : end].strip(),
        )
        for mark, end in zip(marks, ends, strict=False)
    ]


def _seconds(fields: Fields) -> float | None:
    told = fields.data.get("answer_time_ms")
    try:
        return None if told is None else float(str(told)) / _MILLISECONDS
    except ValueError:
        fields.fault("answer_time_ms", gettext_noop("Expected a number"), told)
        return None


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("DICES: safety of conversations"),
        line=gettext_noop(
            "A row what a rater said of a conversation’s last reply; unsafe is read as 1, safe as "
            "5."
        ),
        looks_like=looks_like,
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
    ),
)
