"""`manage.py evaluate_satisfaction`: how well evaluators predict what users said of each turn."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.models import Dataset
from benchmark.services.satisfaction_evaluation import (
    DEFAULT_EVALUATORS,
    DEFAULT_SEED,
    evaluate_satisfaction,
)
from benchmark.services.satisfaction_report import (
    DEFAULT_DRAWS,
    CurveReport,
    evaluate_learning_curve,
)
from judging.core.rules import Level
from sensejudge_site.management.parsing import OneLineCommand, counted
from sensejudge_site.management.runs import ProgressLine, dataset_named
from sensejudge_site.management.satisfaction import as_json, lines


class Command(OneLineCommand):
    """Evaluates on every rated turn of the test dataset; judges are run where rows are missing."""

    help = "Compares evaluators of turn-level satisfaction with the users' own ratings."
    _models = 0

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
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Evaluates and prints; exits 2 over wrong input, 1 where a judge's run failed."""
        names = [name for part in options["evaluators"] for name in part.split(",") if name]
        if options["bootstrap"] < 0 or options["curve_draws"] < 1:
            message = "--bootstrap must not be negative, and --curve-draws must be 1 or more"
            raise CommandError(message, returncode=2)
        train, test = dataset_named(options["train"]), dataset_named(options["test"])
        # First, for it takes more users: nothing is stored of a comparison that lacks it.
        curve = self._curve(train, test, options) if options["learning_curve"] else None
        found = evaluate_satisfaction(
            train=train,
            test=test,
            evaluators=names,
            seed=options["seed"],
            draws=options["bootstrap"],
            level=Level(options["level"].upper()),
            observer=ProgressLine(self.stderr, "judging"),
        )
        if found.shared:
            self.stderr.write(f"{counted(len(found.shared), 'user')} rated in both datasets")
        for reason in found.skipped:
            self.stderr.write(f"left out, {reason}")
        if options["json"]:
            self.stdout.write(json.dumps(as_json(found, curve)))
        else:
            for line in lines(found, curve):
                self.stdout.write(line)

    def _curve(self, train: Dataset, test: Dataset, options: dict[str, Any]) -> CurveReport:
        return evaluate_learning_curve(
            train=train,
            test=test,
            sizes=options["curve_users"],
            draws=options["curve_draws"],
            seed=options["seed"],
            bootstrap=options["bootstrap"],
            observer=self._trained,
        )

    def _trained(self, models: int) -> None:
        """Says that the curve goes on: a model takes seconds."""
        self._models += models
        self.stderr.write(f"learning curve: {self._models} models trained")
