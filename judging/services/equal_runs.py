"""One run at a time does the same: whoever wants another is led to it, whoever started it.

Runs are equal that are of one kind, over the same data for the same annotator, by the same judge
under the same configuration: they would ask the same calls. Two that start at the same moment are
told apart by the database (`run_under_way_once`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.query import QuerySet

from judging.models import JudgeRun, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.budgets import set_budget


def start_once(
    wanted: JudgeRun,
    write_rows: Callable[[JudgeRun], object],
    *,
    again: bool = False,
    config: Mapping[str, Any] | None = None,
) -> JudgeRun:
    """Save a run with its rows, unless an equal one is under way: then that one, `attached`.

    The budget that was wanted becomes that of the run which is under way.

    Args:
        wanted: not saved yet.
        write_rows: writes the rows of the saved run, in the same transaction.
        again: start anew beside the run that is under way; others attach to the new one from then.
        config: what of the configuration makes runs equal; all of it without.
    """
    wanted.plan = _plan(wanted, wanted.config if config is None else config)
    with transaction.atomic():
        if again:
            _under_way(wanted.plan).update(plan="")
        same = _under_way(wanted.plan).first() or _save_or_find(wanted)
        if same is None:
            write_rows(wanted)
            return wanted
        if wanted.budget is not None:
            set_budget(same.pk, wanted.budget)
    same.attached = True
    return same


def _save_or_find(wanted: JudgeRun) -> JudgeRun | None:
    """None once it is saved; the equal run where somebody else saved it at the same moment."""
    try:
        with transaction.atomic():
            wanted.save(force_insert=True)
    except IntegrityError:
        same = _under_way(wanted.plan).first()
        if same is None:
            raise
        return same
    return None


def _under_way(plan: str) -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(plan=plan, status__in=(*UNFINISHED, RunStatus.BATCH))


def _plan(run: JudgeRun, config: Mapping[str, Any]) -> str:
    """64 hexadecimal digits."""
    parts = [run.kind, run.dataset_id, run.annotator_id, run.judge, run.parent_id, config]
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()
