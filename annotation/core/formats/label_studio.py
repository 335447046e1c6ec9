"""Label Studio's exports of pairwise and ranking projects: JSON, JSON-MIN and CSV.

JSON has a task a row with its annotations, the others an annotation a row, what was asked and what
was answered side by side. Names of fields and controls are the project's own. Pairwise: the left
response is A. Ranking: within a bucket the order is a ranking; buckets have no order of value, so
that nothing is said of responses in different ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.compared import comparison_key, name_of, ranked_comparisons
from annotation.core.formats.fields import MODEL_CHARS, Fields, Notes
from annotation.core.formats.format import Format, ReadRows
from annotation.core.formats.printed import read_printed
from annotation.core.formats.published import headers_of, named_rows
from annotation.core.formats.questions import (
    SEVERAL_VERDICTS,
    OtherAnswers,
    Shown,
    ShownFields,
    asks_which,
    read_shown,
    rest_of,
    shown_fields,
    verdict_question,
)
from annotation.core.formats.reading import RawRow, open_text, read_rows
from annotation.core.formats.records import (
    ComparisonRecord,
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.formats.table_values import outcome_of
from annotation.core.formats.values import Meaning, verdict_of
from annotation.core.refusals import gettext_noop

NAME: Final = "label-studio"
SCENARIO: Final = "label-studio"

_OF_TASK: Final = frozenset({"annotations", "data"})
_OF_ROW: Final = frozenset({"annotation_id", "annotator", "lead_time", "id"})
_ENVELOPE: Final = (
    "id",
    "annotations",
    "data",
    "file_upload",
    "created_at",
    "updated_at",
    "inner_id",
    "total_annotations",
    "total_predictions",
    "comment_count",
    "unresolved_comment_count",
    "last_comment_updated_at",
    "project",
    "updated_by",
    "comment_authors",
    "cancelled_annotations",
)
_ROW_ENVELOPE: Final = ("id", "annotation_id", "annotator", "created_at", "updated_at", "lead_time")
_BODIES: Final = ("body", "html", "text", "content")
_UNRANKED: Final = "_"
_SIDES: Final = {"left": Verdict.A, "right": Verdict.B}
_TIES: Final = (Meaning.TIE, Meaning.BOTH_BAD)
_VALUES: Final = ("choices", "text", "rating", "number", "taxonomy", "datetime")
_CONTROLS: Final = ("selected", "ranker")


@dataclass(slots=True)
class _Annotation:
    """One annotation: by whom, the sides that were chosen and the rankings by their control."""

    details: LabelDetails
    sides: dict[str, str] = field(default_factory=dict)
    rankings: dict[str, object] = field(default_factory=dict)
    answers: OtherAnswers = field(default_factory=OtherAnswers)
    is_gold: bool = False

    def take(self, name: str, value: Mapping[str, object]) -> None:
        """Take the answer to one control."""
        if "selected" in value:
            self.sides[name] = str(value["selected"])
        elif "ranker" in value:
            self.rankings[name] = value["ranker"]
        else:
            answer = next((value[each] for each in _VALUES if each in value), dict(value))
            self.answers.add(name, answer, is_reason="text" in value)

    @property
    def label(self) -> LabelDetails:
        """How its labels were given, with all that was said beside them."""
        return replace(self.details, comment=self.answers.comment, extra=dict(self.answers.extra))

    @property
    def said(self) -> dict[str, object]:
        """All that was said beside the labels."""
        comment = {"comment": self.answers.comment} if self.answers.comment else {}
        return {**self.answers.extra, **comment}

    @property
    def questionnaire(self) -> QuestionnaireRecord:
        """What was said, as answers to questions."""
        return QuestionnaireRecord(
            self.details.annotator, (self.said,), given_at=self.details.given_at
        )


def looks_like(row: object) -> bool:
    """Whether a row is a task with its annotations, or an annotation with its task."""
    return isinstance(row, Mapping) and (
        (row.keys() >= _OF_TASK and isinstance(row["data"], Mapping)) or row.keys() >= _OF_ROW
    )


def knows_text(first_line: str) -> bool:
    """Whether the first line of a file is the header of such an export."""
    return headers_of(first_line) >= _OF_ROW


def read_file(path: Path) -> Iterator[RawRow]:
    """The rows of a file; whoever is named by an address anywhere in it has it everywhere.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    with open_text(path) as stream:
        is_json = stream.readline().lstrip().startswith(("{", "["))
    if not is_json:
        return named_rows(path)
    return prepare(partial(read_rows, path))


