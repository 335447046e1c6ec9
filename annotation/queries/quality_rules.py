"""The rules of a study on how carefully annotators answer, and who breaks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Q

from annotation.core.choices import StudyKind, Verdict
from annotation.core.quality import (
    FAST_PAIR_SECONDS,
    FAST_REPLY_SECONDS,
    Answered,
    BrokenRule,
    Measured,
    QualityMeasure,
    Yardstick,
    broken_rules,
    holding,
    measured,
)
from annotation.models import ItemKind, PairwiseLabel, SatisfactionLabel, Study
from annotation.queries.sql import rows_of

_PAIRS_OF_GOLD: Final = """
SELECT label.annotator_id, label.id, label.comparison_id, label.verdict, gold.source, gold.verdict
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_pairwiselabel label ON label.annotator_id = claim.annotator_id
    AND label.comparison_id = item.comparison_id AND label.study_id = item.study_id
    AND label.repeat_index = 0
JOIN annotation_goldlabel gold ON gold.comparison_id = item.comparison_id
WHERE claim.state = 'DONE' AND item.study_id = %(study)s AND item.kind = 'GOLD'
"""
_REPLIES_OF_GOLD: Final = """
SELECT label.annotator_id, label.id, label.response_id, label.score, gold.source, gold.score
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_turn turn ON turn.session_id = item.session_id
JOIN annotation_response response ON response.turn_id = turn.id
JOIN annotation_satisfactionlabel label ON label.annotator_id = claim.annotator_id
    AND label.response_id = response.id AND label.study_id = item.study_id
    AND label.repeat_index = 0
JOIN annotation_goldlabel gold ON gold.response_id = response.id
WHERE claim.state = 'DONE' AND item.study_id = %(study)s AND item.kind = 'GOLD'
"""
_PAIRS_AGAIN: Final = """
SELECT label.annotator_id, label.id, label.comparison_id, label.verdict, label.repeat_index,
    first.verdict
FROM annotation_pairwiselabel label
JOIN annotation_pairwiselabel first ON first.annotator_id = label.annotator_id
    AND first.comparison_id = label.comparison_id AND first.study_id = label.study_id
    AND first.repeat_index = 0
WHERE label.study_id = %(study)s AND label.repeat_index > 0
"""
_REPLIES_AGAIN: Final = """
SELECT label.annotator_id, label.id, label.response_id, label.score, label.repeat_index, first.score
FROM annotation_satisfactionlabel label
JOIN annotation_satisfactionlabel first ON first.annotator_id = label.annotator_id
    AND first.response_id = label.response_id AND first.study_id = label.study_id
    AND first.repeat_index = 0
WHERE label.study_id = %(study)s AND label.repeat_index > 0
"""
_GOLD_OF_ONE: Final = "AND claim.annotator_id = %(annotator)s"
_AGAIN_BY_ONE: Final = "AND label.annotator_id = %(annotator)s"
_SINCE: Final = "AND label.created_at > %(since)s"


def rule_rows(
    study: Study, annotator_id: int, *, kind: str, since: datetime | None
) -> list[Measured]:
    """An annotator's answers to gold items, or to repeats, given after a moment. One query."""
    return _measured(study, kind, annotator=annotator_id, since=since)


def rules_broken(
    study: Study, resumed: Mapping[int, datetime | None]
) -> dict[int, tuple[BrokenRule, ...]]:
    """Returns the study's rules that each annotator breaks, of those who break any.

    At most a query a rule, and one for each annotator who was resumed: as for the pause, only
    their answers since then count.

    Args:
        study: The study.
        resumed: Its annotators, with when a manager let them go on after a pause, if ever.
    """
    limits = limits_of(study)
    since = {annotator: moment for annotator, moment in resumed.items() if moment is not None}
    counts: dict[int, dict[QualityMeasure, tuple[int, int]]] = {each: {} for each in resumed}
    for measure, kind in _KINDS.items():
        if limits[measure] is None:
            continue
        rows = [row for row in _measured(study, kind) if row.answer.annotator not in since]
        for annotator, moment in since.items():
            rows += rule_rows(study, annotator, kind=kind, since=moment)
        for row in rows:
            own = counts.get(row.answer.annotator, {})
            hits, answers = own.get(measure, (0, 0))
            own[measure] = (hits + row.hit, answers + 1)
    if limits[QualityMeasure.FAST] is not None:
        for annotator, hits, answers in _fast(study, since):
            counts.get(annotator, {})[QualityMeasure.FAST] = (hits, answers)
    found = {
        annotator: broken_rules(own, limits, after=study.pause_after)
        for annotator, own in counts.items()
    }
    return {annotator: broken for annotator, broken in found.items() if broken}


