"""Kombu's broker of files, with messages that appear whole or not at all.

The stock channel opens a message file, then locks it, then writes: a worker that lists the folder
in between takes an empty message, and dies of it. Here a message is written under a name that no
queue has, then renamed.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from time import monotonic_ns
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """A channel whose messages are put by an atomic rename."""

    # The stubs of kombu's two base classes disagree on the second name.
    def _put(self, queue: str, payload: Any, **_kwargs: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{monotonic_ns():020d}_{uuid.uuid4()}"
        unfinished = folder / f"{name}.unfinished"
        unfinished.write_bytes(dumps(payload).encode())
        unfinished.replace(folder / f"{name}.{queue}.msg")


class FileTransport(filesystem.Transport):
    """The transport behind `filesystem://`."""

    Channel = Channel


def install() -> None:
    """Let `filesystem://` mean this transport."""
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:FileTransport"
