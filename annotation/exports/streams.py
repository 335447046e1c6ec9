"""What hangs on some sessions: a statement a table, whatever the number of sessions.

Texts come as bare rows, since there are many of them; what was answered comes as models.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model, Q, QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast

from annotation.models import (
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    StudyItem,
    Turn,
)

T = TypeVar("T")
M = TypeVar("M", bound=Model)

_LABELS_AT_ONCE: Final = 250
_SORTED: Final = 5000  # numbers read at a time
_PLACES_AT_ONCE: Final = 5000


_EXTRA: Final = Cast("extra", TextField())
"""As text, see `extra_of`: most rows have none, and there are many of them."""


class ExportedSession(NamedTuple):
    """A session; the scenario by name."""

    pk: int
    key: str
    scenario: str
    user: int | None
    system_prompt: str
    task_context: str
    language: str
    profile: Any
    extra: Any


class ExportedTurn(NamedTuple):
    """A turn of a session."""

    pk: int
    session: int
    position: int
    user_message: str | None


class ResponseRow(NamedTuple):
    """A response to a turn."""

    pk: int
    turn: int
    model: str
    text: str | None
    original: bool
    continues: int | None
    variant: str
    extra: str


class ExportedComparison(NamedTuple):
    """A comparison of two responses to a turn."""

    pk: int
    turn: int
    key: str
    a: int
    b: int
    position: int
    extra: str


def sessions_of(
    dataset: Dataset, *, at_once: int, study: int | None = None
) -> Iterator[list[ExportedSession]]:
    """The sessions of a dataset in the order of its file, some at a time.

    Of a study, those that it asks about, and those that were held in it.
    """
    sessions = Session.objects.filter(dataset=dataset)
    if study is not None:
        items = StudyItem.objects.filter(study=study)
        pairs = Comparison.objects.filter(pk__in=items.values("comparison"))
        sessions = sessions.filter(
            Q(pk__in=items.filter(session__isnull=False).values("session"))
            | Q(pk__in=pairs.values("turn__session"))
            | Q(held_under__item__study=study)
        )
    rows = (
        sessions.order_by("position", "pk")
        .values_list(
            "pk", "key", "scenario__name", "original_user_id", "system_prompt", "task_context",
            "language", "profile_snapshot", "extra",
        )
        .iterator(chunk_size=at_once)
    )  # fmt: skip
    while part := [ExportedSession._make(row) for row in islice(rows, at_once)]:
        yield part


def extra_of(row: ResponseRow | ExportedComparison) -> dict[str, Any]:
    """What the file had on a row besides its columns."""
    return {} if row.extra == "{}" else json.loads(row.extra)


class Texts:
    """The turns of some sessions by session, and their responses by turn, all in order."""

    def __init__(self, sessions: Sequence[int]) -> None:
        turns = Turn.objects.order_by("position").values_list(
            "pk", "session_id", "position", "user_message"
        )
        responses = Response.objects.order_by("position", "pk").values_list(
            "pk", "turn_id", "model", "text", "original", "continues_id", "variant", _EXTRA
        )
        self.sessions = sessions
        self.turns = _by(
            map(ExportedTurn._make, _on(sessions, turns, "session")), lambda row: row.session
        )
        self.responses = _by(
            map(ResponseRow._make, _on(_numbers(self.turns), responses, "turn")),
            lambda row: row.turn,
        )


class LabelsByTarget:
    """The comparisons of sessions by turn, and all labels, each by what it is a label of.

    Of a study, the labels that were given in it.
    """

    def __init__(self, texts: Texts, *, study: int | None = None) -> None:
        given = Q() if study is None else Q(study=study)
        comparisons = Comparison.objects.order_by("position", "pk").values_list(
            "pk", "turn_id", "key", "response_a_id", "response_b_id", "position", _EXTRA
        )
        self.comparisons = _by(
            map(ExportedComparison._make, _on(_numbers(texts.turns), comparisons, "turn")),
            lambda row: row.turn,
        )
        pairs, responses = _numbers(self.comparisons), _numbers(texts.responses)
        verdicts = PairwiseLabel.objects.filter(given).order_by("pk")
        self.verdicts = _by(_on(pairs, verdicts, "comparison"), lambda label: label.comparison_id)
        ratings = _some(SatisfactionLabel.objects.filter(given).order_by("pk"))
        self.ratings = _by(_on(responses, ratings, "response"), lambda label: label.response_id)
        self.session_ratings = _by(
            _on(texts.sessions, ratings, "session"), lambda label: label.session_id
        )
        answers = _some(SessionQuestionnaire.objects.filter(given).order_by("pk"))
        self.questionnaires = _by(
            _on(texts.sessions, answers, "session"), lambda answer: answer.session_id
        )
        gold = _some(GoldLabel.objects.order_by("pk"))
        self.comparison_gold = _by(
            _on(pairs, gold, "comparison"), lambda label: label.comparison_id
        )
        self.response_gold = _by(_on(responses, gold, "response"), lambda label: label.response_id)
        self.session_gold = _by(
            _on(texts.sessions, gold, "session"), lambda label: label.session_id
        )


class ExportedPair(NamedTuple):
    """A comparison with its two responses and where it stands; the scenario by number and name."""

    pk: int
    key: str
    position: int
    turn: int
    turn_position: int
    user_message: str | None
    session: int
    session_key: str
    scenario: int
    scenario_name: str
    system_prompt: str
    task_context: str
    model_a: str
    variant_a: str
    text_a: str | None
    model_b: str
    variant_b: str
    text_b: str | None


class ExportedLabel(NamedTuple):
    """A pairwise label; `extra_text` is what the file had besides, as JSON."""

    pk: int
    comparison: int
    annotator: int
    verdict: str
    strength: int | None
    both_bad: bool
    shown_order: str | None
    study_id: int | None
    repeat_index: int
    comment: str
    created_at: datetime
    active_seconds: float | None
    idle_seconds: float | None
    input_device: str
    edits: int
    guidelines_version: int | None
    app_version: str
    extra_text: str

    @property
    def extra(self) -> Any:
        """The same, read."""
        return {} if self.extra_text == "{}" else json.loads(self.extra_text)


_PAIR: Final = (
    "pk", "key", "position", "turn_id", "turn__position", "turn__user_message",
    "turn__session_id", "turn__session__key", "turn__session__scenario_id",
    "turn__session__scenario__name", "turn__session__system_prompt", "turn__session__task_context",
    "response_a__model", "response_a__variant", "response_a__text",
    "response_b__model", "response_b__variant", "response_b__text",
)  # fmt: skip
_LABEL: Final = (
    "pk", "comparison_id", "annotator_id", "verdict", "strength", "both_bad", "shown_order",
    "study_id", "repeat_index", "comment", "created_at", "active_seconds", "idle_seconds",
    "input_device", "edits", "guidelines_version", "app_version", _EXTRA,
)  # fmt: skip


_WITHOUT_TEXTS: Final = [
    Value(None, TextField()) if isinstance(name, str) and name.endswith("__text") else name
    for name in _PAIR
]


def pairs_in_order(
    chosen: QuerySet[Comparison], *, texts: bool = True
) -> Iterator[list[ExportedPair]]:
    """The comparisons that are chosen in the order of their file, some at a time.

    Without `texts` those of the responses are not read.
    """
    columns = _PAIR if texts else _WITHOUT_TEXTS
    for part in _parts(chosen, "position", "pk"):
        rows = Comparison.objects.filter(pk__in=_listed(part)).values_list(*columns)
        found = {row[0]: ExportedPair._make(row) for row in rows}
        yield [found[number] for number in part if number in found]


def labels_on(
    pairs: Sequence[ExportedPair], labels: QuerySet[PairwiseLabel]
) -> Iterator[ExportedLabel]:
    """Those of the labels that were given on these comparisons, in the order of both."""
    numbers = [pair.pk for pair in pairs]
    found = _by(
        map(
            ExportedLabel._make,
            _on(numbers, labels.order_by("pk").values_list(*_LABEL), "comparison"),
        ),
        lambda label: label.comparison,
    )
    for number in numbers:
        yield from found.get(number, ())


def on_pairs(pairs: Sequence[ExportedPair], rows: QuerySet[Any, T]) -> Iterator[T]:
    """Those of the rows that hang on these comparisons."""
    return _on([pair.pk for pair in pairs], rows, "comparison")


def in_order(chosen: QuerySet[M], rows: QuerySet[M], *order: str) -> Iterator[list[M]]:
    """The rows that are chosen, in an order, some at a time.

    The numbers are sorted alone: a database that sorts rows holds all their texts while it does.
    """
    for part in _parts(chosen, *order):
        found = rows.in_bulk(list(part))
        yield [found[number] for number in part if number in found]


def _parts(chosen: QuerySet[M], *order: str) -> Iterator[Sequence[int]]:
    """The numbers of the chosen rows in an order, some at a time."""
    numbers = chosen.order_by(*order).values_list("pk", flat=True).iterator(chunk_size=_SORTED)
    wanted = array("q", numbers)
    for start in range(0, len(wanted), _LABELS_AT_ONCE):
        yield wanted[start : start + _LABELS_AT_ONCE]


def _some(rows: QuerySet[M]) -> QuerySet[M]:
    """The rows, or nothing that needs asking for where there are none at all."""
    return rows if rows.exists() else rows.none()


def _on(places: Sequence[int], rows: QuerySet[Any, T], field: str) -> Iterator[T]:
    """The rows that hang on places, by their numbers: of joins a database may read whole tables."""
    if rows.query.is_empty():
        return
    for start in range(0, len(places), _PLACES_AT_ONCE):
        part = _listed(places[start : start + _PLACES_AT_ONCE])
        yield from rows.filter(**{f"{field}__in": part})


def _listed(numbers: Sequence[int]) -> RawSQL:
    """Numbers for a statement: a parameter for each would cost more than finding the rows.

    SQLite keeps the texts of the last hundred statements, so there they are one parameter.
    """
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps([*numbers])])
    return RawSQL(",".join(map(str, numbers)), ())  # noqa: S611 - integers of our own


def _numbers(
    rows: Mapping[int, Sequence[ExportedTurn | ResponseRow | ExportedComparison]],
) -> list[int]:
    return [row.pk for some in rows.values() for row in some]


def _by(rows: Iterable[T], key: Callable[[T], int | None]) -> dict[int, list[T]]:
    """Rows by what they hang on; nothing hangs on what is not there."""
    found: dict[int, list[T]] = defaultdict(list)
    for row in rows:
        place = key(row)
        if place is not None:
            found[place].append(row)
    return dict(found)