def limits_of(study: Study) -> dict[QualityMeasure, float | None]:
    """Returns the limits of a study's rules; None for a rule that is off."""
    talks = study.kind == StudyKind.CONVERSATION
    return {
        QualityMeasure.GOLD: study.pause_gold_below,
        QualityMeasure.REPEATS: study.pause_repeats_below,
        QualityMeasure.FAST: None if talks else study.fast_share,
    }


def fast_seconds_of(study: Study) -> float:
    """Returns the seconds below which an answer of a study is too fast."""
    usual = FAST_PAIR_SECONDS if study.kind == StudyKind.PAIRWISE else FAST_REPLY_SECONDS
    return study.fast_seconds or usual


def _fast(study: Study, since: Mapping[int, datetime]) -> Iterable[tuple[int, int, int]]:
    model: Any = PairwiseLabel if study.kind == StudyKind.PAIRWISE else SatisfactionLabel
    labels = model.objects.filter(study=study, active_seconds__isnull=False)
    if model is SatisfactionLabel:
        labels = labels.filter(response__isnull=False)
    counted = ~Q(annotator__in=list(since))
    for annotator, moment in since.items():
        counted |= Q(annotator=annotator, created_at__gt=moment)
    is_fast = Q(active_seconds__lt=fast_seconds_of(study))
    rows = labels.filter(counted).values("annotator").order_by()
    found: Iterable[tuple[int, int, int]] = rows.annotate(
        fast=Count("pk", filter=is_fast), n=Count("pk")
    ).values_list("annotator", "fast", "n")
    return found


_KINDS: Final = {QualityMeasure.GOLD: ItemKind.GOLD, QualityMeasure.REPEATS: ItemKind.REPEAT}


def _measured(
    study: Study, kind: str, *, annotator: int | None = None, since: datetime | None = None
) -> list[Measured]:
    """Answers to gold items, or to repeats: of one annotator, or of all. One query."""
    pairs, is_gold = study.kind == StudyKind.PAIRWISE, kind == ItemKind.GOLD
    statement = {
        (True, True): _PAIRS_OF_GOLD,
        (False, True): _REPLIES_OF_GOLD,
        (True, False): _PAIRS_AGAIN,
        (False, False): _REPLIES_AGAIN,
    }[pairs, is_gold]
    values: dict[str, Any] = {"study": study.pk}
    if annotator is not None:
        statement = f"{statement} {_GOLD_OF_ONE if is_gold else _AGAIN_BY_ONE}"
        values["annotator"] = annotator
    if since is not None:
        statement = f"{statement} {_SINCE}"
        values["since"] = since
    rows = rows_of(statement, **values)
    return _of_gold(rows, ties=study.allow_tie) if is_gold else _of_repeats(rows)


def _of_gold(rows: list[tuple[Any, ...]], *, ties: bool) -> list[Measured]:
    """Each label once, however many sources say what is right; a tie only where one may be said."""
    answers = {
        label: Answered(label, annotator, target, _value(value))
        for annotator, label, target, value, _source, _said in rows
    }
    gold = holding((row[2], row[4], _value(row[5])) for row in rows)
    right = {target: said for target, said in gold.items() if ties or said is not Verdict.TIE}
    yardstick = Yardstick(gold=right, fast_seconds=FAST_REPLY_SECONDS)
    return measured(answers.values(), QualityMeasure.GOLD, yardstick)


def _of_repeats(rows: list[tuple[Any, ...]]) -> list[Measured]:
    again = [
        Answered(label, annotator, target, _value(value), repeat)
        for annotator, label, target, value, repeat, _said in rows
    ]
    firsts = [
        Answered(label, annotator, target, _value(said))
        for annotator, label, target, _value_, _repeat, said in rows
    ]
    yardstick = Yardstick(gold={}, fast_seconds=FAST_REPLY_SECONDS)
    return measured([*firsts, *again], QualityMeasure.REPEATS, yardstick)


def _value(stored: str | int) -> Verdict | int:
    """A stored verdict or score."""
    return Verdict(stored) if isinstance(stored, str) else stored
