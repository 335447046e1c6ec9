"""`manage.py bench`: a benchmark that prints its figures; never a timed test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from django.core.management.base import CommandParser

from sensejudge_site import benches
from sensejudge_site.management.parsing import OneLineCommand, number_from

_SIZES: Final = (
    "setting",
    "items",
    "labels",
    "calls",
    "file",
    "seeds",
    "first",
    "simulations",
    "figure",
    "findings",
)
_COUNT: Final = number_from(1, 100_000)


class Command(OneLineCommand):
    """Runs one benchmark."""

    help = "Runs a benchmark and prints its figures next to the published ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the name, the sizes and the output."""
        parser.add_argument("name", metavar="NAME", help=f"one of: {', '.join(benches.names())}")
        parser.add_argument("--setting", help="annotate: small, large, or memory (of an export)")
        parser.add_argument(
            "--items",
            type=_COUNT,
            help="pairs to label (annotate) or import (imports), battles (rank), dialogues "
            "(duplicates), labels and judgments (export)",
        )
        parser.add_argument("--labels", type=_COUNT, help="annotate: existing answers")
        parser.add_argument("--calls", type=_COUNT, help="judge: calls to send")
        parser.add_argument(
            "--file",
            metavar="PATH",
            help="embedded: labels in PandaLM's format; pairing: pairwise votes",
        )
        parser.add_argument(
            "--seeds", type=_COUNT, help="embedded, overlap: splits to average over; pairing: draws"
        )
        parser.add_argument("--first", type=_COUNT, help="embedded: the first split (40)")
        parser.add_argument("--simulations", type=_COUNT, help="coverage: samples of each size")
        parser.add_argument(
            "--figure",
            metavar="NAME",
            help="coverage: one page (trust, leaderboard, corrected ...), or one figure of it",
        )
        parser.add_argument(
            "--findings",
            action="store_const",
            const=1,
            help="coverage: count what is found in coin flips",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Prints the figures."""
        sizes = {name: options[name] for name in _SIZES if options[name] is not None}
        bench = benches.run(options["name"], sizes)
        if options["json"]:
            self.stdout.write(
                json.dumps(
                    {
                        "name": bench.name,
                        "figures": {one.name: one.value for one in bench.figures},
                        "published": {
                            one.name: one.published
                            for one in bench.figures
                            if one.published is not None
                        },
                    }
                )
            )
            return
        if bench.columns:
            for line in _table(bench):
                self.stdout.write(line)
            return
        self.stdout.write(f"{'':46}{'here':>12}     {'published':>12}")
        for one in bench.figures:
            published = "-" if one.published is None else f"{one.published:,.2f}"
            self.stdout.write(f"{one.name:46}{one.value:>12,.2f} {one.unit:4}{published:>12}")


def _table(bench: benches.Bench) -> Iterator[str]:
    """A row for all figures whose names differ in the column alone, and what stands in none."""
    rows: dict[str, dict[str, float]] = {}
    for one in bench.figures:
        name, _space, column = one.name.rpartition(" ")
        rows.setdefault(name or one.name, {})[column] = one.value
    yield f"{'':46}" + "".join(f"{column:>10}" for column in bench.columns)
    for name, values in rows.items():
        told = (f"{values[column]:.1f}" if column in values else "-" for column in bench.columns)
        if set(values) <= set(bench.columns):
            yield f"{name:46}" + "".join(f"{each:>10}" for each in told)
        else:
            yield f"{name:46}" + "".join(f"{each:>10.1f}" for each in values.values())
