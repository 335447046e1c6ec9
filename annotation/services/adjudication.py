"""Deciding what annotators disagreed on; their labels stay as they are."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.core.answers import SCORES, Target, TargetKind
from annotation.core.choices import Verdict
from annotation.models import AuditEvent, GoldLabel, GoldSource, User
from annotation.queries.adjudication import SEVERAL, given_answers


class AdjudicationRefusedError(Exception):
    """The item has no two annotators, the answer does not fit it, or no reason is given."""

    code = "adjudication:refused"


@transaction.atomic
def decide(
    *, target: Target, decision: Verdict | int, rationale: str, by: User, now: datetime
) -> None:
    """Store the decision on an item as its gold answer; a later one replaces it, with a trace.

    Args:
        target: The item.
        decision: A verdict in the comparison's own coordinates, or a score of 1-5.
        rationale: Why; not empty.
        by: Who decides.
        now: The moment.

    Raises:
        AdjudicationRefusedError: see there.
    """
    values = _values(target, decision, rationale.strip())
    if len(given_answers(target)) < SEVERAL:
        raise AdjudicationRefusedError("fewer than two annotators answered this item")
    gold, created = GoldLabel.objects.select_for_update().get_or_create(
        **{f"{target.kind.value}_id": target.id},
        source=GoldSource.ADJUDICATION,
        defaults={**values, "created_by": by, "created_at": now},
    )
    before = None if created else {name: getattr(gold, name) for name in values}
    if before == values:
        return
    if not created:
        for name, value in {**values, "created_by": by, "created_at": now}.items():
            setattr(gold, name, value)
        gold.save()
    AuditEvent.objects.create(
        actor=by,
        action="gold.decided" if created else "gold.changed",
        target="goldlabel",
        target_id=gold.pk,
        detail={target.kind.value: target.id, "before": before, "after": values},
        created_at=now,
    )


def _values(target: Target, decision: Verdict | int, rationale: str) -> dict[str, Any]:
    if not rationale:
        raise AdjudicationRefusedError("a decision needs a reason")
    if isinstance(decision, Verdict):
        if target.kind is not TargetKind.COMPARISON:
            raise AdjudicationRefusedError("a verdict is of a comparison")
        return {"verdict": decision.value, "score": None, "rationale": rationale}
    if target.kind is TargetKind.COMPARISON or decision not in SCORES:
        raise AdjudicationRefusedError("a score is 1 to 5, of a response or a session")
    return {"verdict": None, "score": decision, "rationale": rationale}
