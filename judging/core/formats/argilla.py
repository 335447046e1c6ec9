"""Argilla's records, as `to_dict` nests them and flat as `to_datasets` writes them.

A project names its fields and questions itself. The verdict is the answer to the one question whose
answers all name a response, a tie, or an order of the responses; this and which numbers are ratings
from 1 to 5 shows in the whole file. Only answers that were submitted are labels. A suggestion is
what a judge, its agent, said.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Order, Reason, Verdict
from annotation.core.formats.compared import comparison_key, name_of, ranked_comparisons
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format, ReadRows
from annotation.core.formats.questions import (
    SEVERAL_VERDICTS,
    OtherAnswers,
    Shown,
    asks_which,
    read_shown,
    rest_of,
    shown_fields,
    verdict_question,
)
from annotation.core.formats.reading import RawRow, read_rows
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    ResponseRecord,
    SatisfactionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import JUDGE_CHARS, RecordedSession, VerdictRecord, recorded

NAME: Final = "argilla"
SCENARIO: Final = "argilla"
JUDGE: Final = "argilla"
"""Of a suggestion that names no agent."""

_TIES: Final = frozenset({"tie", "ties", "equal", "same", "both", "draw", "neither", "平局"})
_ENDINGS: Final = (".responses", ".responses.users", ".responses.status")
_SUGGESTED: Final = (".suggestion", ".suggestion.score", ".suggestion.agent")
_SUGGESTION: Final = ("value", "score", "agent")
_UNSUBMITTED: Final = frozenset({"draft", "discarded", "pending"})
_RECORD: Final = ("id", "fields", "metadata", "suggestions", "responses", "vectors", "_server_id")
_MOST: Final = 5


def looks_like(row: object) -> bool:
    """Whether a row is a record, nested or flat."""
    if not isinstance(row, Mapping):
        return False
    if {"fields", "responses", "suggestions"} <= row.keys():
        return isinstance(row["fields"], Mapping)
    return "id" in row and any(name.endswith(_ENDINGS[1]) for name in row)


def read_file(path: Path) -> Iterator[RawRow]:
    """The prepared records of a file.

    Raises:
        Refused: The file cannot be read.
    """
    return prepare(partial(read_rows, path))


def prepare(read: ReadRows) -> Iterator[RawRow]:
    """The records, nested, each with the questions that give verdicts and ratings in this file."""
    seen = _Seen()
    for raw in read():
        if isinstance(raw.value, Mapping):
            seen.add(_nested(raw.value))
    plan = {"verdicts": seen.verdicts, "ratings": seen.ratings}
    for raw in read():
        if isinstance(raw.value, Mapping):
            yield replace(raw, value={"record": _nested(raw.value), **plan})
        else:
            yield raw


def _nested(row: Mapping[str, object]) -> Mapping[str, object]:
    """A flat record as it is nested, metadata among the fields."""
    if isinstance(row.get("fields"), Mapping):
        return row
    names = [name.removesuffix(_ENDINGS[0]) for name in row if name.endswith(_ENDINGS[0])]
    suggested = [name.removesuffix(_SUGGESTED[0]) for name in row if name.endswith(_SUGGESTED[0])]
    known = {f"{name}{ending}" for name in names for ending in _ENDINGS}
    known |= {f"{name}{ending}" for name in suggested for ending in _SUGGESTED}
    shown = {
        name: value
        for name, value in row.items()
        if name not in known and name not in ("id", "_server_id", "status")
    }
    return {
        "id": row.get("id"),
        "fields": {name: value for name, value in shown.items() if value is not None},
        "responses": {name: _responses(row, name) for name in names},
        "suggestions": {
            name: {
                key: row.get(each)
                for key, each in zip(_SUGGESTION, _named(name, _SUGGESTED), strict=True)
            }
            for name in suggested
            if row.get(f"{name}{_SUGGESTED[0]}") is not None
        },
        **({"status": row["status"]} if row.get("status") else {}),
    }


def _named(name: str, endings: Sequence[str]) -> list[str]:
    return [f"{name}{ending}" for ending in endings]


def _responses(row: Mapping[str, object], name: str) -> list[dict[str, object]]:
    """The answers to a question, which a flat record has in three lists side by side."""
    values, users, states = (row.get(each) for each in _named(name, _ENDINGS))
    given = values if isinstance(values, list) else []
    told = [each if isinstance(each, list) else [] for each in (users, states)]
    return [
        {
            "value": value,
            "user_id": told[0][place] if place < len(told[0]) else None,
            "status": told[1][place] if place < len(told[1]) else None,
        }
        for place, value in enumerate(given)
    ]


@dataclass(slots=True)
class _Seen:
    """Which questions can give verdicts and ratings, by all the answers of a file."""

    values: dict[str, bool] = field(default_factory=dict)
    numbers: dict[str, bool] = field(default_factory=dict)

    def add(self, record: Mapping[str, object]) -> None:
        """Look at the answers of one more record."""
        shown, responses = record.get("fields"), record.get("responses")
        if not isinstance(shown, Mapping) or not isinstance(responses, Mapping):
            return
        keys = shown_fields([*shown]).responses
        for name, answers in responses.items():
            for each in answers if isinstance(answers, list) else ():
                value = each.get("value") if isinstance(each, Mapping) else None
                if value is not None:
                    can = _chosen(value, keys) is not None
                    self.values[name] = self.values.get(name, True) and can
                    rates = isinstance(value, int) and 1 <= value <= _MOST
                    self.numbers[name] = self.numbers.get(name, True) and rates

    @property
    def verdicts(self) -> list[str]:
        """The questions all of whose answers are verdicts."""
        return [name for name, can in self.values.items() if can]

    @property
    def ratings(self) -> list[str]:
        """The questions all of whose answers are numbers from 1 to 5."""
        return [name for name, can in self.numbers.items() if can]


def _chosen(value: object, keys: Sequence[str]) -> dict[str, float] | None:
    """How good an answer says that the responses are, by name; None where it says no such thing.

    It is the name of one, or its letter or number, or a tie, of two responses; or an order: a list
    of names, the best first, or of objects with `value` and `rank`.
    """
    if isinstance(value, str) and len(keys) == 2:
        word = value.strip().casefold()
        if word in _TIES:
            return dict.fromkeys(keys, 0.0)
        for place, key in enumerate(keys):
            if word in {key.casefold(), "ab"[place], "12"[place]}:
                return {each: float(each == key) for each in keys}
        return None
    if not isinstance(value, list) or len(value) < 2:
        return None
    ranks: dict[str, float] = {}
    for place, each in enumerate(value):
        name = each.get("value") if isinstance(each, Mapping) else each
        rank = each.get("rank") if isinstance(each, Mapping) else place
        if name not in keys or not isinstance(rank, int):
            return None
        ranks[str(name)] = -float(rank)
    return ranks


@dataclass(slots=True)
class _Person:
    """One person's answers: to questions by name, and how many are not submitted."""

    who: str
    values: dict[str, object] = field(default_factory=dict)
    drafts: int = 0
    answers: OtherAnswers = field(default_factory=OtherAnswers)

    @property
    def details(self) -> LabelDetails:
        """How labels were given, with all that was said beside them."""
        return LabelDetails(self.who, comment=self.answers.comment, extra=self.answers.extra)

    @property
    def said(self) -> dict[str, object]:
        """All that was said beside labels."""
        comment = {"comment": self.answers.comment} if self.answers.comment else {}
        return {**self.answers.extra, **comment}


