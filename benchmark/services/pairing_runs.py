"""Making the comparisons of a plan as a run: where there are many, planning them takes a while."""

from __future__ import annotations

from typing import Final

from annotation.core.pairing import PairingKind, PairingRules
from annotation.models import Dataset, PairingPlan, User
from annotation.queries.pairing import plan_fields, rules_of_plan
from annotation.services.imports.comparisons import MadeComparisons
from benchmark.queries.ranking import Source
from benchmark.services.pairing import Verdicts, make_next_batch
from judging.core.runs import StageName
from judging.models import JudgeRun, RunUnit
from judging.queries.runs import unit_rows
from judging.services.batches import BatchWork, UnitStage
from judging.services.child_runs import end_unit
from judging.services.heartbeats import Pulse, beat
from judging.services.kinds import Kind

RUN_KIND: Final = "PAIR"


def plan_pairing(
    dataset: Dataset, rules: PairingRules, verdicts: Verdicts, *, by: User | None = None
) -> JudgeRun:
    """A run that makes what a plan adds once it is worked off; not saved, and asks no judge."""
    wanted = plan_fields(rules)
    if rules.kind is PairingKind.ADAPTIVE:
        wanted |= {
            "verdicts": verdicts.source.value,
            "verdicts_of": verdicts.judge,
            "incomplete": verdicts.incomplete,
        }
    config = {name: value for name, value in wanted.items() if value not in (None, "", {})}
    return JudgeRun(kind=RUN_KIND, dataset=dataset, judge="", config=config, created_by=by)


def write_pairing(run: JudgeRun) -> None:
    """Write the one unit: a plan is made as a whole, or not at all."""
    name = f"{run.config['kind'].lower()} {run.config.get('anchor') or run.config.get('size', '')}"
    RunUnit.objects.create(run=run, position=0, name=name.strip()[:200])


def work_pairing(run: JudgeRun, unit: RunUnit, _work: BatchWork) -> None:
    """Make what the plan adds by now, and note it in the same transaction.

    Raises:
        Refused: see `make_next_batch`.
        SupersededError: the run was cancelled, or somebody else has it now; nothing was made.
    """

    def note(made: MadeComparisons) -> None:
        end_unit(unit, {"plan": made.plan.pk, "created": made.created})
        beat(run)

    rules, verdicts = _rules(run), _verdicts(run)
    make_next_batch(run.dataset, rules, verdicts, by=run.created_by, pulse=Pulse(run), note=note)


def _rules(run: JudgeRun) -> PairingRules:
    columns = plan_fields(PairingRules())
    fields = {name: value for name, value in run.config.items() if name in columns}
    return rules_of_plan(PairingPlan(**fields))


def _verdicts(run: JudgeRun) -> Verdicts:
    asked = run.config
    source = Source(asked.get("verdicts", Source.HUMAN))
    return Verdicts(source, asked.get("verdicts_of", ""), asked.get("incomplete", False))


def created_by_run(run: JudgeRun) -> int:
    """How many comparisons a finished run created."""
    created: int = unit_rows(run.pk).get().result["created"]
    return created


PAIR: Final = Kind(None, write_pairing, (UnitStage(StageName.UNIT, work_pairing),))
