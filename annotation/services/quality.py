"""Gold answers, each with its reason, and pausing annotators who answer carelessly.

A gold answer is a manager's word, or the decision on what annotators disagreed on; their labels
stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.core.choices import Verdict
from annotation.core.labelling import SCORES, Target, TargetKind
from annotation.core.quality import PauseRule
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Comparison,
    GoldLabel,
    GoldSource,
    ItemKind,
    Participation,
    PauseReason,
    Response,
    Session,
    Study,
    User,
)
from annotation.queries.adjudication import SEVERAL, changed_gold, given_answers
from annotation.queries.quality import gold_changed
from annotation.queries.quality_rules import rule_rows
from annotation.services.claims import release_claims
from annotation.services.studies import draw_drafts_again


@transaction.atomic
def mark_gold(
    *,
    target: Target,
    answer: Verdict | int,
    rationale: str,
    since: datetime | None,
    by: User,
    now: datetime,
) -> None:
    """Store what a manager holds to be right of an item; a later answer replaces it.

    Drafts draw their gold items anew, and studies made from now on may take it as one; in those
    that hold it as gold, the answer counts at once.

    Args:
        target: The item.
        answer: A verdict in the comparison's own coordinates, or a score of 1-5.
        rationale: Why; may be empty.
        since: When they looked at what stands; None where they did not.
        by: Who says so.
        now: The moment.

    Raises:
        Refused: see there; what stands was changed after they looked.
    """
    values = _gold_values(target, answer, rationale)
    if not _item(target).select_for_update():
        raise Refused("gold:refused", "there is no such item")
    if not _rows(target, GoldSource.MANAGER).filter(**values).exists():
        _check_seen(target, since)
    _store_gold(target, values, source=GoldSource.MANAGER, action="gold.marked", by=by, now=now)


@transaction.atomic
def withdraw_gold(*, target: Target, since: datetime | None, by: User, now: datetime) -> None:
    """Take back what a manager held to be right; other sources stand as they are.

    Withdrawing what is not there changes nothing.

    Raises:
        Refused: what stands was changed after they looked.
    """
    list(_item(target).select_for_update())
    gold = _rows(target, GoldSource.MANAGER).first()
    if gold is None:
        return
    _check_seen(target, since)
    before = {name: getattr(gold, name) for name in ("verdict", "score", "rationale")}
    number = gold.pk
    gold.delete()
    _record_gold(target, number, "gold.withdrawn", by, {"before": before}, now)
    draw_drafts_again(target)


def _check_seen(target: Target, since: datetime | None) -> None:
    if gold_changed(target, since=since):
        raise Refused("gold:outdated")


@transaction.atomic
def decide(
    *,
    target: Target,
    decision: Verdict | int,
    rationale: str,
    by: User,
    now: datetime,
    replaces: datetime | None = None,
    over: Verdict | int | None = None,
) -> None:
    """Store the decision on an item as its gold answer; a later one replaces it, with a trace.

    Args:
        target: The item.
        decision: A verdict in the comparison's own coordinates, or a score of 1-5.
        rationale: Why; not empty.
        by: Who decides.
        now: The moment.
        replaces: When the decision was made that this one is to replace; None where none stood.
        over: The gold answer of the dataset that this one may change; None for none.

    Raises:
        Refused: see there; another decision stands than the one to be replaced; the decision would
            change another gold answer than `over`.
    """
    try:
        if not rationale.strip():
            raise Refused("gold:refused", "a decision needs a reason")
        values = _gold_values(target, decision, rationale)
    except Refused as refused:
        raise Refused("adjudication:refused", str(refused)) from refused
    if len(given_answers(target)) < SEVERAL:
        raise Refused("adjudication:refused", "fewer than two annotators answered this item")
    stands = _decision_in_force(target)
    unseen = stands is not None and stands.created_at != replaces
    if unseen and any(getattr(stands, name) != value for name, value in values.items()):
        raise Refused("adjudication:decided-meanwhile")
    changed = changed_gold(target, decision)
    if changed is not None and changed.value != over:
        raise Refused("adjudication:changes-gold")
    _store_gold(
        target, values, source=GoldSource.ADJUDICATION, action="gold.decided", by=by, now=now
    )


def _gold_values(target: Target, answer: Verdict | int, rationale: str) -> dict[str, Any]:
    """The columns of an answer that fits its item.

    Raises:
        Refused: It does not.
    """
    reason = rationale.strip()
    if isinstance(answer, Verdict):
        if target.kind is not TargetKind.COMPARISON:
            raise Refused("gold:refused", "a verdict is of a comparison")
        return {"verdict": answer.value, "score": None, "rationale": reason}
    if target.kind is TargetKind.COMPARISON or answer not in SCORES:
        raise Refused("gold:refused", "a score is 1 to 5, of a response or a session")
    return {"verdict": None, "score": answer, "rationale": reason}


def _store_gold(
    target: Target,
    values: dict[str, Any],
    *,
    source: GoldSource,
    action: str,
    by: User,
    now: datetime,
) -> None:
    """Write the answer of a source with a trace, or replace it. Call it within a transaction."""
    gold, created = (
        _rows(target, source)
        .select_for_update()
        .get_or_create(
            **{f"{target.kind.value}_id": target.id},
            source=source,
            defaults={**values, "created_by": by, "created_at": now},
        )
    )
    before = None if created else {name: getattr(gold, name) for name in values}
    if before == values:
        return
    if not created:
        for name, value in {**values, "created_by": by, "created_at": now}.items():
            setattr(gold, name, value)
        gold.save()
    detail = {"before": before, "after": values}
    _record_gold(target, gold.pk, action if created else "gold.changed", by, detail, now)
    draw_drafts_again(target)


def _decision_in_force(target: Target) -> GoldLabel | None:
    """What adjudication decided of an item, if anything; nobody else decides it until the commit.

    Call it within a transaction.
    """
    list(_item(target).select_for_update())
    found: GoldLabel | None = _rows(target, GoldSource.ADJUDICATION).first()
    return found


def _item(target: Target) -> Any:
    model = {
        TargetKind.COMPARISON: Comparison,
        TargetKind.RESPONSE: Response,
        TargetKind.SESSION: Session,
    }[target.kind]
    return model._default_manager.filter(pk=target.id)  # noqa: SLF001 - documented


def _rows(target: Target, source: GoldSource) -> Any:
    return GoldLabel.objects.filter(**{f"{target.kind.value}_id": target.id}, source=source)


def _record_gold(
    target: Target,
    number: int,
    action: str,
    by: User,
    detail: dict[str, Any],
    now: datetime,
) -> None:
    AuditEvent.objects.create(
        actor=by,
        action=action,
        target="goldlabel",
        target_id=number,
        detail={target.kind.value: target.id, **detail},
        created_at=now,
    )


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
