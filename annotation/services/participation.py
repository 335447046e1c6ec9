"""Pausing an annotator in a study, by hand or by the study's rule, and letting them go on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from annotation.core.quality import PauseRule
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, ItemKind, Participation, PauseReason, Study, User
from annotation.queries.pause_rule import rule_rows
from annotation.services.leases import release_claims


@transaction.atomic
def pause(*, study: str, annotator: int, by: User, now: datetime) -> None:
    """Give an annotator no more items of a study, until somebody lets them go on.

    Items they hold go back; what they answered stays.

    Raises:
        Participation.DoesNotExist: They are not in the study, or there is none.
        Refused: see there.
    """
    part = _part(study, annotator)
    if not _pause(part, PauseReason.MANAGER, by=by, now=now, detail={}):
        raise Refused("participation:paused")


@transaction.atomic
def resume(*, study: str, annotator: int, by: User, now: datetime) -> None:
    """Let a paused annotator go on; the study's rule counts their answers from now on alone.

    Raises:
        Participation.DoesNotExist: They are not in the study, or there is none.
        Refused: see there.
    """
    part = _part(study, annotator)
    changed = Participation.objects.filter(pk=part.pk, paused_at__isnull=False).update(
        paused_at=None, pause_reason="", resumed_at=now
    )
    if not changed:
        raise Refused("participation:not-paused")
    _record(part, "participation.resumed", by=by, detail={"was": part.pause_reason})


def pause_if_careless(part: Participation, kind: str, now: datetime) -> None:
    """Pause an annotator who just answered an item of this kind, if the study's rule says so.

    Without a rule for the kind nothing is asked of the database; with one, one query. Call it
    within the transaction that stored the answer.
    """
    rule = _rule(part.study, kind)
    if rule is None:
        return
    rows = rule_rows(part.study, part.annotator_id, kind=kind, since=part.resumed_at)
    if not rule.is_broken(rows):
        return
    reason = PauseReason.GOLD if kind == ItemKind.GOLD else PauseReason.REPEATS
    hits = sum(row.hit for row in rows)
    detail = {"hits": hits, "answers": len(rows), "below": rule.below}
    _pause(part, reason, by=None, now=now, detail=detail)


def _rule(study: Study, kind: str) -> PauseRule | None:
    below = {
        ItemKind.GOLD.value: study.pause_gold_below,
        ItemKind.REPEAT.value: study.pause_repeats_below,
    }.get(kind)
    return None if below is None else PauseRule(below=below, after=study.pause_after)


def _part(study: str, annotator: int) -> Participation:
    return Participation.objects.select_related("study", "annotator").get(
        study__slug=study, annotator=annotator
    )


def _pause(
    part: Participation,
    reason: PauseReason,
    *,
    by: User | None,
    now: datetime,
    detail: Mapping[str, object],
) -> bool:
    changed = Participation.objects.filter(pk=part.pk, paused_at__isnull=True).update(
        paused_at=now, pause_reason=reason
    )
    if not changed:
        return False
    release_claims(part.annotator, study=part.study)
    _record(part, "participation.paused", by=by, detail={"reason": reason.value, **detail})
    return True


def _record(
    part: Participation, action: str, *, by: User | None, detail: Mapping[str, object]
) -> None:
    AuditEvent.objects.create(
        actor=by,
        action=action,
        target="participation",
        target_id=part.pk,
        detail={"study": part.study.slug, "annotator": part.annotator_id, **detail},
    )
