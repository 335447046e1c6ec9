"""What is in a gzipped file, read as far as it is in proportion to the file."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_RATIO: Final = 300
"""How many times its size a file may unpack to: real rows are never that much alike."""

ALWAYS_UNPACKED: Final = 16 * 1024 * 1024
"""So many bytes may come out of any file: a short one may be all alike."""


FREE_MEMBERS: Final = 1000
LEAST_OF_MEMBER: Final = 64
"""A gzipped file may be many behind one another, but not many that are all but empty."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE: Final = 32 * 1024


class TooPackedError(OSError):
    """The file unpacks to more than `MAX_RATIO` times its size."""


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a gzipped file."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._member = zlib.decompressobj(_GZIP)
        self._members = 1
        self._rest = b""
        self._bytes = 0

    def readable(self) -> bool:
        """As a file that is open to be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Unpack on.

        Raises:
            TooPackedError: there is too much of it.
            EOFError: it breaks off.
            OSError: it has too many members that are all but empty.
            zlib.error: it is damaged, or no gzipped file.
        """
        place = memoryview(buffer).cast("B")
        data = b""
        while not data:
            self._rest = self._rest or self._packed.read1(_PIECE)
            ended = not self._rest
            if self._member.eof:
                if ended:
                    return 0
                self._rest = self._rest.lstrip(b"\0")  # some tools fill up with them
                if not self._rest:
                    continue
                self._next_member()
            data = self._member.decompress(self._rest, len(place))
            if ended and not data and not self._member.eof:
                raise EOFError("the compressed file ends too early")
            self._rest = self._member.unused_data or self._member.unconsumed_tail
        self._bytes += len(data)
        if self._bytes > max(ALWAYS_UNPACKED, MAX_RATIO * self._packed.tell()):
            raise TooPackedError(f"it unpacks to more than {MAX_RATIO} times its size")
        place[: len(data)] = data
        return len(data)

    def _next_member(self) -> None:
        self._members += 1
        if self._members > FREE_MEMBERS + self._bytes // LEAST_OF_MEMBER:
            raise OSError("it has too many parts that are all but empty")
        self._member = zlib.decompressobj(_GZIP)