def prepare(read: ReadRows) -> Iterator[RawRow]:
    """The rows of a file, people by their address if it is anywhere in the file."""
    people = _people(read())
    for raw in read():
        if isinstance(raw.value, Mapping) and isinstance(raw.value.get("annotations"), list):
            annotations = [_named(each, people) for each in raw.value["annotations"]]
            yield replace(raw, value={**raw.value, "annotations": annotations})
        else:
            yield raw


def _people(rows: Iterator[RawRow]) -> dict[object, Mapping[str, object]]:
    """Whoever an annotation describes, by number."""
    people = {}
    for raw in rows:
        told = raw.value.get("annotations") if isinstance(raw.value, Mapping) else None
        for each in told if isinstance(told, list) else ():
            person = each.get("completed_by") if isinstance(each, Mapping) else None
            if isinstance(person, Mapping) and isinstance(person.get("id"), int):
                people[person["id"]] = person
    return people


def _named(annotation: object, people: Mapping[object, Mapping[str, object]]) -> object:
    if not isinstance(annotation, Mapping):
        return annotation
    person = annotation.get("completed_by")
    known = people.get(person) if isinstance(person, int) else None
    return {**annotation, "completed_by": known or person}


def parse(fields: Fields) -> SessionRecord:
    """One task, or one annotation with its task, as a session."""
    if fields.data.keys() >= _OF_TASK:
        data = Fields(fields.mapping("data"), fields.notes, fields.at("data"))
        return _of_task(fields, data, [*_annotations(fields)])
    told = {name: value for name, value in fields.data.items() if value not in (None, "")}
    row = Fields({name: _uncelled(name, told) for name in told}, fields.notes, fields.path)
    annotations = []
    if row.has("annotation_id"):
        annotations = [_Annotation(_details(row, _person(row, "annotator")))]
        for name, value in row.rest(*_ROW_ENVELOPE).items():
            for each in value if isinstance(value, list) else ():
                if isinstance(each, Mapping) and not each.keys().isdisjoint(_CONTROLS):
                    annotations[0].take(name, each)
    return _of_row(row, annotations)


def _uncelled(name: str, told: Mapping[str, object]) -> object:
    """What a cell was before it became one; a text that only looks like a list stays a text."""
    value = told[name]
    if not isinstance(value, str) or not value.startswith(("[{", "{")):
        return value
    found = read_printed(Fields(told, Notes(0)), name)
    return value if found is None else found


def _annotations(fields: Fields) -> Iterator[_Annotation]:
    """The annotations that were not cancelled; another one of a person is a repeat."""
    times: Counter[str] = Counter()
    for each in fields.items("annotations"):
        if each.flag("was_cancelled"):
            continue
        details = _details(each, _person(each, "completed_by"))
        found = _Annotation(replace(details, repeat=times[details.annotator]))
        times[details.annotator] += 1
        found.is_gold = each.flag("ground_truth")
        for result in each.items("result"):
            name = result.text_or("from_name") or result.text_or("type", "answer")
            found.take(name, result.mapping("value"))
        yield found


def _person(fields: Fields, name: str) -> str:
    """An annotator's address, or number."""
    given = fields.data.get(name)
    if isinstance(given, Mapping):
        given = given.get("email") or given.get("id")
    told = str(given) if isinstance(given, int) else given
    return Fields({name: told}, fields.notes, fields.path).annotator(name)


def _details(fields: Fields, annotator: str) -> LabelDetails:
    told = fields.data.get("lead_time")
    seconds = None
    if told is not None:
        try:
            seconds = float(str(told))
        except ValueError:
            fields.fault("lead_time", gettext_noop("Expected a number of seconds"), told)
    return LabelDetails(annotator, given_at=fields.moment("created_at"), active_seconds=seconds)


