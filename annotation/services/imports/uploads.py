"""Uploaded files, kept for their owner from one step of an import to the next."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files import File

from annotation.core.refusals import Refused
from annotation.models import User
from annotation.services.disk import is_full

_KEPT_SECONDS: Final = 24 * 60 * 60
_KEPT_BESIDE: Final = 3
"""So many older uploads of an owner stay."""
_NAME_CHARS: Final = 60
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")


def keep(upload: File[Any], owner: User) -> str:
    """Keep a file until it is forgotten, a day at most; the token by which its owner finds it.

    Its folder has a name of ours, and of its own name only harmless characters are left, which are
    those of annotators' names, as a file may be named after one, and the brackets of a copy's
    number. Of an owner's older uploads the newest are kept.

    Raises:
        Refused: the disk is full.
    """
    token = secrets.token_hex(16)
    name = re.sub(r"[^\w.@+: ()-]", "_", Path(upload.name or "").name).lstrip(".")
    folder = _folder(token, owner)
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        _clear_old(folder.parent)
        _clear_surplus(folder.parent, owner)
        folder.mkdir(mode=0o700)
        path = folder / (name[-_NAME_CHARS:] or "upload")
        path.touch(mode=0o600)
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    except BaseException as error:
        forget(token, owner)
        if is_full(error):
            raise Refused("import:disk-full") from error
        raise
    return token


def kept_file(token: str, owner: User) -> Path:
    """The file behind a token.

    Raises:
        Refused: it is gone, or somebody else's.
    """
    found = list(_folder(token, owner).glob("*")) if _TOKEN.fullmatch(token) else []
    if not found:
        raise Refused("import:expired")
    return found[0]


def forget(token: str, owner: User) -> None:
    """Delete a file; one that is gone is no error."""
    shutil.rmtree(_folder(token, owner), ignore_errors=True)


def _folder(token: str, owner: User) -> Path:
    return Path(settings.VAR_DIR) / "uploads" / f"{owner.pk}-{token}"


def _clear_old(uploads: Path) -> None:
    """Delete what nobody came back for."""
    for folder in uploads.iterdir():
        with suppress(FileNotFoundError):  # another process clears too
            if folder.stat().st_mtime < time.time() - _KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _clear_surplus(uploads: Path, owner: User) -> None:
    """Delete the older uploads of an owner but the newest."""
    found = []
    for folder in uploads.glob(f"{owner.pk}-*"):
        with suppress(FileNotFoundError):
            found.append((folder.stat().st_mtime_ns, folder))
    for _time, folder in sorted(found, reverse=True)[_KEPT_BESIDE:]:
        shutil.rmtree(folder, ignore_errors=True)
