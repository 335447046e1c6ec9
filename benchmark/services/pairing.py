"""Planning comparisons of responses: what a plan adds next, by the verdicts so far where it adapts.

Rows are created in annotation's service; what judging them takes is estimated by judging's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from annotation.core.pairing import PairingKind, PairingRules, PossiblePair
from annotation.core.refusals import Refused
from annotation.models import Dataset, PairingPlan, User
from annotation.queries.pairing import batches_of, plan_by, possible_at_most, possible_pairs
from annotation.services.imports.comparisons import (
    Choose,
    MadeComparisons,
    chosen_by,
    plan_comparisons,
    sorted_out,
)
from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.pairing import adaptive_batch, usual_batch
from benchmark.queries.ranking import (
    LeaderboardQuestion,
    ModelVerdict,
    Source,
    ballots,
    judge_to_read,
    leaderboard_scope,
    outcomes,
    runs_of,
)
from judging.core.estimates import RunEstimate
from judging.services.estimates import estimate_pairs
from judging.services.recorded import judge_by_grades

PROMPTS: Final = 200
"""So many prompts are written to tell what judging a plan would take: a second or two."""

MOST_POSSIBLE: Final = 2_000_000
"""Of more nothing is planned: each takes about a kilobyte of memory while it is looked at."""


class Verdicts(NamedTuple):
    """Whose verdicts an adaptive plan goes by; `judge` is "" for the one that judged most.

    With `incomplete` a batch is planned even while verdicts on the last one are missing: what has
    none is counted as if it were known how it will come out.
    """

    source: Source = Source.HUMAN
    judge: str = ""
    incomplete: bool = False


class NextBatch(NamedTuple):
    """What a plan would add now.

    Attributes:
        plan: the plan by these rules, None before its first batch.
        batch: the number of the batch, from 1.
        added: what it adds; empty where nothing is left, or verdicts are missing.
        planned: what is in the plan already.
        possible: how many comparisons there could be in all.
        last: how many the last batch of an adaptive plan had.
        missing: how many of those have no verdict yet.
    """

    plan: PairingPlan | None
    batch: int
    added: Sequence[PossiblePair]
    planned: Sequence[PossiblePair]
    possible: int
    last: int
    missing: int

    @property
    def whole(self) -> list[PossiblePair]:
        """The plan with what it adds."""
        return [*self.planned, *self.added]

    @property
    def new(self) -> int:
        """How many of the added comparisons are not stored yet."""
        return sum(pair.comparison is None for pair in self.added)


def possible_within_bounds(dataset: Dataset, rules: PairingRules) -> int:
    """About how many comparisons are possible, and never less.

    Raises:
        Refused: more than MOST_POSSIBLE.
    """
    possible = possible_at_most(dataset, rules)
    if possible > MOST_POSSIBLE:
        raise Refused("pairing:too-many-possible")
    return possible


def next_batch(dataset: Dataset, rules: PairingRules, verdicts: Verdicts) -> NextBatch:
    """What a plan would add now; nothing is written.

    Raises:
        Refused: no two models answered a turn (through the filters); the anchor model gave no
            response that can be compared; more is possible than can be planned.
    """
    possible_within_bounds(dataset, rules)
    plan = plan_by(dataset, rules)
    batches = batches_of(plan)
    possible, planned = sorted_out(possible_pairs(dataset, rules), batches)
    cast = _verdicts(dataset, rules, verdicts)
    added = _chooser(rules, verdicts, cast, batches, plan)(possible, planned)
    last = _of_last_batch(planned, batches) if rules.kind is PairingKind.ADAPTIVE else []
    return NextBatch(
        plan=plan,
        batch=max(batches.values(), default=0) + 1,
        added=added,
        planned=planned,
        possible=len(possible) + len(planned),
        last=len(last),
        missing=len(_without(last, cast)),
    )


def make_next_batch(
    dataset: Dataset,
    rules: PairingRules,
    verdicts: Verdicts,
    *,
    by: User | None,
    pulse: Callable[[], None] = lambda: None,
    note: Callable[[MadeComparisons], None] = lambda _made: None,
) -> MadeComparisons:
    """Store what a plan adds now; grades that were imported give their verdicts on what is new.

    Args:
        dataset: whose responses.
        rules: the plan.
        verdicts: what an adaptive plan goes by.
        by: who makes it, None for nobody.
        pulse: called often before anything is stored.
        note: called with what was made, in the same transaction.

    Raises:
        Refused: as for `next_batch`; there would be too many at once.
    """
    possible_within_bounds(dataset, rules)
    plan = plan_by(dataset, rules)
    cast = _verdicts(dataset, rules, verdicts)
    pulse()
    choose = _chooser(rules, verdicts, cast, batches_of(plan), plan, pulse)
    return plan_comparisons(
        dataset, rules, choose, by=by, follow=judge_by_grades, pulse=pulse, note=note
    )


def price(dataset: Dataset, pairs: Sequence[PossiblePair], *, judge: str) -> RunEstimate:
    """What judging these comparisons would take, in both orders and without preferences.

    Raises:
        Refused: there is no such judge, or it compares nothing.
    """
    shown = [(pair.a, pair.b) for pair in pairs]
    return estimate_pairs(dataset, shown, judge=judge, most=PROMPTS)


def counts_by_models(pairs: Iterable[PossiblePair]) -> list[dict[str, Any]]:
    """Comparisons of each pair of models in order of name, in all and by scenario."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for pair in pairs:
        counts.setdefault(pair.models, Counter())[pair.scenario] += 1
    return [
        {
            "model_a": models[0],
            "model_b": models[1],
            "comparisons": own.total(),
            "scenarios": dict(sorted(own.items())),
        }
        for models, own in sorted(counts.items())
    ]


