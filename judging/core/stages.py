"""The steps of a run by name; a step is under way until none of its rows is pending."""

from __future__ import annotations

from enum import StrEnum


class StageName(StrEnum):
    """What a run is doing, stored in `JudgeRun.stage`."""

    DISTIL = "distil"
    REFERENCE = "reference"
    """In estimates alone: a run writes reference answers within the step that judges."""
    JUDGE = "judge"
    GRADE = "grade"
    COMPARE = "compare"
    SELECT = "select"
    TRAIN = "train"
    LEARN = "learn"
    EXTRACT = "extract"
    CONDENSE = "condense"
    RUBRICS = "rubrics"
    MEMORY = "memory"
    SCORE = "score"
    CALIBRATE = "calibrate"
