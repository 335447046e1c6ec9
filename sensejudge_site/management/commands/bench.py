"""`manage.py bench`: a benchmark that prints its figures; never a timed test."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sensejudge_site import benches


class Command(BaseCommand):
    """Runs one benchmark."""

    help = "Runs a benchmark and prints its figures beside the published ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the name and the output."""
        parser.add_argument("name", metavar="NAME", help=f"one of: {', '.join(benches.names())}")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Prints the figures."""
        try:
            bench = benches.run(options["name"])
        except benches.UnknownBenchError as error:
            raise CommandError(str(error), returncode=2) from error
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
        self.stdout.write(f"{'':32}{'here':>12}{'published':>12}")
        for one in bench.figures:
            published = "-" if one.published is None else f"{one.published:,.2f}"
            self.stdout.write(f"{one.name:32}{one.value:>12,.2f}{published:>12}")
