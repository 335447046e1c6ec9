"""The stages of each kind of run, in order. A new kind of work is a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from judging.models import RunKind
from judging.services.batches import Stage
from judging.services.judgments import COMPARE_STAGE, GRADE_STAGE, JUDGE_STAGE
from judging.services.learned import LEARN_STAGE, TRAIN_STAGE
from judging.services.memories import MEMORY_STAGE
from judging.services.preferences import DISTIL_STAGE, SELECT_STAGE
from judging.services.rubrics import CONDENSE_STAGE, EXTRACT_STAGE, RUBRICS_STAGE
from judging.services.satisfaction import CALIBRATE_STAGE, SCORE_STAGE

STAGES: Final[Mapping[str, tuple[Stage, ...]]] = {
    RunKind.DISTIL: (DISTIL_STAGE, JUDGE_STAGE, SELECT_STAGE),
    RunKind.TEST: (JUDGE_STAGE,),
    RunKind.ABLATION: (JUDGE_STAGE,),
    RunKind.GRADE: (GRADE_STAGE, COMPARE_STAGE),
    RunKind.TRAIN: (TRAIN_STAGE,),
    RunKind.SATISFACTION: (
        LEARN_STAGE,
        EXTRACT_STAGE,
        CONDENSE_STAGE,
        RUBRICS_STAGE,
        MEMORY_STAGE,
        SCORE_STAGE,
        CALIBRATE_STAGE,
    ),
}
