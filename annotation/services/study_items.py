"""The items of a new study: what it asks about, some of it as gold, some of it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from annotation.core.assignment import study_order
from annotation.core.choices import StudyKind
from annotation.core.hidden_items import (
    REPEAT_GAPS,
    PlannedItem,
    PlannedKind,
    Rates,
    plan_items,
)
from annotation.models import ItemKind, Study, StudyItem
from annotation.queries.gold import gold_candidates
from annotation.queries.study_targets import languages_of

_BATCH: Final = 500


def make_items(study: Study, targets: Iterable[int]) -> dict[str, int]:
    """Store the items of a study; how many there are, and how many of them are gold and repeats.

    They stand in seeded random order, with gold items and hidden repeats spread among them at the
    study's rates, as far as there are gold answers and firsts to repeat.

    Args:
        study: The study; it has no items yet.
        targets: Numbers of comparisons or sessions, at least one, in file order.
    """
    order = study_order(list(targets), seed=study.seed)
    plan = _plan(study, order)
    languages = languages_of(study, order)
    items = [_item(study, planned, place, languages) for place, planned in enumerate(plan)]
    items[0].save()
    for item in items[1:]:
        if item.kind == ItemKind.REPEAT:
            item.repeat_of = items[0]  # some item, until all have numbers
    StudyItem.objects.bulk_create(items[1:], batch_size=_BATCH)
    repeats = []
    for item, planned in zip(items, plan, strict=True):
        if planned.first is not None:
            item.repeat_of = items[planned.first]
            repeats.append(item)
    StudyItem.objects.bulk_update(repeats, ["repeat_of"], batch_size=_BATCH)
    return _counts(plan)


def _plan(study: Study, order: Sequence[int]) -> list[PlannedItem[int]]:
    kind = StudyKind(study.kind)
    if kind not in REPEAT_GAPS:
        return [PlannedItem(target, PlannedKind.NORMAL) for target in order]
    return plan_items(
        order,
        gold_candidates(study) if study.gold_rate else frozenset(),
        rates=Rates(gold=study.gold_rate, repeats=study.repeat_rate),
        gap=REPEAT_GAPS[kind],
        seed=study.seed,
    )


def _item(
    study: Study, planned: PlannedItem[int], place: int, languages: Mapping[int, str]
) -> StudyItem:
    pairs = study.kind == StudyKind.PAIRWISE
    return StudyItem(
        study=study,
        comparison_id=planned.target if pairs else None,
        session_id=None if pairs else planned.target,
        kind=ItemKind(planned.kind.value),
        position=place,
        language=languages.get(planned.target, ""),
    )


def _counts(plan: Iterable[PlannedItem[int]]) -> dict[str, int]:
    kinds = [planned.kind for planned in plan]
    return {
        "items": len(kinds),
        "gold": kinds.count(PlannedKind.GOLD),
        "repeats": kinds.count(PlannedKind.REPEAT),
    }
