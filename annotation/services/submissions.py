"""Accepting what a page sends under a claim: each submission once, whatever it changes."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from django.db import connection

from annotation.models import Claim, Submission, SubmissionKind

_KEEP: Final = """
INSERT INTO annotation_submission (claim_id, kind, uuid, accepted_at)
VALUES (%(claim)s, %(kind)s, %(uuid)s, %(now)s)
ON CONFLICT (claim_id, uuid, kind) DO NOTHING
"""
"""Not by Django: it tells what was inserted only with a savepoint around it."""
_UUID: Final = Submission._meta.get_field("uuid")  # noqa: SLF001 - documented


def accept(
    claim: Claim, kind: SubmissionKind, submission: UUID, now: datetime, *, content: object = ""
) -> bool:
    """Keep a submission; False where it came before, and must change nothing.

    Call it within the transaction that does what the submission says, before anything else: one
    that is refused is rolled back with it, and of equal ones at once the later wait for the first.

    Args:
        claim: under which it was sent.
        kind: what it asks for.
        submission: the page's id.
        now: the moment.
        content: what it says, where one page may say different things: whoever saw no reply to an
            answer, and gives another one on the same page, has changed their mind.
    """
    if content:
        submission = uuid5(submission, repr(content))
    with connection.cursor() as cursor:
        cursor.execute(
            _KEEP,
            {
                "claim": claim.pk,
                "kind": kind.value,
                "uuid": _UUID.get_db_prep_value(submission, connection),
                "now": connection.ops.adapt_datetimefield_value(now),
            },
        )
        accepted: bool = cursor.rowcount == 1
        return accepted
