"""`manage.py inspect_file`: what is in a file, before anything of it is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from annotation.core.formats.columns import columns_read
from annotation.core.formats.detect import AUTO
from annotation.core.formats.tables import NAME as TABLES
from annotation.core.inspection import FileFacts, inspect
from judging.core.formats.detect import ALL_FORMATS
from sensejudge_site.management.parsing import OneLineCommand, counted

_NAMES_SHOWN: Final = 8


class Command(OneLineCommand):
    """Reads a file and stores nothing."""

    help = (
        "Says what is in a file before it is imported: format, rows, models, annotators, "
        "languages, what can be done with it, and what is missing for more. Nothing is stored."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares what to read."""
        parser.add_argument("path", type=Path, metavar="FILE", help="a file or a directory")
        parser.add_argument(
            "--format",
            default=AUTO,
            metavar="NAME",
            help="one of " + ", ".join((AUTO, *ALL_FORMATS)),
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Reads and reports."""
        path = options["path"]
        facts = inspect(path, options["format"], ALL_FORMATS)
        read, unread = columns_read(path) if facts.format == TABLES else ({}, [])
        if options["json"]:
            told = facts.as_dict() | {"columns": read, "unread_columns": unread}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        lines = _in_words(facts)
        if read:
            lines.append("columns: " + ", ".join(f"{key}={name}" for key, name in read.items()))
        if unread:
            lines.append("not understood: " + ", ".join(unread))
        self.stdout.write("\n".join(lines))


def _in_words(facts: FileFacts) -> list[str]:
    """The facts for a reader, a line each."""
    lines = [f"format: {facts.format}", f"rows: {facts.rows:,}"]
    lines += [f"read as {name} ({kind})" for kind, name in facts.source.items()]
    lines.append(
        f"{counted(facts.sessions, 'conversation')}, {counted(facts.turns, 'turn')}, "
        f"{counted(facts.responses, 'response')}, {counted(facts.comparisons, 'comparison')}"
    )
    lines.append(
        f"{counted(facts.verdicts, 'verdict')}, {counted(facts.ratings, 'rating')}, "
        f"{counted(facts.gold, 'gold answer')}"
    )
    for title in ("models", "annotators", "languages", "scenarios"):
        lines.append(f"{title}: {_names(getattr(facts, title))}")
    lines += [f"can: {each}" for each in facts.can()]
    lines += [f"missing: {each}" for each in facts.missing()]
    lines += [
        f"error: {group.count:,} x {group.field or 'row'}: {group.first.reason} "
        f"(lines {', '.join(map(str, group.lines))})"
        for group in facts.faults.groups
    ]
    return lines


def _names(counts: Mapping[str, int]) -> str:
    named = [f"{name} ({count:,})" for name, count in list(counts.items())[:_NAMES_SHOWN]]
    more = len(counts) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more else [])]) or "none"
