#!/usr/bin/env python
"""Runs the project's commands."""

import os
import sys


def main() -> None:
    """Hand the command line to Django; what is no fault of the program ends in a sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sensejudge_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    try:
        execute_from_command_line(sys.argv)
    except BrokenPipeError:
        # Whoever reads the output has enough, as `head` has; the flush at the end must not say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except (OperationalError, ProgrammingError):
        from sensejudge_site.management.parsing import trouble_with_database

        trouble = trouble_with_database()
        if not trouble or "--traceback" in sys.argv:
            raise
        sys.exit(trouble)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt as interrupt:
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"{interrupt}\n" if interrupt.args else "Interrupted.\n")
        sys.exit(143 if type(interrupt).__name__ == "TerminatedError" else 130)
