"""The comparisons behind one model's rating and win rate."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison
from benchmark.queries.leaderboard import (
    LeaderboardQuestion,
    LeaderboardScope,
    ModelVerdict,
    Source,
    ballots,
    latest_judge,
    leaderboard_scope,
)

ROWS_A_PAGE: Final = 50
_OPENING: Final = 160


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One comparison of a model: against whom, and how many verdicts went which way."""

    comparison: int
    key: str
    scenario: str
    opening: str
    opponent: str
    won: int
    tied: int
    lost: int


@dataclass(frozen=True, slots=True)
class ModelRows:
    """The comparisons behind one model's figures, a page at a time."""

    scope: LeaderboardScope
    source: Source
    model: str
    rows: Sequence[ModelRow]
    page: Page[int]


def leaderboard_rows(
    question: LeaderboardQuestion, *, model: str, source: Source, page: str
) -> ModelRows:
    """The comparisons behind one model's figures.

    Raises:
        Refused: something asked for does not exist, or the model was never compared.
    """
    scope = leaderboard_scope(question)
    grouped: dict[int, list[ModelVerdict]] = defaultdict(list)
    judge = latest_judge(scope, source)
    for ballot in ballots(scope, source, judge=judge):
        if model in {ballot.model_a, ballot.model_b}:
            grouped[ballot.comparison].append(ballot)
    if not grouped:
        raise Refused("benchmark:unknown-choice", f"no comparison of {model!r}")
    shown = Paginator(sorted(grouped), ROWS_A_PAGE).get_page(page)
    texts = {
        key: (name, message or "")
        for key, name, message in Comparison.objects.filter(
            pk__in=list(shown.object_list)
        ).values_list("id", "key", "turn__user_message")
    }
    rows = [_model_row(grouped[key], model, *texts[key]) for key in shown.object_list]
    return ModelRows(scope, source, model, rows, shown)


def _model_row(cast: Sequence[ModelVerdict], model: str, key: str, message: str) -> ModelRow:
    first = cast[0]
    is_a = first.model_a == model
    own = Verdict.A if is_a else Verdict.B
    counts = Counter(ballot.verdict for ballot in cast)
    return ModelRow(
        comparison=first.comparison,
        key=key,
        scenario=first.scenario,
        opening=Truncator(message).chars(_OPENING),
        opponent=first.model_b if is_a else first.model_a,
        won=counts[own],
        tied=counts[Verdict.TIE],
        lost=counts[own.flipped()],
    )
