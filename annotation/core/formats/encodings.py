"""The encoding of a text file without a mark: UTF-8, or another only where it is certain.

Spreadsheets in China write GB18030, older ones in Europe Windows-1252, some programs UTF-16 without
its mark. Each of the last three decodes almost any bytes, so what comes out is looked at, too.
"""

from __future__ import annotations

import codecs
import io
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from annotation.core.formats.reading import BOMS, WINDOW, open_bytes

UTF_8: Final = "utf-8"
GB18030: Final = "gb18030"
WINDOWS_1252: Final = "cp1252"
NAMES: Final = {
    GB18030: "GB18030",
    WINDOWS_1252: "Windows-1252",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
}
"""How people call the encodings that a file does not name itself."""

_SAMPLE_RUNS: Final = 10_000
_OTHERS: Final = re.compile(r"[^\x00-\x7f]+")
_LEAST_COMMON: Final = 0.8
"""The least share of common characters and punctuation in Chinese text."""
_LEAST_OF_LATER: Final = 0.1
_LEAST_TO_TELL: Final = 20
_COMMON: Final = range(0xB0, 0xD8)
"""First bytes of the 3,755 common characters of GB 2312, sorted by their sound."""
_LATER: Final = range(0xC9, 0xD8)
"""The later of them, from S to Z; Korean text, whose bytes are like the others, has none."""
_PUNCTUATION: Final = (0xA1, 0xA3)
_LATIN: Final = frozenset("‘’“”–—…•€£°©®™«»¿¡ºª·×") | {
    chr(code) for code in range(0xC0, 0x100) if code not in {0xD7, 0xF7}
} | frozenset("ŠšŽžŸŒœ")  # fmt: skip


def encoding_of(path: Path) -> str:
    """Returns the codec of a file; UTF-8 if it is that, says another itself, or nothing is certain.

    Raises:
        Refused: The file cannot be read.
    """
    stamp = path.stat() if path.is_file() else None
    return _encoding(path, (stamp.st_mtime_ns, stamp.st_size) if stamp else (0, 0))


@lru_cache(maxsize=8)
def _encoding(path: Path, _stamp: tuple[int, int]) -> str:
    with open_bytes(path) as stream:
        head = stream.peek(WINDOW)[:WINDOW]
        if any(head.startswith(bom) for bom, _name in BOMS):
            return UTF_8
        if b"\0" in head:
            return next(
                (name for name in ("utf-16-le", "utf-16-be") if _is_utf_16(head, name)), UTF_8
            )
        whole = _first_other_bytes(stream)
    if whole is None:
        return UTF_8
    for name, is_certain in ((GB18030, _is_chinese), (WINDOWS_1252, _is_western)):
        if is_certain(path, name):
            return name
    return UTF_8


def _first_other_bytes(stream: io.BufferedReader[Any]) -> bytes | None:
    """Returns the first block that is not UTF-8; None if there is none."""
    decoder = codecs.getincrementaldecoder(UTF_8)()
    while block := stream.read(WINDOW):
        try:
            decoder.decode(block)
        except UnicodeDecodeError:
            return block
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return b" "
    return None


def _is_utf_16(head: bytes, name: str) -> bool:
    text = head.decode(name, "ignore")
    return "\0" not in text and "\n" in text and any(sign in text for sign in ",;\t")


def _other_runs(path: Path, name: str) -> list[str]:
    """Returns the first runs of characters beyond ASCII; none if the file is not so encoded."""
    decoder = codecs.getincrementaldecoder(name)()
    runs: list[str] = []
    with open_bytes(path) as stream:
        try:
            while block := stream.read(WINDOW):
                text = decoder.decode(block)
                if len(runs) < _SAMPLE_RUNS:
                    runs += _OTHERS.findall(text)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return []
    return runs[:_SAMPLE_RUNS]


def _is_chinese(path: Path, name: str) -> bool:
    chars = "".join(_other_runs(path, name))
    first_bytes = [char.encode(name)[0] for char in chars]
    common = [first for first in first_bytes if first in _COMMON]
    known = len(common) + sum(first in _PUNCTUATION for first in first_bytes)
    if not common or known < _LEAST_COMMON * len(first_bytes):
        return False
    later = sum(first in _LATER for first in common)
    return len(common) < _LEAST_TO_TELL or later >= _LEAST_OF_LATER * len(common)


def _is_western(path: Path, name: str) -> bool:
    """Whether every character beyond ASCII is a usual one and few stand beside one another."""
    runs = _other_runs(path, name)
    chars = "".join(runs)
    beside = len(chars) - len(runs)
    return bool(runs) and _LATIN.issuperset(chars) and beside <= len(chars) // 5
