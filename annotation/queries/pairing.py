"""Comparisons that can be made of a dataset's responses, and the plans that made some."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby
from math import comb
from operator import itemgetter
from typing import Any

from django.db.models import Case, CharField, Count, Max, Q, QuerySet, Value, When
from django.db.models.functions import Concat

from annotation.core.pairing import (
    CandidateText,
    PairingKind,
    PairingRules,
    PossiblePair,
    StoredPair,
    pairs_on_turn,
)
from annotation.models import Comparison, Dataset, PairingPlan, Response


def candidate_name(response: str = "") -> Case:
    """What competes: a response's model, "model (variant)" where it has a variant; "" unnamed.

    Args:
        response: the relation that leads to the response, with "__".
    """
    model, variant = f"{response}model", f"{response}variant"
    apart = Concat(model, Value(" ("), variant, Value(")"))
    plain = Q((variant, "")) | Q((model, ""))
    return Case(When(plain, then=model), default=apart, output_field=CharField())


def _comparable_responses(dataset: Dataset, *, variants: bool) -> QuerySet[Any]:
    rows = Response.objects.filter(turn__session__dataset=dataset, text__isnull=False)
    named = rows.exclude(model="").annotate(candidate=candidate_name())
    return named if variants else named.filter(variant="")


def compared_models(dataset: Dataset) -> list[str]:
    """The models whose responses can be compared, and their variants, by name."""
    rows = _comparable_responses(dataset, variants=True).order_by("candidate")
    return list(rows.values_list("candidate", flat=True).distinct())


def possible_at_most(dataset: Dataset, rules: PairingRules) -> int:
    """About how many comparisons pass a plan's filters, and never less; one query.

    Responses with equal texts count apart, and each two models at the plan's most on a turn.
    """
    turns = _candidates(dataset, rules).order_by().values("turn")
    counts = turns.annotate(
        models=Count("candidate", distinct=True),
        others=Count("candidate", distinct=True, filter=~Q(candidate__in=rules.models)),
    )
    total = 0
    for models, others in counts.values_list("models", "others"):
        if rules.models and rules.both_models:
            total += comb(models - others, 2)
        else:
            total += comb(models, 2) - (comb(others, 2) if rules.models else 0)
    return total * rules.cap


def _candidates(dataset: Dataset, rules: PairingRules) -> QuerySet[Any]:
    rows, wanted = _comparable_responses(dataset, variants=rules.variants), rules.scenarios
    return rows.filter(turn__session__scenario__name__in=wanted) if wanted else rows


def possible_pairs(
    dataset: Dataset, rules: PairingRules, *, pulse: Callable[[], None] = lambda: None
) -> list[PossiblePair]:
    """The comparisons that pass a plan's filters, stored or not, in file order. Two queries.

    Args:
        dataset: whose responses.
        rules: the plan.
        pulse: called for each turn, and for each comparison that is stored.
    """
    stored: dict[int, list[StoredPair]] = defaultdict(list)
    rows = Comparison.objects.filter(turn__session__dataset=dataset).order_by("position", "pk")
    for turn, pk, key, a, b in rows.values_list("turn", "pk", "key", "response_a", "response_b"):
        pulse()
        stored[turn].append(StoredPair(pk, key, a, b))
    return list(_possible(dataset, rules, stored, pulse))


def _possible(
    dataset: Dataset,
    rules: PairingRules,
    stored: dict[int, list[StoredPair]],
    pulse: Callable[[], None],
) -> Iterator[PossiblePair]:
    texts = _candidates(dataset, rules).order_by(
        "turn__session__position", "turn__session_id", "turn__position", "position", "pk"
    )
    of_turn = ("turn", "turn__session__key", "turn__position", "turn__session__scenario__name")
    answers = texts.values_list(*of_turn, "candidate", "pk", "text_hash")
    for (turn, session, place, scenario), own in groupby(answers, key=itemgetter(0, 1, 2, 3)):
        pulse()
        candidates = [CandidateText(*answer[4:]) for answer in own]
        for pair in pairs_on_turn(candidates, stored.get(turn, ()), cap=rules.cap):
            models = (min(pair.a.model, pair.b.model), max(pair.a.model, pair.b.model))
            if rules.admits(*models):
                a, b = pair.a.response, pair.b.response
                own_place = (turn, session, place, scenario)
                yield PossiblePair(*own_place, models, a, b, pair.key, pair.comparison)


def plan_by(dataset: Dataset, rules: PairingRules) -> PairingPlan | None:
    """The newest plan by these rules; the size of a batch may change from one to the next."""
    rows = PairingPlan.objects.filter(
        dataset=dataset, kind=rules.kind, anchor=rules.anchor, cap=rules.cap, seed=rules.seed
    ).order_by("-pk")
    if rules.kind is PairingKind.SAMPLE:
        rows = rows.filter(size=rules.size)
    wanted = rules.selection()
    return next((plan for plan in rows if plan.selection == wanted), None)


def plan_fields(rules: PairingRules) -> dict[str, Any]:
    """Rules as the columns of a plan."""
    return {
        "kind": rules.kind.value,
        "anchor": rules.anchor,
        "size": rules.size,
        "cap": rules.cap,
        "seed": rules.seed,
        "selection": rules.selection(),
    }


def rules_of_plan(plan: PairingPlan) -> PairingRules:
    """The rules that a plan was made by."""
    filters = plan.selection
    return PairingRules(
        kind=PairingKind(plan.kind),
        anchor=plan.anchor,
        size=plan.size,
        cap=plan.cap,
        seed=plan.seed,
        scenarios=tuple(filters.get("scenarios", ())),
        models=tuple(filters.get("models", ())),
        both_models=filters.get("both_models", False),
        variants=filters.get("variants", False),
    )


def batches_of(plan: PairingPlan | None) -> dict[int, int]:
    """By comparison of a plan, the batch that it came in; empty without a plan."""
    return {} if plan is None else dict(plan.planned.values_list("comparison", "batch"))


def pairing_plans(dataset: Dataset) -> list[tuple[PairingPlan, str]]:
    """The plans of a dataset, the newest first, each with `n` comparisons.

    Beside each what a new study asks about: the plan (`7`), the last batch of one that adapts
    (`7:2`).
    """
    rows = PairingPlan.objects.filter(dataset=dataset).annotate(
        n=Count("planned"),
        batch=Max("planned__batch", filter=Q(kind=PairingKind.ADAPTIVE)),
    )
    return [
        (plan, f"{plan.pk}:{plan.batch}" if plan.batch else str(plan.pk))
        for plan in rows.select_related("created_by").order_by("-pk")
    ]
