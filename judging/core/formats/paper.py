"""The files of the SenseJudge authors' own scripts: labels of one annotator, and judges' outputs.

A label has `prompt` (messages as in SenseBench, or a text), `chosen`, `rejected` and `dataset`; the
file is named after its annotator. The outputs have `query` (the prompt as Python prints it),
`chosen`, `rejected`, `dataset` and `outputs`, one a preference, the first without any; the name of
the file ends in `reverse_False` where the chosen response was shown first, else in `reverse_True`.

Which response is A follows from the content, so that the letter is no hint of the answer, and so
that annotators who chose differently speak of the same comparison.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats import sensebench
from annotation.core.formats.fields import NAME_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import RawRow, decoded, read_rows
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import RecordedSession, VerdictRecord, recorded
from judging.core.verdicts import parse_paper

LABELS: Final = "sensejudge-labels"
OUTPUTS: Final = "sensejudge-outputs"

JUDGE: Final = "sensejudge"
"""The recorded judges are called so, with the number of their preference; 0 has none."""

_LABEL_NEEDS: Final = frozenset({"prompt", "chosen", "rejected", "dataset"})
_OUTPUT_NEEDS: Final = frozenset({"query", "chosen", "rejected", "outputs"})
_PARTS: Final = re.compile(r"[-_](?:dev|test)\Z")
_NO_NAME: Final = re.compile(r"[^\w.@+:\- ]+")
_REVERSE: Final = re.compile(r"reverse_(True|False)\Z", re.IGNORECASE)
_PRINTED_CHARS: Final = 1_000_000


def looks_like_labels(row: object) -> bool:
    """Whether a row is a label: chosen and rejected are objects with a value."""
    return (
        isinstance(row, Mapping)
        and row.keys() >= _LABEL_NEEDS
        and isinstance(row["chosen"], Mapping)
    )


def looks_like_outputs(row: object) -> bool:
    """Whether a row holds what judges said of a pair."""
    return isinstance(row, Mapping) and row.keys() >= _OUTPUT_NEEDS


def read_labels(path: Path) -> Iterator[RawRow]:
    """The rows of a file, with the annotator whose name it has."""
    name = _NO_NAME.sub("_", _PARTS.sub("", _stem(path)))[:NAME_CHARS]
    return _with(path, lambda row: {"annotator": name, **row})


def read_outputs(path: Path) -> Iterator[RawRow]:
    """The rows of a file, with the order that its name tells."""
    found = _REVERSE.search(_stem(path))
    told = {"reverse": found[1].lower() == "true"} if found else {}
    return _with(path, lambda row: {**told, **row})


def _with(path: Path, more: Callable[[dict[str, object]], dict[str, object]]) -> Iterator[RawRow]:
    for raw in read_rows(path):
        yield replace(raw, value=more(raw.value)) if isinstance(raw.value, dict) else raw


def _stem(path: Path) -> str:
    """The name without its endings, and without the number that a browser gives a copy."""
    return re.sub(r"(?: ?\(\d+\))?(?:\.jsonl?)?(?:\.gz)?(?: ?\(\d+\))?\Z", "", path.name)


def parse_label(fields: Fields) -> SessionRecord:
    """One label: the chosen response is better."""
    fields.refuse_unplaced("prompt")
    session, comparison, chosen_is_a = _pair(fields, _messages(fields, "prompt"))
    verdict = Verdict.A if chosen_is_a else Verdict.B
    label = PairwiseRecord(LabelDetails(fields.annotator()), verdict)
    return _compared(session, replace(comparison, labels=(label,)))


def parse_outputs(fields: Fields) -> RecordedSession:
    """A pair with a verdict of each preference's judge, as the authors' own rule reads it."""
    fields.refuse_unplaced()
    printed = fields.text("query")
    told = _read(printed, fields)
    session, comparison, chosen_is_a = _pair(fields, _messages(fields, "query", told))
    if "reverse" not in fields.data:
        reason = gettext_noop("The file name must end in reverse_True or reverse_False")
        fields.fault("reverse", reason)
    first_is_a = chosen_is_a is not fields.flag("reverse")
    outputs = fields.items("outputs")
    told = {"preferences": [each.text_or("preference") for each in outputs]}
    verdicts = _verdicts(outputs, len(session.turns) - 1, comparison.key, first_is_a=first_is_a)
    return recorded(_compared(session, replace(comparison, extra=told)), verdicts)


def _verdicts(
    outputs: list[Fields], turn: int, comparison: str, *, first_is_a: bool
) -> Iterator[VerdictRecord]:
    """What was said; a preference that was not asked about has an empty output."""
    for number, each in enumerate(outputs):
        raw = each.text_or("output")
        if not raw:
            continue
        verdict = parse_paper(raw)
        yield VerdictRecord(
            f"{JUDGE} {number}",
            turn,
            comparison,
            Order.ORIGINAL if first_is_a else Order.SWAPPED,
            verdict.flipped() if verdict and not first_is_a else verdict,
            raw=raw,
        )


def _messages(fields: Fields, name: str, told: object = None) -> tuple[Fields, str, list[Fields]]:
    """The messages of a field; a text is one message of the user."""
    told = fields.data.get(name) if told is None else told
    if not isinstance(told, list):
        told = [{"from": "Human", "content": told}]
    holder = Fields({name: told}, fields.notes)
    return holder, name, holder.items(name)


def _read(printed: str, fields: Fields) -> object:
    """Messages as Python prints them; any other text is itself.

    What is printed may hold what no JSON does, which is a fault of the query.
    """
    if len(printed) > _PRINTED_CHARS or not printed.startswith(("[{", "{")):
        return printed
    try:
        value = ast.literal_eval(printed)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return printed
    messages = [value] if isinstance(value, dict) else value
    if not all(isinstance(each, dict) and "from" in each for each in messages):
        return printed
    try:
        row = decoded(fields.notes.line, json.dumps(messages, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        fields.fault("query", gettext_noop("Contains values that JSON cannot represent"), printed)
        return printed
    if row.fault is not None:
        fields.notes.faults.append(replace(row.fault, field=fields.at("query")))
        return printed
    return row.value


def _pair(
    fields: Fields, messages: tuple[Fields, str, list[Fields]]
) -> tuple[SessionRecord, ComparisonRecord, bool]:
    """The session up to its last turn, the comparison there, and whether A was chosen."""
    key, system_prompt, turns = sensebench.dialogue(*messages)
    chosen, rejected = _response(fields, "chosen"), _response(fields, "rejected")
    if chosen.text == rejected.text:
        rejected = replace(rejected, variant="B")
    one, two = sorted((chosen, rejected), key=lambda each: content_key(each.text or ""))
    last = turns[-1] if turns else TurnRecord(None)
    last = replace(last, responses=(*last.responses, one, two))
    session = SessionRecord(
        key=key,
        scenario=sensebench.topic_of(fields, "dataset"),
        turns=(*turns[:-1], last),
        system_prompt=system_prompt,
    )
    content = content_key(one.text or "", two.text or "")
    return session, ComparisonRecord(content, a=one.key, b=two.key), one is chosen


def _compared(session: SessionRecord, comparison: ComparisonRecord) -> SessionRecord:
    """The session with the comparison in its last turn."""
    last = replace(session.turns[-1], comparisons=(comparison,))
    return replace(session, turns=(*session.turns[:-1], last))


def _response(fields: Fields, name: str) -> ResponseRecord:
    """A response: a text, or an object whose value is a list of parts."""
    told = fields.data.get(name)
    if not isinstance(told, Mapping):
        return ResponseRecord(name, fields.answer(name))
    holder = Fields(told, fields.notes, fields.at(name))
    if not isinstance(told.get("value"), list):
        return ResponseRecord(name, holder.answer("value"))
    parts = holder.items("value")
    for part in parts:
        if part.text_or("type", "text") != "text":
            part.fault("type", gettext_noop("Only text is supported"), part.data.get("type"))
    return ResponseRecord(name, "".join(part.text("value") for part in parts))


FORMATS: Final = (
    Format(
        name=LABELS,
        title=gettext_noop("SenseJudge authors: labels of an annotator"),
        line=gettext_noop("One annotator’s chosen and rejected responses, named by the file."),
        looks_like=looks_like_labels,
        needs=_LABEL_NEEDS,
        parse=parse_label,
        read_file=read_labels,
    ),
    Format(
        name=OUTPUTS,
        title=gettext_noop("SenseJudge authors: outputs of judges"),
        line=gettext_noop(
            "Judges’ replies under several preferences, one file a presentation order."
        ),
        looks_like=looks_like_outputs,
        needs=_OUTPUT_NEEDS,
        parse=parse_outputs,
        read_file=read_outputs,
    ),
)
