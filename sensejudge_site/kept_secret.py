"""The secret key that a site without one makes for itself, once."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from django.core.exceptions import ImproperlyConfigured

_LEAST_CHARACTERS: Final = 50
"""What Django's own check asks of a key; ours have 67."""

_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_PATIENCE: Final = 2.0  # seconds


def kept_secret(path: Path) -> str:
    """The key in `path`, made on first use; readable by its owner alone.

    The file is there whole or not at all, and of several processes that make it one's key stands.

    Raises:
        ImproperlyConfigured: the file holds no whole key, or cannot be written or read.
    """
    try:
        if not path.exists():
            _make(path)
        key = path.read_text(encoding="ascii")
    except OSError as error:
        message = (
            f"The secret key cannot be saved in {path} ({error.strerror}). "
            "Fix this, or set SECRET_KEY."
        )
        raise ImproperlyConfigured(message) from error
    except UnicodeDecodeError:
        key = ""
    if len(key.strip("\0 \r\n")) < _LEAST_CHARACTERS:
        message = (
            f"The secret key in {path} is incomplete. Delete the file to create a new key, which "
            "signs everyone out, or set SECRET_KEY."
        )
        raise ImproperlyConfigured(message)
    return key


def _make(path: Path) -> None:
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)  # mode 600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first: its key stands
            _publish(Path(name), path)
    finally:
        Path(name).unlink(missing_ok=True)


def _publish(made: Path, path: Path) -> None:
    """Give the whole file its name.

    Raises:
        FileExistsError: another file has it.
    """
    try:
        os.link(made, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _move_in_turn(made, path)


def _move_in_turn(made: Path, path: Path) -> None:
    """Give the file its name where there are no hard links, and a move would replace another's."""
    turn = path.with_name(f"{path.name}-turn")
    patience = time.monotonic() + _PATIENCE
    while not path.exists():
        try:
            turn.touch(mode=0o600, exist_ok=False)
        except FileExistsError as error:
            if time.monotonic() > patience:
                reason = f"a start that broke off left {turn.name}: delete it"
                raise TimeoutError(errno.ETIMEDOUT, reason) from error
            time.sleep(0.01)
            continue
        try:
            if not path.exists():
                made.rename(path)
        finally:
            turn.unlink()
