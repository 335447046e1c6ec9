"""Gzipped files, unless far more comes out of them than rows of data can be."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_RATIO: Final = 300
"""How many times its size a file may unpack to: real rows are never that much alike."""

ALWAYS_UNPACKED: Final = 16 * 1024 * 1024
"""So many bytes may come out of any file: a short one may be all alike."""


class TooPackedError(OSError):
    """The file unpacks to more than `MAX_RATIO` times its size."""


class Unpacked(io.RawIOBase):
    """What is in a gzipped file, read as far as it is in proportion."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._gzip = gzip.GzipFile(fileobj=packed)
        self._bytes = 0

    def readable(self) -> bool:
        """As a file that is open to be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Unpack on.

        Raises:
            TooPackedError: there is too much of it.
        """
        place = memoryview(buffer).cast("B")
        data = self._gzip.read1(len(place))
        self._bytes += len(data)
        if self._bytes > max(ALWAYS_UNPACKED, MAX_RATIO * self._packed.tell()):
            raise TooPackedError(f"it unpacks to more than {MAX_RATIO} times its size")
        place[: len(data)] = data
        return len(data)
