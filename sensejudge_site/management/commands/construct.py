"""`manage.py construct`: build a benchmark from the raw dialogues of a dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import Refused
from benchmark.exports import FORMATS, version_file
from benchmark.models import BenchmarkVersion
from benchmark.queries.construction import failed_construction, find_version
from benchmark.services.construction import freeze, stage_records
from benchmark.services.construction_estimates import estimate_construction
from benchmark.services.construction_runs import ConstructionRequest, plan_construction
from judging.core.estimates import estimates_as_json
from judging.models import JudgeRun
from judging.services.judges import LEXICAL, endpoint_for
from judging.services.kinds import start
from judging.services.run_requests import finished_like
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    OneLineCommand,
    counted,
    number_from,
)
from sensejudge_site.management.runs import (
    add_cost_arguments,
    check_finished,
    dataset_named,
    estimates_told,
    finished_run,
    retried_run,
)

_MOST: Final = 100_000


class Command(OneLineCommand):
    """Works the stages off, resumes what was left, and freezes what is left on demand."""

    help = "Builds a benchmark from the raw dialogues of a dataset, in resumable stages."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares source and version, who judges and answers, and what becomes of the rest."""
        parser.add_argument("--source", required=True, metavar="SLUG", help="raw dialogues")
        parser.add_argument("--to", required=True, metavar="VERSION", help="name of the benchmark")
        parser.add_argument(
            "--judge",
            metavar="lexical|ENDPOINT",
            help="judge that compares the two models' answers, and sorts (default: lexical)",
        )
        parser.add_argument(
            "--sorter",
            metavar="lexical|ENDPOINT",
            help="judge that denoises and sorts into categories (default: the judge)",
        )
        parser.add_argument("--strong", default="", metavar="ENDPOINT", help="strong model")
        parser.add_argument("--weak", default="", metavar="ENDPOINT", help="weak model")
        parser.add_argument(
            "--freeze",
            action="store_true",
            help="freeze what is left, reviewed or not, into the version",
        )
        parser.add_argument(
            "--per-topic",
            type=number_from(1, _MOST),
            metavar="N",
            help="when freezing, at most N dialogues of each category (default: all)",
        )
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="write the frozen version to a file"
        )
        parser.add_argument("--format", choices=list(FORMATS), default=next(iter(FORMATS)))
        add_cost_arguments(parser, budget="maximum cost of all steps together")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Prints what each stage kept and dropped."""
        version = find_version(options["to"])
        request = _request(options)
        if options["estimate"]:
            self._estimate(request, options)
            return
        if version is not None and version.datasheet["source"]["dataset"] != options["source"]:
            raise Refused("construction:version-taken")
        run = None
        if version is not None:
            _check_same(version, options)
        if version is None:
            run = self._built(plan_construction(request), options)
            check_finished([run])
            if options["freeze"]:
                version = freeze(run.pk, per_category=options["per_topic"])
        told = _told(run, version)
        self.stdout.write(
            json.dumps(told, ensure_ascii=False) if options["json"] else "\n".join(_lines(told))
        )
        if options["out"] is not None:
            if version is None:
                message = "nothing is frozen yet: review the dialogues, or add --freeze"
                raise CommandError(message, returncode=INPUT_WRONG)
            _write(options["out"], version, options["format"])

    def _built(self, planned: JudgeRun, options: dict[str, Any]) -> JudgeRun:
        """The construction as far as it comes: what failed before is asked again, not anew."""
        if (finished := finished_like(planned)) is not None:
            return finished
        if (failed := failed_construction(planned)) is not None:
            return retried_run({"retry": failed.pk, "budget": options["budget"]}, self.stderr)
        return finished_run(start(planned), "construct", self.stderr)

    def _estimate(self, request: ConstructionRequest, options: dict[str, Any]) -> None:
        found = estimate_construction(request)
        if options["json"]:
            told = {"dialogues": found.dialogues, "passing": found.passing}
            self.stdout.write(json.dumps(told | estimates_as_json(found.runs)))
            return
        passing = f"{found.passing} of {counted(found.dialogues, 'dialogue')} pass the rules"
        self.stdout.write(passing)
        self.stdout.write(estimates_told(found.runs, json_wanted=False))


def _check_same(version: BenchmarkVersion, options: dict[str, Any]) -> None:
    """Refuses settings by which a version was not built; what is not given is not compared."""
    sheet = version.datasheet
    names = [name for name in (options["strong"], options["weak"]) if name]
    given = {
        "sorter": options["sorter"] or options["judge"],
        "judge": options["judge"] if sheet["models"] else None,
        "models": [getattr(endpoint_for(name), "model", name) for name in names],
        "per_category": options["per_topic"],
    }
    other = [name for name, value in given.items() if value and value != sheet[name]]
    if other:
        message = f"{version.version} was built otherwise: {', '.join(other)}"
        raise Refused("construction:other-settings", message)


def _request(options: dict[str, Any]) -> ConstructionRequest:
    judge = options["judge"] or LEXICAL
    return ConstructionRequest(
        source=dataset_named(options["source"]),
        version=options["to"],
        sorter=options["sorter"] or judge,
        judge=judge,
        strong=options["strong"],
        weak=options["weak"],
        budget=options["budget"],
    )


def _told(run: JudgeRun | None, version: BenchmarkVersion | None) -> dict[str, Any]:
    """What scripts read; the statistics of a version that is frozen."""
    if version is None:
        assert run is not None  # noqa: S101 - else there was a version
        stages = stage_records(run.pk)
        number: int | None = run.pk
    else:
        stages, number = version.datasheet["stages"], version.run_id
    figures = ("statistics", "distribution") if version is not None else ()
    return {
        "run": number,
        "version": version.version if version is not None else None,
        "dialogues": stages[0]["came"],
        "stages": stages,
        "kept": stages[-1]["kept"],
        **{name: version.datasheet[name] for name in figures if version is not None},
    }


def _lines(told: dict[str, Any]) -> Iterator[str]:
    for each in told["stages"]:
        reasons = ", ".join(f"{reason} {count}" for reason, count in each["reasons"].items())
        dropped = f"{each['dropped']:>7} dropped" + (f" ({reasons})" if reasons else "")
        yield f"{each['stage']:<12}{each['came']:>7} in {each['kept']:>7} kept {dropped}"
    if told["version"] is None:
        yield f"run {told['run']}: {counted(told['kept'], 'dialogue')} left to review and freeze"
    else:
        yield f"{told['version']}: {counted(told['kept'], 'dialogue')} frozen"


def _write(path: Path, version: BenchmarkVersion, form: str) -> None:
    try:
        with path.open("w", encoding="utf-8") as out:
            out.writelines(version_file(version, form))
    except OSError as error:
        message = f"input: {error}"
        raise CommandError(message, returncode=INPUT_WRONG) from error
