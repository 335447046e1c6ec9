"""`manage.py export_records`: labels, sessions or judgments of a dataset as JSONL or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from annotation.exports import EXPORTS as LABELLED
from annotation.exports import Export, ExportFormat
from annotation.exports.folder import (
    PARQUET,
    UNLIKE,
    has_parquet,
    write_folder,
    write_parquet,
)
from annotation.exports.kto import (
    HIGHEST_THRESHOLD,
    KTO,
    LOWEST_THRESHOLD,
    count_undecided,
    marked_replies,
)
from annotation.models import Dataset
from annotation.queries.datasets import dataset_of
from benchmark.exports import EXPORTS as DECIDED
from benchmark.exports import PREFERENCE_PAIRS, PairChoice, preference_pairs
from benchmark.exports.pairs import count_pairs
from judging.core.formats.pairs import PairSource
from judging.exports import EXPORTS as JUDGED
from sensejudge_site.management.parsing import INPUT_WRONG, OneLineCommand

FOLDER: Final = "folder"
KINDS = {**LABELLED, **JUDGED, **DECIDED}


class Command(OneLineCommand):
    """Writes an export to a file or to standard output."""

    help = "Exports one kind of rows of a dataset, in a stable order."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares what to write, and where."""
        parser.add_argument("kind", choices=sorted(KINDS), metavar="KIND", help=", ".join(KINDS))
        parser.add_argument("--dataset", required=True, metavar="SLUG")
        parser.add_argument(
            "--format",
            choices=[*(known.value for known in ExportFormat), FOLDER, PARQUET],
            default=ExportFormat.JSONL.value,
        )
        parser.add_argument("--out", type=Path, metavar="PATH", help="default: standard output")
        pairs = parser.add_argument_group("preference_pairs")
        pairs.add_argument(
            "--source",
            choices=[source.value for source in PairSource],
            help="whose verdicts; default: human, or judge with --judge",
        )
        pairs.add_argument("--judge", default="", metavar="NAME")
        pairs.add_argument(
            "--annotator",
            default="",
            metavar="NAME",
            help="only their labels; with --judge: the verdicts in their stead",
        )
        pairs.add_argument(
            "--each-label", action="store_true", help="a row a label, not the majority"
        )
        pairs.add_argument(
            "--layout",
            choices=["all", "trl"],
            default="all",
            help="trl: only prompt, chosen, rejected and margin",
        )
        marked = parser.add_argument_group("kto")
        marked.add_argument(
            "--threshold",
            choices=[str(each) for each in range(LOWEST_THRESHOLD, HIGHEST_THRESHOLD + 1)],
            help="ratings from it on are good, all others bad; default: 4 and 5 good, 1 and 2 bad",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Writes the file whole, or leaves what was there."""
        dataset = dataset_of(options["dataset"])
        export = _export(options, dataset)
        export.check(dataset)
        form = options["format"]
        out: Path | None = options["out"]
        if form in {FOLDER, PARQUET}:
            _check(export, form, out)
        if out is None:
            for block in export.blocks(dataset, ExportFormat(form)):
                self.stdout.write(block, ending="")
        else:
            self._write(out, export, dataset, form)
        self._say_what_is_left_out(options, dataset)

    def _say_what_is_left_out(self, options: dict[str, Any], dataset: Dataset) -> None:
        count, what = 0, ""
        if options["kind"] == PREFERENCE_PAIRS.kind:
            count = count_pairs(dataset, _choice(options)).tied
            what = "comparisons whose majority is a tie"
        elif options["kind"] == KTO.kind and options["threshold"] is None:
            count, what = count_undecided(dataset), "ratings of 3"
        if count:
            self.stderr.write(f"left out: {count} {what}")

    def _write(self, out: Path, export: Export, dataset: Dataset, form: str) -> None:
        try:
            if form == FOLDER:
                write_folder(out, export, dataset)
            elif form == PARQUET:
                write_parquet(out, export, dataset)
            else:
                _write(out, export, dataset, ExportFormat(form))
        except OSError as error:
            message = f"cannot write {out}: {error.strerror}"
            raise CommandError(message, returncode=INPUT_WRONG) from error


def _export(options: dict[str, Any], dataset: Dataset) -> Export:
    """The export that is asked for.

    Raises:
        CommandError: an option belongs to another one.
        Refused: the dataset has no such verdicts.
    """
    export, choice, threshold = KINDS[options["kind"]], _choice(options), options["threshold"]
    message = ""
    if choice != PairChoice() and export.kind != PREFERENCE_PAIRS.kind:
        message = (
            "--source, --judge, --annotator, --each-label and --layout are for "
            f"{PREFERENCE_PAIRS.kind}"
        )
    elif threshold is not None and export.kind != KTO.kind:
        message = f"--threshold is for {KTO.kind}"
    if message:
        raise CommandError(message, returncode=INPUT_WRONG)
    if export.kind == PREFERENCE_PAIRS.kind:
        choice.check(dataset)
        return preference_pairs(choice)
    if export.kind == KTO.kind:
        return marked_replies(None if threshold is None else int(threshold))
    return export


def _choice(options: dict[str, Any]) -> PairChoice:
    source = options["source"] or (PairSource.JUDGE if options["judge"] else PairSource.HUMAN)
    return PairChoice(
        source=PairSource(source),
        judge=options["judge"],
        annotator=options["annotator"],
        each_label=options["each_label"],
        training_columns=options["layout"] == "trl",
    )


def _check(export: Export, form: str, out: Path | None) -> None:
    """Refuse what cannot be written so, before anything is.

    Raises:
        CommandError: no place, rows without common columns, or no package for Parquet.
    """
    message = ""
    if out is None:
        message = f"--format {form} needs --out"
    elif export.kind == UNLIKE:
        message = f"rows of {UNLIKE} have no common columns: choose another kind, or jsonl"
    elif form == FOLDER and out.exists():
        message = f"cannot write {out}: it is there already"
    elif form == PARQUET and not has_parquet():
        message = "Parquet needs the package pyarrow, which is not installed here"
    if message:
        raise CommandError(message, returncode=INPUT_WRONG)


def _write(out: Path, export: Export, dataset: Dataset, format_: ExportFormat) -> None:
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            file.writelines(export.blocks(dataset, format_))
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
