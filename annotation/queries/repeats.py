"""Hidden repeats: which one an annotator is to get, and how they count in what is left.

A study has repeats exactly where its `repeat_rate` is above 0; no other runs a statement of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from annotation.core.choices import StudyKind
from annotation.core.hidden_items import ShownItem, due_repeat, gap_of, left_repeats
from annotation.models import ItemKind, Study
from annotation.queries.sql import rows_of

_GIVEN: Final = """
SELECT item.id, item.position, again.id, again.position, item.kind, item.language,
    claim.state = 'RELEASED' AND claim.finished_at IS NULL, claim.given
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
LEFT JOIN annotation_studyitem again ON again.repeat_of_id = item.id AND claim.state = 'DONE'
    AND NOT EXISTS (
        SELECT 1 FROM annotation_claim own
        WHERE own.item_id = again.id AND own.annotator_id = %(annotator)s
        AND own.state <> 'RELEASED'
    )
    AND (
        SELECT COUNT(*) FROM annotation_claim held
        WHERE held.item_id = again.id AND held.annotator_id <> %(annotator)s
        AND (held.state = 'DONE' OR (held.state = 'ACTIVE' AND held.expires_at > %(now)s))
    ) < %(overlap)s
WHERE claim.annotator_id = %(annotator)s AND item.study_id = %(study)s
ORDER BY claim.claimed_at DESC, claim.id DESC
"""
_LATELY_GIVEN: Final = f"{_GIVEN} LIMIT %(rows)s"
_ROWS_READ: Final = 64
"""A repeat is planned at most 30 items after its first, and comes before anything else when due:
further back there is none, but for what was given back long ago, which comes at the end."""

_STATES: Final = """
SELECT claim.state, CASE item.kind WHEN 'REPEAT' THEN 1 ELSE 0 END AS again, COUNT(*)
FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
WHERE claim.annotator_id = %(annotator)s AND item.study_id = %(study)s
GROUP BY claim.state, again
"""
_OPEN: Final = """
WITH filled AS (
    SELECT claim.item_id AS item
    FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
    WHERE item.study_id = %(study)s AND item.kind <> 'REPEAT'
    AND claim.annotator_id <> %(annotator)s
    AND (claim.state = 'DONE' OR (claim.state = 'ACTIVE' AND claim.expires_at > %(now)s))
    AND NOT EXISTS (
        SELECT 1 FROM annotation_claim own
        WHERE own.item_id = claim.item_id AND own.annotator_id = %(annotator)s
        AND own.state <> 'RELEASED'
    )
    GROUP BY claim.item_id HAVING COUNT(*) >= %(overlap)s
)
SELECT
    SUM(CASE item.kind WHEN 'REPEAT' THEN 0 ELSE 1 END)
        - (SELECT COUNT(*) FROM filled),
    SUM(CASE item.kind WHEN 'REPEAT' THEN 1 ELSE 0 END)
        - (SELECT COUNT(*) FROM filled
           JOIN annotation_studyitem again ON again.repeat_of_id = filled.item),
    COUNT(*)
FROM annotation_studyitem item WHERE item.study_id = %(study)s
"""


@dataclass(frozen=True, slots=True)
class Due:
    """What follows for an annotator: the repeat that is due, else the items after a position.

    `after` is the position of the last item given out in turn that was no repeat, or of the one
    before it where the annotator gave that back; None where there is none. `language` is that
    item's: the one the annotator works in.
    """

    repeat: int | None
    after: int | None
    language: str


def due(study: Study, annotator_id: int, now: datetime) -> Due:
    """The repeat that the annotator is to get now, if any. One statement.

    A returned item is offered again first. Offering a different one would reveal that it is a
    hidden repeat.
    """
    rows = _given(_LATELY_GIVEN, study, annotator_id, now, rows=_ROWS_READ)
    after, language = _last_in_turn(rows)
    if rows and rows[0].given_back:
        again = {row.again for row in rows[1:]}
        return Due(rows[0].item if rows[0].item in again else None, after, language)
    return Due(due_repeat(_as_given(rows)), after, language)


def left_at_the_end(study: Study, annotator_id: int, now: datetime) -> list[int]:
    """The repeats that an annotator may still get when nothing else is left in their language.

    One statement.
    """
    rows = _given(_GIVEN, study, annotator_id, now)
    return left_repeats(_as_given(rows), gap=gap_of(StudyKind(study.kind)))


def own_states(study: Study, annotator_id: int) -> dict[tuple[str, bool], int]:
    """How many claims the annotator has in the study, by state and whether of a repeat."""
    rows = rows_of(_STATES, study=study.pk, annotator=annotator_id)
    return {(state, bool(again)): number for state, again, number in rows}


def open_items(study: Study, annotator_id: int, now: datetime) -> tuple[int, int, int]:
    """Items that others do not fill for this annotator, repeats apart, and the study's items.

    A repeat goes with its first: it stays open until others fill that one. So it is counted from
    the beginning, and no number moves when an annotator answers what will come again.
    """
    ((normal, repeats, items),) = rows_of(
        _OPEN, study=study.pk, annotator=annotator_id, overlap=study.overlap, now=now
    )
    return int(normal or 0), int(repeats or 0), items


class _Claimed(NamedTuple):
    """A claim, newest first, with the repeat of its item that its annotator may still get."""

    item: int
    place: int
    again: int | None
    again_place: int | None
    kind: str
    language: str
    given_back: bool
    by_manager: bool


def _given(
    statement: str, study: Study, annotator_id: int, now: datetime, **more: Any
) -> list[_Claimed]:
    rows = rows_of(
        statement,
        study=study.pk,
        annotator=annotator_id,
        overlap=study.overlap,
        now=now,
        **more,
    )
    return [_Claimed(*row) for row in rows]


def _last_in_turn(rows: list[_Claimed]) -> tuple[int | None, str]:
    for row in rows:
        if row.kind != ItemKind.REPEAT and not row.by_manager:
            return row.place - bool(row.given_back), row.language
    return None, ""


def _as_given(rows: list[_Claimed]) -> list[ShownItem]:
    """What was given and not given back; repeats in the language that is worked in alone.

    Among items of another language a repeat would be the odd one.
    """
    _after, language = _last_in_turn(rows)
    return [
        ShownItem(
            row.item,
            row.place,
            row.again if row.language == language else None,
            row.again_place or 0,
        )
        for row in rows
        if not row.given_back
    ]
