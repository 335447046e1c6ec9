"""`manage.py import_records`: a file or directory of any known format into a dataset."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.core.formats.columns import columns_read
from annotation.core.formats.detect import AUTO, format_of_text, with_columns
from annotation.core.formats.format import Format
from annotation.core.formats.headers import KEYS
from annotation.core.formats.mappings import read_columns, read_values, written_columns
from annotation.core.formats.records import Fault, FaultGroup
from annotation.core.formats.tables import NAME as TABLES
from annotation.core.formats.user_lists import read_users
from annotation.core.formats.values import VALUED
from annotation.core.refusals import Refused
from annotation.services.datasets import state_sampling
from annotation.services.imports import ImportReport
from judging.core.formats.detect import ALL_FORMATS
from judging.services.recorded import import_any
from sensejudge_site.management.parsing import INPUT_WRONG, OneLineCommand, counted

FAULTS_SHOWN = 20
PROGRESS_ROWS = 10_000


class Command(OneLineCommand):
    """Imports rows; nothing is written and the status is 2 where any row is bad."""

    help = (
        "Imports a file or directory into a dataset, all or nothing. Importing the same file "
        "again changes nothing; a row that contradicts existing data is an error."
    )

    # They load every page of the site, which takes as long as importing thousands of rows.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares what to read, and into which dataset."""
        parser.add_argument("path", type=Path, metavar="PATH", help="a file or a directory")
        parser.add_argument(
            "--format",
            default=AUTO,
            metavar="NAME",
            help="one of " + ", ".join((AUTO, *ALL_FORMATS)),
        )
        parser.add_argument(
            "--columns",
            metavar="KEY=HEADER,...",
            help="what the columns of a table contain; KEY is one of " + ", ".join(KEYS),
        )
        parser.add_argument(
            "--values",
            action="append",
            metavar="KEY:VALUE=MEANING,...",
            help="what the values of a table's column mean, once for each column; KEY is one of "
            + ", ".join(VALUED),
        )
        parser.add_argument("--dataset", required=True, metavar="SLUG", help="created if missing")
        parser.add_argument(
            "--only-users",
            metavar="FILE:KEY",
            help="import only the users listed under a key of a JSON file",
        )
        parser.add_argument(
            "--labels-random",
            metavar="HOW",
            help="state that the dataset's imported labels are a random sample, and how it was "
            "drawn; an empty text withdraws it",
        )
        parser.add_argument(
            "--skip-errors",
            action="store_true",
            help="leave out rows with errors, list them, and import the rest",
        )
        parser.add_argument("--dry-run", action="store_true", help="check the file, import nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Imports and reports."""
        only = options["only_users"]
        name, formats = _format(options["format"], options["columns"], options["values"])
        if options["columns"] is None and name in {AUTO, TABLES}:
            _refuse_unread_columns(options["path"], formats)
        report = import_any(
            path=options["path"],
            dataset_slug=options["dataset"],
            now=timezone.now(),
            format_name=name,
            formats=formats,
            only_users=None if only is None else read_users(only),
            dry_run=options["dry_run"],
            skip_errors=options["skip_errors"],
            progress=self._progress,
        )
        if options["labels_random"] is not None and not (report.fault_count or report.dry_run):
            state_sampling(
                dataset=report.dataset,
                statement=options["labels_random"],
                by=None,
                now=timezone.now(),
            )
        if report.format == TABLES:
            self._name_columns(options["path"], options["columns"])
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_in_words(report)))
        if report.fault_count:
            first = _fault_in_words(report.faults[0])
            errors = counted(report.fault_count, "error")
            message = f"nothing was imported: {errors}, the first on {first}"
            raise CommandError(message, returncode=INPUT_WRONG)

    def _name_columns(self, path: Path, columns: str | None) -> None:
        """Prints the columns that were read of a table, and those that were not."""
        read, unread = columns_read(path, None if columns is None else read_columns(columns))
        self.stderr.write("columns: " + ", ".join(f"{key}={name}" for key, name in read.items()))
        if unread:
            self.stderr.write("not read: " + ", ".join(unread))

    def _progress(self, rows: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{rows} rows \r", ending="")
        elif rows % PROGRESS_ROWS == 0:
            self.stderr.write(f"{rows} rows")


def _refuse_unread_columns(path: Path, formats: Mapping[str, Format]) -> None:
    """Raises Refused if the headers of a table leave a column whose content is not known.

    It could hold the verdicts; on the page a person says that it does not.
    """
    found = None if path.is_dir() else format_of_text(path, formats)
    if found is None or found.name != TABLES:
        return
    read, unread = columns_read(path)
    if unread:
        raise Refused(
            "import:unread-columns",
            f"not understood: {', '.join(unread)}; add them to --columns, or leave them out: "
            f"--columns {shlex.quote(written_columns(read))}",
        )


def _format(
    name: str, columns: str | None, values: list[str] | None
) -> tuple[str, Mapping[str, Format]]:
    """The name of the format, and the formats, that of tables told its columns and values.

    Raises:
        Refused: a format without columns is told some; they say nothing.
    """
    if columns is None and values is None:
        return name, ALL_FORMATS
    if name not in {AUTO, TABLES}:
        code, what = ("values", "values") if columns is None else ("columns", "columns")
        raise Refused(f"import:{code}", f"{what} belong to the format {TABLES}, not {name}")
    told = None if columns is None else read_columns(columns)
    return TABLES, with_columns(ALL_FORMATS, told, read_values(values or ()))


def _in_words(report: ImportReport) -> list[str]:
    """The report for a reader, a line each."""
    objects = ", ".join(f"{count} {name}" for name, count in report.objects.items() if count)
    lines = [
        f"{report.dataset}: {counted(report.rows, 'row')} as {report.format}, "
        f"{report.created:,} new, {report.unchanged:,} unchanged, "
        f"{counted(report.coerced, 'value')} converted to text"
    ]
    if objects:
        lines.append(f"added: {objects}")
    if report.kept:
        fields = ", ".join(f"{name} ({count:,})" for name, count in report.kept.items())
        lines.append(f"kept beside the data, not shown to annotators or judges: {fields}")
    lines += [f"skipped {counted(n, 'row')}: {reason}" for reason, n in report.skipped.items()]
    lines += [f"read as {name} ({kind})" for kind, name in report.source.items()]
    if report.missing_users:
        lines.append(f"not in the file: {', '.join(report.missing_users)}")
    if report.dry_run:
        lines.append("dry run: nothing was imported")
    if report.rows_left_out:
        lines.append(f"left out because of errors: {counted(report.rows_left_out, 'row')}")
        lines += [_fault_in_words(fault) for fault in report.left_out]
    if report.left_out_count > len(report.left_out):
        lines.append(f"... and {report.left_out_count - len(report.left_out)} more errors")
    lines += [_group_in_words(group) for group in report.fault_groups[:FAULTS_SHOWN]]
    shown = sum(group.count for group in report.fault_groups[:FAULTS_SHOWN])
    if report.fault_count > shown:
        lines.append(f"... and {report.fault_count - shown} more errors (--json lists 200)")
    return lines


def _group_in_words(group: FaultGroup) -> str:
    if group.count == 1:
        return _fault_in_words(group.first)
    values = ", ".join(
        json.dumps(value, ensure_ascii=False) for value in group.values if value is not None
    )
    lines = ", ".join(map(str, group.lines)) + (", ..." if group.count > len(group.lines) else "")
    said = f": {values}" if values else ""
    return f"{group.count:,} x {group.field or 'row'}: {group.first.reason}{said} (lines {lines})"


def _fault_in_words(fault: Fault) -> str:
    value = "" if fault.value is None else f": {json.dumps(fault.value, ensure_ascii=False)}"
    place = f"line {fault.line}, {fault.field or 'row'}" if fault.line else "the whole file"
    return f"{place}: {fault.reason}{value}"
