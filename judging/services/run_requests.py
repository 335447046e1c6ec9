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

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from judging.core.injections import AttackFamily
from judging.core.rules import (
    GenerationSettings,
    JudgePrompt,
    PairwiseSettings,
    SatisfactionSettings,
)
from judging.core.targets import RunTarget, Targets
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, ModelEndpoint, RunKind, RunStatus
from judging.queries.configurations import WRITER, distil_plans, pairwise_settings
from judging.queries.runs import UNFINISHED, can_answer_more
from judging.services.endpoints import check_budget, set_budget
from judging.services.judges import endpoint_for


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What is asked for; `kinds.plan` says which runs that is.

    Attributes:
        kind: TEST becomes GRADE where the prompt grades.
        dataset: where the comparisons or turns are.
        annotator: whose labels the run is about; None for everybody's.
        judge: who judges, or the endpoint that answers; None for the judge that selected, or the
            lexical one.
        writer: who distils, builds memories, or rephrases lists; None for the judge. Of a test run,
            who distilled the sets that it applies; None for whoever did.
        selected_by: of a test run, which judge selected the sets that it applies; None for the
            judge that applies them.
        prompt: how a test run asks; any but the paper's takes no preferences, and those that grade
            give one verdict a comparison, by the two grades.
        with_sets: False has a test run judge under the base judge alone, which needs no
            distillation.
        verdict: how a test run reads replies; None for as the distillation it applies does, and
            strictly by any prompt but the paper's.
        sets_of: another annotator, whose sets a test run tries on this one's labels.
        with_control: whether a test run under the annotator's own sets also asks what stands in for
            the other annotators.
        draw: of a test run, how many preferences of each set judge, drawn at random, in place of
            those that were selected; it becomes RANKING, whose verdicts rank models and measure no
            agreement. 0 for none.
        sets_dataset: where the sets were learned, or the history was rated; None for the dataset
            that is judged. A satisfaction run scores all of the dataset where it is given.
        targets: what a test run judges, or a satisfaction run scores; of a generation the filters
            and the sample.
        pairwise: the rules of a distillation; a test run follows those of the one it applies.
        satisfaction: the rules of a satisfaction run.
        generation: the rules of a run that generates responses.
        parent: a distillation, whose edited preferences are judged again (DISTIL), or whose test
            comparisons are judged under some of its preferences (ABLATION).
        preferences: of an ablation, by scenario; the base judge's is judged as well.
        for_ablation: what is distilled is never taken for the annotator's preferences.
        pairs: what an injection check tries the judge on, as `TriedPair.to_json` gives them.
        attack: of an injection check, what it does to them.
        budget: what the calls of each run may cost in all.
        batch_file: calls are written to a file and read back (`batch_files`).
        created_by: who asks.
    """

    kind: RunKind
    dataset: Dataset
    annotator: User | None = None
    judge: str | None = None
    writer: str | None = None
    selected_by: str | None = None
    prompt: JudgePrompt = JudgePrompt.PERSONAL
    with_sets: bool = True
    verdict: VerdictRule | None = None
    sets_of: User | None = None
    with_control: bool = True
    draw: int = 0
    sets_dataset: Dataset | None = None
    targets: Targets = field(default_factory=Targets)
    pairwise: PairwiseSettings = field(default_factory=PairwiseSettings)
    satisfaction: SatisfactionSettings = field(default_factory=SatisfactionSettings)
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    parent: JudgeRun | None = None
    preferences: Mapping[int | None, Sequence[int]] = field(default_factory=dict)
    for_ablation: bool = False
    pairs: Sequence[Mapping[str, Any]] = ()
    attack: AttackFamily = AttackFamily.TEXTS
    budget: Decimal | None = None
    batch_file: bool = False
    created_by: User | None = None

    @property
    def is_for_nobody(self) -> bool:
        """Whether a test run without an annotator judges in nobody's stead: under no sets."""
        takes_sets = self.with_sets and self.prompt is JudgePrompt.PERSONAL
        return not takes_sets and self.targets.kind is not RunTarget.TEST

    def endpoint(self, judge: str) -> ModelEndpoint | None:
        """The endpoint behind the name of a judge, where the request can be put to it.

        Raises:
            Refused: there is no such judge; there is a budget, but calls have no price.
        """
        endpoint = endpoint_for(judge)
        check_budget(self.budget, endpoint)
        return endpoint

    def asked_of(self, judge: str) -> dict[str, Any]:
        """The columns of a run that say who is asked: the judge, and who writes where it does not.

        Raises:
            Refused: there is no such judge; there is a budget, but calls have no price.
        """
        writer = "" if self.writer in (None, judge) else self.writer or ""
        endpoint = endpoint_for(judge)
        writes = endpoint_for(writer) if writer else None
        check_budget(self.budget, endpoint, writes)
        return {
            "judge": judge,
            "endpoint": endpoint,
            "writer": writer,
            "writer_endpoint": writes,
        }

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

    Raises:
        Refused: its dataset was deleted since it was planned.
    """
    wanted.plan = _plan(wanted)
    with transaction.atomic():
        # First of all: who starts several runs would else wait for who waits for this lock.
        _check_there(wanted)
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


def _check_there(run: JudgeRun) -> None:
    """The dataset is not deleted, nor can be before the transaction ends."""
    locked = Dataset.objects.select_for_update(no_key=True).filter(pk=run.dataset_id)
    if not locked.values_list("pk", flat=True):
        raise Refused("dataset:archived")


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
    config = run.config
    if run.kind == RunKind.TRAIN:
        config = {name: config[name] for name in ("level",) if name in config}
    judges = [run.judge, run.writer]
    parts = [run.kind, run.dataset_id, run.annotator_id, judges, run.parent_id, config]
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


def finished_like(wanted: JudgeRun) -> JudgeRun | None:
    """The newest finished run about the same, of which another would be a repetition.

    A run that left rows out for want of money is none: whoever needs it needs all its answers.
    Neither is one that another try could bring more answers (`can_answer_more`).
    """
    finished = JudgeRun.objects.filter(
        kind=wanted.kind,
        dataset=wanted.dataset,
        annotator=wanted.annotator,
        judge=wanted.judge,
        writer=wanted.writer,
        parent=wanted.parent,
        status=RunStatus.DONE,
        error_code="",
    ).order_by("-pk")
    about = _is_about(wanted)
    equal = (run for run in finished if _is_about(run) == about)
    return next((run for run in equal if not can_answer_more(run)), None)


def _is_about(run: JudgeRun) -> object:
    if run.kind != RunKind.DISTIL:
        return run.config
    # What decides a distillation's preferences, the shuffled control aside.
    settings = replace(pairwise_settings(run.config), shuffled_control=False, control_draws=None)
    plans = [
        (each.scenario_id, each.winners, each.test_winners) for each in distil_plans(run.config)
    ]
    return settings, plans, run.config.get("judge"), run.config.get(WRITER)
