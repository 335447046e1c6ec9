"""What a table of labels says besides, so that nobody needs another file to read it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from annotation.models import Claim, ClaimState, Dataset, ItemKind, StudyItem

EXPLAINED: Final = ("item", "flag", "gold", "skipped_by")
"""The number of the item in its study, as pages count; the problem that the annotator reported; the
answer held to be right; who skipped the item in that study."""


def item_numbers(dataset: Dataset, target: str) -> dict[tuple[int | None, int, int], int]:
    """Numbers from 1 by study, target and repeat (0: shown first). One query.

    Args:
        dataset: whose studies.
        target: the field of the items' targets, comparison or session.
    """
    rows = StudyItem.objects.filter(study__dataset=dataset, **{f"{target}__isnull": False})
    times: Counter[tuple[int, int]] = Counter()
    found: dict[tuple[int | None, int, int], int] = {}
    for study, key, kind, position in rows.order_by("study", "position").values_list(
        "study_id", f"{target}_id", "kind", "position"
    ):
        times[study, key] += kind == ItemKind.REPEAT
        repeat = times[study, key] if kind == ItemKind.REPEAT else 0
        found[study, key, repeat] = position + 1
    return found


def skippers(
    dataset: Dataset, target: str, names: Mapping[int, str]
) -> dict[tuple[int | None, int], str]:
    """The names of those who skipped an item, by study and target. One query."""
    skipped = Claim.objects.filter(
        item__study__dataset=dataset,
        state=ClaimState.SKIPPED,
        **{f"item__{target}__isnull": False},
    )
    found: dict[tuple[int | None, int], list[str]] = defaultdict(list)
    for study, key, who, username in skipped.order_by("pk").values_list(
        "item__study_id", f"item__{target}_id", "annotator_id", "annotator__username"
    ):
        found[study, key].append(names.get(who, username.removeprefix(f"{dataset.slug}:")))
    return {place: ", ".join(dict.fromkeys(people)) for place, people in found.items()}
