"""What managers do about items that are stuck: take them back, give them to somebody, ask again.

Each is traced, and doing it again changes nothing. Overlap stays a constraint, and what an
annotator was shown stays in its order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from annotation.core.assignment import RESERVED_FOR
from annotation.core.choices import StudyKind
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    ItemKind,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    SessionQuestionnaire,
    Study,
    StudyItem,
    StudyStatus,
    User,
)
from annotation.services.claims import lock, take
from annotation.services.participants import remove_annotator


class ReassignmentRefusal(StrEnum):
    """Why an item cannot be moved."""

    NOT_FOUND = "reassignment:not-found"
    NOT_GIVEN_OUT = "reassignment:not-given-out"
    ANSWERED = "reassignment:answered"
    NOT_IN_STUDY = "reassignment:not-in-study"
    PAUSED = "reassignment:paused"
    FULL = "reassignment:full"
    NO_FIRST = "reassignment:no-first"
    OWN_WORDS = "reassignment:own-words"


@transaction.atomic
def release_claim(*, study: str, claim: int, by: User, now: datetime) -> None:
    """Take an item back from whoever holds it, so that others get it first.

    Their open page is told at its next sign of life. Should they answer it all the same while
    nobody else has it, the answer counts.

    Raises:
        Refused: There is no such claim, or it was answered.
    """
    row = _study(study)
    own = Claim.objects.filter(pk=claim, item__study=row).select_related("item").first()
    if own is None:
        raise Refused(ReassignmentRefusal.NOT_FOUND)
    if not _take_back(own, now):
        return
    _record(own, by, "claim.released", {"annotator": own.annotator_id})


@transaction.atomic
def give_item(
    *,
    study: str,
    item: int,
    annotator: int,
    by: User,
    now: datetime,
    instead_of: int | None = None,
) -> None:
    """Give an item to an annotator: it comes next, after what they have at hand.

    It waits for them for `RESERVED_FOR`; once they open it, it has a lease like any other.

    Args:
        study: The study's short name.
        item: The study item's number.
        annotator: Who is to answer it.
        by: The manager.
        now: The moment.
        instead_of: The claim that is taken back for it, if any.

    Raises:
        Refused: There is no such item or claim, the study gives out nothing, the annotator is not
            in it, is paused or answered the item, it is a repeat of what they never answered, or
            others hold or answered it in full.
    """
    row = _study(study)
    if row.status not in {StudyStatus.OPEN, StudyStatus.PAUSED}:
        raise Refused(ReassignmentRefusal.NOT_GIVEN_OUT)
    target = _participant(row, annotator)
    found = row.items.select_related("comparison__response_a", "comparison__response_b")
    wanted = found.filter(pk=item).first()
    if wanted is None:
        raise Refused(ReassignmentRefusal.NOT_FOUND)
    if not _may_hold(wanted, target):
        return
    if instead_of is not None:
        holder = Claim.objects.filter(pk=instead_of, item=wanted).first()
        if holder is None:
            raise Refused(ReassignmentRefusal.NOT_FOUND)
        _take_back(holder, now)
    claim = take(wanted, row, target, now)
    if claim is None:
        raise Refused(ReassignmentRefusal.FULL)
    Claim.objects.filter(pk=claim.pk).update(expires_at=now + RESERVED_FOR, given=True)
    _record(claim, by, "claim.given", {"annotator": target.pk, "instead_of": instead_of})


@transaction.atomic
def offer_again(
    *, study: str, by: User, now: datetime, item: int | None = None, annotator: int | None = None
) -> int:
    """Offer skipped items to those who skipped them once more; how many times that is.

    Args:
        study: The study's short name.
        by: The manager.
        now: The moment.
        item: This item alone.
        annotator: What this annotator skipped alone.

    Raises:
        Refused: There is no such study.
    """
    row = _study(study)
    skipped = Claim.objects.filter(item__study=row, state=ClaimState.SKIPPED)
    if item is not None:
        skipped = skipped.filter(item=item)
    if annotator is not None:
        skipped = skipped.filter(annotator=annotator)
    before = list(skipped.values_list("pk", "skip_reason").order_by("pk"))
    # Whatever is neither given out nor finished is offered, in the order of the study.
    changed = skipped.update(state=ClaimState.RELEASED, slot=None, skip_reason="", finished_at=None)
    if changed:
        detail = {"claims": before, "item": item, "annotator": annotator}
        _record_study(row, by, "study.offered-again", detail, now)
    return changed


@transaction.atomic
def release_all(*, study: str, by: User, now: datetime, annotator: int | None = None) -> int:
    """Take back every item in progress, of one annotator or of all; how many.

    Raises:
        Refused: There is no such study.
    """
    row = _study(study)
    held = Claim.objects.filter(item__study=row, state=ClaimState.ACTIVE)
    if annotator is not None:
        held = held.filter(annotator=annotator)
    before = list(held.values_list("pk", flat=True).order_by("pk"))
    changed = held.update(state=ClaimState.RELEASED, slot=None, finished_at=now)
    if changed:
        detail = {"claims": before, "annotator": annotator}
        _record_study(row, by, "study.returned", detail, now)
    return changed


@transaction.atomic
def give_all(*, study: str, source: int, annotator: int, by: User, now: datetime) -> int:
    """Give what one annotator holds to another, as `give_item` does; how many items.

    What the other has answered, or may not get, stays where it is.

    Raises:
        Refused: There is no such study, it gives out nothing, or the other is not in it or paused.
    """
    row = _study(study)
    _participant(row, annotator)
    held = Claim.objects.filter(item__study=row, annotator=source, state=ClaimState.ACTIVE)
    given = 0
    for claim in held.order_by("claimed_at", "pk"):
        try:
            with transaction.atomic():
                give_item(
                    study=study,
                    item=claim.item_id,
                    annotator=annotator,
                    by=by,
                    now=now,
                    instead_of=claim.pk,
                )
        except Refused as refused:
            if refused.code not in _STAYS:
                raise
        else:
            given += 1
    return given


_STAYS = {ReassignmentRefusal.ANSWERED, ReassignmentRefusal.FULL, ReassignmentRefusal.NO_FIRST}


@transaction.atomic
def discard_answers(*, study: str, annotator: int, by: User, now: datetime) -> int:
    """Let an annotator's answers in a study no longer count, and ask others again; how many.

    They are taken out of the study and its answers, whole, are kept in the audit trail alone.
    What judges learned of them before stays until they learn again.

    Raises:
        Refused: There is no such study, or its conversations are the annotator's own.
    """
    row = _study(study)
    if row.kind == StudyKind.CONVERSATION:
        raise Refused(ReassignmentRefusal.OWN_WORDS)
    lock(annotator)
    # Before any label is read: an answer that is being given is through, or finds its claim gone.
    claims = Claim.objects.filter(item__study=row, annotator=annotator)
    held = claims.exclude(state=ClaimState.RELEASED)
    list(held.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    remove_annotator(study=study, annotator=annotator, by=by)
    claims.exclude(state=ClaimState.RELEASED).update(
        state=ClaimState.RELEASED, slot=None, skip_reason="", finished_at=now
    )
    discarded = 0
    for model in (PairwiseLabel, SatisfactionLabel, SessionQuestionnaire):
        labels = model._default_manager  # noqa: SLF001
        rows = list(labels.filter(study=row, annotator=annotator).order_by("pk").values())
        kept = json.loads(json.dumps(rows, cls=DjangoJSONEncoder))
        AuditEvent.objects.bulk_create(
            _of_study(row, by, "label.discarded", {"annotator": annotator, **each}, now)
            for each in kept
        )
        labels.filter(pk__in=[each["id"] for each in rows]).delete()
        discarded += len(rows)
    if discarded:
        detail = {"annotator": annotator, "answers": discarded}
        _record_study(row, by, "study.answers-discarded", detail, now)
    return discarded


def _record_study(
    study: Study, by: User, action: str, detail: Mapping[str, object], now: datetime
) -> None:
    _of_study(study, by, action, detail, now).save()


def _of_study(
    study: Study, by: User, action: str, detail: Mapping[str, object], now: datetime
) -> AuditEvent:
    return AuditEvent(
        actor=by,
        action=action,
        target="study",
        target_id=study.pk,
        detail=dict(detail),
        created_at=now,
    )


def _study(slug: str) -> Study:
    row = Study.objects.filter(slug=slug).first()
    if row is None:
        raise Refused(ReassignmentRefusal.NOT_FOUND)
    return row


def _participant(study: Study, annotator: int) -> User:
    """The annotator; neither they nor their part changes until the commit."""
    lock(annotator)
    parts = Participation.objects.select_for_update(of=("self",)).select_related("annotator")
    part = parts.filter(study=study, annotator=annotator, annotator__is_active=True).first()
    if part is None:
        raise Refused(ReassignmentRefusal.NOT_IN_STUDY)
    if part.paused_at is not None:
        raise Refused(ReassignmentRefusal.PAUSED)
    return part.annotator


def _may_hold(item: StudyItem, annotator: User) -> bool:
    """Whether the item is to be given to them; not where they hold it already."""
    state = item.claims.filter(annotator=annotator).values_list("state", flat=True).first()
    if state == ClaimState.DONE:
        raise Refused(ReassignmentRefusal.ANSWERED)
    if item.kind == ItemKind.REPEAT:
        first = Claim.objects.filter(
            item=item.repeat_of_id, annotator=annotator, state=ClaimState.DONE
        )
        if not first.exists():
            raise Refused(ReassignmentRefusal.NO_FIRST)
    return state != ClaimState.ACTIVE


def _take_back(claim: Claim, now: datetime) -> bool:
    """End a claim that waits for an answer; whether it did.

    A released claim that has an end was taken back; one without was given back, or ran out.
    """
    waiting = Claim.objects.filter(pk=claim.pk, state=ClaimState.ACTIVE)
    if waiting.update(state=ClaimState.RELEASED, slot=None, finished_at=now):
        return True
    if Claim.objects.filter(pk=claim.pk, state=ClaimState.DONE).exists():
        raise Refused(ReassignmentRefusal.ANSWERED)
    return False


def _record(claim: Claim, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by,
        action=action,
        target="claim",
        target_id=claim.pk,
        detail={"item": claim.item_id, **detail},
    )
