"""`manage.py score_turns`: score satisfaction in users' stead, rated turns or any other."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandParser

from annotation.models import User
from annotation.queries.participants import resolve_annotator
from judging.core.rules import Level, SatisfactionSettings, Variant, variant_of
from judging.core.targets import RunTarget, turn_targets_named
from judging.models import JudgeRun, RunKind
from judging.queries.run_totals import scored_totals
from judging.services.estimates import MOST_PROMPTS
from judging.services.judges import LEXICAL
from judging.services.kinds import plan, write
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import OneLineCommand, number_from
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
    estimated,
    field_told,
    finished_run,
    judges_named,
    still_waiting,
    through_file,
)

EVERYBODY = "everybody"


class Command(OneLineCommand):
    """Scores in the stead of everybody or of one annotator, without any worker."""

    help = "Scores responses, or whole sessions, as their users would: rated ones or any other."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares which turns, in whose stead, by which evaluator."""
        parser.add_argument("--dataset", default="", metavar="SLUG")
        parser.add_argument(
            "--evaluator",
            metavar="lexical|learned|ENDPOINT[,...]",
            help="judge that scores (default: lexical); with several names, each gets its own run",
        )
        parser.add_argument(
            "--annotator",
            default="",
            metavar="NAME",
            help="only on behalf of this annotator: their own sessions and those without an owner",
        )
        parser.add_argument(
            "--targets",
            default=RunTarget.RATED.lower(),
            metavar="rated|unlabelled|candidates|all|study:SLUG|dataset:SLUG",
            help="what to score: rated responses (default), originals that the user did not rate, "
            "responses that are not the original, all of these, the originals of a study, or "
            "another dataset by the history here of the annotator, or of each in a run of its own",
        )
        for name, metavar in (("scenario", "NAME"), ("model", "NAME"), ("language", "CODE")):
            parser.add_argument(f"--{name}", action="append", default=[], metavar=metavar)
        parser.add_argument(
            "--sample",
            type=number_from(1, 10_000_000),
            metavar="N",
            help="only N of them, drawn without looking at labels",
        )
        parser.add_argument(
            "--variant",
            default=Variant.CHECKLIST.word,
            choices=[variant.word for variant in Variant],
            help="how an LLM is asked",
        )
        parser.add_argument(
            "--memory-judge",
            metavar="lexical|ENDPOINT",
            help="judge that writes the user memories (default: the evaluator)",
        )
        parser.add_argument(
            "--level",
            default=Level.TURN.lower(),
            choices=[level.lower() for level in Level],
            help="single responses, or sessions as a whole",
        )
        add_cost_arguments(parser)
        add_batch_arguments(parser)
        add_again_argument(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works the runs off and prints the counts."""
        planned = _planned(options)
        if options["estimate"]:
            json_wanted = options["json"]
            told = estimated(planned, self.stderr, json_wanted=json_wanted, most=MOST_PROMPTS)
            self.stdout.write(told)
            return
        check_runs(planned, self.stderr)
        started = [write(run, again=options["again"]) for run in planned]
        if by_batch_file(options):
            more: dict[str, Any] = through_file(started, options, self.stderr)
            more |= {"waiting": still_waiting(started)}
        else:
            more = {}
            started = [
                finished_run(run, f"{run.annotator or EVERYBODY}, {run.judge}", self.stderr)
                for run in started
            ]
        fields = {**scored_totals([run.pk for run in started]), **more}
        if options["json"]:
            self.stdout.write(json.dumps(fields))
        else:
            self.stdout.write(
                "\n".join(f"{name}: {field_told(one)}" for name, one in fields.items())
            )
        for said in budgets_told(started):
            self.stderr.write(said)
        check_finished(started)
        check_refusals(more)


def _planned(options: dict[str, Any]) -> list[JudgeRun]:
    """A run for each evaluator."""
    learned_in = dataset_named(options["dataset"])
    named, other = turn_targets_named(options["targets"])
    annotator = None
    if options["annotator"]:
        known = resolve_annotator(dataset=learned_in, name=options["annotator"])
        annotator = User.objects.get(pk=known.id)
    targets = replace(
        named,
        scenarios=tuple(options["scenario"]),
        models=tuple(options["model"]),
        languages=tuple(options["language"]),
        sample=options["sample"],
    )
    runs = []
    for judge in judges_named(options["evaluator"], usual=LEXICAL):
        request = RunRequest(
            kind=RunKind.SATISFACTION,
            dataset=dataset_named(other) if other else learned_in,
            sets_dataset=learned_in if other else None,
            annotator=annotator,
            judge=judge,
            writer=options["memory_judge"],
            targets=targets,
            satisfaction=_settings(options),
            budget=options["budget"],
            batch_file=by_batch_file(options),
        )
        runs += plan(request)
    return runs


def _settings(options: dict[str, Any]) -> SatisfactionSettings:
    return SatisfactionSettings(
        variant=variant_of(options["variant"]), level=Level(options["level"].upper())
    )
