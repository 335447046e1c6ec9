"""`manage.py ablate`: the paper's ablations, one thing varied at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.core.ablation import AblationRow, Vary
from benchmark.queries.ablations import StoredAblation, stored_ablation
from benchmark.services.ablations import AblationRunFailedError, ablate
from judging.core.selection_rules import TooManyColumnsError
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from sensejudge_site.management.runs import (
    INPUT_ERRORS,
    WORK_FAILED,
    ProgressLine,
    dataset_named,
    judges_named,
    people,
    wrong_input,
)


class Command(BaseCommand):
    """Measures every variant on the same test comparisons and stores the table."""

    help = "Varies one thing of the method, all else equal, and measures every variant."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose labels, by which judges, and what is varied."""
        parser.add_argument("--dataset", default="", metavar="SLUG")
        parser.add_argument(
            "--annotator", default="", metavar="NAME", help="one alone; all without"
        )
        parser.add_argument("--vary", required=True, choices=[each.value for each in Vary])
        parser.add_argument(
            "--judge",
            metavar="lexical|ENDPOINT[,ENDPOINT...]",
            help="who distils and judges (default: lexical); --vary judge tries each with each",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works everything off that is missing, then prints the table."""
        dataset = dataset_named(options["dataset"])
        try:
            report = ablate(
                dataset=dataset,
                annotators=list(people(dataset, options["annotator"])),
                vary=Vary(options["vary"]),
                judges=[name or LEXICAL for name in judges_named(options["judge"], usual=LEXICAL)],
                finish=self._finish,
            )
        except (*INPUT_ERRORS, TooManyColumnsError) as error:
            raise wrong_input(error) from error
        except AblationRunFailedError as error:
            raise CommandError(f"{error.code}: {error}", returncode=WORK_FAILED) from error
        found = stored_ablation(report)
        if options["json"]:
            self.stdout.write(json.dumps(_fields(found), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))

    def _finish(self, run: JudgeRun) -> JudgeRun:
        return run_to_end(run.pk, observer=ProgressLine(self.stderr, f"run {run.pk}"))


def _fields(found: StoredAblation) -> dict[str, Any]:
    return {
        "report": found.id,
        "vary": found.vary.value,
        "judges": list(found.judges),
        "seed": found.seed,
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