def parse(fields: Fields) -> RecordedSession:
    """One record as a session, with its labels, ratings and suggestions."""
    fields.refuse_unplaced()
    record = Fields(fields.mapping("record"), fields.notes)
    told = {**record.mapping("metadata"), **record.mapping("fields")}
    shown_to = Fields(told, fields.notes, "fields")
    where = shown_fields([*told])
    extra = {**rest_of(record, *_RECORD), **rest_of(shown_to, *where.names)}
    shown = read_shown(shown_to, where, key=name_of(record), scenario=SCENARIO, fewest=1)
    verdict = _verdict_of(fields, record)
    rated = _rated(fields, [each.key for each in shown.responses])
    people = _people(record, (verdict, *rated))
    comparisons = _comparisons(shown, people, verdict)
    labelled = {each.details.annotator for one in comparisons for each in one.labels}
    labelled |= {each.who for each in people if not each.values.keys().isdisjoint(rated)}
    apart = [each for each in people if each.who not in labelled and each.said]
    fields.notes.kept += [name for each in people for name in each.answers.extra]
    drafts = {each.who: each.drafts for each in people if each.drafts}
    suggested, others = _suggestions(record, shown, comparisons, verdict)
    for name, value in (("drafts", drafts), ("suggestions", others)):
        if value:
            extra[name] = value
            fields.notes.kept.append(name)
    responses = tuple(_with_ratings(each, people, rated) for each in shown.responses)
    turn = TurnRecord(shown.message, responses, comparisons)
    session = replace(
        shown.session,
        turns=(*shown.session.turns, turn),
        extra=extra,
        questionnaires=tuple(QuestionnaireRecord(each.who, (each.said,)) for each in apart),
    )
    return recorded(session, iter(suggested))


def _listed(fields: Fields, name: str) -> list[str]:
    given = fields.data.get(name)
    return [str(each) for each in given] if isinstance(given, list) else []


