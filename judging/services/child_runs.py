"""Runs that take their steps by runs of their own: a unit and its child, worked off in turn.

The worker that has a unit works off one batch of its child and lets others have their turn, so
that a long run keeps nobody waiting. Whoever else is at work on the child is let go on.
"""

from __future__ import annotations

import time
from decimal import ROUND_DOWN, Decimal
from typing import Final

from django.db import transaction
from django.db.models import Sum

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.llm.errors import LlmCode
from judging.models import JudgeRun, RunStatus, RunUnit
from judging.queries.runs import EARLIER, UNFINISHED, own_runs, unit_rows
from judging.services.batches import BatchWork
from judging.services.endpoints import set_budget
from judging.services.heartbeats import beat
from judging.services.kinds import check_abilities, write
from judging.services.run_control import has_failed_rows, is_left, put_down, reset_failed
from judging.services.run_requests import finished_like
from judging.services.runs import dispatch, run_batch

WAIT_SECONDS: Final = 0.5
_SMALLEST: Final = Decimal("0.0001")


def choose_child(run: JudgeRun, unit: RunUnit, wanted: JudgeRun) -> None:
    """Give a unit the run that it is about: a finished one, one under way, or a new one.

    A unit that was given one meanwhile keeps it.

    Args:
        run: whose unit it is.
        unit: without a child.
        wanted: planned, not saved.

    Raises:
        Refused: the run cannot be started, or not again; see `kinds.check_abilities` and
            `run_control.reset_failed`.
        SupersededError: the run was cancelled, or somebody else has it now.
    """
    check_abilities(wanted)
    with transaction.atomic():
        beat(run)  # locks its row: who cancels it waits, and then finds the child
        unit.refresh_from_db()
        if unit.child_id is not None:
            return
        finished = finished_like(wanted)
        unit.child = finished or write(wanted)
        own = finished is not None and finished.pk in unit.plan.get(EARLIER, ())
        unit.reused = (finished is not None and not own) or unit.child.attached
        if own and not unit_rows(run.pk).filter(child=unit.child_id).exists():
            _ask_failed(unit.child)
        unit.save(update_fields=["child", "reused"])


def _ask_failed(child: JudgeRun) -> None:
    """Has a run that a retry comes to once more answer what failed in it."""
    if has_failed_rows(child):
        reset_failed(child.pk)


def go_on(run: JudgeRun, unit: RunUnit, work: BatchWork) -> JudgeRun:
    """Works off a batch of a unit's child, or waits for a moment while somebody else does.

    Args:
        run: whose unit it is; its budget is for all its children together.
        unit: with a child.
        work: how.

    Returns:
        The child as it is then, which may be unfinished.
    """
    child = JudgeRun.objects.select_related("endpoint").get(unit_of=unit)
    if child.status not in UNFINISHED:
        return child
    if not is_left(child):
        time.sleep(WAIT_SECONDS)
    else:
        _share_budget(run, unit, child)
        following = dispatch(child.pk, generation=child.generation)
        if following is not None:
            run_batch(
                child.pk,
                following.generation,
                following.batches[0],
                opener=work.opener,
                observer=work.observer,
            )
            put_down(child.pk, generation=following.generation)
    JudgeRun.objects.filter(pk=run.pk).update(held=_spent(run))
    child.refresh_from_db()
    return child


def _share_budget(run: JudgeRun, unit: RunUnit, child: JudgeRun) -> None:
    """What is left of the run's money is the child's, unless others have started it."""
    if run.budget is None or unit.reused or child.endpoint_id is None:
        return
    left = max(Decimal(0), run.budget - _spent(run)) + child.held
    set_budget(child.pk, left.quantize(_SMALLEST, rounding=ROUND_DOWN))


def _spent(run: JudgeRun) -> Decimal:
    own = JudgeRun.objects.filter(pk__in=own_runs(run.pk))
    total: Decimal | None = own.aggregate(sum=Sum("held"))["sum"]
    return total or Decimal(0)


def end_unit(unit: RunUnit, result: object = None) -> None:
    """Note that a unit is done, and what came of it."""
    pending = RunUnit.objects.filter(pk=unit.pk, status=JudgmentStatus.PENDING)
    pending.update(status=JudgmentStatus.DONE, result={} if result is None else result)


def fail_unit(unit: RunUnit, code: str, result: object) -> None:
    """Note that a unit failed, by which code, and what is to be told of it."""
    pending = RunUnit.objects.filter(pk=unit.pk, status=JudgmentStatus.PENDING)
    pending.update(status=JudgmentStatus.FAILED, error_code=code, result=result)


def fail_with_child(unit: RunUnit, child: JudgeRun) -> None:
    """Note that a unit failed as its child did: its run goes on without it."""
    told = {"run": child.pk, "detail": child.error_detail, "ending": ending(child)}
    fail_unit(unit, child.error_code or "run:failed", told)


def refuse_unit(unit: RunUnit, refused: Refused) -> None:
    """Note that a unit's run could not be started: that unit fails, and its run goes on."""
    told = {"run": None, "detail": str(refused), "ending": f"{unit.name}: {refused}"}
    fail_unit(unit, refused.code, told)


def end_for_want_of_money(run: JudgeRun) -> None:
    """Note that the money ended before the units that are pending did."""
    pending = unit_rows(run.pk).filter(status=JudgmentStatus.PENDING)
    pending.update(status=JudgmentStatus.FAILED, error_code=LlmCode.BUDGET_SPENT.value)


def has_all_answers(child: JudgeRun) -> bool:
    """Whether a finished child did not stop, or leave rows out for want of money."""
    return child.status == RunStatus.DONE and child.error_code != LlmCode.BUDGET_SPENT


def ending(child: JudgeRun) -> str:
    """How a child ended before its time, in one line."""
    why = f"{child.error_code} {child.error_detail}".strip()
    return f"run {child.pk}: {child.status.lower()} {why}".rstrip()
