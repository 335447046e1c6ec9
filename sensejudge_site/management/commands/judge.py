"""`manage.py judge`: judge the test split under the selected preferences."""

from __future__ import annotations

import json
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import Dataset, User
from annotation.queries.annotators import resolve_annotator
from judging.core.run_results import JudgedTotals
from judging.models import JudgeRun, RunStatus
from judging.queries.results import judged_totals
from judging.services.foreground import run_to_end
from judging.services.pairwise_plans import NotDistilledError, NothingToJudgeError
from judging.services.pairwise_runs import start_test_run
from sensejudge_site.management.runs import (
    INPUT_ERRORS,
    WORK_FAILED,
    ProgressLine,
    add_arguments,
    dataset_named,
    people,
    wrong_input,
)

SELECTED: Final = "selected"
NONE: Final = "none"
OF: Final = "of:"


class Command(BaseCommand):
    """Judges for one annotator or for all, without any worker."""

    help = "Judges the test split under the selected preferences, in both presentation orders."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose comparisons, under which preferences, by which judge."""
        add_arguments(parser, judge="who judges (default: the judge that distilled)")
        parser.add_argument(
            "--preferences",
            default=SELECTED,
            metavar=f"{SELECTED}|{NONE}|{OF}NAME",
            help="the annotator's own sets, the base judge alone, or another annotator's sets",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works the runs off and prints the counts."""
        try:
            runs = self._judge_all(options)
        except INPUT_ERRORS as error:
            raise wrong_input(error) from error
        totals = _sum([judged_totals(run.pk) for run in runs])
        fields = {
            "judged": totals.judged,
            "failed": totals.failed,
            "unparseable": totals.unparseable,
            "calls": totals.calls,
            "errors": dict(totals.errors),
            "runs": [run.pk for run in runs],
        }
        if options["json"]:
            self.stdout.write(json.dumps(fields))
        else:
            self.stdout.write("\n".join(f"{name}: {value}" for name, value in fields.items()))
        failed = [run for run in runs if run.status != RunStatus.DONE]
        if failed:
            said = "; ".join(
                f"run {run.pk}: {run.status.lower()} {run.error_code}" for run in failed
            )
            raise CommandError(said.rstrip(), returncode=WORK_FAILED)

    def _judge_all(self, options: dict[str, Any]) -> list[JudgeRun]:
        dataset = dataset_named(options["dataset"])
        with_sets, sets_of = _preferences(dataset, options["preferences"])
        runs = []
        for name, user in people(dataset, options["annotator"]):
            try:
                run = start_test_run(
                    dataset=dataset,
                    annotator=user,
                    judge=options["judge"],
                    with_sets=with_sets,
                    sets_of=sets_of,
                )
            except (NothingToJudgeError, NotDistilledError) as error:
                if options["annotator"]:
                    raise
                self.stderr.write(f"{name}: {error.code}")
                continue
            runs.append(run_to_end(run.pk, observer=ProgressLine(self.stderr, name)))
        if not runs:
            message = f"nothing to judge on {dataset.slug}; run distil first"
            raise NotDistilledError(message)
        return runs


def _preferences(dataset: Dataset, choice: str) -> tuple[bool, User | None]:
    """Whether sets are used, and whose where not the annotator's own."""
    if choice in {SELECTED, NONE}:
        return choice == SELECTED, None
    if choice.startswith(OF):
        owner = resolve_annotator(dataset=dataset, name=choice.removeprefix(OF))
        return True, User.objects.get(pk=owner.id)
    message = f"--preferences must be {SELECTED}, {NONE} or {OF}NAME, not {choice!r}"
    raise CommandError(message, returncode=2)


def _sum(totals: list[JudgedTotals]) -> JudgedTotals:
    errors: dict[str, int] = {}
    for one in totals:
        for code, count in one.errors:
            errors[code] = errors.get(code, 0) + count
    return JudgedTotals(
        judged=sum(one.judged for one in totals),
        failed=sum(one.failed for one in totals),
        unparseable=sum(one.unparseable for one in totals),
        calls=sum(one.calls for one in totals),
        errors=tuple(sorted(errors.items())),
    )
