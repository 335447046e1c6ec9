"""Giving out items: an annotator's lease on one, within the study's overlap.

Overlap is a constraint (item and slot are unique), so two annotators can never both get the last
slot. `select_for_update` does nothing on SQLite: what must happen once is an insert that a
constraint may refuse, or an UPDATE that names the state it expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Any, Final
from uuid import UUID, uuid5

from django.db import IntegrityError, connection, transaction
from django.db.models import F

from annotation.core.assignment import RESERVED_FOR, SkipReason, free_slot, lease_end
from annotation.core.choices import Order, StudyKind
from annotation.core.labelling import NothingLeft, Task, balanced_order
from annotation.core.refusals import Refused
from annotation.models import (
    Claim,
    ClaimState,
    ItemKind,
    Participation,
    Study,
    StudyItem,
    StudyStatus,
    Submission,
    SubmissionKind,
    User,
)
from annotation.queries.assignment import (
    claim_at_hand,
    claims_on,
    finished_item,
    last_finished,
    next_free_item,
    own_claim_on,
    own_task_claim,
    past_orders,
    progress_of,
)
from annotation.queries.labelling import rules_of, task_of
from annotation.queries.participants import (
    completion_of,
    open_step,
    participation_of,
    skips_to_answer,
)

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


_LOCK: Final = "UPDATE annotation_user SET is_active = is_active WHERE id = %(annotator)s"
_LOCK_PART: Final = """
UPDATE annotation_participation SET paused_at = NULL
WHERE study_id = %(study)s AND annotator_id = %(annotator)s AND paused_at IS NULL
"""
"""Finds no row where they are paused or taken out; who is about to do that waits for the commit."""
_TRIES: Final = 50  # as many annotators may snatch an item away in the same instant


class RefusalCode(StrEnum):
    """Why the labelling services say no."""

    NOT_YOURS = "labelling:not-yours"
    NOT_OPEN = "labelling:not-open"
    CLOSED = "labelling:closed"
    TAKEN = "labelling:taken"
    NOT_ALLOWED = "labelling:not-allowed"
    NOT_READY = "labelling:not-ready"
    PAUSED = "labelling:paused"


def next_task(
    *, study: str, annotator: User, now: datetime, language: str = "", changed: int | None = None
) -> Task | NothingLeft:
    """The item at hand, or else the next one, claimed; first of those in a language, as `en`.

    Asking again gives the same item, and the same presentation, until it is answered or skipped;
    asking renews the lease. `changed` is an older item that the annotator just answered anew: it
    stands as the previous one.

    Raises:
        Refused: `labelling:not-yours` where the annotator is not in the study.
    """
    part = part_of(study, annotator)
    row = part.study
    if row.status != StudyStatus.OPEN or part.paused_at is not None:
        return _nothing(part, annotator, now)
    claim = claim_at_hand(row, annotator.pk) or _claim_next(row, annotator, now, language)
    if claim is None:
        return _nothing(part_of(study, annotator), annotator, now)
    _renew(claim, row, now)
    task = task_of(claim, row, now)
    previous = finished_item(row, annotator.pk, changed) if changed else None
    if previous is None:
        return task
    return replace(task, place=replace(task.place, previous=previous))


def own_task(
    *, study: str, item: int, annotator: User, now: datetime, kind: StudyKind | None = None
) -> Task:
    """An item that the annotator was given before, with their answer.

    Raises:
        Refused: `labelling:not-yours` where they never were given it, or the study is not of this
            kind.
    """
    row = part_of(study, annotator, kind=kind).study
    claim = own_task_claim(item, row, annotator.pk)
    if claim is None:
        raise Refused(RefusalCode.NOT_YOURS)
    return task_of(claim, row, now)


@transaction.atomic
def skip(
    *,
    study: str,
    item: int,
    annotator: User,
    reason: SkipReason,
    submission: UUID,
    now: datetime,
) -> None:
    """Give an item back without an answer; it does not come again by itself.

    Skipping what is skipped changes nothing, nor does the same submission again, though the item
    was offered anew since. An answer that was given stands and cannot be skipped.

    Raises:
        Refused: not theirs, the study not open, or the item answered.
    """
    row = open_study_of(study, annotator)
    claim = own_claim(row, item, annotator)
    if not accept(claim, SubmissionKind.SKIP, submission, now):
        return
    if claim.state == ClaimState.SKIPPED:
        return
    changed = Claim.objects.filter(
        pk=claim.pk, state__in=[ClaimState.ACTIVE, ClaimState.RELEASED]
    ).update(state=ClaimState.SKIPPED, slot=None, skip_reason=reason.value, finished_at=now)
    if not changed:
        raise Refused(RefusalCode.NOT_ALLOWED)


@transaction.atomic
def undo_skip(
    *, study: str, item: int, annotator: User, skipped_at: datetime, now: datetime
) -> None:
    """Put a skipped item back in hand, in the order in which it was given out.

    An item that was not skipped at that moment, or is not any more, stays as it is.

    Raises:
        Refused: not theirs, the study not open, or the item given to others since.
    """
    row = open_study_of(study, annotator)
    claim = own_claim(row, item, annotator)
    if claim.state != ClaimState.SKIPPED or claim.finished_at != skipped_at:
        return
    hold(claim, row, now, anew=False)


def part_of(slug: str, annotator: User, *, kind: StudyKind | None = None) -> Participation:
    """The annotator's part in a study; while they could label in it, they did what comes first.

    Raises:
        Refused: `labelling:not-yours` where they are not in it, or the study is not of this kind; A
            step before labelling is open.
    """
    part = participation_of(slug, annotator)
    if part is None or kind not in {None, part.study.kind}:
        raise Refused(RefusalCode.NOT_YOURS)
    labels = part.study.status == StudyStatus.OPEN and part.paused_at is None
    step = open_step(part) if labels else None
    if step is not None:
        raise Refused(RefusalCode.NOT_READY, step=step)
    return part


def open_part_of(slug: str, annotator: User, *, kind: StudyKind | None = None) -> Participation:
    """The annotator's part in a study that takes answers, and theirs.

    Raises:
        Refused: not theirs or not of this kind, the study paused or closed, or they are paused in
            it; A step before labelling is open.
    """
    part = part_of(slug, annotator, kind=kind)
    if part.study.status == StudyStatus.CLOSED:
        raise Refused(RefusalCode.CLOSED)
    if part.study.status != StudyStatus.OPEN:
        raise Refused(RefusalCode.NOT_OPEN)
    if part.paused_at is not None:
        raise Refused(RefusalCode.PAUSED)
    return part


def open_study_of(slug: str, annotator: User, *, kind: StudyKind | None = None) -> Study:
    """The study of `open_part_of`."""
    return open_part_of(slug, annotator, kind=kind).study


def own_claim(study: Study, item: int, annotator: User) -> Claim:
    """The annotator's claim on an item."""
    claim = own_claim_on(item, study, annotator.pk)
    if claim is None:
        raise Refused(RefusalCode.NOT_YOURS)
    return claim


