"""What all commands of this project share: arguments that are wrong end in one clear line."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.core.refusals import Refused

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
