"""Pairs or ratings in a table, as a spreadsheet exports it: CSV with commas, semicolons or tabs.

Which column is what is told by its header (one of KEYS), or by whoever imports: a mapping of keys
to the headers, or places, of columns. A table with two responses a row holds pairs, one with a
response and a score holds ratings. Common headers are guessed; other columns are not read.
Several annotators may have a column of verdicts each, named `verdict:` and their name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TextIO

from annotation.core.choices import Verdict
from annotation.core.formats import sensejudge
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.headers import (
    KEYS,
    PAIR_KEYS,
    RATING_KEYS,
    VERDICT_OF,
    are_pairs,
    exact_keys,
    guess,
)
from annotation.core.formats.reading import (
    MAX_ROW_CHARS,
    RawRow,
    open_text,
    refuse_bare_returns,
    storable,
)
from annotation.core.formats.recllmsim import REASONS
from annotation.core.formats.records import (
    Fault,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
    shown,
)
from annotation.core.refusals import Refused, gettext_noop

NAME: Final = "csv"
SCENARIO: Final = "default"
"""Of rows without a scenario."""
ANNOTATOR: Final = "annotator"
"""Whose labels they are where no column names anybody."""

_NEEDED_OF_PAIRS: Final = ("prompt", "text_a", "text_b")
_NEEDED_OF_RATINGS: Final = ("prompt", "response", "score")
_MAY_BE_EMPTY: Final = ("prompt", "text_a", "text_b", "response")
_TEXTS: Final = (*_MAY_BE_EMPTY, "system_prompt", "comment", "gold_reason")
"""Keys whose texts are kept as they are; from others spaces around them are taken away."""

Columns = Mapping[str, str | int]
"""The column of a key, by its header or by its place from 0."""
Places = Mapping[str, int]
"""The place of a key's column."""

_DELIMITERS: Final = (",", ";", "\t")
_NAMED_DELIMITER: Final = re.compile(r"sep=([,;\t])\r?\n?\Z")
"""The line that Excel writes, and reads, before a table."""
_SAMPLE_CHARS: Final = 64 * 1024
_SAMPLE_ROWS: Final = 50
_LEAST_COLUMNS: Final = 3
_PREVIEW_ROWS: Final = 5
_PREVIEW_COLUMNS: Final = 100
_MOST_COLUMNS: Final = 1000


def knows_text(first_line: str) -> bool:
    """Whether a file whose first line this is may be a table with the columns that are needed."""
    if first_line.startswith(("{", "[")):
        return False
    try:
        return bool(_NAMED_DELIMITER.match(first_line)) or any(
            len(next(csv.reader([first_line], delimiter=each), [])) >= _LEAST_COLUMNS
            for each in _DELIMITERS
        )
    except csv.Error:
        return False


def read_columns(text: str) -> dict[str, str]:
    """The mapping that a command's `prompt=Question,text_a=Answer 1` means.

    A comma or a quote within a header stands in double quotes, as in CSV, around the header or
    around the whole part.

    Raises:
        Refused: A part names no key, or one that another part has named.
    """
    if text.count('"') % 2:
        raise Refused("import:columns", 'a double quote (") is not closed')
    found: dict[str, str] = {}
    for part in re.findall(r'(?:"[^"]*"|[^",])+', text):
        key, equals, header = (each.strip() for each in _unquoted(part).partition("="))
        if not equals or (key not in KEYS and not _names_annotator(key)):
            known = f"{', '.join(KEYS)} or {VERDICT_OF}NAME"
            raise Refused("import:columns", f"expected KEY=HEADER with one of {known}, not {part}")
        if key in found:
            raise Refused("import:columns", f"{key} has two columns")
        found[key] = _unquoted(header)
    return found


def written_columns(columns: Mapping[str, str]) -> str:
    """Returns the text that `read_columns` reads as these columns."""
    return ",".join(
        f"{key}={header}" if re.fullmatch(r'[^",]+', header) else f'{key}="{_doubled(header)}"'
        for key, header in columns.items()
    )


def _doubled(header: str) -> str:
    return header.replace('"', '""')


