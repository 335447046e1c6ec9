"""`manage.py verify`: whether a snapshot's figures come out the same today."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from benchmark.queries.snapshots import snapshot_numbered
from benchmark.services.snapshots import verify
from sensejudge_site.management.parsing import (
    WORK_FAILED,
    OneLineCommand,
    counted,
    number_from,
)


class Command(OneLineCommand):
    """Computes a snapshot again from what is stored; nobody is asked anything."""

    help = "Computes the figures of a snapshot again, without calls, and names what changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares which snapshot."""
        parser.add_argument("--snapshot", type=number_from(1), required=True, metavar="N")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Compares and prints; exits 1 where anything changed."""
        number = options["snapshot"]
        changed = [each.record() for each in verify(snapshot_numbered(number))]
        if options["json"]:
            told = {"equal": not changed, "changed": changed}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
        elif not changed:
            self.stdout.write(f"snapshot {number}: everything is as it was kept")
        for each in () if options["json"] else changed:
            self.stdout.write(f"{each['what']}: was {_told(each['was'])}, is {_told(each['is'])}")
        if changed:
            message = f"snapshot {number}: {counted(len(changed), 'thing')} changed"
            raise CommandError(message, returncode=WORK_FAILED)


def _told(value: object) -> str:
    return "not there" if value is None else json.dumps(value, ensure_ascii=False)
