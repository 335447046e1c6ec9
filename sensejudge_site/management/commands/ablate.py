"""`manage.py ablate`: the paper's ablations, one thing varied at a time."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from benchmark.core.ablation import AblationRow, Vary
from benchmark.queries.ablations import StoredAblation, stored_ablation
from benchmark.services.ablations import ablate, estimate_ablation
from judging.models import JudgeRun, RunKind
from judging.services.endpoints import check_budget, set_budget
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL, endpoint_for
from judging.services.kinds import plan
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import WORK_FAILED, OneLineCommand
from sensejudge_site.management.runs import (
    ProgressLine,
    add_arguments,
    dataset_named,
    estimates_told,
    judges_named,
    people,
)


class Command(OneLineCommand):
    """Measures every variant on the same test comparisons and stores the table."""

    help = "Varies one setting of the method, all else equal, and measures each variant."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose labels, by which judges, and what is varied."""
        add_arguments(
            parser,
            judge="judge that distils and judges (default: lexical)",
            several="--vary judge tries every pair of them",
            budget="maximum cost of all runs together",
        )
        parser.add_argument("--vary", required=True, choices=[each.value for each in Vary])

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works everything off that is missing, then prints the table."""
        dataset = dataset_named(options["dataset"])
        judges = [name or LEXICAL for name in judges_named(options["judge"], usual=LEXICAL)]
        asked: dict[str, Any] = {
            "dataset": dataset,
            "vary": Vary(options["vary"]),
            "judges": judges,
        }
        try:
            annotators = _who_labelled(dataset, options["annotator"], judges[0])
            if options["estimate"]:
                users = [user for _, user in annotators]
                estimates = estimate_ablation(annotators=users, **asked)
                self.stdout.write(estimates_told(estimates, json_wanted=options["json"]))
                return
            purse = _CommandBudget(options["budget"], judges, self.stderr)
            report = ablate(annotators=annotators, finish=purse.finish, **asked)
        except Refused as refused:
            if refused.code != "budget:spent":
                raise
            raise _spent(str(refused), options) from refused
        found = stored_ablation(report)
        if options["json"]:
            self.stdout.write(json.dumps(_fields(found), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))
        if found.left_out:
            raise _spent(f"{', '.join(found.left_out)} left out", options)


def _who_labelled(dataset: Dataset, name: str, judge: str) -> list[tuple[str, User]]:
    """The annotator of a name, or everybody who labelled something that can be judged.

    Raises:
        Refused: there is nobody.
    """
    if name:
        return list(people(dataset, name))
    request = RunRequest(kind=RunKind.DISTIL, dataset=dataset, judge=judge)
    able = {run.annotator for run in plan(request)}
    return [(each, user) for each, user in people(dataset, "") if user in able]


class _CommandBudget:
    """What is left of a budget for all runs of a command; works them off within it."""

    def __init__(
        self, budget: Decimal | None, judges: Sequence[str], stream: OutputWrapper
    ) -> None:
        """Takes the judges that may be asked.

        Raises:
            Refused: there is a budget, but one asks an endpoint without prices, or none asks; there
                is no such judge.
        """
        self._left = budget
        self._stream = stream
        found = [endpoint_for(judge) for judge in judges]
        for endpoint in found:
            if endpoint is not None or not any(found):  # the lexical judge beside another is free
                check_budget(budget, endpoint=endpoint)

    def finish(self, run: JudgeRun) -> JudgeRun:
        """Works a run off with what is left."""
        if self._left is not None and run.endpoint_id is not None:
            set_budget(run.pk, self._left + run.held)
        progress = ProgressLine(self._stream, f"run {run.pk}")
        done = run_to_end(run.pk, observer=progress, on_wait=progress.waits)
        if self._left is not None:
            self._left = max(Decimal(0), self._left - (done.held - run.held))
        return done


def _spent(what: str, options: dict[str, Any]) -> CommandError:
    """The way to end when the money did, with the command that goes on."""
    names = ("dataset", "annotator", "vary", "judge")
    words = [f"--{name} {shlex.quote(options[name])}" for name in names if options[name]]
    message = (
        f"{'budget:spent'}: {what}; to resume, run `ablate {' '.join(words)} --budget N`, "
        "where N covers only the remaining calls; stored replies are reused"
    )
    return CommandError(message, returncode=WORK_FAILED)


def _fields(found: StoredAblation) -> dict[str, Any]:
    return {
        "report": found.id,
        "vary": found.vary.value,
        "judges": list(found.judges),
        "seed": found.seed,
        "left_out": list(found.left_out),
        "rows": [row.to_json() for row in found.rows],
    }


def _lines(found: StoredAblation) -> Iterator[str]:
    yield f"{found.vary.value} ({', '.join(found.judges)}), report {found.id}"
    yield f"{'annotator':<16}{'variant':<24}{'n':>6}{'agreement':>11}{'interval':>16}{'voting':>8}"
    for row in found.rows:
        yield (
            f"{row.annotator:<16}{row.variant:<24}{row.comparisons:>6}"
            f"{_percent(row.accuracy):>11}{_interval(row):>16}{row.members:>8}"
        )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f} %"


def _interval(row: AblationRow) -> str:
    if row.low is None or row.high is None:
        return "-"
    return f"{row.low * 100:.1f} - {row.high * 100:.1f}"
