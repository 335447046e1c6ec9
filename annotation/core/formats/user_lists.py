"""Which users of a file are wanted: a JSON file with lists of names under keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from annotation.core.formats.reading import read_document
from annotation.core.formats.records import (
    ComparisonRecord,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.participants import rater_name
from annotation.core.refusals import Refused


def read_users(choice: str) -> frozenset[str]:
    """The names that `FILE:KEY` lists; `main.train` is the key `train` of the object `main`.

    Raises:
        Refused: no such file, no such key, or no list of names under it.
    """
    name, colon, key = choice.rpartition(":")
    if not colon or not name or not key:
        raise Refused(
            "import:unreadable", f"{choice}: expected FILE:KEY, such as splits.json:train"
        )
    row = read_document(Path(name), 1)
    if row.fault is not None:
        why = " ".join(str(row.fault.value or "").removeprefix(f"{name}: ").split())
        raise Refused("import:unreadable", f"{name}: {row.fault.reason}: {why}".rstrip(": "))
    lists = dict(_lists(row.value, ""))
    if key not in lists:
        known = ", ".join(lists) or "none"
        raise Refused("import:unreadable", f"{name}: no key {key!r}; the keys are {known}")
    users = lists[key]
    if not isinstance(users, list) or not all(isinstance(user, str) for user in users):
        raise Refused("import:unreadable", f"{name}: {key!r} is not a list of names")
    return frozenset(map(rater_name, users))


def _lists(value: object, path: str) -> Iterator[tuple[str, object]]:
    """What stands under each key, with the keys of objects within objects joined by dots."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lists(inner, f"{path}.{key}" if path else str(key))
    elif path:
        yield path, value


def only_of(record: SessionRecord, users: frozenset[str]) -> SessionRecord | None:
    """What a session says of the given users: its labels by them, and None where it says nothing.

    A session of another user says nothing; one without a user stands for its labels.
    """
    if record.user is not None and record.user not in users:
        return None
    turns = tuple(_turn(turn, users) for turn in record.turns)
    session_ratings = _ratings(record.satisfaction, users)
    questionnaires = tuple(each for each in record.questionnaires if each.annotator in users)
    told = bool(session_ratings or questionnaires) or any(_labelled(turn) for turn in turns)
    if record.user is None and not told:
        return None
    return replace(record, turns=turns, satisfaction=session_ratings, questionnaires=questionnaires)


def _turn(turn: TurnRecord, users: frozenset[str]) -> TurnRecord:
    return replace(
        turn,
        responses=tuple(_response(each, users) for each in turn.responses),
        comparisons=tuple(_comparison(each, users) for each in turn.comparisons),
    )


def _response(response: ResponseRecord, users: frozenset[str]) -> ResponseRecord:
    return replace(response, satisfaction=_ratings(response.satisfaction, users))


def _comparison(comparison: ComparisonRecord, users: frozenset[str]) -> ComparisonRecord:
    kept = tuple(each for each in comparison.labels if each.details.annotator in users)
    return replace(comparison, labels=kept)


def _ratings(
    labels: tuple[SatisfactionRecord, ...], users: frozenset[str]
) -> tuple[SatisfactionRecord, ...]:
    return tuple(each for each in labels if each.details.annotator in users)


def _labelled(turn: TurnRecord) -> bool:
    return any(each.labels for each in turn.comparisons) or any(
        each.satisfaction for each in turn.responses
    )
