"""`manage.py distil`: distil preferences, judge dev under each, select, store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import Refused, text_of
from annotation.core.splits import Pooling
from judging.core.rules import (
    Combine,
    DistilPrompt,
    PairwiseSettings,
    SelectionMode,
    Window,
)
from judging.core.runs import DistilledScenario
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, RunKind
from judging.queries.runs import distilled_scenarios
from judging.services.abilities import could_read_letters
from judging.services.estimates import MOST_PROMPTS
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from judging.services.kinds import write
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import OneLineCommand, counted
from sensejudge_site.management.runs import (
    ProgressLine,
    add_again_argument,
    add_arguments,
    add_batch_arguments,
    budgets_told,
    by_batch_file,
    check_finished,
    check_refusals,
    check_runs,
    dataset_named,
    estimated,
    planned_runs,
    still_waiting,
    through_file,
)

USUAL = PairwiseSettings()


@dataclass(frozen=True, slots=True)
class Distilled:
    """One annotator's finished run."""

    annotator: str
    run: JudgeRun
    scenarios: tuple[DistilledScenario, ...]


class Command(OneLineCommand):
    """Distils for one annotator or for all, without any worker."""

    help = "Distils preferences from the dev split, judges it under each, selects the best set."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose preferences, by which judge, under which rules."""
        add_arguments(parser, judge="judge that judges dev and selects (default: lexical)")
        parser.add_argument(
            "--distiller",
            metavar="lexical|ENDPOINT",
            help="judge that writes the preferences (default: the judge)",
        )
        add_batch_arguments(parser)
        add_again_argument(parser)
        parser.add_argument(
            "--dev", type=int, default=USUAL.dev_size, help="number of dev comparisons"
        )
        parser.add_argument(
            "--seed", type=int, default=USUAL.seed, help="seed of the sampling and the control"
        )
        parser.add_argument(
            "--sampling", choices=["default", "paper"], default=USUAL.sampling.lower()
        )
        parser.add_argument(
            "--by",
            choices=[word.lower() for word in Pooling],
            default=USUAL.pooling.lower(),
            help="preferences of each scenario, or over all of them (auto: over all where they "
            "have few labels)",
        )
        parser.add_argument(
            "--combine",
            choices=[word.lower() for word in Combine],
            help="the annotator's stand-in (default: stack for lexical, subset for others)",
        )
        parser.add_argument(
            "--verdict",
            choices=[rule.lower() for rule in VerdictRule],
            default=USUAL.verdict_rule.lower(),
            help="how an LLM's reply is read",
        )
        parser.add_argument(
            "--window",
            choices=[window.lower() for window in Window],
            default=USUAL.window.lower(),
            help="how much of a conversation an LLM sees",
        )
        parser.add_argument(
            "--preference",
            choices=[style.lower() for style in DistilPrompt],
            default=USUAL.distil_prompt.lower(),
            help="how an LLM writes one: about three sentences (default), or one sentence",
        )
        parser.add_argument(
            "--mode",
            choices=[mode.lower() for mode in SelectionMode],
            default=USUAL.mode.lower(),
            help="how the set is selected; paper: as the paper's released code, for comparison",
        )
        parser.add_argument(
            "--difference-penalty",
            action="store_true",
            help="with --mode paper: take off the difference between the two orders",
        )
        parser.add_argument(
            "--aggregate-eligible",
            action="store_true",
            help="the preference distilled from all dev comparisons can be selected, too",
        )
        parser.add_argument(
            "--no-control", action="store_true", help="skip the shuffled-label control"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works the runs off and prints what was selected."""
        planned = _planned(options)
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
            started = [(name, write(run, again=again)) for name, run in planned]
            self._through_file(started, options)
            return
        found = [self._finish(name, write(run, again=again)) for name, run in planned]
        self._print(found, {}, json_wanted=options["json"])

    def _through_file(self, started: list[tuple[str, JudgeRun]], options: dict[str, Any]) -> None:
        """One more file of each run; those that are done are printed as ever."""
        more = through_file([run for _, run in started], options, self.stderr)
        waiting = still_waiting([run for _, run in started])
        found = []
        for name, run in started:
            run.refresh_from_db()
            if run.pk not in waiting:
                found.append(Distilled(name, run, distilled_scenarios(run.pk)))
        self._print(found, {**more, "waiting": waiting}, json_wanted=options["json"])

    def _print(self, found: list[Distilled], more: dict[str, Any], *, json_wanted: bool) -> None:
        if json_wanted:
            self.stdout.write(json.dumps(_as_json(found) | more, ensure_ascii=False))
        else:
            words = [f"{name}: {value}" for name, value in more.items()]
            self.stdout.write("\n".join([*_in_words(found), *words]))
        runs = [one.run for one in found]
        for said in budgets_told(runs):
            self.stderr.write(said)
        check_finished(runs)
        check_refusals(more)

    def _finish(self, name: str, run: JudgeRun) -> Distilled:
        progress = ProgressLine(self.stderr, name)
        run = run_to_end(run.pk, observer=progress, on_wait=progress.waits)
        return Distilled(name, run, distilled_scenarios(run.pk))


