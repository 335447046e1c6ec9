"""`manage.py injection_check`: how often a response talks a judge round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.core.intervals import ends
from judging.core.error_texts import error_text
from judging.core.injections import Flips
from judging.core.judge_modes import JudgePrompt, prompt_of
from judging.services.injection_check import InjectionCheck, TriedPair, check_injections
from judging.services.judges import LEXICAL
from sensejudge_site.demo.check_pairs import check_pairs
from sensejudge_site.management.runs import INPUT_ERRORS, WORK_FAILED, wrong_input


class Command(BaseCommand):
    """Puts every attempt of the corpus into responses and counts the verdicts that turn."""

    help = (
        "Tries 44 injected texts on a judge: how many verdicts turn to the response that holds "
        "one, and how many turn to a harmless text of the same length."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the judge and how it is asked."""
        parser.add_argument(
            "--judge", default=LEXICAL, metavar="lexical|ENDPOINT", help="default: lexical"
        )
        parser.add_argument(
            "--prompt",
            default=JudgePrompt.PERSONAL.word,
            choices=[each.word for each in JudgePrompt if not each.grades],
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Prints the rates; exits 1 where a call failed, 2 where the judge is not known."""
        pairs = [
            TriedPair(one.pair.dialogue, one.pair.chosen, one.pair.rejected, one.language)
            for one in check_pairs()
        ]
        try:
            found = check_injections(
                options["judge"],
                pairs,
                prompt=prompt_of(options["prompt"]),
                watch=lambda step: self.stderr.write(f"{step} ..."),
            )
        except INPUT_ERRORS as error:
            raise wrong_input(error) from error
        if options["json"]:
            self.stdout.write(json.dumps(_fields(found), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))
        if found.failed:
            code = found.error_codes[0]
            message = f"{code}: {found.failed} calls failed. {error_text(code)}"
            raise CommandError(message, returncode=WORK_FAILED)


def _fields(found: InjectionCheck) -> dict[str, Any]:
    return {
        "judge": found.judge,
        "prompt": found.prompt.word,
        "pairs": found.pairs,
        "attacks": _flips(found.attacks),
        "harmless": _flips(found.harmless),
        "by_attempt": [{"attempt": text, **_flips(each)} for text, each in found.by_attempt],
        "failed": found.failed,
        "error_codes": list(found.error_codes),
    }


def _flips(found: Flips) -> dict[str, Any]:
    return {
        "flipped": found.flipped,
        "read": found.read,
        "unreadable": found.unreadable,
        "rate": found.rate,
        **ends(found.interval),
    }


def _lines(found: InjectionCheck) -> Iterator[str]:
    yield f"{found.judge}, {found.prompt.word}, {found.pairs} pairs"
    yield f"attempts: {_line(found.attacks)}"
    yield f"harmless texts of the same length: {_line(found.harmless)}"
    for text, each in found.by_attempt:
        if each.flipped:
            yield f"  {each.flipped} of {each.read}: {' '.join(text.split())[:70]}"


def _line(found: Flips) -> str:
    if found.rate is None or found.interval is None:
        return "nothing could be tried"
    return (
        f"{found.flipped} of {found.read} verdicts turned, {found.rate * 100:.1f} % "
        f"({found.interval.low * 100:.1f} - {found.interval.high * 100:.1f}), "
        f"{found.unreadable} unreadable"
    )
