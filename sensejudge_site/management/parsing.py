"""What all commands of this project share: arguments that are wrong end in one clear line."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext_noop

from annotation.core.intervals import Units
from annotation.core.refusals import Refused
from judging.queries.generation import SameFamily


def runs_told(numbers: Iterable[int]) -> str:
    """Runs by number: `run 3`, or `runs 3, 5`; each once."""
    told = list(dict.fromkeys(map(str, numbers)))
    return f"run{'s' * (len(told) > 1)} {', '.join(told)}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 draw`, `12,000 draws`: a number and its noun, whose plural has an s unless it is told."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def few_users_told(users: Units) -> str:
    """Why figures have no interval, and how many users more would give one."""
    return (
        f"{uneven_told(users, 'user')}too few users for intervals: "
        f"about {counted(users.missing, 'more user')} needed"
    )


def few_sessions_told(sessions: Units) -> str:
    """The same of sessions."""
    return (
        f"{uneven_told(sessions, 'session')}too few sessions for intervals: "
        f"about {counted(sessions.missing, 'more session')} needed"
    )


def uneven_told(units: Units, one: str) -> str:
    """That one unit or a few hold most of the rows, put before what follows of it; or nothing."""
    if units.one_holds_most:
        return f"one {one} holds most of the rows; "
    return f"a few {one}s hold most of the rows; " if units.uneven else ""


def kin_lines(kin: Iterable[SameFamily]) -> Iterator[str]:
    """A line a family that has both judges and candidates."""
    for each in kin:
        judges, models = ", ".join(each.judges), ", ".join(each.models)
        yield f"same model family ({each.family}): {judges} may favour {models} when judging"


WORK_FAILED: Final = 1
INPUT_WRONG: Final = 2
_FAILURES: Final = frozenset({"ablation:run-failed", "bench:failed", "import:outrun", "run:failed"})
"""Refusals that are no fault of what was asked."""


class OneLineParser(CommandParser):
    """Says what is wrong with the arguments in one line, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        """Ends the command with 2; one that is called by code raises instead.

        Raises:
            CommandError: it is called by code.
        """
        if not self.called_from_command_line:
            raise CommandError(message, returncode=INPUT_WRONG)
        self.exit(INPUT_WRONG, f"{self.prog}: {message} (see {self.prog} --help)\n")


class OneLineCommand(BaseCommand):
    """A command whose arguments and whose refusals end in one clear line."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Django's parser with its own way to say what is wrong."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.__class__ = OneLineParser  # Django does not let a command name the class
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; a refusal ends it with 1 where the work failed, and with 2 otherwise.

        Raises:
            CommandError: it was refused.
        """
        try:
            return super().execute(*args, **options)
        except Refused as refused:
            status = WORK_FAILED if refused.code in _FAILURES else INPUT_WRONG
            raise CommandError(f"{refused.code}: {refused}", returncode=status) from refused


def number_from(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an argument that is a whole number between two, both included."""
    allowed = f"of {least} or more" if most is None else f"from {least} to {most}"

    def number(word: str) -> int:
        if not word.isdecimal() or int(word) < least or (most is not None and int(word) > most):
            message = f"expected a number {allowed}, not {word!r}"
            raise ArgumentTypeError(message)
        return int(word)

    return number


OUTDATED: Final = gettext_noop("The database is not up to date: run `manage.py migrate` first.")
OTHER_VERSION: Final = gettext_noop(
    "This database was created by another version of SenseJudge. Export its data with "
    "that version, then import it into an empty database."
)
_APPS: Final = frozenset({"annotation", "judging", "benchmark"})


def schema_trouble() -> str:
    """Why the tables are not those that the code expects, or nothing where they are."""
    executor = MigrationExecutor(connection)
    if _is_of_another_version(executor):
        return OTHER_VERSION
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return OUTDATED if waiting else ""


def is_of_another_version() -> bool:
    """Whether the database was migrated by migrations that are not here."""
    return _is_of_another_version(MigrationExecutor(connection))


def _is_of_another_version(executor: MigrationExecutor) -> bool:
    loader = executor.loader
    unknown = set(loader.applied_migrations) - set(loader.disk_migrations)
    return any(app in _APPS for app, _name in unknown)


def trouble_with_database() -> str:
    """Why nothing can be read from the database, or nothing where it can be."""
    connection.close()
    try:
        return schema_trouble()
    except OperationalError as error:
        return f"The database cannot be reached: {str(error).strip()}"
    except DatabaseError:
        return ""
