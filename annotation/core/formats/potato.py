"""Potato's annotations of pairs, and the project's data file, which has the texts.

Annotations name instances without their texts, so the data file goes in first. A schema's answer
is a `selection` (A, B or tie; A is the first text), or a `scale_value` below 0 where A is better.
Which schema is the verdict shows in the whole file: the only one, or the one that is named so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.fields import KEY_CHARS, Fields, number_of
from annotation.core.formats.format import Format, ReadRows
from annotation.core.formats.published import headers_of, named_rows
from annotation.core.formats.questions import (
    SEVERAL_VERDICTS,
    OtherAnswers,
    read_shown,
    rest_of,
    shown_fields,
    verdict_question,
)
from annotation.core.formats.reading import RawRow, open_text, read_rows
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop

DATA: Final = "potato-data"
LABELS: Final = "potato-labels"
SCENARIO: Final = "potato"

_PAIR: Final = "pair"
_FIRST: Final = "1"
_SECOND: Final = "2"
_OF_LABELS: Final = frozenset({"instance_id", "user_id"})
_STATE: Final = "instance_id_to_label_to_value"
_SELECTIONS: Final = {"a": Verdict.A, "b": Verdict.B, "tie": Verdict.TIE}
_VALUES: Final = ("selection", "scale_value")
_MUCH: Final = 2


def looks_like_data(row: object) -> bool:
    """Whether a row is an instance with two texts."""
    return (
        isinstance(row, Mapping)
        and {"id", "text"} <= row.keys()
        and isinstance(row["text"], list)
        and len(row["text"]) == 2
        and all(isinstance(each, str) for each in row["text"])
    )


def looks_like_labels(row: object) -> bool:
    """Whether a row is what an annotator said of an instance, or of all of them."""
    return isinstance(row, Mapping) and (
        (row.keys() >= _OF_LABELS and "labels" in row) or {"user_id", _STATE} <= row.keys()
    )


def knows_labels(first_line: str) -> bool:
    """Whether the first line of a file is the header of annotations."""
    return headers_of(first_line) >= _OF_LABELS


def parse_data(fields: Fields) -> SessionRecord:
    """One instance as a session of one turn, whose request may not be told."""
    others = [name for name in fields.data if name not in ("id", "text")]
    where = replace(shown_fields(others, only_named=True), responses=())
    texts = fields.data.get("text")
    responses = [
        ResponseRecord(number, fields.notes.answer(text, fields.at("text")), variant=number)
        for number, text in zip(
            (_FIRST, _SECOND), texts if isinstance(texts, list) else (), strict=False
        )
    ]
    extra = rest_of(fields, "id", "text", *where.names)
    key = _key(fields, "id")
    shown = read_shown(fields, where, key=key, scenario=SCENARIO, responses=responses)
    pair = ComparisonRecord(_PAIR, a=_FIRST, b=_SECOND)
    turn = TurnRecord(shown.message, shown.responses, (pair,))
    return replace(shown.session, turns=(*shown.session.turns, turn), extra=dict(extra))


def read_labels(path: Path) -> Iterator[RawRow]:
    """The prepared rows of a file, a table or JSON.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    with open_text(path) as stream:
        is_json = stream.readline().lstrip().startswith(("{", "["))
    return prepare(partial(read_rows if is_json else named_rows, path))


def prepare(read: ReadRows) -> Iterator[RawRow]:
    """What an annotator said of an instance, each with the schemas that can give the verdict."""
    seen: dict[str, bool] = {}
    for raw in _said(read()):
        for name, answer in _answers(raw.value).items():
            seen[name] = seen.get(name, True) and _verdict(answer) is not None
    names = [name for name, can in seen.items() if can]
    for raw in _said(read()):
        if isinstance(raw.value, Mapping):
            yield replace(raw, value={"row": raw.value, "verdicts": names})
        else:
            yield raw


def _said(rows: Iterator[RawRow]) -> Iterator[RawRow]:
    """The rows of a file, in the layout of its JSONL."""
    for raw in rows:
        row = raw.value
        if not isinstance(row, Mapping):
            yield raw
        elif "labels" not in row and _STATE not in row:
            yield replace(raw, value=_of_cells(row))
        elif isinstance(row.get(_STATE), Mapping):
            for key, labels in row[_STATE].items():
                told = labels.items() if isinstance(labels, Mapping) else ()
                given = {
                    name: each.get("labels", each) if isinstance(each, Mapping) else each
                    for name, each in told
                }
                value = {"instance_id": key, "user_id": row.get("user_id"), "labels": given}
                yield replace(raw, value=value)
        else:
            yield raw


