"""What `--batch-out` and `--batch-in` do in the commands that work runs off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.refusals import Refused
from judging.models import JudgeRun
from judging.services.batch_files import batch_lines, read_in
from sensejudge_site.management.parsing import INPUT_WRONG


def add_batch_arguments(parser: CommandParser) -> None:
    """The two ways of a batch file."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--batch-out",
        type=Path,
        metavar="FILE",
        help="write the calls to a batch file (OpenAI's JSON lines) instead of sending them",
    )
    ways.add_argument(
        "--batch-in",
        type=Path,
        metavar="FILE",
        help="read the replies to such a file and continue the runs as far as possible",
    )


def by_batch_file(options: dict[str, Any]) -> bool:
    """Whether calls go by file."""
    return bool(options["batch_out"] or options["batch_in"])


def through_file(runs: Sequence[JudgeRun], options: dict[str, Any]) -> dict[str, int]:
    """Writes the calls of runs, or reads the replies; what was done, as fields to print."""
    try:
        if options["batch_out"]:
            return {"requests": _write(options["batch_out"], runs)}
        with options["batch_in"].open(encoding="utf-8") as replies:
            done = read_in(runs, replies)
    except Refused as refused:
        if not refused.faults:
            raise
        lines = "\n".join(map(str, refused.faults))
        message = f"{refused.code}: nothing was read\n{lines}"
        raise CommandError(message, returncode=INPUT_WRONG) from refused
    except (OSError, UnicodeDecodeError) as error:
        message = f"input: {error}"
        raise CommandError(message, returncode=INPUT_WRONG) from error
    return {"stored": done.stored, "refused": done.failed}


def _write(path: Path, runs: Sequence[JudgeRun]) -> int:
    count = 0
    lines = batch_lines(runs)
    with path.open("w", encoding="utf-8") as out:
        for line in lines:
            out.write(f"{line}\n")
            count += 1
    return count


def still_waiting(runs: Sequence[JudgeRun]) -> list[int]:
    """The runs that wait for another file."""
    ids = [run.pk for run in runs]
    return list(
        JudgeRun.objects.filter(pk__in=ids, status="BATCH")
        .order_by("pk")
        .values_list("pk", flat=True)
    )
