"""What answers are about, as lists of items name it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from annotation.core.item_names import ItemKey
from annotation.core.labelling import AnswerKind, Target, TargetKind
from annotation.models import Comparison, Response, Session, Turn

_OPENING_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A target in a list: its name, the beginning of the request, and its place in a session."""

    target: Target
    key: ItemKey
    opening: str
    scenario: str
    session: int
    turn: int | None


def target_rows(targets: Iterable[Target]) -> dict[Target, TargetRow]:
    """The rows of these targets; one query for each kind among them, two for sessions."""
    wanted: dict[TargetKind, list[int]] = {}
    for target in targets:
        wanted.setdefault(target.kind, []).append(target.id)
    rows = [
        row
        for kind, ids in wanted.items()
        for row in {
            TargetKind.COMPARISON: _comparisons,
            TargetKind.RESPONSE: _responses,
            TargetKind.SESSION: _sessions,
        }[kind](ids)
    ]
    return {row.target: row for row in rows}


def target_keys(dataset: int, kind: AnswerKind) -> dict[Target, tuple[str, int]]:
    """What to sort a dataset's targets by: key and turn; one query for verdicts, two for scores."""
    if kind is AnswerKind.VERDICTS:
        pairs = Comparison.objects.filter(turn__session__dataset=dataset)
        return {
            Target(TargetKind.COMPARISON, number): (key, turn)
            for number, key, turn in pairs.values_list("pk", "key", "turn__position")
        }
    sessions = Session.objects.filter(dataset=dataset).values_list("pk", "key")
    keys = {Target(TargetKind.SESSION, number): (key, -1) for number, key in sessions}
    rated = Response.objects.filter(turn__session__dataset=dataset, labels__isnull=False)
    for number, key, turn in rated.values_list("pk", "turn__session__key", "turn__position"):
        keys[Target(TargetKind.RESPONSE, number)] = (key, turn)
    return keys


def turn_key(turn: Turn) -> ItemKey:
    """The key of a turn that is rated, by its session's; people read the words of the turn."""
    session = turn.session
    return ItemKey.of(f"{session.key} · {turn.number}", session.position, turn.user_message)


def _comparisons(ids: list[int]) -> list[TargetRow]:
    rows = Comparison.objects.filter(pk__in=ids).select_related("turn__session__scenario")
    return [
        _of_turn(Target(TargetKind.COMPARISON, row.pk), row.name, row.turn)
        for row in rows.defer("extra", "turn__session__extra")
    ]


def _responses(ids: list[int]) -> list[TargetRow]:
    rows = Response.objects.filter(pk__in=ids).select_related("turn__session__scenario")
    return [
        _of_turn(
            Target(TargetKind.RESPONSE, row.pk),
            turn_key(row.turn),
            row.turn,
        )
        for row in rows.defer("text", "extra", "turn__session__extra")
    ]


def _sessions(ids: list[int]) -> list[TargetRow]:
    opened = Turn.objects.filter(session__in=ids, position=0)
    openings = dict(opened.values_list("session_id", "user_message"))
    return [
        TargetRow(
            Target(TargetKind.SESSION, row.pk),
            row.named(openings.get(row.pk)),
            _shortened(openings.get(row.pk)),
            row.scenario.name,
            row.pk,
            None,
        )
        for row in Session.objects.filter(pk__in=ids).select_related("scenario").defer("extra")
    ]


def _of_turn(target: Target, key: ItemKey, turn: Turn) -> TargetRow:
    return TargetRow(
        target,
        key,
        _shortened(turn.user_message),
        turn.session.scenario.name,
        turn.session_id,
        turn.position + 1,
    )


def _shortened(text: str | None) -> str:
    """The beginning of a message, with a mark where more follows."""
    text = text or ""
    return text if len(text) <= _OPENING_CHARS else f"{text[: _OPENING_CHARS - 1].rstrip()}…"
