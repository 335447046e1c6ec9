"""Keeping a lease while the page is open, and giving all of them back on leaving."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from annotation.core.assignment import RESERVED_FOR, lease_end
from annotation.core.refusals import Refused
from annotation.models import Claim, ClaimState, Study, User
from annotation.services.claims import RefusalCode, hold, open_study_of, own_claim, was_taken_back


@transaction.atomic
def renew_lease(*, study: str, item: int, annotator: User, now: datetime) -> None:
    """Lengthen the lease on an item at hand; take it again where it ran out and a place is free.

    An answered item needs no lease: renewing it changes nothing.

    Raises:
        Refused: not theirs, the study not open, the item skipped or taken back by a manager, or the
            lease lost to others who filled the item.
    """
    row = open_study_of(study, annotator)
    claim = own_claim(row, item, annotator)
    if claim.state == ClaimState.SKIPPED or was_taken_back(claim):
        raise Refused(RefusalCode.TAKEN)
    hold(claim, row, now)
    renewed = Claim.objects.filter(pk=claim.pk, state=ClaimState.ACTIVE).update(
        expires_at=lease_end(now, row.lease_minutes)
    )
    if not renewed and claim.state != ClaimState.DONE:
        raise Refused(RefusalCode.TAKEN)


def release_claims(annotator: User, *, study: Study | None = None) -> int:
    """Give back every item the annotator holds (of one study) and has not answered; how many.

    What they were shown, and in which order, stays with the claim. Where they only leave, and no
    study is named, what a manager gave them and they have not opened waits on.
    """
    held = Claim.objects.filter(annotator=annotator, state=ClaimState.ACTIVE)
    if study is None:
        held = held.exclude(expires_at__gte=F("claimed_at") + RESERVED_FOR)
    else:
        held = held.filter(item__study=study)
    return held.update(state=ClaimState.RELEASED, slot=None)
