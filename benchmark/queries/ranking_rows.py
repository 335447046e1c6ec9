"""The comparisons behind a leaderboard's numbers: of one model, or of two."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from benchmark.queries.annotators import openings
from benchmark.queries.ranking import (
    LeaderboardQuestion,
    LeaderboardScope,
    ModelVerdict,
    Source,
    applying_runs,
    ballots,
    is_voted,
    judge_to_read,
    leaderboard_scope,
    runs_of,
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
    """The comparisons behind one model's figures, or those with one opponent, a page at a time."""

    scope: LeaderboardScope
    source: Source
    model: str
    opponent: str
    rows: Sequence[ModelRow]
    page: Page[int]
    judge: str
    voted: bool


def leaderboard_rows(
    question: LeaderboardQuestion, *, model: str, source: Source, page: str, opponent: str = ""
) -> ModelRows:
    """The comparisons behind one model's figures, those with one opponent where it is named.

    Raises:
        Refused: something asked for does not exist, or the models were never compared.
    """
    scope = leaderboard_scope(question)
    grouped: dict[int, list[ModelVerdict]] = defaultdict(list)
    judge = judge_to_read(scope, source)
    runs = runs_of(scope, source, judge)
    for ballot in ballots(scope, source, runs):
        both = {ballot.model_a, ballot.model_b}
        if model in both and (not opponent or both == {model, opponent}):
            grouped[ballot.comparison].append(ballot)
    if not grouped:
        message = f"no comparison of {model!r}" + (f" with {opponent!r}" if opponent else "")
        raise Refused("benchmark:unknown-choice", message)
    shown = Paginator(sorted(grouped), ROWS_A_PAGE).get_page(page)
    texts = openings(shown.object_list)
    rows = [_model_row(grouped[key], model, *texts[key][::2]) for key in shown.object_list]
    voted = is_voted(scope, applying_runs(source, runs))
    return ModelRows(scope, source, model, opponent, rows, shown, judge, voted)


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
