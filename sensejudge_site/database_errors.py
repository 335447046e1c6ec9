"""What an error of the database says of a request: come again later, or send something else."""

from __future__ import annotations

import sqlite3
from typing import Final

from django.db import DataError, InterfaceError, OperationalError

_FAULTS_OF_OURS: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE})
"""By these SQLite also names a statement that is wrong; PostgreSQL has other errors for that."""

_UNSTORABLE: Final = frozenset({None, "22003", "22021", "22P02", "22P05"})
"""psycopg's own refusal of NUL; a number out of range; a character or a word that is none."""


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database is away, locked, full or broken off."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in _FAULTS_OF_OURS


def is_unstorable(error: BaseException | None) -> bool:
    """Whether a value was sent that no column can hold, so that no row can have it either."""
    if isinstance(error, DataError):
        return getattr(error.__cause__, "sqlstate", None) in _UNSTORABLE
    return isinstance(error, OverflowError) and str(error).endswith("SQLite INTEGER")
