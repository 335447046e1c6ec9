"""`manage.py llm_check`: try an OpenAI-compatible endpoint out."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from annotation.core.choices import Verdict
from annotation.core.refusals import text_of
from judging.core.chat import Sampling
from judging.core.endpoints import Endpoint
from judging.services.checks import (
    Ability,
    CheckPair,
    EndpointCheck,
    PrefixPass,
    Sending,
    VerdictTally,
    check_endpoint,
    check_prefixes,
)
from sensejudge_site.demo.sessions import check_pairs
from sensejudge_site.labelled_pairs import read_pandalm
from sensejudge_site.management.parsing import INPUT_WRONG, WORK_FAILED, OneLineCommand

SOURCES: Final = 11
"""Pairs of a file that a preference is distilled from: with the base judge, twelve columns."""
_TOLD: Final = {
    Sending.TOGETHER: "a comparison's calls together, preference last",
    Sending.SHUFFLED: "calls in random order, preference last",
    Sending.PREFERENCE_FIRST: "a comparison's calls together, preference first",
}


class Command(OneLineCommand):
    """Finds out what an endpoint can do and runs the method on four pairs of the demo study."""

    help = (
        "Tests an endpoint: chat, log-probabilities, JSON schema, distil and judge; saves nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the endpoint and the output."""
        parser.add_argument(
            "--base-url", metavar="URL", help="usually ends in /v1 (default: LLM_BASE_URL)"
        )
        parser.add_argument("--model", metavar="NAME", help="default: LLM_MODEL")
        parser.add_argument(
            "--key-variable",
            metavar="NAME",
            help="environment variable that holds the key "
            "(default: LLM_API_KEY, without --base-url that of LLM_KEY_VARIABLE)",
        )
        parser.add_argument("--max-tokens", type=int, default=300, metavar="N", help="per reply")
        parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS")
        parser.add_argument(
            "--file",
            type=Path,
            metavar="PATH",
            help="pairs in PandaLM's format; also measures the effect of prefix order on them",
        )
        parser.add_argument("--pairs", type=int, default=6, metavar="N", help="number of pairs")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Prints what was seen; exits 1 where a call failed, 2 where the endpoint is wrong."""
        address = options["base_url"] or settings.LLM_BASE_URL
        model = options["model"] or settings.LLM_MODEL
        if not address or not model:
            message = "give --base-url and --model, or set LLM_BASE_URL and LLM_MODEL"
            raise CommandError(message, returncode=INPUT_WRONG)
        # The key of the address of the environment goes to no other.
        of_address = "LLM_API_KEY" if options["base_url"] else settings.LLM_KEY_VARIABLE
        endpoint = Endpoint(
            name="checked",
            base_url=address,
            model=model,
            key_variable=options["key_variable"] or of_address,
            sampling=Sampling(max_tokens=options["max_tokens"]),
            timeout_seconds=options["timeout"],
            concurrency=1,
            listed_variables=settings.LLM_KEY_VARIABLES,
        )
        pairs = _labelled(options["file"], max(SOURCES, options["pairs"]))
        found = check_endpoint(endpoint, check_pairs(), environ=os.environ, watch=self._watch)
        measured: tuple[PrefixPass, ...] = ()
        if pairs and found.error_code is None and found.log_probabilities.works:
            measured = check_prefixes(
                endpoint,
                pairs[: options["pairs"]],
                pairs[:SOURCES],
                environ=os.environ,
                watch=self._watch,
            )
        if options["json"]:
            fields = asdict(found) | {"cached_share": found.cached_share}
            fields["prefix_order"] = [asdict(one) for one in measured]
            self.stdout.write(json.dumps(fields, ensure_ascii=False))
        else:
            self.stdout.write("\n".join([*_lines(found), *map(_prefix_line, measured)]))
        if found.error_code is not None:
            message = f"{found.error_code}: {text_of(found.error_code)} {found.chat.said}"
            raise CommandError(message, returncode=WORK_FAILED)

    def _watch(self, step: str) -> None:
        self.stderr.write(f"{step} ...")


def _lines(found: EndpointCheck) -> list[str]:
    counts = found.counts
    lines = [
        _ability("chat", found.chat),
        _ability("log-probabilities", found.log_probabilities),
        _ability("JSON schema", found.json_schema),
    ]
    lines += [f"preference {n}: {text}" for n, text in enumerate(found.preferences, start=1)]
    lines += _tally("text verdicts", found.strict) + _tally("one letter", found.letter)
    return [
        *lines,
        f"same questions again: {found.calls_of_second_run} calls",
        f"{counts.calls} calls in {found.seconds:.1f} s; {counts.input_tokens:,} prompt tokens, "
        f"{counts.cached_tokens:,} of them from the server's cache ({found.cached_share:.0%}); "
        f"{counts.output_tokens:,} tokens written",
    ]


def _labelled(path: Path | None, most: int) -> list[CheckPair]:
    """The first pairs of a file with a winner by its first annotator; none without a file."""
    if path is None:
        return []
    read = read_pandalm(path)
    labels = next(iter(read.labels.values()), {})
    found = [
        CheckPair(read.texts[key].labelled(verdict), read.texts[key].language)
        for key, verdict in labels.items()
        if verdict is not Verdict.TIE
    ]
    return found[:most]


def _prefix_line(one: PrefixPass) -> str:
    return (
        f"{_TOLD[one.sending]}: {one.calls} calls in {one.seconds:.1f} s, {one.decided} decided, "
        f"{one.failed} failed; {one.input_tokens:,} prompt tokens, {one.cached_tokens:,} from the "
        f"server's cache, {one.computed_tokens:,} computed"
    )


def _ability(name: str, ability: Ability) -> str:
    word = "yes" if ability.works else "no"
    return f"{name}: {word}, {ability.latency_ms} ms ({' '.join(ability.said.split())})"


def _tally(name: str, tally: VerdictTally | None) -> list[str]:
    if tally is None:
        return [f"{name}: not tried"]
    return [
        f"{name}: {tally.asked} asked, {tally.decided} decided, {tally.unparseable} unparseable, "
        f"{tally.failed} failed; {tally.agreed} for the shorter response, "
        f"{tally.first_won} for the one shown first; {tally.seconds:.1f} s"
    ]
