"""`manage.py judge`: judge the test split under the selected preferences."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from dataclasses import replace
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from annotation.queries.participants import resolve_annotator
from judging.core import rules
from judging.core.rules import NO_SETS, JudgePrompt, prompt_of
from judging.core.runs import JudgedTotals, sum_of_costs
from judging.core.targets import RunTarget, Targets, targets_named
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, RunKind
from judging.queries.generation import families_of_judges
from judging.queries.run_totals import judged_totals
from judging.services.abilities import could_read_letters
from judging.services.estimates import MOST_PROMPTS
from judging.services.kinds import NOTHING_TO_DO, write
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import OneLineCommand, kin_lines, number_from
from sensejudge_site.management.runs import (
    add_again_argument,
    add_arguments,
    add_batch_arguments,
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
    planned_runs,
    retried_run,
    still_waiting,
    through_file,
)

SELECTED: Final = "selected"
OF: Final = "of:"
DRAWN: Final = f"{rules.DRAWN}:"


class Command(OneLineCommand):
    """Judges for one annotator or for all, without any worker."""

    help = "Judges the test split under the selected preferences, in both presentation orders."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose comparisons, under which preferences, by which judge."""
        add_arguments(parser, judge="judge to use (default: the judge that distilled)")
        parser.add_argument(
            "--preferences",
            default=SELECTED,
            metavar=f"{SELECTED}|{NO_SETS}|{OF}NAME|{DRAWN}N",
            help="the annotator's own sets, only the base judge, another annotator's sets, or N "
            "preferences of each set drawn at random, to rank models by",
        )
        parser.add_argument(
            "--selected-by",
            metavar="JUDGE",
            help="use the sets that this judge selected (default: those the judge itself selected)",
        )
        parser.add_argument(
            "--distiller",
            metavar="JUDGE",
            help="of these, the sets whose preferences this judge distilled",
        )
        parser.add_argument(
            "--no-control",
            action="store_true",
            help="do not also judge under the preferences of the other annotators (five at most), "
            "without which nothing personal can be shown",
        )
        parser.add_argument(
            "--prompt",
            default=JudgePrompt.PERSONAL.word,
            choices=[each.word for each in JudgePrompt],
            help="judging prompt; only personal uses preferences",
        )
        parser.add_argument(
            "--targets",
            default=RunTarget.TEST.lower(),
            metavar="test|unlabelled|all|study:SLUG|plan:N|dataset:SLUG",
            help="what to judge: the labelled test comparisons (default), everything unlabelled, "
            "everything, the comparisons of a study or of a pairing plan, or another dataset, "
            "under the sets learned here",
        )
        parser.add_argument("--scenario", action="append", default=[], metavar="NAME")
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="NAME",
            help="only comparisons with a response by this model; can be repeated, as --scenario "
            "and --language can",
        )
        parser.add_argument("--language", action="append", default=[], metavar="CODE")
        parser.add_argument(
            "--sample",
            type=number_from(1, 10_000_000),
            metavar="N",
            help="only N comparisons, drawn without looking at labels",
        )
        parser.add_argument(
            "--verdict",
            choices=[rule.lower() for rule in VerdictRule],
            help="how an LLM's reply is read (default: as for the preferences, else strict)",
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
            self._report([retried_run(options, self.stderr)], {}, json_wanted=options["json"])
            return
        planned = self._planned(options)
        for line in kin_lines(families_of_judges(run for _, run in planned)):
            self.stderr.write(line)
        runs = [run for _, run in planned]
        if options["estimate"]:
            json_wanted = options["json"]
            told = estimated(runs, self.stderr, json_wanted=json_wanted, most=MOST_PROMPTS)
            self.stdout.write(told)
            for name in could_read_letters(runs):
                self.stderr.write(
                    f"{name} returns log-probabilities: --verdict logprob is recommended"
                )
            return
        again = options["again"]
        check_runs(runs, self.stderr)
        if by_batch_file(options):
            runs = [write(run, again=again) for run in runs]
            more = through_file(runs, options, self.stderr)
        else:
            runs = [
                finished_run(write(run, again=again), name, self.stderr) for name, run in planned
            ]
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
            "second_tries": totals.second_tries,
            "cost": totals.cost,
            "errors": dict(totals.errors),
            "said": dict(totals.said),
            "runs": [run.pk for run in runs],
            **more,
            **({"waiting": waiting} if more else {}),
        }
        if json_wanted:
            self.stdout.write(json.dumps(fields))
        else:
            if totals.calls and totals.cost is None:
                fields["cost"] = "unknown"
            self.stdout.write(
                "\n".join(f"{name}: {field_told(one)}" for name, one in fields.items())
            )
        for said in budgets_told(runs):
            self.stderr.write(said)
        check_finished(runs)
        check_refusals(more)

    def _planned(self, options: dict[str, Any]) -> list[tuple[str, JudgeRun]]:
        """A run for each annotator and judge, where there is something to judge.

        Raises:
            Refused: there is nothing for anybody.
        """
        learned_in = dataset_named(options["dataset"])
        choice = options["preferences"]
        draw = _drawn(choice)
        with_sets, sets_of = _preferences(learned_in, SELECTED if draw else choice)
        targets, other = _targets(options)
        request = RunRequest(
            kind=RunKind.TEST,
            dataset=dataset_named(other) if other else learned_in,
            with_sets=with_sets,
            draw=draw,
            sets_of=sets_of,
            selected_by=options["selected_by"],
            writer=options["distiller"],
            with_control=not (options["no_control"] or draw),
            sets_dataset=learned_in if other else None,
            targets=targets,
            prompt=prompt_of(options["prompt"]),
            verdict=None if options["verdict"] is None else VerdictRule(options["verdict"].upper()),
            budget=options["budget"],
            batch_file=by_batch_file(options),
        )
        planned = planned_runs(
            request, options, nothing_to_do=NOTHING_TO_DO, passed_over=self.stderr.write
        )
        if not planned:
            message = f"nothing to judge on {learned_in.slug}; run distil first"
            raise Refused("run:not-distilled", message)
        return planned


