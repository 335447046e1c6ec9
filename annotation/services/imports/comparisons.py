"""Comparisons of responses that came without any, made by a plan; rows are created here alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.db.models import Count, Max

from annotation.core.pairing import PairingRules, PossiblePair, planned_pairs
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Comparison,
    Dataset,
    PairingPlan,
    PlannedComparison,
    User,
)
from annotation.queries.pairing import batches_of, plan_by, plan_fields, possible_pairs

MOST_AT_ONCE: Final = 20_000
"""More are refused: their number grows with the square of the number of models."""

_ROWS_AT_ONCE: Final = 2000


Follow = Callable[[Dataset, Sequence[Comparison]], None]
"""What another app does, in the same transaction, with comparisons that were created."""

Choose = Callable[[Sequence[PossiblePair], Sequence[PossiblePair]], Sequence[PossiblePair]]
"""Of what is possible and not planned yet (first), and what is (second), that which is added."""


def nothing_follows(_dataset: Dataset, _comparisons: Sequence[Comparison]) -> None:
    """Nobody knows more of the responses."""


class MadeComparisons(NamedTuple):
    """A plan with all that is in it, what was just added, and how many of those were created."""

    plan: PairingPlan
    planned: Sequence[PossiblePair]
    added: Sequence[PossiblePair]
    created: int


def chosen_by(rules: PairingRules) -> Choose:
    """How a plan that goes by no verdict chooses."""
    return lambda possible, planned: planned_pairs(possible, rules, planned=planned)


def plan_comparisons(
    dataset: Dataset,
    rules: PairingRules,
    choose: Choose,
    *,
    by: User | None,
    follow: Follow = nothing_follows,
    pulse: Callable[[], None] = lambda: None,
    note: Callable[[MadeComparisons], None] = lambda _made: None,
) -> MadeComparisons:
    """Store what a plan adds, as its next batch; the plan by these rules where there is one.

    Comparisons that are there join the plan as they are. Nothing is added twice: the same plan
    asked for again adds what became possible since. Choosing takes a while where much is possible,
    so nobody has to wait for it: only then is the dataset locked, and where others made comparisons
    meanwhile, the choice is made anew.

    Args:
        dataset: whose responses.
        rules: the plan.
        choose: what is added.
        by: who makes it, None for nobody.
        follow: see `Follow`.
        pulse: called often while choosing.
        note: called with what was made, in the same transaction.

    Raises:
        Refused: no two models answered a turn (through the filters); there are more than
            MOST_AT_ONCE to create, and none is; a new plan would be empty; the dataset is gone;
            see `choose`.
    """
    while True:
        seen = plan, batches, _stored = _seen(dataset, rules)
        possible, planned = sorted_out(possible_pairs(dataset, rules, pulse=pulse), batches)
        pulse()
        pairs = choose(possible, planned)
        pulse()
        chosen = set(pairs)
        new = [pair for pair in possible if pair in chosen and pair.comparison is None]
        if refused := too_many(len(new)):
            raise refused
        if plan is None and not pairs:
            raise Refused("pairing:nothing-left")
        with transaction.atomic():
            # Whoever asks for the same meanwhile waits here, and then chooses anew.
            if _seen(dataset, rules, lock=True) == seen:
                plan = plan or PairingPlan.objects.create(
                    dataset=dataset, created_by=by, **plan_fields(rules)
                )
                batch = max(batches.values(), default=0) + 1
                created = _store(plan, batch, pairs, new, by=by, follow=follow)
                made = MadeComparisons(plan, [*planned, *pairs], pairs, created)
                note(made)
                return made


def _seen(
    dataset: Dataset, rules: PairingRules, *, lock: bool = False
) -> tuple[PairingPlan | None, dict[int, int], dict[str, Any]]:
    """What a choice depends on: the plan, its batches, which comparisons there are.

    Raises:
        Refused: the dataset is gone.
    """
    rows = Dataset.objects.filter(pk=dataset.pk)
    if (rows.select_for_update(no_key=True) if lock else rows).first() is None:
        raise Refused("dataset:unknown")
    plan = plan_by(dataset, rules)
    stored = Comparison.objects.filter(turn__session__dataset=dataset)
    return plan, batches_of(plan), stored.aggregate(Count("pk"), Max("pk"))


def _store(
    plan: PairingPlan,
    batch: int,
    pairs: Sequence[PossiblePair],
    new: Sequence[PossiblePair],
    *,
    by: User | None,
    follow: Follow,
) -> int:
    """Write a batch; how many comparisons of it were created."""
    made = _create(plan.dataset, new)
    numbers = [*(pair.comparison for pair in pairs if pair.comparison), *(row.pk for row in made)]
    PlannedComparison.objects.bulk_create(
        [PlannedComparison(plan=plan, comparison_id=each, batch=batch) for each in numbers],
        batch_size=_ROWS_AT_ONCE,
    )
    if made:
        follow(plan.dataset, made)
        detail = {"comparisons": len(made), "plan": plan.pk, "batch": batch}
        AuditEvent.objects.create(
            actor=by,
            action="dataset.compared",
            target="dataset",
            target_id=plan.dataset_id,
            detail=detail,
        )
    return len(made)


def too_many(new: int) -> Refused | None:
    """The refusal to create so many comparisons at once; None where they can be."""
    return Refused("dataset:too-many-comparisons") if new > MOST_AT_ONCE else None


def sorted_out(
    pairs: Sequence[PossiblePair], batches: dict[int, int]
) -> tuple[list[PossiblePair], list[PossiblePair]]:
    """What is possible and not planned yet, and what is planned.

    Raises:
        Refused: there is neither.
    """
    if not pairs:
        raise Refused("pairing:nothing")
    planned = [pair for pair in pairs if pair.comparison in batches]
    return [pair for pair in pairs if pair.comparison not in batches], planned


def _create(dataset: Dataset, pairs: Sequence[PossiblePair]) -> list[Comparison]:
    """The rows of new comparisons, behind those that are there."""
    stored = Comparison.objects.filter(turn__session__dataset=dataset)
    last = stored.order_by("-position").values_list("position", flat=True).first()
    positions = count(0 if last is None else last + 1)
    rows = [
        Comparison(
            turn_id=pair.turn,
            response_a_id=pair.a,
            response_b_id=pair.b,
            key=pair.key,
            position=next(positions),
        )
        for pair in pairs
    ]
    return Comparison.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)
