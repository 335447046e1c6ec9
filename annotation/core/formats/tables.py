"""Pairs, ratings or conversations in a table, as a spreadsheet exports it or keeps it (.xlsx).

Which column is what is told by its header (one of KEYS), or by whoever imports: a mapping of keys
to the headers, or places, of columns. A table with two responses a row holds pairs, one with a
response and a score ratings, one with a role and a text a message of a conversation a row. Common
headers are guessed; other columns are not read. Several annotators may have a column of verdicts
each, named `verdict:` and their name. What a value means is told by its word, or likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotation.core.formats import sensejudge
from annotation.core.formats.columns import Columns, Places, places_of
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.grids import fitted, knows_text, source_of, table_rows, width_fault
from annotation.core.formats.headers import MESSAGE_KEYS, PAIR_KEYS, WINS, kind_of
from annotation.core.formats.mappings import names_annotator
from annotation.core.formats.message_tables import as_conversations, parse_conversation
from annotation.core.formats.reading import MAX_ROW_CHARS, RawRow, storable
from annotation.core.formats.records import (
    Fault,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.formats.table_values import (
    SCENARIO,
    as_sign,
    gold_reason,
    outcome_of,
    rated,
    verdict_said,
)
from annotation.core.formats.values import NO_MEANS, VALUED, Meaning, Means
from annotation.core.refusals import gettext_noop

NAME: Final = "csv"
ANNOTATOR: Final = "annotator"
"""Whose labels they are where no column names anybody."""

_MAY_BE_EMPTY: Final = ("prompt", "text_a", "text_b", "response", "text")
_TEXTS: Final = (*_MAY_BE_EMPTY, "system_prompt", "comment", "gold_reason")
"""Keys whose texts are kept as they are; from others spaces around them are taken away."""


def read_file(path: Path, columns: Columns | None = None) -> Iterator[RawRow]:
    """The rows of a table by key; a row's `line` is where it begins.

    Of a table of messages a row is a conversation, with the line of its first message.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    header: list[str] | None = None
    rows = table_rows(path)
    for line, cells in rows:
        if isinstance(cells, Fault):
            yield RawRow(line, fault=replace(cells, ends_file=True))
            return
        header = [cell.strip() for cell in cells]
        places, faults = places_of(line, header, columns or {})
        if faults:
            first = replace(faults[0], ends_file=True)
            yield RawRow(line, fault=first, more=tuple(faults[1:]))
            return
        raw = _raw_rows(rows, header, places)
        yield from as_conversations(raw) if kind_of(places) is MESSAGE_KEYS else raw


def _raw_rows(
    rows: Iterator[tuple[int, list[str] | Fault]], header: Sequence[str], places: Places
) -> Iterator[RawRow]:
    text_places = [places[key] for key in _MAY_BE_EMPTY if key in places]
    for line, cells in rows:
        if isinstance(cells, Fault):
            yield RawRow(line, fault=cells)
            continue
        row = fitted(header, cells, text_places)
        if row is None:
            yield RawRow(line, fault=width_fault(line, header, cells))
        else:
            yield storable(line, _by_key(header, row, places))


def _by_key(header: Sequence[str], cells: Sequence[str], places: Places) -> dict[str, str]:
    """The cells of a row by key, and the headers of the two responses, by which one may vote."""
    told = {
        key: cells[place] if key in _TEXTS else cells[place].strip()
        for key, place in places.items()
    }
    for side in ("a", "b"):
        if f"text_{side}" in places:
            told[f"header_{side}"] = header[places[f"text_{side}"]]
    return {key: each for key, each in told.items() if each or _counts_empty(key)}


def _counts_empty(key: str) -> bool:
    return key in _MAY_BE_EMPTY or key in VALUED or names_annotator(key)


def parse(fields: Fields, means: Means = NO_MEANS) -> SessionRecord:
    """One row as a session of one turn, with two responses or with one; or one conversation.

    A row that a chosen meaning leaves out is skipped, whatever else is wrong with it.
    """
    session = _parsed(fields, means)
    if fields.notes.skipped:
        fields.notes.faults.clear()
    return session