def lock(annotator: int) -> None:
    """Have everything else that locks this annotator wait until the commit.

    Two tabs must not claim two items, nor choose two presentation orders from the same counts.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"annotator": annotator})


def _still_gets_items(study: Study, annotator: int) -> bool:
    """Whether an annotator is in a study and not paused in it, and stays so until the commit."""
    lock(annotator)
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_PART, {"study": study.pk, "annotator": annotator})
        found: bool = cursor.rowcount == 1
        return found


def was_taken_back(claim: Claim) -> bool:
    """Whether a manager took the item from its annotator: a released claim that has an end."""
    return claim.state == ClaimState.RELEASED and claim.finished_at is not None


def hold(claim: Claim, study: Study, now: datetime, *, anew: bool = True) -> None:
    """Make a claim of one's own hold a slot again, if it does not and one is free.

    Call it within a transaction. `anew` makes it the item given out last; else it keeps its place.

    Raises:
        Refused: `labelling:taken` where the lease ran out and others filled the item, or
            `labelling:not-yours` where the annotator was just paused or taken out of the study.
    """
    if claim.state in {ClaimState.ACTIVE, ClaimState.DONE}:
        return
    if not _still_gets_items(study, claim.annotator_id):
        raise Refused(RefusalCode.NOT_YOURS)
    if not _take_again(claim, study, now, claims_on(claim.item), anew=anew):
        raise Refused(RefusalCode.TAKEN)


def _nothing(part: Participation, annotator: User, now: datetime) -> NothingLeft:
    study = part.study
    last = last_finished(study, annotator.pk)
    progress = progress_of(study, annotator.pk, now)
    skips = skips_to_answer(part, progress, now)
    return NothingLeft(
        rules=rules_of(study),
        progress=progress,
        last=last,
        open=study.status == StudyStatus.OPEN,
        closed=study.status == StudyStatus.CLOSED,
        paused=part.paused_at is not None,
        ask=str(study.created_by or "") if part.paused_at is not None else "",
        contact=study.contact,
        completion=completion_of(part, progress, skips),
        skips=skips,
        paid=bool(part.invitation and part.invitation.completion),
        answers_needed=study.completion_answers,
    )


def _renew(claim: Claim, study: Study, now: datetime) -> None:
    """Lengthen the lease once a third of it has passed; a reload in between writes nothing.

    An item that a manager gave them waits for longer; once it is opened, its lease is like any.
    """
    lease = timedelta(minutes=study.lease_minutes)
    if not lease * 2 / 3 <= claim.expires_at - now <= lease:
        Claim.objects.filter(pk=claim.pk, state=ClaimState.ACTIVE).update(
            expires_at=lease_end(now, study.lease_minutes)
        )


@transaction.atomic
def _claim_next(study: Study, annotator: User, now: datetime, language: str) -> Claim | None:
    if not _still_gets_items(study, annotator.pk):
        return None
    active = claim_at_hand(study, annotator.pk)
    if active is not None:
        return active
    for _try in range(_TRIES):
        item = next_free_item(study, annotator.pk, now, language)
        if item is None:
            return None
        claim = take(item, study, annotator, now)
        if claim is not None:
            return claim
    return None


def take(item: StudyItem, study: Study, annotator: User, now: datetime) -> Claim | None:
    """Claim an item that the annotator does not hold; None where others filled it in the meantime.

    Call it within a transaction that holds the annotator's row.
    """
    claims = claims_on(item)
    released = next((each for each in claims if each.annotator_id == annotator.pk), None)
    if released is not None:
        released.item = item
        return released if _take_again(released, study, now, claims) else None
    slot = _free_slot(claims, study, now)
    if slot is None:
        return None
    try:
        with transaction.atomic():
            return Claim.objects.create(
                item=item,
                annotator=annotator,
                slot=slot,
                shown_order=order_for(item, study, annotator),
                claimed_at=now,
                expires_at=lease_end(now, study.lease_minutes),
            )
    except IntegrityError:
        return None


def _take_again(
    claim: Claim, study: Study, now: datetime, claims: Sequence[Claim], *, anew: bool = True
) -> bool:
    """Hold a slot again; `anew` as the item given out last, else in the claim's old place."""
    slot = _free_slot(claims, study, now)
    if slot is None:
        return False
    values: dict[str, Any] = {
        "state": ClaimState.ACTIVE,
        "slot": slot,
        "skip_reason": "",
        "finished_at": None,
        "expires_at": lease_end(now, study.lease_minutes),
    }
    if anew:
        values |= {"given": False, "claimed_at": now}
    lost = Claim.objects.filter(pk=claim.pk, state__in=[ClaimState.RELEASED, ClaimState.SKIPPED])
    try:
        with transaction.atomic():
            changed = lost.update(**values)
    except IntegrityError:
        return False
    if changed:
        for name, value in values.items():
            setattr(claim, name, value)
    return changed == 1


def _free_slot(claims: Sequence[Claim], study: Study, now: datetime) -> int | None:
    """A slot nobody holds among an item's claims, after taking back those whose lease ran out."""
    lost = {
        each.pk for each in claims if each.state == ClaimState.ACTIVE and each.expires_at <= now
    }
    if lost:
        Claim.objects.filter(pk__in=lost, state=ClaimState.ACTIVE, expires_at__lte=now).update(
            state=ClaimState.RELEASED, slot=None
        )
    taken = {each.slot for each in claims if each.slot is not None and each.pk not in lost}
    return free_slot(taken, study.overlap)


def order_for(item: StudyItem, study: Study, annotator: User) -> Order | None:
    """The presentation order of a pair: balanced, or for a hidden repeat the other one."""
    if item.comparison is None:
        return None
    if item.kind == ItemKind.REPEAT:
        first = Claim.objects.get(item_id=item.repeat_of_id, annotator=annotator)
        return Order(first.shown_order or Order.ORIGINAL).other()
    return balanced_order(
        item.comparison.response_a.model,
        item.comparison.response_b.model,
        past_orders(annotator),
        random=Random(f"{study.seed}:{annotator.pk}:{item.pk}"),
    )


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
