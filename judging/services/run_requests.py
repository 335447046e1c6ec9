"""What is asked for when a run is, and that of two equal runs at once one is started."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.query import QuerySet

from annotation.models import Dataset, User
from judging.core.rules import JudgePrompt, PairwiseSettings, SatisfactionSettings
from judging.models import JudgeRun, ModelEndpoint, RunKind, RunStatus
from judging.queries.configurations import distil_plans, pairwise_settings
from judging.queries.runs import UNFINISHED
from judging.services.endpoints import check_budget, set_budget
from judging.services.judges import endpoint_for


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What is asked for; `kinds.plan` says which runs that is.

    Attributes:
        kind: TEST becomes GRADE where the prompt grades.
        dataset: where the comparisons or turns are.
        annotator: whose labels the run is about; None for everybody's.
        judge: who judges; None for the judge that distilled, or the lexical one.
        prompt: how a test run asks; any but the paper's takes no preferences, and those that grade
            give one verdict a comparison, by the two grades.
        with_sets: False has a test run judge under the base judge alone, which needs no
            distillation.
        sets_of: another annotator, whose sets a test run tries on this one's labels.
        pairwise: the rules of a distillation; a test run follows those of the one it applies.
        satisfaction: the rules of a satisfaction run.
        parent: a distillation, whose edited preferences are judged again (DISTIL), or whose test
            comparisons are judged under some of its preferences (ABLATION).
        preferences: of an ablation, by scenario; the base judge's is judged as well.
        for_ablation: what is distilled is never taken for the annotator's preferences.
        budget: what the calls of each run may cost in all.
        batch_file: calls are written to a file and read back (`batch_files`).
        created_by: who asks.
    """

    kind: RunKind
    dataset: Dataset
    annotator: User | None = None
    judge: str | None = None
    prompt: JudgePrompt = JudgePrompt.PERSONAL
    with_sets: bool = True
    sets_of: User | None = None
    pairwise: PairwiseSettings = field(default_factory=PairwiseSettings)
    satisfaction: SatisfactionSettings = field(default_factory=SatisfactionSettings)
    parent: JudgeRun | None = None
    preferences: Mapping[int, Sequence[int]] = field(default_factory=dict)
    for_ablation: bool = False
    budget: Decimal | None = None
    batch_file: bool = False
    created_by: User | None = None

    def endpoint(self, judge: str) -> ModelEndpoint | None:
        """The endpoint behind the name of a judge, where the request can be put to it.

        Raises:
            Refused: there is no such judge; there is a budget, but calls have no price.
        """
        endpoint = endpoint_for(judge)
        check_budget(self.budget, endpoint=endpoint)
        return endpoint

    def run(self, **columns: Any) -> JudgeRun:
        """A run that was asked for, with the columns that planning decides; not saved."""
        asked = {
            "kind": self.kind,
            "dataset": self.dataset,
            "annotator": self.annotator,
            "budget": self.budget,
            "status": RunStatus.BATCH if self.batch_file else RunStatus.PENDING,
            "created_by": self.created_by,
        }
        return JudgeRun(**asked | columns)


def start_once(
    wanted: JudgeRun, write_rows: Callable[[JudgeRun], object], *, again: bool = False
) -> JudgeRun:
    """Save a run with its rows, unless an equal one is under way: then that one, `attached`.

    The budget that was wanted becomes that of the run which is under way.

    Args:
        wanted: not saved yet.
        write_rows: writes the rows of the saved run, in the same transaction.
        again: start anew beside the run that is under way; others attach to the new one from then.
    """
    wanted.plan = _plan(wanted)
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


def _plan(run: JudgeRun) -> str:
    """64 hexadecimal digits."""
    # A training takes the ratings as it finds them: one under way will do, whatever they were.
    config = {} if run.kind == RunKind.TRAIN else run.config
    parts = [run.kind, run.dataset_id, run.annotator_id, run.judge, run.parent_id, config]
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


def finished_like(wanted: JudgeRun) -> JudgeRun | None:
    """The newest finished run about the same, of which another would be a repetition.

    Runs about comparisons count where they got all their answers.
    """
    finished = JudgeRun.objects.filter(
        kind=wanted.kind,
        dataset=wanted.dataset,
        annotator=wanted.annotator,
        judge=wanted.judge,
        parent=wanted.parent,
        status=RunStatus.DONE,
        **({} if wanted.kind == RunKind.SATISFACTION else {"error_code": ""}),
    ).order_by("-pk")
    return next((run for run in finished if _is_about(run) == _is_about(wanted)), None)


def _is_about(run: JudgeRun) -> object:
    if run.kind != RunKind.DISTIL:
        return run.config
    # What decides a distillation's preferences, the shuffled control aside.
    settings = replace(pairwise_settings(run.config), shuffled_control=False)
    plans = [
        (each.scenario_id, each.winners, each.test_winners) for each in distil_plans(run.config)
    ]
    return settings, plans, run.config.get("judge")