def _of_cells(row: Mapping[str, object]) -> dict[str, object]:
    """A row of the table as JSONL has it: cells are named by schema and value."""
    labels: dict[str, dict[str, object]] = {}
    for name, value in row.items():
        schema, dot, what = name.rpartition(".")
        if dot and value:
            labels.setdefault(schema, {})[what] = value
    rest = {name: value for name, value in row.items() if "." not in name and value}
    return {**rest, "labels": labels}


def _answers(row: object) -> Mapping[str, object]:
    labels = row.get("labels") if isinstance(row, Mapping) else None
    return labels if isinstance(labels, Mapping) else {}


def _verdict(answer: object) -> tuple[Verdict, int | None] | None:
    """The verdict of an answer and how much better; None where it is no verdict."""
    told = answer if isinstance(answer, Mapping) else {}
    word = told.get("selection")
    if isinstance(word, str) and word.strip().lower() in _SELECTIONS:
        return _SELECTIONS[word.strip().lower()], None
    value = number_of(told.get("scale_value"))
    if value is None or word is not None:
        return None
    if value == 0:
        return Verdict.TIE, None
    return (Verdict.A if value < 0 else Verdict.B), min(abs(value), _MUCH)


def parse_labels(fields: Fields) -> SessionRecord:
    """What one annotator said of an instance whose texts were imported before."""
    fields.refuse_unplaced()
    row = Fields(fields.mapping("row"), fields.notes)
    given = fields.data.get("verdicts")
    answers = _answers(row.data)
    details = LabelDetails(row.annotator("user_id"))
    verdicts = [str(each) for each in given] if isinstance(given, Iterable) else []
    question = verdict_question(verdicts) if verdicts else ""
    if question is None:
        names = ", ".join(verdicts)
        fields.fault("labels", SEVERAL_VERDICTS, names, names=names)
    told = _verdict(answers.get(question or ""))
    said = OtherAnswers()
    for name, answer in answers.items():
        if told is None or name != question:
            values = answer if isinstance(answer, Mapping) else {"": answer}
            plain = [values[each] for each in _VALUES if each in values]
            said.add(name, plain[0] if len(plain) == len(values) == 1 else answer)
    for name, value in rest_of(row, *_OF_LABELS, "labels").items():
        said.add(name, value)
    fields.notes.kept += said.extra
    labels: tuple[PairwiseRecord, ...] = ()
    if told is not None:
        details = replace(details, comment=said.comment, extra=said.extra)
        labels = (PairwiseRecord(details, told[0], told[1], shown_order=Order.ORIGINAL),)
    comment = {"comment": said.comment} if said.comment else {}
    apart = {} if labels else {**said.extra, **comment}
    responses = tuple(ResponseRecord(each, None, variant=each) for each in (_FIRST, _SECOND))
    pair = ComparisonRecord(_PAIR, a=_FIRST, b=_SECOND, labels=labels)
    return SessionRecord(
        key=_key(row, "instance_id"),
        scenario=SCENARIO,
        turns=(TurnRecord(None, responses, (pair,)),),
        questionnaires=(QuestionnaireRecord(details.annotator, (apart,)),) if apart else (),
        sketch=True,
        needs_texts=True,
    )


def _key(fields: Fields, name: str) -> str:
    told = fields.data.get(name)
    text = str(told) if isinstance(told, int) else told
    return Fields({name: text}, fields.notes, fields.path).short(name, KEY_CHARS)


FORMATS: Final = (
    Format(
        name=DATA,
        title=gettext_noop("Potato: data file of pairs"),
        line=gettext_noop("The two texts of every instance, to be imported before annotations."),
        looks_like=looks_like_data,
        parse=parse_data,
    ),
    Format(
        name=LABELS,
        title=gettext_noop("Potato: annotations of pairs"),
        line=gettext_noop(
            "Annotators’ choices as JSONL, CSV or user_state.json; the texts are in the data file."
        ),
        looks_like=looks_like_labels,
        parse=parse_labels,
        knows_text=knows_labels,
        read_file=read_labels,
        prepare=prepare,
    ),
)