def _of_task(fields: Fields, data: Fields, annotations: list[_Annotation]) -> SessionRecord:
    """The session of a task; fields of the task and its data without a place are kept with it."""
    where, listed = _layout(data, [*data.data])
    extra = {**rest_of(fields, *_ENVELOPE), **rest_of(data, *where.names, *listed)}
    if fields.data.get("cancelled_annotations"):
        extra |= fields.kept(*(name for name in fields.data if name != "cancelled_annotations"))
    return _session(data, where, listed, _key(fields), annotations, extra)


def _of_row(row: Fields, annotations: list[_Annotation]) -> SessionRecord:
    """The session of a row, which does not say what is data and what was answered.

    What has no place is kept with the annotation, or with a task that nobody annotated.
    """
    controls = {name for each in annotations for name in (*each.sides, *each.rankings)}
    names = [name for name in row.data if name not in controls and name not in _ROW_ENVELOPE]
    where, listed = _layout(row, names)
    known = (*where.names, *listed, *controls, *_ROW_ENVELOPE)
    row.refuse_unplaced(*known)
    for each in annotations:
        for name, value in row.rest(*known).items():
            each.answers.add(name, value)
    extra = {} if annotations else row.kept(*known)
    return _session(row, where, listed, _key(row), annotations, extra)


def _key(fields: Fields) -> str:
    number = name_of(fields)
    return f"task-{number}" if number else ""


def _layout(data: Fields, names: Sequence[str]) -> tuple[ShownFields, list[str]]:
    """Which field is what, and the field with the list of responses of a ranking."""
    listed = [name for name in names if _are_items(data.data[name])][:1]
    texts = [name for name in names if isinstance(data.data[name], str | list)]
    where = shown_fields([name for name in texts if name not in listed])
    return (replace(where, responses=()) if listed else where), listed


