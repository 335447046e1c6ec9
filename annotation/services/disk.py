"""Errors that mean that a disk is full: of the file system, of SQLite and of PostgreSQL."""

from __future__ import annotations

import errno
import sqlite3
from typing import Final

from django.db import OperationalError

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_DISK_FULL: Final = "53100"
"""PostgreSQL's SQLSTATE."""


def is_full(error: BaseException | None) -> bool:
    """Whether an error says that no space is left, or no more of a quota."""
    if isinstance(error, OperationalError):
        code = getattr(error.__cause__, "sqlite_errorcode", None)
        if code is not None:
            return bool(code & 0xFF == sqlite3.SQLITE_FULL)
        return getattr(error.__cause__, "sqlstate", None) == _DISK_FULL
    return isinstance(error, OSError) and error.errno in _NO_SPACE
