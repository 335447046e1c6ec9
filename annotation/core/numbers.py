"""Whole numbers as addresses, parameters and forms send them, none larger than a column holds."""

from __future__ import annotations

from typing import Final

MOST_DIGITS: Final = 18
"""Any number of so many digits fits into 64 bits, and is read in no time."""


def number_in(text: str) -> int | None:
    """The number that is written; None where it is none, or no row can have it."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


class NumberConverter:
    """A number in an address; with one that no row can have there is no such page."""

    regex = f"[0-9]{{1,{MOST_DIGITS}}}"

    def to_python(self, value: str) -> int:
        """The number for the view."""
        return int(value)

    def to_url(self, value: int | str) -> str:
        """The number as an address has it."""
        return str(value)
