"""Labelled blocks: what a learned evaluator is trained on."""

from __future__ import annotations

from annotation.core.choices import Reason
from judging.core.satisfaction_corpus import Example
from judging.queries.satisfaction.blocks import rated, stored_blocks


def examples(*, dataset_id: int) -> tuple[Example, ...]:
    """The blocks of a dataset with what their users said first of each target. Six queries."""
    said: dict[tuple[int, str], tuple[int, Reason | None]] = {}
    rows = rated(dataset_id=dataset_id).order_by("created_at", "id")
    for user_id, response_id, score, reason in rows.values_list(
        "annotator_id", "response_id", "score", "reason"
    ):
        said.setdefault((user_id, str(response_id)), (score, Reason(reason) if reason else None))
    found = []
    for stored in stored_blocks(dataset_id=dataset_id):
        own = [said[stored.user_id, target.turn_id] for target in stored.block.targets]
        found.append(
            Example(
                block=stored.block,
                scores=tuple(score for score, _ in own),
                reasons=tuple(reason for _, reason in own),
            )
        )
    return tuple(found)
