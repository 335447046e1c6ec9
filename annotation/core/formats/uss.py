"""USS: dialogues whose user lines carry several raters' scores of the system turn before them.

Lines of role, text, action, scores and (JDDC, whole dialogue only) explanations, separated by tabs;
dialogues by blank lines; a last user line OVERALL rates the whole dialogue. The raters have no
names: `rater1` is whoever stands first on a line, which need not be one person. A score that rates
no response (a dialogue that opens with its user, a second user line in a row) is kept in the
session's `extra` under `ratings_apart`, by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TextIO

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, turns_of
from annotation.core.formats.fields import KEY_CHARS, SCENARIO_CHARS, Fields, number_of
from annotation.core.formats.format import Format
from annotation.core.formats.reading import MAX_ROW_CHARS, RawRow, open_text, storable
from annotation.core.formats.records import Fault, LabelDetails, SatisfactionRecord, SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "uss"

_LINE: Final = re.compile(r"(?:USER|SYSTEM)\t")
_OVERALL: Final = "OVERALL"
_ROLES: Final = {"USER": Speaker.USER, "SYSTEM": Speaker.ASSISTANT}
_COLUMNS: Final = ("role", "text", "action", "scores", "explanations")
_LAST_ONLY: Final = gettext_noop("OVERALL must be the last line of its dialogue")
_NO_SCORES: Final = gettext_noop("Expected scores from 1 to 5 separated by commas")


def knows_text(first_line: str) -> bool:
    """Whether a file whose first line this is has the format."""
    return _LINE.match(first_line) is not None


def read_file(path: Path) -> Iterator[RawRow]:
    """The dialogues of a file, each with its lines; a row's `line` is where its dialogue begins."""
    with open_text(path) as stream:
        for number, (start, lines) in enumerate(_dialogues(stream), start=1):
            yield _row(path.stem, number, start, lines)


def _dialogues(stream: TextIO) -> Iterator[tuple[int, list[str]]]:
    start = 1
    lines: list[str] = []
    for number, text in enumerate(stream, start=1):
        if text.strip():
            start = start if lines else number
            lines.append(text.rstrip("\r\n"))
        elif lines:
            yield start, lines
            lines = []
    if lines:
        yield start, lines


def _row(name: str, number: int, start: int, lines: list[str]) -> RawRow:
    if sum(map(len, lines)) > MAX_ROW_CHARS:
        return RawRow(
            start, fault=Fault(start, "", gettext_noop("Row too long to read"), ends_file=True)
        )
    messages = [
        dict(zip(_COLUMNS, line.split("\t", len(_COLUMNS) - 1), strict=False)) for line in lines
    ]
    return storable(start, {"name": name, "number": number, "messages": messages})


def parse(fields: Fields) -> SessionRecord:
    """One dialogue with everybody's scores."""
    name = fields.short("name", SCENARIO_CHARS)
    heard = _Heard()
    messages = fields.items("messages")
    for place, message in enumerate(messages, start=1):
        heard.take(place, message, is_last=place == len(messages))
    return SessionRecord(
        key=f"{name}/{fields.whole('number', 1, 10**9)}"[:KEY_CHARS],
        scenario=name,
        turns=turns_of(heard.spoken),
        extra=heard.extra(),
        satisfaction=heard.overall,
    )


@dataclass(slots=True)
class _Heard:
    """What was read of a dialogue so far."""

    spoken: list[SpokenMessage] = field(default_factory=list)
    overall: tuple[SatisfactionRecord, ...] = ()
    apart: dict[str, object] = field(default_factory=dict)

    def take(self, place: int, message: Fields, *, is_last: bool) -> None:
        """Read one line of the dialogue."""
        role = _ROLES.get(message.text("role").strip())
        if role is None:
            reason = gettext_noop("Expected USER or SYSTEM")
            message.fault("role", reason, message.data.get("role"))
            return
        text = message.text("text")
        ratings = _ratings(message)
        if role is Speaker.USER and text.strip() == _OVERALL:
            self.overall = ratings
            if not is_last:
                message.fault("text", _LAST_ONLY, text)
            return
        if ratings:
            self._rate(place, message, role, ratings)
        action = message.text_or("action").strip()
        self.spoken.append(SpokenMessage(role, text, extra={"action": action} if action else None))

    def _rate(
        self, place: int, message: Fields, role: Speaker, ratings: tuple[SatisfactionRecord, ...]
    ) -> None:
        if role is not Speaker.USER:
            message.fault(
                "scores", gettext_noop("Only USER lines can have scores"), message.data["scores"]
            )
        elif self.spoken and self.spoken[-1].role is Speaker.ASSISTANT:
            self.spoken[-1] = replace(self.spoken[-1], satisfaction=ratings)
        else:
            self.apart[str(place)] = message.data["scores"]

    def extra(self) -> dict[str, object]:
        """What the data model has no column for."""
        actions = [
            each.extra["action"] for each in self.spoken if each.role is Speaker.USER and each.extra
        ]
        kept: dict[str, object] = {"ratings_apart": self.apart, "user_actions": actions}
        return {name: value for name, value in kept.items() if value}


def _ratings(message: Fields) -> tuple[SatisfactionRecord, ...]:
    """One rating a rater, in the order of the line; a dissatisfied one has no recorded reason."""
    given = message.text_or("scores").strip()
    if not given:
        return ()
    scores = [number_of(each) for each in given.split(",")]
    if any(score is None or not 1 <= score <= 5 for score in scores):
        message.fault("scores", _NO_SCORES, given)
        return ()
    told = message.text_or("explanations").split(";")
    comments = [each.strip() for each in told] if len(told) == len(scores) else [""] * len(scores)
    return tuple(
        SatisfactionRecord(
            LabelDetails(f"rater{number}", comment=comment),
            score,
            Reason.NOT_RECORDED if score < SATISFIED_FROM else None,
        )
        for number, (score, comment) in enumerate(zip(scores, comments, strict=True), start=1)
        if score is not None
    )


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("USS: dialogues with ratings"),
        line=gettext_noop(
            "Dialogues as tab-separated lines, each system turn and the whole dialogue "
            "rated from 1 to 5."
        ),
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
    ),
)
