"""The answers by which the rule of a study pauses an annotator."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from annotation.core.choices import StudyKind, Verdict
from annotation.core.gold import holding
from annotation.core.quality import (
    FAST_REPLY_SECONDS,
    Answered,
    Measured,
    QualityMeasure,
    Yardstick,
    measured,
)
from annotation.models import ItemKind, Study
from annotation.queries.statements import rows_of

_PAIRS_OF_GOLD: Final = """
SELECT label.id, label.comparison_id, label.verdict, gold.source, gold.verdict
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_pairwiselabel label ON label.annotator_id = claim.annotator_id
    AND label.comparison_id = item.comparison_id AND label.study_id = item.study_id
    AND label.repeat_index = 0
JOIN annotation_goldlabel gold ON gold.comparison_id = item.comparison_id
WHERE claim.annotator_id = %(annotator)s AND claim.state = 'DONE'
AND item.study_id = %(study)s AND item.kind = 'GOLD'
"""
_REPLIES_OF_GOLD: Final = """
SELECT label.id, label.response_id, label.score, gold.source, gold.score
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_turn turn ON turn.session_id = item.session_id
JOIN annotation_response response ON response.turn_id = turn.id
JOIN annotation_satisfactionlabel label ON label.annotator_id = claim.annotator_id
    AND label.response_id = response.id AND label.study_id = item.study_id
    AND label.repeat_index = 0
JOIN annotation_goldlabel gold ON gold.response_id = response.id
WHERE claim.annotator_id = %(annotator)s AND claim.state = 'DONE'
AND item.study_id = %(study)s AND item.kind = 'GOLD'
"""
_PAIRS_AGAIN: Final = """
SELECT label.id, label.comparison_id, label.verdict, label.repeat_index, first.verdict
FROM annotation_pairwiselabel label
JOIN annotation_pairwiselabel first ON first.annotator_id = label.annotator_id
    AND first.comparison_id = label.comparison_id AND first.study_id = label.study_id
    AND first.repeat_index = 0
WHERE label.annotator_id = %(annotator)s AND label.study_id = %(study)s
AND label.repeat_index > 0
"""
_REPLIES_AGAIN: Final = """
SELECT label.id, label.response_id, label.score, label.repeat_index, first.score
FROM annotation_satisfactionlabel label
JOIN annotation_satisfactionlabel first ON first.annotator_id = label.annotator_id
    AND first.response_id = label.response_id AND first.study_id = label.study_id
    AND first.repeat_index = 0
WHERE label.annotator_id = %(annotator)s AND label.study_id = %(study)s
AND label.repeat_index > 0
"""
_SINCE: Final = "AND label.created_at > %(since)s"


def rule_rows(
    study: Study, annotator_id: int, *, kind: str, since: datetime | None
) -> list[Measured]:
    """An annotator's answers to gold items, or to repeats, given after a moment. One query."""
    pairs = study.kind == StudyKind.PAIRWISE
    values: dict[str, Any] = {"annotator": annotator_id, "study": study.pk}
    if since is not None:
        values["since"] = since
    if kind == ItemKind.GOLD:
        statement = _PAIRS_OF_GOLD if pairs else _REPLIES_OF_GOLD
        return _of_gold(_rows(statement, values), annotator_id, ties=study.allow_tie)
    statement = _PAIRS_AGAIN if pairs else _REPLIES_AGAIN
    return _of_repeats(_rows(statement, values), annotator_id)


def _rows(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return rows_of(f"{statement} {_SINCE}" if "since" in values else statement, **values)


def _of_gold(rows: list[tuple[Any, ...]], annotator_id: int, *, ties: bool) -> list[Measured]:
    """Each label once, however many sources say what is right; a tie only where one may be said."""
    answers = {
        label: Answered(label, annotator_id, target, _value(value))
        for label, target, value, _source, _said in rows
    }
    gold = holding((target, source, _value(said)) for _label, target, _value_, source, said in rows)
    right = {target: said for target, said in gold.items() if ties or said is not Verdict.TIE}
    yardstick = Yardstick(gold=right, fast_seconds=FAST_REPLY_SECONDS)
    return measured(answers.values(), QualityMeasure.GOLD, yardstick)


def _of_repeats(rows: list[tuple[Any, ...]], annotator_id: int) -> list[Measured]:
    again = [
        Answered(label, annotator_id, target, _value(value), repeat)
        for label, target, value, repeat, _said in rows
    ]
    firsts = [
        Answered(label, annotator_id, target, _value(said))
        for label, target, _value_, _repeat, said in rows
    ]
    yardstick = Yardstick(gold={}, fast_seconds=FAST_REPLY_SECONDS)
    return measured([*firsts, *again], QualityMeasure.REPEATS, yardstick)


def _value(stored: str | int) -> Verdict | int:
    """A stored verdict or score."""
    return Verdict(stored) if isinstance(stored, str) else stored