def _chooser(
    rules: PairingRules,
    verdicts: Verdicts,
    cast: Sequence[ModelVerdict],
    batches: Mapping[int, int],
    plan: PairingPlan | None,
    pulse: Callable[[], None] = lambda: None,
) -> Choose:
    if rules.kind is not PairingKind.ADAPTIVE:
        return chosen_by(rules)
    answered = {verdict.comparison for verdict in cast}

    def choose(
        possible: Sequence[PossiblePair], planned: Sequence[PossiblePair]
    ) -> list[PossiblePair]:
        if _without(_of_last_batch(planned, batches), cast) and not verdicts.incomplete:
            return []
        usual = usual_batch(len(possible) + len(planned))
        return adaptive_batch(
            [pair for pair in possible if pair.comparison not in answered],
            _outcomes(cast),
            size=rules.size or (plan and plan.size) or usual,
            seed=rules.seed,
            planned=planned,
            waiting=_without(planned, cast),
            pulse=pulse,
        )

    return choose


def _of_last_batch(
    planned: Sequence[PossiblePair], batches: Mapping[int, int]
) -> list[PossiblePair]:
    """What came last into a plan; what came while one looked away is later than all one saw."""
    later = max(batches.values(), default=0) + 1
    of = {pair: batches.get(pair.comparison or 0, later) for pair in planned}
    last = max(of.values(), default=0)
    return [pair for pair, batch in of.items() if batch == last]


def _without(pairs: Sequence[PossiblePair], cast: Iterable[ModelVerdict]) -> list[PossiblePair]:
    answered = {verdict.comparison for verdict in cast}
    return [pair for pair in pairs if pair.comparison not in answered]


def _verdicts(dataset: Dataset, rules: PairingRules, verdicts: Verdicts) -> list[ModelVerdict]:
    """The verdicts that an adaptive plan goes by, of its scenarios; others go by none."""
    if rules.kind is not PairingKind.ADAPTIVE:
        return []
    scope = leaderboard_scope(LeaderboardQuestion(dataset=dataset.slug))
    judge = verdicts.judge
    if not judge and verdicts.source is not Source.HUMAN:
        judge = judge_to_read(scope, verdicts.source)
    runs = runs_of(scope, verdicts.source, judge)
    return [
        verdict
        for verdict in ballots(scope, verdicts.source, runs)
        if not rules.scenarios or verdict.scenario in rules.scenarios
    ]


def _outcomes(cast: Iterable[ModelVerdict]) -> list[VerdictCounts]:
    return outcomes(verdict for verdict in cast if verdict.model_a and verdict.model_b)
