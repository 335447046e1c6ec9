"""Quotes in a judge's reply: they state no verdict.

A quote is blanked, byte for byte, so that the places of tokens in the reply stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}+|~{3,}+)(.*)")
_BLOCK_QUOTE: Final = re.compile(r" {0,3}>")


def blank_quotes(text: str, *, code: bool = True) -> str:
    """Blanks block quotes and, with `code`, code blocks (CommonMark 5.1 and 4.5).

    A fence around the whole reply is no quote: some models set all that they say in one.
    """
    lines = text.split("\n")
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if filled and (opening := _opening(lines[filled[0]])):
        end = _closing(lines, opening, filled[0] + 1)
        if end >= filled[-1]:
            inner = _blank_lines(lines[filled[0] + 1 : end], code=code)
            before = map(_blank, lines[: filled[0] + 1])
            return "\n".join([*before, *inner, *map(_blank, lines[end:])])
    return "\n".join(_blank_lines(lines, code=code))


def _blank_lines(lines: list[str], *, code: bool) -> list[str]:
    kept: list[str] = []
    while len(kept) < len(lines):
        line = lines[len(kept)]
        if opening := _opening(line):
            block = lines[len(kept) : _closing(lines, opening, len(kept) + 1) + 1]
            kept += map(_blank, block) if code else block
        else:
            kept.append(_blank(line) if _BLOCK_QUOTE.match(line) else line)
    return kept


def blank_objects(text: str, *, stated: re.Pattern[str]) -> str:
    """Blanks JSON objects if the pattern matches outside of them; else they hold the answer."""
    outside = blank_spans(text, [(start, end) for _value, start, end in json_objects(text)])
    return outside if stated.search(outside) else text


def blank_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Blanks the characters of spans (start, end), which do not overlap and are in order."""
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], _blank(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


def _opening(line: str) -> str:
    """Returns the fence that a line opens, or ""."""
    fence = _FENCE.match(line)
    # Backticks after backticks are code within a line.
    return fence[1] if fence and not ("`" in fence[1] and "`" in fence[2]) else ""


def _closing(lines: list[str], opening: str, start: int) -> int:
    """Returns the index of the line that closes a fence, or the number of lines."""
    for place in range(start, len(lines)):
        fence = _FENCE.match(lines[place])
        if fence and fence[1].startswith(opening) and not fence[2].strip():
            return place
    return len(lines)


def _blank(text: str) -> str:
    return " " * len(text.encode("utf-8", "surrogatepass"))


_OPENED: Final = re.compile(r'\{(?=[ \t\n\r]*+["}])')
_MOST_READINGS: Final = 16
"""Most characters read in objects that turn out to be none, in lengths of the text."""


def json_objects(text: str) -> list[tuple[dict[str, object], int, int]]:
    """Returns every complete top-level JSON object with start and end, in order.

    Returns none if the text opens very many objects and closes none: each would be read to the end.
    """
    decoder = json.JSONDecoder(strict=False)
    found: list[tuple[dict[str, object], int, int]] = []
    allowance = _MOST_READINGS * len(text)
    opened = _OPENED.search(text)
    while opened:
        start = opened.start()
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            allowance -= _characters_read(error, len(text) - start)
            if allowance < 0:
                return []
            end = start + 1
        else:
            found.append((value, start, end))
        opened = _OPENED.search(text, end)
    return found


def _characters_read(error: ValueError | RecursionError, rest: int) -> int:
    """How far a reading came: to the error, or at worst, as for a string without end, all.

    The error counts its lines from the beginning of the text, 32 characters in the time of one.
    """
    if not isinstance(error, json.JSONDecodeError) or error.msg.startswith("Unterminated"):
        return rest
    return error.pos - (len(error.doc) - rest) + 1 + error.pos // 32
