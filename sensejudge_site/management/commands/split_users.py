"""`manage.py split_users`: the paper's training and test users of a file, to import them by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.formats.detect import AUTO, FORMATS, open_records
from annotation.core.formats.records import Row, SessionRecord
from annotation.core.refusals import Refused
from annotation.core.splits import SEED, TRAIN_SHARE, conversations, split_users
from sensejudge_site.management.parsing import INPUT_WRONG, OneLineCommand


class Command(OneLineCommand):
    """Reads conversations and writes who is in which part; the database is not asked."""

    help = (
        "Draws training and test users as the satisfaction paper does. Import them with "
        "import_records PATH --only-users FILE:train (or :test)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares what to read, how to draw, and where to write."""
        parser.add_argument("path", type=Path, metavar="PATH", help="a file or a directory")
        parser.add_argument(
            "--format", default=AUTO, metavar="NAME", help="one of " + ", ".join((AUTO, *FORMATS))
        )
        parser.add_argument("--train-share", type=float, default=TRAIN_SHARE, metavar="SHARE")
        parser.add_argument("--seed", type=int, default=SEED)
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Draws, and writes one JSON object with the lists train, test and neither."""
        out: Path | None = options["out"]
        try:
            _chosen, rows = open_records(options["path"], options["format"])
            split = split_users(
                conversations(_sessions(rows)),
                train_share=options["train_share"],
                seed=options["seed"],
            )
            text = json.dumps(asdict(split), ensure_ascii=False, indent=1)
            if out is not None:
                out.write_text(text + "\n", encoding="utf-8")
        except ValueError as error:
            raise CommandError(f"split: {error}", returncode=INPUT_WRONG) from error
        except OSError as error:
            message = f"cannot write {out}: {error.strerror}"
            raise CommandError(message, returncode=INPUT_WRONG) from error
        if out is None:
            self.stdout.write(text)
        else:
            counts = ", ".join(f"{len(names)} {part}" for part, names in asdict(split).items())
            self.stdout.write(f"{out}: {counts}")


def _sessions(rows: Iterator[Row]) -> Iterator[SessionRecord]:
    """The conversations; one that cannot be read would change the draw, so it ends the reading."""
    for row in rows:
        if row.faults:
            fault = row.faults[0]
            field = fault.field or "row"
            raise Refused("import:unreadable", f"line {row.line}, {field}: {fault.reason}")
        if isinstance(row.record, SessionRecord):
            yield row.record
