"""Deciding what annotators disagreed on; their labels stay as they are."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.core.choices import Verdict
from annotation.core.labelling import Target
from annotation.core.refusals import Refused
from annotation.models import GoldSource, User
from annotation.queries.adjudication import SEVERAL, given_answers
from annotation.services.quality import decision_in_force, gold_values, store_gold


@transaction.atomic
def decide(
    *,
    target: Target,
    decision: Verdict | int,
    rationale: str,
    by: User,
    now: datetime,
    replaces: datetime | None = None,
) -> None:
    """Store the decision on an item as its gold answer; a later one replaces it, with a trace.

    Args:
        target: The item.
        decision: A verdict in the comparison's own coordinates, or a score of 1-5.
        rationale: Why; not empty.
        by: Who decides.
        now: The moment.
        replaces: When the decision was made that this one is to replace; None where none stood.

    Raises:
        Refused: see there; another decision stands than the one to be replaced.
    """
    try:
        values = gold_values(target, decision, rationale)
    except Refused as refused:
        raise Refused("adjudication:refused", str(refused)) from refused
    if len(given_answers(target)) < SEVERAL:
        raise Refused("adjudication:refused", "fewer than two annotators answered this item")
    stands = decision_in_force(target)
    unseen = stands is not None and stands.created_at != replaces
    if unseen and any(getattr(stands, name) != value for name, value in values.items()):
        raise Refused("adjudication:decided-meanwhile")
    store_gold(
        target, values, source=GoldSource.ADJUDICATION, action="gold.decided", by=by, now=now
    )
