"""How long the agreement of 50,000 labels takes, with every interval (1,000 draws each)."""

from __future__ import annotations

import time
from typing import Final

import numpy as np

from annotation.core.agreement_report import (
    SCORE_SCALE,
    Answers,
    AnswerScale,
    agreement_report,
    verdict_scale,
)
from sensejudge_site.benches import Bench, BenchFigure

_LABELS: Final = 50_000
_ANNOTATORS: Final = 5
_SCENARIOS: Final = 8
_PAIRS: Final = 15
_REPEATS: Final = 3


def run() -> Bench:
    """The best of three whole reports in milliseconds, of verdicts and of scores."""
    return Bench(
        name="agreement",
        figures=(
            BenchFigure("labels", _LABELS),
            BenchFigure("verdicts_ms", _best_ms(verdict_scale(ties=True))),
            BenchFigure("scores_ms", _best_ms(SCORE_SCALE)),
        ),
    )


def _best_ms(scale: AnswerScale) -> float:
    answers = _answers(scale)
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        agreement_report(answers, scale, seed=1)
        best = min(best, time.perf_counter() - start)
    return best * 1000


def _answers(scale: AnswerScale) -> Answers:
    """Every item answered by five; three in four answers are the item's own value."""
    rng = np.random.default_rng(1)
    items = _LABELS // _ANNOTATORS
    own = rng.integers(scale.categories, size=items).repeat(_ANNOTATORS)
    other = rng.integers(scale.categories, size=_LABELS)
    item = np.arange(items).repeat(_ANNOTATORS)
    return Answers(
        item=item,
        annotator=np.tile(np.arange(_ANNOTATORS), items),
        value=np.where(rng.random(_LABELS) < 0.75, own, other),
        scenario=item % _SCENARIOS,
        models=item % _PAIRS,
        session=item,
    )
