"""`manage.py generate`: have models answer the turns of a dataset."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError, CommandParser

from judging.core.rules import AnsweredTurns, GenerationContext, GenerationSettings
from judging.core.runs import sum_of_costs
from judging.core.targets import RunTarget, Targets
from judging.models import JudgeRun, RunKind
from judging.queries.generation import GenerationTotals, generation_totals, judges_of_family
from judging.services.kinds import plan, write
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    OneLineCommand,
    counted,
    kin_lines,
    number_from,
)
from sensejudge_site.management.runs import (
    add_again_argument,
    add_batch_arguments,
    add_cost_arguments,
    budgets_told,
    by_batch_file,
    check_finished,
    check_refusals,
    check_runs,
    dataset_named,
    errors_of,
    estimated,
    field_told,
    finished_run,
    judges_named,
    retried_run,
    still_waiting,
    through_file,
)

_USUAL = GenerationSettings()


def temperature(word: str) -> float:
    """A temperature from 0 to 2, as an argument."""
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        message = f"expected a number from 0 to 2, not {word!r}"
        raise ArgumentTypeError(message)
    return value


class Command(OneLineCommand):
    """Works a run off for each model, without any worker."""

    help = "Generates model endpoints' responses to the turns of a dataset, and adds them to it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares which models answer which turns, and how."""
        parser.add_argument("--dataset", default="", metavar="SLUG")
        parser.add_argument(
            "--models",
            default="",
            metavar="ENDPOINT[,ENDPOINT...]",
            help="endpoints that answer; each endpoint gets its own run",
        )
        parser.add_argument(
            "--context",
            default=_USUAL.context.word,
            choices=[each.word for each in GenerationContext],
            help="what a model sees: the conversation so far, or also what is known of its user "
            "from other scenarios",
        )
        parser.add_argument(
            "--turns",
            default=_USUAL.turns.lower(),
            choices=[each.lower() for each in AnsweredTurns],
            help="every turn, those without an original response, or the last of each conversation",
        )
        parser.add_argument("--samples", type=number_from(1, 100), default=1, metavar="N")
        parser.add_argument(
            "--temperature", type=temperature, default=_USUAL.temperature, metavar="T"
        )
        parser.add_argument(
            "--max-tokens", type=number_from(1), default=_USUAL.max_tokens, metavar="N"
        )
        parser.add_argument(
            "--system",
            metavar="TEXT",
            help="system prompt (default: each conversation's own; empty: none)",
        )
        parser.add_argument("--scenario", action="append", default=[], metavar="NAME")
        parser.add_argument("--language", action="append", default=[], metavar="CODE")
        parser.add_argument(
            "--sample",
            type=number_from(1, 10_000_000),
            metavar="N",
            help="only N conversations, drawn at random, the same for every model",
        )
        add_cost_arguments(parser)
        add_batch_arguments(parser)
        add_again_argument(parser)
        parser.add_argument(
            "--retry", type=int, metavar="RUN", help="retry only what failed in this run"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works the runs off and prints the counts."""
        if options["retry"] is not None:
            self._report([retried_run(options, self.stderr)], {}, options)
            return
        planned = _planned(options)
        models = [run.config["judge"]["model"] for run in planned]
        for line in kin_lines(judges_of_family(planned[0].dataset_id, models)):
            self.stderr.write(line)
        if options["estimate"]:
            told = estimated(planned, self.stderr, json_wanted=options["json"])
            self.stdout.write(told)
            return
        check_runs(planned, self.stderr)
        started = [write(run, again=options["again"]) for run in planned]
        if by_batch_file(options):
            self._report(started, through_file(started, options, self.stderr), options)
        else:
            self._report(
                [finished_run(run, run.judge, self.stderr) for run in started], {}, options
            )

    def _report(self, runs: list[JudgeRun], more: dict[str, int], options: dict[str, Any]) -> None:
        fields = {**_fields([generation_totals(run.pk) for run in runs]), **more}
        fields["runs"] = [run.pk for run in runs]
        if more:
            fields["waiting"] = still_waiting(runs)
        if options["json"]:
            self.stdout.write(json.dumps(fields))
        else:
            if fields["calls"] and fields["cost"] is None:
                fields["cost"] = "unknown"
            told = "\n".join(f"{name}: {field_told(one)}" for name, one in fields.items())
            self.stdout.write(told)
        for said in (*budgets_told(runs), *_cut_lines(runs)):
            self.stderr.write(said)
        check_finished(runs)
        check_refusals(more)


def _planned(options: dict[str, Any]) -> list[JudgeRun]:
    """A run for each model.

    Raises:
        Refused: there is nothing to answer; see `generation.plan_generation`.
    """
    models = [name for name in judges_named(options["models"], usual=None) if name is not None]
    if not models:
        raise CommandError("--models is required", returncode=INPUT_WRONG)
    request = RunRequest(
        kind=RunKind.GENERATE,
        dataset=dataset_named(options["dataset"]),
        targets=Targets(
            kind=RunTarget.ALL,
            scenarios=tuple(options["scenario"]),
            languages=tuple(options["language"]),
            sample=options["sample"],
        ),
        generation=GenerationSettings(
            context=GenerationContext(options["context"].upper()),
            turns=AnsweredTurns(options["turns"].upper()),
            samples=options["samples"],
            temperature=options["temperature"],
            max_tokens=options["max_tokens"],
            system=options["system"],
        ),
        budget=options["budget"],
        batch_file=by_batch_file(options),
    )
    return [run for name in models for run in plan(replace(request, judge=name))]


def _cut_lines(runs: list[JudgeRun]) -> Iterator[str]:
    """A sentence for each run of which replies were cut: at how many tokens, and what to do."""
    for run in runs:
        if cut := generation_totals(run.pk).cut:
            longest = run.config["max_tokens"]
            yield (
                f"run {run.pk}: {counted(cut, 'reply', 'replies')} cut at {longest:,} tokens and, "
                "asked once more, at twice as many: start again with a longer --max-tokens"
            )


def _fields(totals: list[GenerationTotals]) -> dict[str, Any]:
    progress = [one.progress for one in totals]
    return {
        "generated": sum(one.generated for one in totals),
        "failed": sum(one.failed for one in totals),
        "unparseable": sum(one.unparseable for one in totals),
        "cut": sum(one.cut for one in totals),
        "responses": sum(one.responses for one in totals),
        "calls": sum(one.calls for one in progress),
        "second_tries": sum(one.second_tries for one in progress),
        "cost": sum_of_costs((one.calls, one.told_cost) for one in progress),
        "errors": errors_of(one.errors for one in progress),
        "said": {code: words for one in progress for code, words in one.said.items()},
    }