def _names_annotator(key: str) -> bool:
    """Whether a key is that of one annotator's verdicts."""
    return key.startswith(VERDICT_OF) and bool(key.removeprefix(VERDICT_OF).strip())


def _belongs(key: str, kind: Sequence[str]) -> bool:
    """Whether tables with the keys `kind` have a column for a key."""
    return key in kind or (kind is PAIR_KEYS and _names_annotator(key))


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text


def preview(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header of a table and its first rows, each cell short enough to be shown.

    Raises:
        Refused: Nothing can be read, or not as text; there is nothing below a header.
    """
    faults: list[Fault] = []
    first: list[list[str]] = []
    for _line, cells in table_rows(path):
        if isinstance(cells, Fault):
            faults.append(cells)
            continue
        first.append([str(shown(cell.strip())) for cell in cells[:_PREVIEW_COLUMNS]])
        if len(first) > _PREVIEW_ROWS:
            break
    if len(first) < 2 and faults:
        raise Refused("import:table", f"{path.name}: line {faults[0].line} cannot be read")
    if len(first) < 2:
        raise Refused("import:empty", f"{path.name}: no rows below a header")
    return first[0], first[1:]


def missing(keys: Collection[str]) -> list[str]:
    """The keys without which a table cannot be imported that has columns for these."""
    needed = _NEEDED_OF_PAIRS if are_pairs(keys) else _NEEDED_OF_RATINGS
    return [key for key in needed if key not in keys]


def read_file(path: Path, columns: Columns | None = None) -> Iterator[RawRow]:
    """The rows of a table by key; a row's `line` is where it begins.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    header: list[str] | None = None
    places: Places = {}
    for line, cells in table_rows(path):
        if isinstance(cells, Fault):
            yield RawRow(line, fault=cells)
            if header is None:
                return
        elif header is None:
            header = [cell.strip() for cell in cells]
            places, faults = _places(line, header, columns or {})
            if faults:
                yield RawRow(line, fault=faults[0], more=tuple(faults[1:]))
                return
        elif len(cells) != len(header):
            reason = gettext_noop("%(found)d cells for %(columns)d columns")
            parts = {"found": len(cells), "columns": len(header)}
            yield RawRow(line, fault=Fault(line, "", reason, shown(cells[0]), parts))
        else:
            yield storable(line, _by_key(header, cells, places))


def columns_read(path: Path, columns: Columns | None = None) -> tuple[dict[str, str], list[str]]:
    """The header that each key of a table is read from, and the headers that are not read.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    for line, cells in table_rows(path):
        if isinstance(cells, Fault):
            break
        header = [cell.strip() for cell in cells]
        places, _faults = _places(line, header, columns or {})
        unread = [name for place, name in enumerate(header) if place not in places.values()]
        return {key: header[place] for key, place in places.items()}, unread
    return {}, []


def _by_key(header: Sequence[str], cells: Sequence[str], places: Places) -> dict[str, str]:
    """The cells of a row by key, and the headers of the two responses, by which one may vote."""
    told = {
        key: cells[place] if key in _TEXTS else cells[place].strip()
        for key, place in places.items()
    }
    for side in ("a", "b"):
        if f"text_{side}" in places:
            told[f"header_{side}"] = header[places[f"text_{side}"]]
    return {key: each for key, each in told.items() if each or key in _MAY_BE_EMPTY}


class _Lines:
    """The lines of a stream; `taken` counts the characters since it was set to 0."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(MAX_ROW_CHARS + 1)
        self.taken += len(line)
        if not line:
            raise StopIteration
        if self.taken > MAX_ROW_CHARS:
            raise csv.Error
        return line


def table_rows(path: Path) -> Iterator[tuple[int, list[str] | Fault]]:
    """Every row that is not blank with the line where it begins, or what is wrong there."""
    csv.field_size_limit(MAX_ROW_CHARS)
    refuse_bare_returns(path)
    delimiter, skipped = _layout(path)
    with open_text(path) as stream:
        lines = _Lines(stream)
        if skipped:
            next(lines)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            line = skipped + reader.line_num + 1
            lines.taken = 0
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if lines.taken > MAX_ROW_CHARS:
                    yield line, Fault(line, "", gettext_noop("Row too long to read"))
                    return
                reason = gettext_noop("Not CSV: %(error)s")
                yield line, Fault(line, "", reason, "", {"error": str(error)})
                continue
            if len(cells) > _MOST_COLUMNS:
                reason = gettext_noop("%(found)d cells in a row; at most %(most)d are read")
                parts = {"found": len(cells), "most": _MOST_COLUMNS}
                yield line, Fault(line, "", reason, parts=parts)
            elif any(map(str.strip, cells)):
                yield line, cells


def _layout(path: Path) -> tuple[str, int]:
    """What stands between cells, and how many lines stand before the header.

    It is the sign by which most of the first rows have as many cells as the header has; of several
    the one that makes more cells.

    Raises:
        Refused: The file is no text in UTF-8 or, with its BOM, UTF-16.
    """
    with open_text(path) as stream:
        sample = stream.read(_SAMPLE_CHARS)
    try:
        sample.encode()
    except UnicodeEncodeError as error:
        raise Refused("import:encoding", f"{path.name}: not in UTF-8") from error
    named = _NAMED_DELIMITER.match(sample.partition("\n")[0])
    if named:
        return named[1], 1
    return max(_DELIMITERS, key=lambda each: _fit(sample, each)), 0


def _fit(sample: str, delimiter: str) -> tuple[int, int]:
    """How many rows of a sample are like its header by a delimiter, and how many cells that has."""
    reader = csv.reader(io.StringIO(sample, newline="\n"), delimiter=delimiter)
    widths = []
    try:
        widths = [len(row) for row in islice(reader, _SAMPLE_ROWS) if any(row)]
    except csv.Error:
        return 0, 0
    if not widths or widths[0] == 1:
        return 0, 0
    return widths.count(widths[0]), widths[0]


_MANY: Final = gettext_noop("Several columns have this header")


def _places(line: int, header: Sequence[str], columns: Columns) -> tuple[Places, list[Fault]]:
    """Where the columns are, and all that is wrong with what was said of them."""
    places, faults = _named_places(line, header, columns)
    taken = {*places.values()}
    exact = exact_keys(header)
    guesses = {key: place for key, place in guess(header).items() if place not in taken}
    if any(isinstance(column, int) for column in columns.values()):
        exact, guesses = {}, {}  # who told the places has seen every column
    found = {**guesses, **{key: several[0] for key, several in exact.items()}}
    known = {*columns, *found}
    kind = PAIR_KEYS if are_pairs(known) else RATING_KEYS
    for key in columns:
        if not _belongs(key, kind):
            pair = gettext_noop("A table of pairs has no such column")
            rating = gettext_noop("A table of ratings has no such column")
            reason = pair if kind is PAIR_KEYS else rating
            faults.append(Fault(line, key, reason, shown(columns[key])))
    for key, place in found.items():
        if key in columns or not _belongs(key, kind):
            continue
        places[key] = place
        if len(exact.get(key, ())) > 1:
            faults.append(Fault(line, key, _MANY, key))
    faults += _apart(line, header, places)
    for key in missing(known):
        reason = gettext_noop("No column was named for this field")
        faults.append(Fault(line, key, reason, shown(", ".join(header))))
    return places, [*faults, *_used_twice(line, header, places)]


def _named_places(
    line: int, header: Sequence[str], columns: Columns
) -> tuple[dict[str, int], list[Fault]]:
    """The places of the columns that were named, and faults for those that are not one."""
    places: dict[str, int] = {}
    faults = []
    for key, column in columns.items():
        found = _places_of(header, column)
        if len(found) == 1:
            places[key] = found[0]
        else:
            none = gettext_noop("There is no column with this header")
            faults.append(Fault(line, key, _MANY if found else none, shown(column)))
    return places, faults


def _places_of(header: Sequence[str], column: str | int) -> list[int]:
    """The places that a header, or a place, means."""
    if isinstance(column, int):
        return [column] if column < len(header) else []
    wanted = column.strip()
    return [place for place, name in enumerate(header) if name == wanted]


def _apart(line: int, header: Sequence[str], places: Places) -> Iterator[Fault]:
    """Returns a fault if a table names the annotator of a verdict twice."""
    if any(map(_names_annotator, places)):
        for key in ("verdict", "annotator", "comment"):
            if key in places:
                reason = gettext_noop("Cannot be combined with a verdict column for each annotator")
                yield Fault(line, key, reason, shown(header[places[key]]))


def _used_twice(line: int, header: Sequence[str], places: Places) -> Iterator[Fault]:
    """A fault for every key whose column another one has."""
    taken: dict[int, str] = {}
    for key, place in places.items():
        if place in taken:
            reason = gettext_noop("This column is already used for %(other)s")
            yield Fault(line, key, reason, shown(header[place]), {"other": taken[place]})
        taken.setdefault(place, key)


def parse(fields: Fields) -> SessionRecord:
    """One row as a session of one turn, with two responses or with one."""
    fields.short("prompt", MAX_ROW_CHARS)
    return _pair(fields) if "text_a" in fields.data else _rating(fields)


def _pair(fields: Fields) -> SessionRecord:
    """The row as this project's own format has pairs; an empty verdict is no label."""
    told = {key: fields.data[key] for key in PAIR_KEYS if key in fields.data}
    told.pop("gold_reason", None)
    told.setdefault("scenario", SCENARIO)
    if "gold" in told:
        told["gold"] = [{"verdict": _verdict(fields, "gold"), **_gold_reason(fields)}]
    named = [key for key in fields.data if _names_annotator(key)]
    if named:
        told["labels"] = [
            {"annotator": key.removeprefix(VERDICT_OF).strip(), "verdict": _verdict(fields, key)}
            for key in named
        ]
    if "verdict" in told:
        told["verdict"] = _verdict(fields, "verdict")
        told.setdefault("annotator", ANNOTATOR)
    else:
        told.pop("annotator", None)
    return sensejudge.parse_pair(Fields(told, fields.notes))


def _gold_reason(fields: Fields) -> dict[str, object]:
    return {"rationale": fields.data["gold_reason"]} if "gold_reason" in fields.data else {}


def _verdict(fields: Fields, key: str) -> Verdict:
    """Reads a verdict: a letter, a number, a tie, or the header or model of the better one."""
    word = fields.text(key).casefold()
    meant = [Verdict.TIE] if word == "tie" else []
    for side, number, verdict in (("a", "1", Verdict.A), ("b", "2", Verdict.B)):
        names = (fields.data.get(f"{told}_{side}", side) for told in ("header", "model"))
        if word in {side, number, *(str(name).casefold() for name in names)}:
            meant.append(verdict)
    if len(meant) == 1:
        return meant[0]
    reason = gettext_noop(
        "Expected A, B or tie, 1 or 2, or the header or the model of the better response"
    )
    several = gettext_noop("This can mean more than one answer")
    fields.fault(key, several if meant else reason, fields.data[key])
    return Verdict.TIE


def _rating(fields: Fields) -> SessionRecord:
    """The row as a conversation of its own; without a score its response is not rated."""
    prompt, text = fields.text("prompt"), fields.answer("response")
    system_prompt = fields.text_or("system_prompt")
    scenario = fields.text_or("scenario", SCENARIO, longest=SCENARIO_CHARS)
    model = fields.text_or("model", longest=MODEL_CHARS)
    told = {
        key: fields.data[key]
        for key in ("annotator", "score", "reason", "comment")
        if key in fields.data
    }
    told.setdefault("annotator", ANNOTATOR)
    if "reason" in told:
        reason = str(told["reason"])
        told["reason"] = REASONS.get(reason, reason.replace(" ", "_"))
    rated = "score" in told or "reason" in told
    ratings = (sensejudge.rating(Fields(told, fields.notes)),) if rated else ()
    known = [{"score": fields.data["gold"], **_gold_reason(fields)}] if fields.has("gold") else []
    gold = sensejudge.gold_labels(Fields({"gold": known}, fields.notes))
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
        title=gettext_noop("Table of pairs or ratings (CSV)"),
        line=gettext_noop(
            "Your own spreadsheet: two responses or one rated response a row. The next "
            "page asks what each column is."
        ),
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
        is_fallback=True,
    ),
)
