"""`manage.py export_records`: labels, sessions or judgments of a dataset as JSONL or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.exports import EXPORTS as LABELLED
from annotation.exports import Export, ExportFormat
from annotation.models import Dataset
from annotation.queries.datasets import dataset_of
from judging.exports import EXPORTS as JUDGED
from sensejudge_site.management.parsing import INPUT_WRONG, OneLineCommand

KINDS = {**LABELLED, **JUDGED}


class Command(OneLineCommand):
    """Writes an export to a file or to standard output."""

    help = "Exports one kind of rows of a dataset, in a stable order."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares what to write, and where."""
        parser.add_argument("kind", choices=sorted(KINDS), metavar="KIND", help=", ".join(KINDS))
        parser.add_argument("--dataset", required=True, metavar="SLUG")
        parser.add_argument(
            "--format",
            choices=[known.value for known in ExportFormat],
            default=ExportFormat.JSONL.value,
        )
        parser.add_argument("--out", type=Path, metavar="PATH", help="default: standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Writes the file whole, or leaves what was there."""
        dataset = dataset_of(options["dataset"])
        export, format_ = KINDS[options["kind"]], ExportFormat(options["format"])
        out: Path | None = options["out"]
        if out is None:
            for block in export.blocks(dataset, format_):
                self.stdout.write(block, ending="")
            return
        try:
            _write(out, export, dataset, format_)
        except OSError as error:
            message = f"cannot write {out}: {error.strerror}"
            raise CommandError(message, returncode=INPUT_WRONG) from error


def _write(out: Path, export: Export, dataset: Dataset, format_: ExportFormat) -> None:
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            file.writelines(export.blocks(dataset, format_))
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