def _parsed(fields: Fields, means: Means) -> SessionRecord:
    if "messages" in fields.data:
        return parse_conversation(fields, means)
    fields.short("prompt", MAX_ROW_CHARS)
    return _pair(fields, means) if "text_a" in fields.data else _rating(fields, means)


def _pair(fields: Fields, means: Means) -> SessionRecord:
    """The row as this project's own format has pairs; an empty verdict is no label."""
    told = {key: fields.data[key] for key in PAIR_KEYS if key in fields.data}
    for key in ("gold", "gold_reason", "verdict", "strength", "both_bad", *WINS):
        told.pop(key, None)
    told.setdefault("scenario", SCENARIO)
    known = _outcome(fields, "gold", means)
    if known:
        told["gold"] = [{"verdict": known["verdict"], **gold_reason(fields)}]
    named = [key for key in fields.data if names_annotator(key)]
    said = [(key.partition(":")[2].strip(), _outcome(fields, key, means)) for key in named]
    if any(outcome for _name, outcome in said):
        told["labels"] = [{"annotator": name, **outcome} for name, outcome in said if outcome]
    outcome = _label(fields, means)
    if outcome:
        told = {"annotator": ANNOTATOR, **told, **outcome}
    else:
        told.pop("annotator", None)
        told.pop("comment", None)
    return sensejudge.parse_pair(Fields(told, fields.notes))


def _outcome(fields: Fields, key: str, means: Means) -> Mapping[str, object]:
    """The fields of the label that a column says; none if it says nothing."""
    return outcome_of(verdict_said(fields, key, means)) if key in fields.data else {}


def _label(fields: Fields, means: Means) -> dict[str, object]:
    """The fields of a row's own label, of a column of verdicts or several of yes and no."""
    wins = {key: as_sign(fields, key, means) for key in WINS if key in fields.data}
    outcome = {**_outcome(fields, "verdict", means), **outcome_of(_winner(fields, wins))}
    strength = as_sign(fields, "strength", means) if "strength" in fields.data else Meaning.NONE
    if outcome and strength in {Meaning.SLIGHTLY, Meaning.CLEARLY}:
        outcome["strength"] = 1 if strength is Meaning.SLIGHTLY else 2
    if "both_bad" in fields.data and as_sign(fields, "both_bad", means) is Meaning.YES:
        outcome = {"verdict": "TIE", **outcome, "both_bad": True}
    return outcome


def _winner(fields: Fields, wins: Mapping[str, Meaning]) -> Meaning:
    """The verdict that columns of yes and no say; at most one says yes, or both kinds of tie."""
    said = [key for key, sign in wins.items() if sign is Meaning.YES]
    if "wins_both_bad" in said and set(said) <= {"wins_tie", "wins_both_bad"}:
        return Meaning.BOTH_BAD
    if len(said) > 1:
        reason = gettext_noop("More than one of these columns says yes: %(columns)s")
        fields.fault(said[0], reason, fields.data[said[0]], columns=", ".join(said))
    meant = {"wins_a": Meaning.A, "wins_b": Meaning.B, "wins_tie": Meaning.TIE}
    return meant[said[0]] if said else Meaning.NONE


def _rating(fields: Fields, means: Means) -> SessionRecord:
    """The row as a conversation of its own; without a score its response is not rated."""
    prompt, text = fields.text("prompt"), fields.answer("response")
    system_prompt = fields.text_or("system_prompt")
    scenario = fields.text_or("scenario", SCENARIO, longest=SCENARIO_CHARS)
    model = fields.text_or("model", longest=MODEL_CHARS)
    ratings, gold = rated(fields, ANNOTATOR, means)
    response = ResponseRecord("0", text, model, original=True, satisfaction=ratings, gold=gold)
    return SessionRecord(
        key=content_key(scenario, system_prompt, prompt, model, text or ""),
        scenario=scenario,
        turns=(TurnRecord(prompt, (response,)),),
        system_prompt=system_prompt,
    )


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Table of your own (CSV or Excel)"),
        line=gettext_noop(
            "Your own spreadsheet: two responses, one rated response or one message of a "
            "conversation a row. The next steps ask what the columns and their values mean."
        ),
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
        source_of=source_of,
        is_fallback=True,
    ),
)
