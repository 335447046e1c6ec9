"""`manage.py ablate`: the paper's ablations, one thing varied at a time."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import text_of
from benchmark.core.ablation import AblationRow, Vary
from benchmark.core.failures import FailureRow
from benchmark.queries.ablations import StoredAblation, ablation_of
from benchmark.services.ablation_runs import (
    AblationRequest,
    estimate_ablation,
    plan_ablation,
    who_labelled,
)
from judging.core.rules import JudgePrompt
from judging.core.verdicts import VerdictRule
from judging.llm.errors import LlmCode
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from judging.services.kinds import start
from sensejudge_site.management.parsing import WORK_FAILED, OneLineCommand, counted
from sensejudge_site.management.runs import (
    ProgressLine,
    add_arguments,
    check_finished,
    dataset_named,
    estimates_told,
    judges_named,
    people,
)


class Command(OneLineCommand):
    """Measures every variant on the same test comparisons and stores the table."""

    help = (
        "Varies one setting of the method, all else equal, and measures each variant. With --vary "
        "prompt: how often a judge fails where a gold answer names the winner."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose labels, by which judges, and what is varied."""
        add_arguments(
            parser,
            judge="judge that distils and judges (default: lexical)",
            several="--vary judge tries every pair of them, --vary prompt each with each prompt",
            budget="maximum cost of all runs together",
        )
        parser.add_argument("--vary", required=True, choices=[each.value for each in Vary])
        parser.add_argument(
            "--scenario",
            default="",
            metavar="NAME",
            help="with --vary prompt, only its comparisons with a gold answer (default: all)",
        )
        parser.add_argument(
            "--verdict",
            choices=[rule.lower() for rule in VerdictRule],
            default=VerdictRule.STRICT.lower(),
            help="how an LLM's reply is read",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Works everything off that is missing, then prints the table."""
        request = _request(options)
        if options["estimate"]:
            estimates = estimate_ablation(request)
            self.stdout.write(estimates_told(estimates, json_wanted=options["json"]))
            return
        progress = ProgressLine(self.stderr, "ablation")
        started = start(plan_ablation(request))
        run = run_to_end(started.pk, observer=progress, on_wait=progress.waits)
        found = ablation_of(run.pk)
        if found is None and run.error_code == LlmCode.BUDGET_SPENT:
            raise _spent(run.error_detail, options)
        check_finished([run])
        assert found is not None  # noqa: S101 - a run that is done has stored it
        if options["json"]:
            self.stdout.write(json.dumps(_fields(found), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))
        for name, code in found.refused:
            self.stderr.write(f"left out, {name}: {code}: {text_of(code)}")
        if found.left_out:
            raise _spent(f"{', '.join(found.left_out)} left out", options)
        if found.refused:
            message = (
                f"{counted(len(found.refused), 'step')} could not be finished. Once the cause is "
                f"mended, run `judge --retry {run.pk}`"
            )
            raise CommandError(message, returncode=WORK_FAILED)


def _request(options: dict[str, Any]) -> AblationRequest:
    dataset, name = dataset_named(options["dataset"]), options["annotator"]
    judges = [judge or LEXICAL for judge in judges_named(options["judge"], usual=LEXICAL)]
    if options["vary"] == Vary.PROMPT:
        annotators = []
    elif name:
        annotators = [user for _name, user in people(dataset, name)]
    else:
        annotators = who_labelled(dataset, judge=judges[0])
    return AblationRequest(
        dataset,
        annotators,
        Vary(options["vary"]),
        judges,
        verdict=VerdictRule(options["verdict"].upper()),
        budget=options["budget"],
        scenario=options["scenario"],
    )


def _spent(what: str, options: dict[str, Any]) -> CommandError:
    """The way to end when the money did, with the command that goes on."""
    names = ("dataset", "annotator", "vary", "scenario", "judge", "verdict")
    usual = VerdictRule.STRICT.lower()
    words = [
        f"--{name} {shlex.quote(options[name])}"
        for name in names
        if options[name] and options[name] != usual
    ]
    message = (
        f"{'budget:spent'}: {what}; to resume, run `ablate {' '.join(words)} --budget N`, "
        "where N covers only the remaining calls; stored replies are reused"
    )
    return CommandError(message, returncode=WORK_FAILED)


def _fields(found: StoredAblation) -> dict[str, Any]:
    return {
        "report": found.id,
        "run": found.run,
        "vary": found.vary.value,
        "judges": list(found.judges),
        "verdict": found.verdict.lower(),
        "seed": found.seed,
        "left_out": list(found.left_out),
        **({"scenario": found.scenario} if found.failures else {}),
        "rows": found.records(),
    }


def _lines(found: StoredAblation) -> Iterator[str]:
    """The table with both orders and their mean, as the paper's Table 4 has them."""
    yield f"{found.vary.value} ({', '.join(found.judges)}), report {found.id}"
    if found.failures:
        yield from _failure_lines(found.failures)
        return
    yield (
        f"{'annotator':<16}{'variant':<24}{'(q, c, r)':>10}{'(q, r, c)':>10}{'mean':>9}"
        f"{'difference':>12}{'n':>6}{'agreement':>11}{'interval':>16}{'voting':>8}"
    )
    for row in found.rows:
        yield (
            f"{row.annotator or 'all':<16}{row.variant:<24}{_percent(row.original):>10}"
            f"{_percent(row.swapped):>10}{_percent(row.mean):>9}{_points(row.difference):>12}"
            f"{row.comparisons:>6}{_percent(row.accuracy):>11}{_interval(row):>16}"
            f"{row.members:>8}"
        )


def _failure_lines(rows: Sequence[FailureRow]) -> Iterator[str]:
    """Failures by prompt beside those of GPT-4 in the paper's Table 4."""
    yield (
        f"{'judge':<24}{'prompt':<16}{'failures':>10}{'share':>9}{'interval':>16}{'paper':>8}"
        f"{'difference':>12}{'p':>8}{'ties':>6}{'unreadable':>12}{'failed':>8}"
    )
    for row in rows:
        failures, judgments = row.paper
        count, paper = f"{row.failures}/{row.judgments}", f"{failures}/{judgments}"
        yield (
            f"{row.judge:<24}{JudgePrompt(row.prompt).word:<16}{count:>10}"
            f"{_percent(row.share):>9}{_interval(row):>16}{paper:>8}{_points(row.difference):>12}"
            f"{'-' if row.p is None else f'{row.p:.4f}':>8}{row.ties:>6}{row.unreadable:>12}"
            f"{row.failed:>8}"
        )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f} %"


def _points(difference: float | None) -> str:
    return "-" if difference is None else f"{difference * 100:+.1f}"


def _interval(row: AblationRow | FailureRow) -> str:
    if row.low is None or row.high is None:
        return "-"
    return f"{row.low * 100:.1f} - {row.high * 100:.1f}"
