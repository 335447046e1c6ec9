"""The rows of what the judge says."""

from judging.models.conversation import (
    Conversation,
    ConversationEnding,
    ConversationMessage,
    ConversationSetup,
    ConversationState,
    ReplyStatus,
)
from judging.models.endpoints import ModelEndpoint
from judging.models.engine import (
    CallClaim,
    JudgeRun,
    LlmCall,
    RunKind,
    RunStatus,
    RunUnit,
)
from judging.models.generation import GeneratedResponse
from judging.models.injections import InjectedText, InjectionCheck, InjectionTrial
from judging.models.pairwise import Judgment, ResponseScore
from judging.models.preferences import Control, Preference, PreferenceKind, PreferenceSet
from judging.models.prompts import PromptOverride
from judging.models.satisfaction import (
    InducedRubric,
    LearnedModel,
    RubricStep,
    SatisfactionJudgment,
    UserMemory,
)

__all__ = [
    "CallClaim",
    "Control",
    "Conversation",
    "ConversationEnding",
    "ConversationMessage",
    "ConversationSetup",
    "ConversationState",
    "GeneratedResponse",
    "InducedRubric",
    "InjectedText",
    "InjectionCheck",
    "InjectionTrial",
    "JudgeRun",
    "Judgment",
    "LearnedModel",
    "LlmCall",
    "ModelEndpoint",
    "Preference",
    "PreferenceKind",
    "PreferenceSet",
    "PromptOverride",
    "ReplyStatus",
    "ResponseScore",
    "RubricStep",
    "RunKind",
    "RunStatus",
    "RunUnit",
    "SatisfactionJudgment",
    "UserMemory",
]
