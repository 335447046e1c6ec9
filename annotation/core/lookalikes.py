"""Names that cannot be told from one another by eye, after Unicode Technical Standard 39."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Final

_ANY_SCRIPT: Final = frozenset({"COMMON", "INHERITED", "Unknown"})
_TOGETHER: Final = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
"""Scripts that are ordinarily written together ("highly restrictive" in the standard)."""

_JOINERS: Final = "\u200c\u200d"  # within Persian and Indian words, and emoji
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159"
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
"""Letters, marks and symbols by their category, which show as nothing.

With what is of no category (`_is_unseen`) they hold all that the standard lets be ignored.
"""


class NameFault(StrEnum):
    """Why a name deceives the eye by itself."""

    MIXED_SCRIPTS = "name:mixed-scripts"
    UNSEEN = "name:unseen"
    ODD_SPACE = "name:odd-space"


def name_fault(name: str) -> NameFault | None:
    """What is wrong with a name, whoever else there is; the empty name is in order."""
    from confusable_homoglyphs.categories import unique_aliases  # it reads its data at import

    hidden = [char for char in name if _is_unseen(char) and char not in _JOINERS]
    if hidden or (name and not any(_visible(name))):
        return NameFault.UNSEEN
    if any(char.isspace() and char != " " for char in name):
        return NameFault.ODD_SPACE
    scripts = unique_aliases(name) - _ANY_SCRIPT
    if len(scripts) > 1 and not any(scripts <= each for each in _TOGETHER):
        return NameFault.MIXED_SCRIPTS
    return None


def looks(name: str) -> frozenset[str]:
    """Digests of what a name looks like: two names that share one look alike.

    There are two, for letters that look alike in one case only: `Ian` is `ian` in other letters and
    `lan` by its look, while `ian` and `lan` differ. The empty name has none.
    """
    whole = unicodedata.normalize("NFKC", name)
    drawn = {_skeleton(whole.casefold()), _skeleton(whole)} - {""}
    return frozenset(hashlib.sha256(each.encode()).hexdigest() for each in drawn)


def _skeleton(text: str) -> str:
    prototypes = _prototypes()
    drawn = "".join(prototypes.get(char, char) for char in _visible(text))
    return " ".join(unicodedata.normalize("NFKC", drawn.casefold()).split())


def _visible(text: str) -> Iterator[str]:
    return (char for char in unicodedata.normalize("NFD", text) if not _is_unseen(char))


def _is_unseen(char: str) -> bool:
    return char in _BLANK or unicodedata.category(char).startswith("C")


@cache
def _prototypes() -> Mapping[str, str]:
    """What stands for each character that looks like others.

    The library's table is a set of stars: each look-alike names its prototype, and a prototype
    names all its look-alikes. Of two that only name each other, the lesser stands for both. Some
    are wrapped in marks of direction there.
    """
    from confusable_homoglyphs.confusables import confusables_data

    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for char, alike in confusables_data.items():
        neighbours[char.strip("\u200e")] |= {each["c"].strip("\u200e") for each in alike}
    found: dict[str, str] = {}
    for char, alike in neighbours.items():
        if len(alike) > 1:
            continue  # a prototype
        (other,) = alike
        pair = len(other) == 1 and neighbours[other] == {char}
        found[char] = min(char, other) if pair else other
    return {char: "".join(found.get(each, each) for each in to) for char, to in found.items()}
