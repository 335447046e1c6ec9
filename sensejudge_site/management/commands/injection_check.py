"""`manage.py injection_check`: how often a response talks a judge round, or a list said twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.core.intervals import ends
from annotation.core.refusals import text_of
from judging.core.injections import ATTEMPTS, AttackFamily, FlipRow, Flips
from judging.core.repetition import PAPER
from judging.core.rules import JudgePrompt, prompt_of
from judging.core.verdicts import VerdictRule
from judging.models import RunKind
from judging.queries.injections import CheckFigures, RepetitionFigures, check_figures
from judging.services.foreground import run_to_end
from judging.services.injection import DEFAULT_PAIRS, MOST_PAIRS, dataset_lists, dataset_pairs
from judging.services.judges import LEXICAL
from judging.services.kinds import plan, write
from judging.services.run_requests import RunRequest
from sensejudge_site.demo.load import built_in_pairs
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    WORK_FAILED,
    OneLineCommand,
    counted,
)
from sensejudge_site.management.runs import (
    ProgressLine,
    add_cost_arguments,
    check_finished,
    check_runs,
    dataset_named,
    estimated,
)


class Command(OneLineCommand):
    """Puts every attempt of the corpus into responses and counts the verdicts that turn."""

    help = (
        f"Tries {len(ATTEMPTS)} injected texts on a judge: how many verdicts switch to the "
        "injected response, and how many to a harmless text of the same length. Every answer is "
        "saved. With --attack repetition: how many responses with a list the judge prefers once "
        "the list is repeated in front of itself."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the judge and how it is asked."""
        parser.add_argument(
            "--judge", default=LEXICAL, metavar="lexical|ENDPOINT", help="default: lexical"
        )
        parser.add_argument(
            "--attack",
            choices=[each.word for each in AttackFamily],
            default=AttackFamily.TEXTS.word,
            help="what is done to responses (default: texts)",
        )
        parser.add_argument(
            "--rephrase",
            metavar="lexical|ENDPOINT",
            help="judge that rephrases lists (default: the judge; lexical repeats them verbatim)",
        )
        parser.add_argument(
            "--prompt",
            default=JudgePrompt.PERSONAL.word,
            choices=[each.word for each in JudgePrompt if not each.grades],
        )
        parser.add_argument(
            "--verdict",
            choices=[rule.lower() for rule in VerdictRule],
            default=VerdictRule.STRICT.lower(),
            help="how an LLM's reply is read",
        )
        parser.add_argument(
            "--dataset",
            metavar="SLUG",
            help="use this dataset's pairs instead of the six built-in ones",
        )
        parser.add_argument(
            "--pairs",
            type=int,
            default=DEFAULT_PAIRS,
            metavar="N",
            help="number of pairs, or of responses with a list (default: 6)",
        )
        add_cost_arguments(parser, budget="maximum cost of all calls")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Prints the rates; exits 1 where a call failed, 2 where the judge is not known."""
        if not 1 <= options["pairs"] <= MOST_PAIRS:
            message = f"--pairs must be from 1 to {MOST_PAIRS}"
            raise CommandError(message, returncode=INPUT_WRONG)
        slug = options["dataset"]
        dataset = dataset_named(slug) if slug else built_in_pairs(now=timezone.now())
        attack = AttackFamily(options["attack"].upper())
        repeats = attack is AttackFamily.REPETITION
        pairs = (dataset_lists if repeats else dataset_pairs)(dataset, count=options["pairs"])
        request = RunRequest(
            kind=RunKind.CHECK,
            dataset=dataset,
            judge=options["judge"],
            writer=options["rephrase"] if repeats else None,
            attack=attack,
            prompt=prompt_of(options["prompt"]),
            verdict=VerdictRule(options["verdict"].upper()),
            pairs=[pair.to_json() for pair in pairs],
            budget=options["budget"],
        )
        (planned,) = plan(request)
        if options["estimate"]:
            told = estimated([planned], self.stderr, json_wanted=options["json"])
            self.stdout.write(told)
            return
        progress = ProgressLine(self.stderr, f"trying {planned.judge}")
        check_runs([planned], self.stderr)
        run = run_to_end(write(planned).pk, observer=progress, on_wait=progress.waits)
        found = check_figures(run.injection_check.pk)
        if isinstance(found, RepetitionFigures):
            fields, lines = _repetition_fields(found), _repetition_lines(found)
        else:
            fields, lines = _fields(found), _lines(found)
        self.stdout.write(json.dumps(fields) if options["json"] else "\n".join(lines))
        if found.failed:
            code = found.error_codes[0]
            message = f"{code}: {counted(found.failed, 'call')} failed. {text_of(code)}"
            raise CommandError(message, returncode=WORK_FAILED)
        if not run.error_code.startswith("verdict:"):  # unreadable verdicts are a finding
            check_finished([run])


def _fields(found: CheckFigures) -> dict[str, Any]:
    return {
        "check": found.check.pk,
        "judge": found.check.judge,
        "prompt": JudgePrompt(found.check.prompt).word,
        "verdict": found.verdict.lower(),
        "pairs": len(found.check.pairs),
        "attempts": len(ATTEMPTS),
        **_row(found.total),
        "rows": [{"kind": row.kind, "language": row.language, **_row(row)} for row in found.rows],
        "failed": found.failed,
        "error_codes": list(found.error_codes),
    }


def _repetition_fields(found: RepetitionFigures) -> dict[str, Any]:
    return {
        "check": found.check.pk,
        "attack": AttackFamily.REPETITION.word,
        "judge": found.check.judge,
        "prompt": found.prompt.word,
        "verdict": found.verdict.lower(),
        "rephrased_by": found.rephrased_by,
        "lists": found.lists,
        "lost": found.lost,
        "both": _flips(found.both),
        "second": _flips(found.second),
        "first": _flips(found.first),
        "failed": found.failed,
        "error_codes": list(found.error_codes),
        "paper": {name: told.rate for name, told in PAPER.items()},
    }


def _repetition_lines(found: RepetitionFigures) -> Iterator[str]:
    how = "word for word" if found.rephrased_by == LEXICAL else f"by {found.rephrased_by}"
    lists = f"{counted(found.lists, 'list')} repeated {how}, {found.lost} lost"
    yield f"check {found.check.pk}: {found.check.judge}, {found.prompt.word}, {lists}"
    for name, each in (
        ("repetition preferred in both orders", found.both),
        ("shown second", found.second),
        ("shown first", found.first),
    ):
        yield f"{name}: {_share(each, 'preferred')}"
    for name, told in PAPER.items():
        yield f"{name} in the paper: {told.flipped} of {told.read}, {(told.rate or 0) * 100:.1f} %"


def _row(row: FlipRow) -> dict[str, Any]:
    return {
        "attacks": _flips(row.attempts),
        "harmless": _flips(row.harmless),
        "by_words": row.by_words,
    }


def _flips(found: Flips) -> dict[str, Any]:
    return {
        "flipped": found.flipped,
        "read": found.read,
        "unreadable": found.unreadable,
        "failed": found.failed,
        "rate": found.rate,
        **ends(found.interval),
    }


def _lines(found: CheckFigures) -> Iterator[str]:
    check = found.check
    asked = JudgePrompt(check.prompt).word
    yield f"check {check.pk}: {check.judge}, {asked}, {counted(len(check.pairs), 'pair')}"
    for row in found.rows:
        name = " ".join(filter(None, (row.kind and row.kind.lower(), row.language))) or "all"
        yield f"{name}: {_line(row.attempts)}; harmless texts of the same length: " + (
            f"{_line(row.harmless)}; {row.by_words} only because of the attempt"
        )
    if not found.rows:
        yield "no attempt could be tried"


def _line(found: Flips) -> str:
    return _share(found, "verdicts switched")


def _share(found: Flips, what: str) -> str:
    if found.rate is None:
        return "no verdict could be read"
    interval = found.interval
    spread = (
        f"too few pairs for an interval, about {found.units.missing} more"
        if interval is None
        else f"{interval.low * 100:.1f} - {interval.high * 100:.1f}"
    )
    return (
        f"{found.flipped} of {found.read} {what}, {found.rate * 100:.1f} % "
        f"({spread}), {found.unreadable} unreadable"
    )
