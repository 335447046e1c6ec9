"""What people call an item: its number and the first words of its request, not its key."""

from __future__ import annotations

from typing import Final, Self

_MOST_CHARS: Final = 60
_SHORTEST_CUT: Final = 40


def first_words(message: str | None) -> str:
    """The beginning of a message on one line, cut between words where it has any."""
    words = " ".join((message or "").split())
    if len(words) <= _MOST_CHARS:
        return words
    cut = words[:_MOST_CHARS]
    space = cut.rfind(" ", _SHORTEST_CUT)
    return f"{cut[:space] if space > 0 else cut}…"


class ItemKey(str):
    """An item's key as exports have it, which also knows what people call the item.

    `number` counts from 1 in its dataset or study, `opening` is how its request begins.
    """

    __slots__ = ("number", "opening")

    number: int
    opening: str

    @classmethod
    def of(cls, key: str, position: int, message: str | None) -> Self:
        """The key of the item at a position, from 0, that begins with a message."""
        made = cls(key)
        made.number = position + 1
        made.opening = first_words(message)
        return made

    @property
    def words(self) -> str:
        """How its request begins; the key where there is none."""
        return self.opening or str(self)

    @property
    def shown(self) -> str:
        """`#3 How do I boil an egg?`."""
        return f"#{self.number} {self.opening}".rstrip()