def _targets(options: dict[str, Any]) -> tuple[Targets, str]:
    """What to judge, and the short name of another dataset."""
    named, other = targets_named(options["targets"])
    targets = replace(
        named,
        scenarios=tuple(options["scenario"]),
        models=tuple(options["model"]),
        languages=tuple(options["language"]),
        sample=options["sample"],
    )
    return targets, other


def _drawn(choice: str) -> int:
    """How many preferences are drawn of each set; 0 where none are."""
    if not choice.startswith(DRAWN):
        return 0
    try:
        return number_from(1, 100)(choice.removeprefix(DRAWN))
    except ArgumentTypeError as error:
        raise CommandError(f"--preferences {choice}: {error}", returncode=2) from error


def _preferences(dataset: Dataset, choice: str) -> tuple[bool, User | None]:
    """Whether sets are used, and whose where not the annotator's own."""
    if choice in {SELECTED, NO_SETS}:
        return choice == SELECTED, None
    if choice.startswith(OF):
        owner = resolve_annotator(dataset=dataset, name=choice.removeprefix(OF))
        return True, User.objects.get(pk=owner.id)
    message = f"--preferences must be {SELECTED}, {NO_SETS}, {OF}NAME or {DRAWN}N, not {choice!r}"
    raise CommandError(message, returncode=2)


def _sum(totals: list[JudgedTotals]) -> JudgedTotals:
    return JudgedTotals(
        judged=sum(one.judged for one in totals),
        failed=sum(one.failed for one in totals),
        unparseable=sum(one.unparseable for one in totals),
        calls=sum(one.calls for one in totals),
        errors=tuple(errors_of(one.errors for one in totals).items()),
        cost=sum_of_costs((one.calls, one.cost) for one in totals),
        second_tries=sum(one.second_tries for one in totals),
        said={code: words for one in totals for code, words in one.said.items()},
    )
