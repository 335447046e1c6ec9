"""Storing what an annotator says about a whole session."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from annotation.core.questionnaire import from_records, to_records
from annotation.models import Claim, ItemKind, Session, SessionQuestionnaire, Study


def store_questionnaire(
    claim: Claim, session: Session, study: Study, answers: Mapping[str, str], now: datetime
) -> dict[str, str]:
    """Write the answers about a claimed session; what they said before.

    Those given at a hidden repeat do not replace the first: they stand in the audit trail alone.
    """
    row, created = SessionQuestionnaire.objects.get_or_create(
        annotator_id=claim.annotator_id,
        session=session,
        study=study,
        defaults={"answers": to_records(answers), "created_at": now},
    )
    if created:
        return {}
    before = from_records(row.answers)
    if before != answers and claim.item.kind != ItemKind.REPEAT:
        row.answers = to_records(answers)
        row.save(update_fields=["answers"])
    return before