def _planned(options: dict[str, Any]) -> list[tuple[str, JudgeRun]]:
    """A run for each annotator and judge, where there is something to judge.

    Raises:
        Refused: there is nothing for anybody.
    """
    dataset = dataset_named(options["dataset"])
    request = RunRequest(
        kind=RunKind.DISTIL,
        dataset=dataset,
        writer=options["distiller"],
        pairwise=_settings(options),
        budget=options["budget"],
        batch_file=by_batch_file(options),
    )
    planned = planned_runs(request, options, usual=LEXICAL, nothing_to_do=["run:no-labels"])
    if not planned:
        message = f"no labelled comparison of {dataset.slug} has both texts"
        raise Refused("run:no-labels", message)
    return planned


def _settings(options: dict[str, Any]) -> PairwiseSettings:
    if options["dev"] < 1:
        raise CommandError("--dev must be 1 or more", returncode=2)
    mode = SelectionMode(options["mode"].upper())
    if options["difference_penalty"] and mode is not SelectionMode.PAPER:
        raise CommandError("--difference-penalty goes with --mode paper", returncode=2)
    return PairwiseSettings(
        mode=mode,
        difference_penalty=options["difference_penalty"],
        dev_size=options["dev"],
        seed=options["seed"],
        sampling=type(USUAL.sampling)(options["sampling"].upper()),
        pooling=Pooling(options["by"].upper()),
        combine=Combine(options["combine"].upper()) if options["combine"] else None,
        verdict_rule=VerdictRule(options["verdict"].upper()),
        window=Window(options["window"].upper()),
        distil_prompt=DistilPrompt(options["preference"].upper()),
        aggregate_eligible=options["aggregate_eligible"],
        shuffled_control=not options["no_control"],
    )


def _as_json(found: list[Distilled]) -> dict[str, Any]:
    """One annotator's name, or null where there are several; every row says whose it is."""
    return {
        "annotator": found[0].annotator if len(found) == 1 else None,
        "scenarios": [
            {
                "annotator": one.annotator,
                "run": one.run.pk,
                "judge": one.run.judge,
                "distiller": one.run.written_by,
                "scenario": row.scenario or None,
                "dev": row.dev,
                "ties": row.ties,
                "test": row.test,
                "columns": row.columns,
                "selected": list(row.selected),
                "preferences": list(row.texts),
                "dev_accuracy": row.dev_accuracy,
                "leave_one_out": row.leave_one_out,
                "null_p95": row.null_p95,
                "p_value": row.p_value,
                "base_accuracy": row.base_accuracy,
                "p_over_base": row.p_over_base,
                "used": row.used,
                "stands_in": _stand_in(row),
                "control_accuracy": row.control_accuracy,
                "error_code": row.error_code,
            }
            for one in found
            for row in one.scenarios
        ],
    }


def _in_words(found: list[Distilled]) -> list[str]:
    lines = []
    for one in found:
        wrote = f", distilled by {one.run.writer}" if one.run.writer else ""
        lines.append(f"{one.annotator} (run {one.run.pk}, {one.run.judge}{wrote})")
        for row in one.scenarios:
            name = row.scenario or "all scenarios"
            if row.error_code:
                why = f"{row.error_code}: {text_of(row.error_code)}"
                lines.append(f"  {name}: {counted(row.dev, 'dev comparison')}; {why}")
                continue
            lines.append(
                f"  {name}: {counted(row.dev, 'dev comparison')}, {len(row.selected)} of "
                f"{counted(row.columns, 'column')} selected; "
                f"agreement on dev {_share(row.dev_accuracy)}, "
                f"leave-one-out {_share(row.leave_one_out)}, base judge "
                f"{_share(row.base_accuracy)} (p {_share(row.p_over_base)}), "
                f"p against chance {_share(row.p_value)}"
            )
            lines.append(f"    {_reason(row)}")
            lines.extend(
                f"    {column}: {' '.join(text.split()) or 'no preference'}"
                for column, text in zip(row.selected, row.texts, strict=True)
            )
    return lines


def _stand_in(row: DistilledScenario) -> dict[str, Any]:
    """What decides, by leave-one-out accuracies on dev pairs."""
    found = row.stand_in
    return {
        "choice": found.choice.value.lower(),
        "pairs": found.pairs,
        "base": found.base,
        "subset": found.subset,
        "stack": found.stack,
        "optimistic": found.optimistic,
        "why": _reason(row),
    }


def _reason(row: DistilledScenario) -> str:
    sentence, values = row.stand_in.reason
    return sentence % values


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
