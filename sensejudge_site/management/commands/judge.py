"""`manage.py judge`: judge the test split under the selected preferences."""

from __future__ import annotations

import json
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from annotation.queries.participants import resolve_annotator
from judging.core.rules import JudgePrompt, prompt_of
from judging.core.runs import JudgedTotals
from judging.models import JudgeRun, RunKind
from judging.queries.runs import judged_totals
from judging.services.endpoints import set_budget
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from judging.services.run_control import reset_failed
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import OneLineCommand
from sensejudge_site.management.runs import (
    ProgressLine,
    add_again_argument,
    add_arguments,
    add_batch_arguments,
    budgets_told,
    by_batch_file,
    check_finished,
    dataset_named,
    estimates_told,
    planned_runs,
    still_waiting,
    through_file,
)

SELECTED: Final = "selected"
NONE: Final = "none"
OF: Final = "of:"

_NOTHING_TO_DO: Final = frozenset({"run:no-labels", "run:not-distilled"})
"""Why one annotator of several is left out."""


class Command(OneLineCommand):
    """Judges for one annotator or for all, without any worker."""

    help = "Judges the test split under the selected preferences, in both presentation orders."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose comparisons, under which preferences, by which judge."""
        add_arguments(parser, judge="judge to use (default: the judge that distilled)")
        parser.add_argument(
            "--preferences",
            default=SELECTED,
            metavar=f"{SELECTED}|{NONE}|{OF}NAME",
            help="the annotator's own sets, only the base judge, or another annotator's sets",
        )
        parser.add_argument(
            "--prompt",
            default=JudgePrompt.PERSONAL.word,
            choices=[each.word for each in JudgePrompt],
            help="judging prompt; only personal uses preferences",
        )
        add_batch_arguments(parser)
        add_again_argument(parser)
        parser.add_argument(
            "--retry",
            type=int,
            metavar="RUN",
            help="retry only what failed in this run, which can be of any kind",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works the runs off and prints the counts."""
        if options["retry"] is not None:
            self._report([self._retried(options)], {}, json_wanted=options["json"])
            return
        planned = self._planned(options)
        if options["estimate"]:
            estimates = [estimate(run) for _, run in planned]
            self.stdout.write(estimates_told(estimates, json_wanted=options["json"]))
            return
        again = options["again"]
        if by_batch_file(options):
            runs = [start(run, again=again) for _, run in planned]
            more = through_file(runs, options)
        else:
            runs = [self._finish(name, start(run, again=again)) for name, run in planned]
            more = {}
        self._report(runs, more, json_wanted=options["json"])

    def _report(self, runs: list[JudgeRun], more: dict[str, Any], *, json_wanted: bool) -> None:
        waiting = still_waiting(runs)
        totals = _sum([judged_totals(run.pk) for run in runs])
        fields = {
            "judged": totals.judged,
            "failed": totals.failed,
            "unparseable": totals.unparseable,
            "calls": totals.calls,
            "cost": totals.cost,
            "errors": dict(totals.errors),
            "runs": [run.pk for run in runs],
            **more,
            **({"waiting": waiting} if more else {}),
        }
        if json_wanted:
            self.stdout.write(json.dumps(fields))
        else:
            if totals.calls and totals.cost is None:
                fields["cost"] = "unknown"
            self.stdout.write("\n".join(f"{name}: {_word(one)}" for name, one in fields.items()))
        for said in budgets_told(runs):
            self.stderr.write(said)
        check_finished(runs)

    def _planned(self, options: dict[str, Any]) -> list[tuple[str, JudgeRun]]:
        """A run for each annotator and judge, where there is something to judge.

        Raises:
            Refused: there is nothing for anybody.
        """
        dataset = dataset_named(options["dataset"])
        with_sets, sets_of = _preferences(dataset, options["preferences"])
        request = RunRequest(
            kind=RunKind.TEST,
            dataset=dataset,
            with_sets=with_sets,
            sets_of=sets_of,
            prompt=prompt_of(options["prompt"]),
            budget=options["budget"],
            batch_file=by_batch_file(options),
        )
        planned = planned_runs(
            request, options, nothing_to_do=_NOTHING_TO_DO, passed_over=self.stderr.write
        )
        if not planned:
            message = f"nothing to judge on {dataset.slug}; run distil first"
            raise Refused("run:not-distilled", message)
        return planned

    def _retried(self, options: dict[str, Any]) -> JudgeRun:
        """Asks again for what failed in a run of any kind, under a new budget where one is given.

        Raises:
            Refused: it is under way.
        """
        run = JudgeRun.objects.filter(pk=options["retry"]).first()
        if run is None:
            raise CommandError(f"run:unknown: no run {options['retry']}", returncode=2)
        if options["budget"] is not None:
            set_budget(run.pk, options["budget"])
        reset_failed(run.pk)
        return self._finish(f"run {run.pk}", run)

    def _finish(self, name: str, run: JudgeRun) -> JudgeRun:
        progress = ProgressLine(self.stderr, name)
        return run_to_end(run.pk, observer=progress, on_wait=progress.waits)


def _preferences(dataset: Dataset, choice: str) -> tuple[bool, User | None]:
    """Whether sets are used, and whose where not the annotator's own."""
    if choice in {SELECTED, NONE}:
        return choice == SELECTED, None
    if choice.startswith(OF):
        owner = resolve_annotator(dataset=dataset, name=choice.removeprefix(OF))
        return True, User.objects.get(pk=owner.id)
    message = f"--preferences must be {SELECTED}, {NONE} or {OF}NAME, not {choice!r}"
    raise CommandError(message, returncode=2)


def _word(value: object) -> str:
    """A field as people read it: counts by their codes, ids in a row, a hyphen for none."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "-"
    return "-" if value is None else str(value)


def _sum(totals: list[JudgedTotals]) -> JudgedTotals:
    errors: dict[str, int] = {}
    for one in totals:
        for code, count in one.errors:
            errors[code] = errors.get(code, 0) + count
    costs = [one.cost for one in totals if one.calls]
    known = [cost for cost in costs if cost is not None]
    return JudgedTotals(
        judged=sum(one.judged for one in totals),
        failed=sum(one.failed for one in totals),
        unparseable=sum(one.unparseable for one in totals),
        calls=sum(one.calls for one in totals),
        errors=tuple(sorted(errors.items())),
        cost=sum(known) if known and len(known) == len(costs) else None,
    )
