"""A learned evaluator as bytes that hold numbers only, and back.

The form is NumPy's `.npz`: named arrays in a zip, read with pickle forbidden, so bytes from
elsewhere can be wrong but run no code. Settings and names are one JSON text among them.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.core.refusals import Refused
from judging.core.satisfaction_decisions import Logistic, ReasonModel
from judging.core.satisfaction_expectation import Settings
from judging.core.satisfaction_features import NAMES
from judging.core.satisfaction_forest import Forest
from judging.core.satisfaction_general import General, GeneralSettings, Scaling
from judging.core.satisfaction_model import VERSION, Model
from judging.core.satisfaction_own import Variances
from judging.core.satisfaction_texts import TextSpace


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
        EOFError,
        OSError,
        zipfile.BadZipFile,
        UnicodeDecodeError,
    ) as error:
        raise Refused(
            "learned:unreadable", "the stored evaluator cannot be read: train it again"
        ) from error
    except ValueError as error:
        if isinstance(error, Refused):
            raise
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
