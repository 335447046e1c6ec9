"""Files that only their owner may read: rows, uploads, messages, the secret key."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = 0o700
FILE: Final = 0o600
_OTHERS: Final = 0o077


def make_private(paths: Iterable[Path]) -> None:
    """Take the rights of others from files and folders; what is in a folder is shut with it.

    What is missing, or belongs to somebody else, stays as it is.
    """
    for path in paths:
        with suppress(FileNotFoundError, PermissionError):
            if path.stat().st_mode & _OTHERS:
                path.chmod(FOLDER if path.is_dir() else FILE)


def create_private(path: Path) -> None:
    """Create an empty file that its owner alone may read, unless there is one."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE))
