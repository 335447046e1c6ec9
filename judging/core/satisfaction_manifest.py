"""What a trained evaluator was made of, and how its like did on users held out.

The figures are those of the held-out predictions, with intervals over users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from platform import python_version
from typing import Any, Final

import numpy as np

from annotation.core.choices import SATISFIED_FROM
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    Statistic,
    bootstrap,
    cluster_index,
    ends,
)
from annotation.core.weighted import (
    centred,
    correlation,
    f1,
    mean,
    quadratic_kappa,
    rank_correlation,
)
from judging.core.calibration import LEVELS, LOWEST
from judging.core.satisfaction_expectation import Settings
from judging.core.satisfaction_features import NAMES
from judging.core.satisfaction_model import VERSION
from judging.core.satisfaction_training import HeldOut

_LIBRARIES: Final = ("numpy", "scipy", "scikit-learn")


def manifest(held_out: HeldOut, settings: Settings, *, users: Sequence[str]) -> dict[str, Any]:
    """Everything that made a model, as JSON.

    Args:
        held_out: predictions of its training users.
        settings: how it was trained.
        users: their names.
    """
    below = sum(score < SATISFIED_FROM for score in held_out.gold)
    return {
        "users": list(users),
        "turns": len(held_out.gold),
        "dissatisfied": below,
        "reasons": sum(reason is not None for reason in held_out.reasons),
        "features": list(NAMES),
        "method": VERSION,
        "seed": settings.seed,
        "folds": min(settings.folds, len(users)),
        "settings": asdict(settings),
        "libraries": {"python": python_version()} | {name: version(name) for name in _LIBRARIES},
        "figures": figures_of(held_out),
        "intervals": intervals_of(held_out, seed=settings.seed),
        "draws": DEFAULT_DRAWS,
    }


def figures_of(held_out: HeldOut) -> dict[str, float | None]:
    """Agreement of held-out predictions with the users, by metric; None where it is undefined."""
    once = np.ones((1, len(held_out.gold)))
    found = {name: float(metric(once)[0]) for name, metric in _metrics(held_out).items()}
    return {name: None if np.isnan(value) else value for name, value in found.items()}


def intervals_of(
    held_out: HeldOut, *, seed: int, draws: int = DEFAULT_DRAWS
) -> dict[str, dict[str, float | None]]:
    """The 95 % interval of each figure, `low` and `high`; users are drawn, nothing is retrained.

    Args:
        held_out: the predictions.
        seed: of the bootstrap.
        draws: its resamples of users.
    """
    units = len(held_out.gold)
    return {
        name: ends(bootstrap(metric, units=units, clusters=held_out.users, seed=seed, draws=draws))
        for name, metric in _metrics(held_out).items()
    }


def _metrics(held_out: HeldOut) -> dict[str, Statistic]:
    gold, scores = (np.array(column, dtype=float) for column in (held_out.gold, held_out.scores))
    expected = np.array(held_out.expected, dtype=float)
    users, _count = cluster_index(held_out.users, units=len(gold))
    own_gold, own_expected = centred(gold, users), centred(expected, users)
    first, second = (column.astype(np.intp) - LOWEST for column in (gold, scores))
    return {
        "pearson": lambda weights: correlation(gold, scores, weights),
        "spearman": lambda weights: rank_correlation(gold, scores, weights),
        "qwk": lambda weights: quadratic_kappa(first, second, weights, levels=LEVELS),
        "f1_dsat": lambda weights: f1(gold < SATISFIED_FROM, scores < SATISFIED_FROM, weights),
        "mae": lambda weights: mean(np.abs(gold - scores), weights),
        "pearson_expected": lambda weights: correlation(gold, expected, weights),
        "within_user_pearson_expected": lambda weights: correlation(
            own_gold, own_expected, weights
        ),
    }
