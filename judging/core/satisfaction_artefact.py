"""A learned evaluator as bytes that hold numbers only, and back.

The form is NumPy's `.npz`: named arrays in a zip, read with pickle forbidden, so bytes from
elsewhere can be wrong but run no code. Settings and names are one JSON text among them.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from platform import python_version
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import SATISFIED_FROM
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    Statistic,
    Units,
    bootstrap,
    centred,
    cluster_index,
    correlation,
    ends,
    f1,
    mean,
    quadratic_kappa,
    rank_correlation,
)
from annotation.core.refusals import Refused
from judging.core.calibration import LEVELS, LOWEST
from judging.core.satisfaction_decisions import Logistic, ReasonModel
from judging.core.satisfaction_features import NAMES, TextSpace
from judging.core.satisfaction_general import Forest, General, GeneralSettings, Scaling
from judging.core.satisfaction_model import VERSION, Model, Settings
from judging.core.satisfaction_stacking import Variances
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
    users_held = Units.of_rows(held_out.users)
    return {
        "users": list(users),
        "effective_users": users_held.effective,
        "largest_user": users_held.largest,
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

    The ends are None for too few users.

    Args:
        held_out: the predictions.
        seed: of the bootstrap.
        draws: its resamples of users.
    """
    return {
        name: ends(
            bootstrap(
                metric,
                units=len(held_out.gold),
                clusters=held_out.users,
                seed=seed,
                draws=draws,
            )
        )
        for name, metric in _metrics(held_out).items()
    }


def _metrics(held_out: HeldOut) -> dict[str, Statistic]:
    gold, scores = (np.array(column, dtype=float) for column in (held_out.gold, held_out.scores))
    expected = np.array(held_out.expected, dtype=float)
    users, _count = cluster_index(held_out.users, units=len(gold))
    own_gold, own_expected = centred(gold, users), centred(expected, users)
    blocks = np.array(held_out.blocks, dtype=np.intp)
    block_gold, block_expected = centred(gold, blocks), centred(expected, blocks)
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
        "within_block_pearson_expected": lambda weights: correlation(
            block_gold, block_expected, weights
        ),
    }


def to_bytes(model: Model) -> bytes:
    """The whole model; equal models give equal arrays (the zip holds no clock time)."""
    general, scale = model.general, model.scaling
    about = {
        "version": VERSION,
        "features": list(NAMES),
        "settings": asdict(model.settings),
        "scenarios": list(scale.scenarios),
        "mean": model.mean,
        "offset": general.offset,
        "intercept": model.dissatisfied.intercept,
        "lean": model.reasons.lean,
    }
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        allow_pickle=False,
        about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        scale_mean=scale.mean,
        scale_spread=scale.spread,
        text_weights=scale.space.weights,
        text_centre=scale.centre,
        general_text=general.text,
        general_linear=general.linear,
        cuts=model.cuts,
        dissatisfied=model.dissatisfied.weights,
        reason_intercept=model.reasons.intercept,
        reason_floor=model.reasons.floor,
        reason_weights=model.reasons.weights,
        roots=general.forest.roots,
        feature=general.forest.feature,
        threshold=general.forest.threshold,
        left=general.forest.left,
        right=general.forest.right,
        value=general.forest.value,
    )
    return buffer.getvalue()


def from_bytes(stored: bytes) -> Model:
    """The model that `to_bytes` stored.

    Raises:
        Refused: the bytes are damaged, of another version or of other features.
    """
    try:
        with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays["about"].tobytes())
        if about["version"] != VERSION or about["features"] != list(NAMES):
            raise Refused(
                "learned:unreadable", "the stored evaluator is of another version: train it again"
            )
        return _model(arrays, about)
    except (
        KeyError,
        TypeError,
        ValueError,
        EOFError,
        OSError,
        zipfile.BadZipFile,
    ) as error:
        raise Refused(
            "learned:unreadable", "the stored evaluator cannot be read: train it again"
        ) from error


def _model(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> Model:
    settings = dict(about["settings"])
    settings["general"] = GeneralSettings(**settings["general"])
    settings["variances"] = Variances(**settings["variances"])
    return Model(
        settings=Settings(**settings),
        scaling=Scaling(
            scenarios=tuple(about["scenarios"]),
            mean=arrays["scale_mean"],
            spread=arrays["scale_spread"],
            space=TextSpace(arrays["text_weights"]),
            centre=arrays["text_centre"],
        ),
        mean=about["mean"],
        general=General(
            offset=about["offset"],
            text=arrays["general_text"],
            linear=arrays["general_linear"],
            forest=Forest(
                **{
                    name: arrays[name]
                    for name in ("roots", "feature", "threshold", "left", "right", "value")
                }
            ),
        ),
        cuts=arrays["cuts"],
        dissatisfied=Logistic(about["intercept"], arrays["dissatisfied"]),
        reasons=ReasonModel(
            intercept=arrays["reason_intercept"],
            weights=arrays["reason_weights"],
            floor=arrays["reason_floor"],
            lean=about["lean"],
        ),
    )
