"""The rows of what is labelled, by whom."""

from annotation.models.data import (
    Comparison,
    Dataset,
    Response,
    Scenario,
    Session,
    Turn,
    text_hash,
)
from annotation.models.labels import (
    AuditEvent,
    GoldLabel,
    GoldSource,
    PairwiseLabel,
    SatisfactionLabel,
    SessionQuestionnaire,
)
from annotation.models.participation import (
    GuidelinesVersion,
    Invitation,
    Participation,
    PauseReason,
)
from annotation.models.studies import Claim, ClaimState, ItemKind, Study, StudyItem, StudyStatus
from annotation.models.users import AnnotatorProfile, Role, User

__all__ = [
    "AnnotatorProfile",
    "AuditEvent",
    "Claim",
    "ClaimState",
    "Comparison",
    "Dataset",
    "GoldLabel",
    "GoldSource",
    "GuidelinesVersion",
    "Invitation",
    "ItemKind",
    "PairwiseLabel",
    "Participation",
    "PauseReason",
    "Response",
    "Role",
    "SatisfactionLabel",
    "Scenario",
    "Session",
    "SessionQuestionnaire",
    "Study",
    "StudyItem",
    "StudyStatus",
    "Turn",
    "User",
    "text_hash",
]