def _are_items(value: object) -> bool:
    """Whether a value is a list of responses to rank."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(
            isinstance(each, Mapping) and "id" in each and not each.keys().isdisjoint(_BODIES)
            for each in value
        )
    )


def _session(
    data: Fields,
    where: ShownFields,
    listed: Sequence[str],
    key: str,
    annotations: Sequence[_Annotation],
    extra: Mapping[str, object],
) -> SessionRecord:
    """The session of a task, with its labels; what is said without a label is its own answer."""
    labelled: set[str] = set()
    if listed:
        items = [_item(each) for each in data.items(listed[0])]
        shown = read_shown(data, where, key=key, scenario=SCENARIO, responses=items)
        comparisons = _ranked(shown, annotations)
    else:
        shown = read_shown(data, where, key=key, scenario=SCENARIO)
        comparisons = _compared(data, shown, annotations)
    for comparison in comparisons:
        labelled |= {each.details.annotator for each in comparison.labels}
    apart = [each for each in annotations if each.details.annotator not in labelled]
    data.notes.kept += [name for each in annotations for name in each.answers.extra]
    return replace(
        shown.session,
        turns=(*shown.session.turns, TurnRecord(shown.message, shown.responses, comparisons)),
        extra={**shown.session.extra, **extra},
        questionnaires=tuple(each.questionnaire for each in apart if each.said),
    )


def _item(item: Fields) -> ResponseRecord:
    """A response to rank: its id is taken for who wrote it."""
    body = next(name for name in _BODIES if name in item.data)
    told = item.data.get("id")
    model = str(told) if isinstance(told, int) else item.text_or("id", longest=MODEL_CHARS)
    return ResponseRecord(model, item.answer(body), model, extra=item.rest("id", body))


def _compared(
    data: Fields, shown: Shown, annotations: Sequence[_Annotation]
) -> tuple[ComparisonRecord, ...]:
    """The comparison of a pairwise task."""
    if len(shown.responses) != 2:
        if shown.responses:
            told = ", ".join(each.key for each in shown.responses)
            data.fault("", gettext_noop("Expected two responses"), told)
        return ()
    one, other = shown.responses
    labels = [(each, label) for each in annotations if (label := _label(data, each))]
    gold = [GoldRecord("DATASET", label.verdict) for each, label in labels if each.is_gold]
    return (
        ComparisonRecord(
            key=comparison_key(shown.message, one, other),
            a=one.key,
            b=other.key,
            labels=tuple(label for _annotation, label in labels),
            gold=tuple(gold[:1]),
        ),
    )


def _label(data: Fields, annotation: _Annotation) -> PairwiseRecord | None:
    """The verdict of an annotation, if it has one."""
    if not annotation.sides:
        return _of_choice(data, annotation)
    name = verdict_question([*annotation.sides])
    if name is None:
        names = ", ".join(annotation.sides)
        data.notes.fault("", SEVERAL_VERDICTS, names, names=names)
        return None
    for other, side in annotation.sides.items():
        if other != name:
            annotation.answers.add(other, side)
    side = annotation.sides[name]
    if side not in _SIDES:
        reason = gettext_noop("Expected one of %(words)s")
        data.notes.fault(name, reason, side, words=", ".join(_SIDES))
    verdict = _SIDES.get(side, Verdict.TIE)
    return PairwiseRecord(annotation.label, verdict, shown_order=Order.ORIGINAL)


def _of_choice(data: Fields, annotation: _Annotation) -> PairwiseRecord | None:
    """The verdict of one who chose neither side: a pairwise control has no tie, a choice has."""
    extra = annotation.answers.extra
    found = {name: meaning for name in extra if (meaning := _meaning(extra[name]))}
    named = [name for name in found if asks_which(name)]
    names = named or [name for name in found if found[name] in _TIES]
    if not names:
        return None
    if len(names) > 1:
        told = ", ".join(names)
        data.notes.fault("", SEVERAL_VERDICTS, told, names=told)
    outcome = outcome_of(found[names[0]])
    del extra[names[0]]
    strength = outcome.get("strength")
    return PairwiseRecord(
        annotation.label,
        Verdict(str(outcome["verdict"])),
        strength=strength if isinstance(strength, int) else None,
        both_bad="both_bad" in outcome,
        shown_order=Order.ORIGINAL,
    )


def _meaning(answer: object) -> Meaning | None:
    """What the only choice of an answer says of two responses."""
    chosen = answer[0] if isinstance(answer, list) and len(answer) == 1 else answer
    meaning = verdict_of(chosen) if isinstance(chosen, str) else None
    return meaning if meaning and outcome_of(meaning) else None


def _ranked(shown: Shown, annotations: Sequence[_Annotation]) -> tuple[ComparisonRecord, ...]:
    """Comparisons of every two responses that an annotation has in one bucket."""
    found: dict[str, ComparisonRecord] = {}
    for annotation in annotations:
        for name, given in annotation.rankings.items():
            buckets = given if isinstance(given, Mapping) else {"": given}
            ranked = [ids for bucket, ids in buckets.items() if bucket != _UNRANKED]
            if len(ranked) > 1 or buckets.get(_UNRANKED):
                annotation.answers.add(name, given)
        for each in _of_buckets(shown, annotation):
            known = found.get(each.key)
            labels = (*known.labels, *each.labels) if known else each.labels
            found[each.key] = replace(each, labels=labels)
    return tuple(found.values())


def _of_buckets(shown: Shown, annotation: _Annotation) -> Iterator[ComparisonRecord]:
    for given in annotation.rankings.values():
        buckets = given if isinstance(given, Mapping) else {"": given}
        for bucket, ids in buckets.items():
            if bucket == _UNRANKED or not isinstance(ids, list):
                continue
            places = {str(each): -place for place, each in enumerate(ids)}
            yield from ranked_comparisons(
                shown.message, shown.responses, places, details=annotation.label
            )


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Label Studio: pairs and rankings"),
        line=gettext_noop(
            "An export of a pairwise or ranking project, as JSON, JSON-MIN or CSV: responses, and "
            "every annotator’s choice."
        ),
        looks_like=looks_like,
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
        prepare=prepare,
    ),
)
