"""The rows of what is labelled, by whom."""

from annotation.models.data import (
    STAGED_RATERS,
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
from annotation.models.studies import (
    Claim,
    ClaimState,
    ItemKind,
    Study,
    StudyItem,
    StudyStatus,
    Submission,
    SubmissionKind,
)
from annotation.models.users import (
    AnnotatorProfile,
    LookAlikeError,
    NameLook,
    Role,
    User,
    validate_name,
)

__all__ = [
    "STAGED_RATERS",
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
    "LookAlikeError",
    "NameLook",
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
    "Submission",
    "SubmissionKind",
    "Turn",
    "User",
    "text_hash",
    "validate_name",
]
