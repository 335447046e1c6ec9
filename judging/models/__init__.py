"""The rows of what the judge says."""

from judging.models.engine import JudgeRun, LlmCall, ModelEndpoint, RunKind, RunStatus
from judging.models.pairwise import (
    Control,
    Judgment,
    Preference,
    PreferenceKind,
    PreferenceSet,
    ResponseScore,
)
from judging.models.satisfaction import LearnedModel, SatisfactionJudgment, UserMemory

__all__ = [
    "Control",
    "JudgeRun",
    "Judgment",
    "LearnedModel",
    "LlmCall",
    "ModelEndpoint",
    "Preference",
    "PreferenceKind",
    "PreferenceSet",
    "ResponseScore",
    "RunKind",
    "RunStatus",
    "SatisfactionJudgment",
    "UserMemory",
]
