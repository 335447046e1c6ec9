"""`manage.py evaluate_satisfaction`: how well evaluators predict what users said of each turn."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from benchmark.queries.satisfaction import stored_curve
from benchmark.queries.satisfaction_report import evaluation_of
from benchmark.services.evaluation_runs import (
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
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from sensejudge_site.management.parsing import OneLineCommand, counted
from sensejudge_site.management.runs import (
    ProgressLine,
    add_cost_arguments,
    check_finished,
    dataset_named,
    estimates_told,
)
from sensejudge_site.management.satisfaction import as_json, lines


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
            "among the evaluators says so of one",
        )
        parser.add_argument(
            "--level",
            choices=[level.value.lower() for level in Level],
            default=Level.TURN.value.lower(),
            help="score each rated response, or each rated conversation as a whole",
        )
        parser.add_argument("--bootstrap", type=int, default=1_000, help="0 for no intervals")
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
            type=int,
            default=DEFAULT_DRAWS,
            help="random groups for each number of users",
        )
        add_cost_arguments(parser, budget="maximum cost of all judges' runs together")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Evaluates and prints; exits 2 over wrong input, 1 where a judge's run failed."""
        if options["bootstrap"] < 0 or options["curve_draws"] < 1:
            message = "--bootstrap must not be negative, and --curve-draws must be 1 or more"
            raise CommandError(message, returncode=2)
        request = _request(options)
        if options["estimate"]:
            estimates = estimate_evaluation(request)
            self.stdout.write(estimates_told(estimates, json_wanted=options["json"]))
            return
        progress = ProgressLine(self.stderr, "judging")
        run = start(plan_evaluation(request))
        run = run_to_end(run.pk, observer=progress, on_wait=progress.waits)
        check_finished([run])
        found = evaluation_of(run.pk)
        assert found is not None  # noqa: S101 - a run that is done has stored it
        curve = None
        if options["learning_curve"]:
            curve = stored_curve(train=options["train"], test=options["test"], run=run.pk)
        if found.shared:
            self.stderr.write(f"{counted(len(found.shared), 'user')} rated in both datasets")
        for reason in found.skipped:
            self.stderr.write(f"left out, {reason}")
        if options["json"]:
            self.stdout.write(json.dumps(as_json(found, curve)))
        else:
            for line in lines(found, curve):
                self.stdout.write(line)


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
