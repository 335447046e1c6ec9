"""`manage.py demo`: the demo study, from an empty database to a report."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from sensejudge_site.demo.load import login_lines, run_demo
from sensejudge_site.management.parsing import OneLineCommand
from sensejudge_site.management.runs import ProgressLine


class Command(OneLineCommand):
    """Loads a simulated study, distils, judges, prints the figures; repeats nothing."""

    help = "Loads the demo study, learns and judges with the embedded judge, prints a report."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Run the demo; say what is under way on standard error."""
        lines = run_demo(now=timezone.now(), watch=self._watch)
        self.stdout.write("\n".join(["", *lines, "", *login_lines(), ""]))

    def _watch(self, what: str) -> ProgressLine:
        self.stderr.write(f"{what[0].upper()}{what[1:]} ...")
        return ProgressLine(self.stderr, what)