def _verdict_of(fields: Fields, record: Fields) -> str:
    """The question that gives the verdict; "" if none does."""
    names = _listed(fields, "verdicts")
    if not names:
        suggested = record.mapping("suggestions")
        return next((name for name in suggested if asks_which(name)), "")
    name = verdict_question(names)
    if name is None:
        told = ", ".join(names)
        fields.fault("responses", SEVERAL_VERDICTS, told, names=told)
    return name or ""


def _rated(fields: Fields, keys: Sequence[str]) -> dict[str, str]:
    """The questions that rate a response, each with its response.

    With several responses the names end alike (quality_a, response_a). Of several questions on one
    response none is its rating.
    """
    found = {}
    for name in _listed(fields, "ratings"):
        ending = _ending(name)
        rates = [key for key in keys if len(keys) == 1 or _ending(key) == ending]
        if len(rates) == 1:
            found[name] = rates[0]
    several = Counter(found.values())
    return {name: key for name, key in found.items() if several[key] == 1}


def _ending(name: str) -> str:
    """The letter or number that a name ends in."""
    return re.split(r"[\W_]|(?<=[^\W\d])(?=\d)", name.casefold())[-1]


def _people(record: Fields, used: Sequence[str]) -> list[_Person]:
    """Everybody who answered, with the answers to `used` questions apart from the others."""
    people: dict[str, _Person] = {}
    answers = Fields(record.mapping("responses"), record.notes, "responses")
    for name in answers.data:
        for each in answers.items(name):
            who = each.annotator("user_id")
            person = people.setdefault(who, _Person(who))
            if str(each.data.get("status")) in _UNSUBMITTED:
                person.drafts += 1
            elif name in used:
                person.values[name] = each.data.get("value")
            else:
                person.answers.add(name, each.data.get("value"))
    return list(people.values())


def _with_ratings(
    response: ResponseRecord, people: Sequence[_Person], rated: Mapping[str, str]
) -> ResponseRecord:
    found = []
    for name, key in rated.items():
        for person in people if key == response.key else ():
            score = person.values.get(name)
            if isinstance(score, int):
                reason = Reason.NOT_RECORDED if score < SATISFIED_FROM else None
                found.append(SatisfactionRecord(person.details, score, reason))
    return replace(response, satisfaction=tuple(found))


def _comparisons(
    shown: Shown, people: Sequence[_Person], verdict: str
) -> tuple[ComparisonRecord, ...]:
    """The pair with everybody's verdicts; of more responses a comparison of every two ordered."""
    keys = [each.key for each in shown.responses]
    found: dict[str, ComparisonRecord] = {}
    if len(keys) == 2:
        one, other = shown.responses
        key = comparison_key(shown.message, one, other)
        found[key] = ComparisonRecord(key, a=one.key, b=other.key)
    for person in people:
        values = _chosen(person.values.get(verdict), keys)
        if values is None:
            continue
        if len(keys) == 2:
            [pair] = found.values()
            label = PairwiseRecord(person.details, _verdict(values, keys))
            found[pair.key] = replace(pair, labels=(*pair.labels, label))
            continue
        for each in ranked_comparisons(
            shown.message, shown.responses, values, details=person.details
        ):
            known = found.get(each.key)
            labels = (*known.labels, *each.labels) if known else each.labels
            found[each.key] = replace(each, labels=labels)
    return tuple(found.values())


def _verdict(values: Mapping[str, float], keys: Sequence[str]) -> Verdict:
    gain = values[keys[0]] - values[keys[1]]
    return Verdict.TIE if gain == 0 else Verdict.A if gain > 0 else Verdict.B


def _suggestions(
    record: Fields, shown: Shown, comparisons: Sequence[ComparisonRecord], verdict: str
) -> tuple[list[VerdictRecord], dict[str, object]]:
    """The suggested verdict as a judge's, and the other suggestions."""
    given = Fields(record.mapping("suggestions"), record.notes, "suggestions")
    others = dict(given.data)
    keys = [each.key for each in shown.responses]
    told = given.mapping(verdict) if verdict else {}
    values = _chosen(told.get("value"), keys) if len(keys) == 2 else None
    if values is None:
        return [], others
    del others[verdict]
    judge = Fields(told, record.notes, given.at(verdict)).text_or("agent", longest=JUDGE_CHARS)
    said = VerdictRecord(
        judge or JUDGE,
        len(shown.session.turns),
        comparisons[0].key,
        Order.COMBINED,
        _verdict(values, keys),
        raw=json.dumps(told, ensure_ascii=False),
    )
    return [said], others


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Argilla records"),
        line=gettext_noop(
            "Records of Argilla 2 with people’s answers, nested or as rows of a dataset: pairs, "
            "rankings or ratings."
        ),
        looks_like=looks_like,
        parse=parse,
        read_file=read_file,
        prepare=prepare,
    ),
)
