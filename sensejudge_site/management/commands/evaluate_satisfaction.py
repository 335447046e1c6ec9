"""`manage.py evaluate_satisfaction`: how well evaluators predict what users said of each turn."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from benchmark.queries.satisfaction import stored_curve
from benchmark.queries.satisfaction_report import SatisfactionReport, evaluation_of
from benchmark.services.evaluation_runs import (
    MOST_DRAWS,
    EvaluationRequest,
    estimate_evaluation,
    plan_evaluation,
)
from benchmark.services.satisfaction_evaluation import (
    DEFAULT_EVALUATORS,
    DEFAULT_SEED,
    with_memory_judge,
)
from benchmark.services.satisfaction_report import DEFAULT_DRAWS
from judging.core.rules import Level
from judging.models import JudgeRun
from judging.queries.runs import current_step
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from sensejudge_site.management.parsing import (
    WORK_FAILED,
    OneLineCommand,
    counted,
    number_from,
)
from sensejudge_site.management.runs import (
    ProgressLine,
    add_cost_arguments,
    budgets_told,
    check_finished,
    dataset_named,
    estimates_told,
)
from sensejudge_site.management.satisfaction import (
    as_json,
    left_out_told,
    lines,
    other_memories,
)

_LOOK_EVERY_SECONDS: Final = 1.0


class Command(OneLineCommand):
    """Evaluates on every rated turn of the test dataset; judges are run where rows are missing."""

    help = "Compares evaluators of turn-level satisfaction with the users' own ratings."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the two datasets, the evaluators, the bootstrap and the learning curve."""
        parser.add_argument("--train", required=True, metavar="SLUG")
        parser.add_argument("--test", required=True, metavar="SLUG")
        parser.add_argument(
            "--evaluators",
            nargs="+",
            default=list(DEFAULT_EVALUATORS),
            metavar="NAME",
            help="baselines, learned, lexical or endpoints; a judge can be followed by ':' and a "
            "variant, such as ':no-memory'; 'learned+JUDGE' stacks the learned evaluator on it; "
            "'stored' means every judge that already has a finished run",
        )
        parser.add_argument(
            "--memory-judge",
            default="",
            metavar="JUDGE",
            help="judge that builds the memories (default: each judge its own); 'JUDGE@BUILDER' "
            "among the evaluators sets it for one",
        )
        parser.add_argument(
            "--level",
            choices=[level.value.lower() for level in Level],
            default=Level.TURN.value.lower(),
            help="score each rated response, or each rated conversation as a whole",
        )
        parser.add_argument(
            "--bootstrap",
            type=number_from(0, MOST_DRAWS),
            default=1_000,
            metavar="N",
            help="resamples of users for the intervals; 0 for no intervals",
        )
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the bootstrap")
        parser.add_argument(
            "--learning-curve",
            action="store_true",
            help="also train on fewer users, to show how much more users help",
        )
        parser.add_argument(
            "--curve-users",
            nargs="+",
            type=int,
            default=[],
            metavar="N",
            help="numbers of training users (default: 4, 8, 12, 16, 24 … up to all users)",
        )
        parser.add_argument(
            "--curve-draws",
            type=number_from(1),
            metavar="N",
            default=DEFAULT_DRAWS,
            help="random groups for each number of users",
        )
        add_cost_arguments(parser, budget="maximum cost of all judges' runs together")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Evaluates and prints; exits 2 over wrong input, 1 where a judge's run failed.

        Raises:
            CommandError: a judge's run failed; the others' figures are printed before.
        """
        request = _request(options)
        if options["estimate"]:
            estimates = estimate_evaluation(request)
            self.stdout.write(estimates_told(estimates, json_wanted=options["json"]))
            return
        run = start(plan_evaluation(request))
        progress = StepsLine(self.stderr, run.pk)
        run = run_to_end(run.pk, observer=progress, on_wait=progress.waits)
        found = evaluation_of(run.pk)
        if found is None:
            for line in budgets_told([run]):
                self.stderr.write(line)
            check_finished([run])
        assert found is not None  # noqa: S101 - a run that is done has stored it
        curve = None
        if options["learning_curve"]:
            curve = stored_curve(train=options["train"], test=options["test"], run=run.pk)
        if found.shared:
            self.stderr.write(f"{counted(len(found.shared), 'user')} rated in both datasets")
        if options["json"]:
            self.stdout.write(json.dumps(as_json(found, curve)))
        else:
            for line in lines(found, curve):
                self.stdout.write(line)
        self._tell_left_out(run, found)

    def _tell_left_out(self, run: JudgeRun, found: SatisfactionReport) -> None:
        """Says which evaluators have no figures, why, and what to do.

        Raises:
            CommandError: a judge's run failed.
        """
        for each in found.skipped:
            self.stderr.write(f"left out, {left_out_told(each)}")
            if each.lacks_memories:
                self.stderr.write(f"  {other_memories(each.evaluator)}")
        for line in budgets_told([run]):
            self.stderr.write(line)
        failed = [each for each in found.skipped if each.run or each.code.startswith("llm:")]
        if failed:
            message = (
                f"{counted(len(failed), 'evaluator')} left out because a judge's run failed; the "
                "others' figures are above. Once the cause is mended, run "
                f"`judge --retry {run.pk}` to ask again"
            )
            raise CommandError(message, returncode=WORK_FAILED)


class StepsLine(ProgressLine):
    """Names each step of a comparison as it begins, beside the questions that are asked."""

    def __init__(self, stream: OutputWrapper, run_id: int) -> None:
        super().__init__(stream, "judging")
        self._steps = stream
        self._run_id = run_id
        self._told = ""
        self._looked = time.monotonic()

    def __call__(self, answers: int) -> None:
        """Looks every second, also where a commit brought no answer."""
        super().__call__(answers)
        if time.monotonic() - self._looked < _LOOK_EVERY_SECONDS:
            return
        self._looked = time.monotonic()
        step = current_step(self._run_id)
        told = "" if step is None else f"step {step.place} of {step.steps}: {step.name}"
        if told and told != self._told:
            self._steps.write(told)
        self._told = told


def _request(options: dict[str, Any]) -> EvaluationRequest:
    return EvaluationRequest(
        train=dataset_named(options["train"]),
        test=dataset_named(options["test"]),
        evaluators=[
            with_memory_judge(name, options["memory_judge"])
            for part in options["evaluators"]
            for name in part.split(",")
            if name
        ],
        seed=options["seed"],
        draws=options["bootstrap"],
        level=Level(options["level"].upper()),
        curve=options["learning_curve"],
        curve_users=options["curve_users"],
        curve_draws=options["curve_draws"],
        budget=options["budget"],
    )
