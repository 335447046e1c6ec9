"""Tokens of log-probabilities as the text they stand for, whatever a server writes for them.

Some servers send tokens as their tokenizer stores them: a space is `Ġ` or `▁`, a byte `<0x41>`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

_PRINTED: Final = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_BYTE_OF: Final[Mapping[str, int]] = {
    **{chr(byte): byte for byte in _PRINTED},
    **{
        chr(0x100 + place): byte
        for place, byte in enumerate(byte for byte in range(0x100) if byte not in _PRINTED)
    },
}
"""The characters by which byte-level tokenizers write bytes: those that print as themselves."""
_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-F]{2})>")
_BYTES: Final = re.compile(r"bytes:((?:\\x[0-9a-f]{2}){1,40}+)")
_SPACE_MARK: Final = "▁"
_LETTER: Final = re.compile(r"[\W_]*+([ABab])[\W_]*+")


def byte_level(token: str) -> bytes | None:
    """The bytes of a token in which each character stands for one; None where it is none such."""
    found = [_BYTE_OF.get(character) for character in token]
    return bytes(each for each in found if each is not None) if None not in found else None


def sentence_piece(token: str) -> bytes | None:
    """The bytes of a token in which `▁` is a space and `<0x41>` a byte."""
    if byte := _BYTE_TOKEN.fullmatch(token):
        return bytes([int(byte.group(1), 16)])
    return token.replace(_SPACE_MARK, " ").encode(errors="surrogatepass")


def aligned(tokens: Sequence[str], given: Sequence[bytes | None], content: str) -> list[bytes]:
    """The bytes of a reply's tokens, as the server gave them or as they add up to its text."""
    plain = _all(tokens, given, lambda token: token.encode(errors="surrogatepass"))
    wanted = content.encode(errors="surrogatepass")
    for pieces in (plain, _all(tokens, given, byte_level), _all(tokens, given, sentence_piece)):
        if pieces is not None and wanted.strip() in b"".join(pieces):
            return pieces
    return plain or []


def _all(
    tokens: Sequence[str], given: Sequence[bytes | None], read: Callable[[str], bytes | None]
) -> list[bytes] | None:
    found = []
    for token, raw in zip(tokens, given, strict=True):
        piece = read(token) if raw is None else raw
        if piece is None:
            return None
        found.append(piece)
    return found


def readable_token(token: str, raw: bytes | None = None) -> str:
    """The text of a token; of one that is part of a character, the token.

    Args:
        token: As the server writes it.
        raw: Its bytes, where the server says them.
    """
    if raw is None and (escaped := _BYTES.fullmatch(token)):
        raw = bytes.fromhex(escaped.group(1).replace("\\x", ""))
    byte = _BYTE_TOKEN.fullmatch(token)
    for piece in (raw, sentence_piece(token) if byte else byte_level(token)):
        if piece is not None:
            with suppress(UnicodeDecodeError):
                return piece.decode()
    return token.replace(_SPACE_MARK, " ")


def letter_of(token: str) -> str:
    """The A, B, a or b that a token is, whatever stands around it; "" where it is none."""
    found = _LETTER.fullmatch(unicodedata.normalize("NFKC", readable_token(token)))
    return found.group(1) if found else ""
