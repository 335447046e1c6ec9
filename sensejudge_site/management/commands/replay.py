"""`manage.py replay`: candidates answer real users' turns, an evaluator scores them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import text_of
from benchmark.core.replay import ReplayScale
from benchmark.core.replay_items import items_named
from benchmark.queries.replay import ReplayPair, ReplayRow, StoredReplay, stored_replay
from benchmark.services.replay_runs import (
    DEFAULT_SEED,
    ReplayRequest,
    estimate_replay,
    plan_replay,
)
from judging.core.rules import LEARNED, GenerationContext, GenerationSettings
from judging.services.kinds import start
from sensejudge_site.management.commands.generate import temperature
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    WORK_FAILED,
    OneLineCommand,
    counted,
    number_from,
)
from sensejudge_site.management.runs import (
    add_cost_arguments,
    budgets_told,
    check_finished,
    dataset_named,
    estimates_told,
    finished_run,
    judges_named,
)

_USUAL = GenerationSettings()
_LEAST_P = 0.001


class Command(OneLineCommand):
    """Works a replay off, without any worker."""

    help = "Has candidates answer real users' turns and scores them beside the original responses."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares who answers what, who scores, and what may be spent."""
        parser.add_argument("--dataset", default="", metavar="SLUG")
        parser.add_argument(
            "--evaluator",
            default=LEARNED,
            metavar="NAME",
            help="learned, lexical or an endpoint, which ':' and a variant may follow, such as "
            "':no-memory' (default: learned)",
        )
        parser.add_argument(
            "--candidates",
            default="",
            metavar="NAME[,NAME...]",
            help="endpoints that answer, or models whose responses are in the dataset; "
            "'responses:MODEL' means these alone",
        )
        parser.add_argument(
            "--items",
            default="all",
            metavar="all|sample:N|hard[:N]|version:NAME",
            help="which turns: all, a sample that ignores the ratings, the paper's selection of "
            "hard ones, which goes by the ratings, or those of a frozen benchmark (default: all)",
        )
        parser.add_argument(
            "--context",
            default=GenerationContext.PREFIX.word,
            metavar="CONTEXT[,CONTEXT...]",
            help="what endpoints see: " + ", ".join(each.word for each in GenerationContext),
        )
        parser.add_argument(
            "--scores",
            choices=[each.lower() for each in ReplayScale],
            default=ReplayScale.CALIBRATED.lower(),
            help="which scores to print; all are stored",
        )
        parser.add_argument(
            "--seed",
            type=number_from(0, 2_147_483_647),
            default=DEFAULT_SEED,
            help="seed of the sample, the intervals and p",
        )
        parser.add_argument(
            "--temperature", type=temperature, default=_USUAL.temperature, metavar="T"
        )
        parser.add_argument(
            "--max-tokens", type=number_from(1), default=_USUAL.max_tokens, metavar="N"
        )
        add_cost_arguments(parser, budget="maximum cost of all calls together")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Replays and prints the tables; exits 1 where a candidate did not come to its end.

        Raises:
            CommandError: a candidate was left out; the others' figures are printed before.
        """
        request = _request(options)
        if options["estimate"]:
            estimates = estimate_replay(request)
            self.stdout.write(estimates_told(estimates, json_wanted=options["json"]))
            return
        run = finished_run(start(plan_replay(request)), "replay", self.stderr)
        for line in budgets_told([run]):
            self.stderr.write(line)
        check_finished([run])
        found = stored_replay(run.pk, scale=ReplayScale(options["scores"].upper()))
        assert found is not None  # noqa: S101 - a run that is done has stored it
        if options["json"]:
            self.stdout.write(json.dumps(found.record(), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))
        for each in found.settings["left_out"]:
            told = f"left out, {each['candidate']}: {each['code']}: {text_of(each['code'])}"
            self.stderr.write(told)
        if found.settings["left_out"]:
            message = (
                f"{counted(len(found.settings['left_out']), 'candidate')} left out. Once the cause "
                f"is mended, run `judge --retry {run.pk}`"
            )
            raise CommandError(message, returncode=WORK_FAILED)


def _request(options: dict[str, Any]) -> ReplayRequest:
    words = {each.word: each for each in GenerationContext}
    contexts = [word.strip() for word in options["context"].split(",")]
    if not words.keys() >= set(contexts):
        message = f"--context is one or more of {', '.join(words)}, not {options['context']!r}"
        raise CommandError(message, returncode=INPUT_WRONG)
    names = [name for name in judges_named(options["candidates"], usual=None) if name is not None]
    if not names:
        raise CommandError("--candidates is required", returncode=INPUT_WRONG)
    return ReplayRequest(
        dataset=dataset_named(options["dataset"]),
        evaluator=options["evaluator"],
        candidates=names,
        contexts=[words[word] for word in dict.fromkeys(contexts)],
        items=items_named(options["items"]),
        seed=options["seed"],
        temperature=options["temperature"],
        max_tokens=options["max_tokens"],
        budget=options["budget"],
    )


_WORDS = {"control": "(original, re-scored)", "stated": "(original, as rated)"}


def _lines(found: StoredReplay) -> Iterator[str]:
    """The paper's Table 8, then every candidate against the originals."""
    settings = found.settings
    yield (
        f"run {found.run.pk}: {settings['replayed']:,} turns of {settings['users']} users "
        f"({settings['items']}), scored by {settings['evaluator_name']}, {found.scale.lower()}"
    )
    if settings["items"].startswith("hard"):
        yield "the turns were selected on the outcome: any other response gains on them"
    yield (
        f"{'candidate':<28}{'users':>7}{'interval':>15}{'turns':>7}{'scenarios':>11}{'blocks':>8}"
        f"{'SAT':>8}{'DSAT':>8}{'n':>7}"
    )
    for row in found.rows:
        yield _line(row)
    yield f"{'against the originals':<28}{'wins':>8}{'ties':>8}{'losses':>8}{'gain':>8}{'p':>8}"
    for pair in found.against(""):
        yield _pair_line(pair)


def _line(row: ReplayRow) -> str:
    means, user = row.means, row.means["user"]
    interval = user.interval
    told = "-" if interval is None else f"{interval.low:.3f}-{interval.high:.3f}"
    return (
        f"{_WORDS.get(row.role, row.candidate):<28}{user.value:>7.3f}{told:>15}"
        f"{means['micro'].value:>7.3f}{means['scenario'].value:>11.3f}{means['block'].value:>8.3f}"
        f"{row.satisfied.value:>8.1%}{row.dissatisfied:>8.1%}{row.items:>7}"
    )


def _pair_line(pair: ReplayPair) -> str:
    wins, ties, losses = pair.outcomes["micro"].shares
    p = "-" if pair.p is None else f"{pair.p:.3f}" if pair.p >= _LEAST_P else f"<{_LEAST_P}"
    return (
        f"{pair.candidate:<28}{wins:>8.1%}{ties:>8.1%}{losses:>8.1%}{pair.gain.value:>+8.3f}{p:>8}"
    )
