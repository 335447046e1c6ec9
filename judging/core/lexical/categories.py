"""The embedded judge's own way to sort dialogues: words that requests of a category use.

It is no model and was trained on nothing: cues, written by hand into `category_cues.tsv`, count for
a category where the last request has them, half where an earlier one does. It finds requests that
ask for nothing; whether one is ambiguous or too simple it cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from judging.core.categories import SUBCATEGORIES, Category, SortedDialogue, Usefulness

_Weighted = dict[Category, list[tuple[int, re.Pattern[str]]]]
_Within = dict[Category, dict[str, re.Pattern[str]]]

_FILE: Final = Path(__file__).with_name("category_cues.tsv")
_NOTHING: Final = re.compile(
    r"(?:你?好的?|谢谢(?:你|您)?|感谢|多谢|继续|请继续|接着说|嗯+|哦+|好吧|再见|收到|明白了?|可以|不错"
    r"|hi|hello|hey|thanks?|thank you|ok(?:ay)?|yes|no|go on|continue|great|good|bye)"
    r"(?:啊|呀|了|哈|哦)?"
)
_EARLIER: Final = 0.5


@cache
def _cues() -> tuple[_Weighted, _Within]:
    """The cues of each category in the order of the file, and those of its subcategories."""
    weighted: _Weighted = {}
    within: _Within = {category: {} for category in Category}
    for line in _FILE.read_text(encoding="utf-8").splitlines()[1:]:
        name, place, pattern = line.split("\t")
        category = Category(name)
        if place.isdecimal():
            cue = re.compile(pattern, re.IGNORECASE | re.DOTALL)
            weighted.setdefault(category, []).append((int(place), cue))
        else:
            within[category][place] = re.compile(pattern, re.IGNORECASE)
    return weighted, within


def sort_requests(requests: Sequence[str]) -> SortedDialogue:
    """Where a dialogue belongs by its user's messages, the last of which is its request."""
    last = requests[-1]
    earlier = "\n".join(requests[:-1])
    points = {
        category: sum(
            weight * (1.0 if cue.search(last) else _earlier(category, cue, earlier))
            for weight, cue in cues
        )
        for category, cues in _cues()[0].items()
    }
    best = max(points.values())
    # Without a cue it is a question; of equals the first named, the more particular categories.
    category = next(each for each in points if points[each] == best) if best else Category.QA
    usefulness = Usefulness.REDUNDANT if _asks_nothing(last) else Usefulness.KEEP
    return SortedDialogue(usefulness, category, _subcategory(category, last))


def _earlier(category: Category, cue: re.Pattern[str], earlier: str) -> float:
    """How much a cue counts that an earlier request has: a role is played until the end."""
    found = bool(cue.search(earlier))
    return found * (1.0 if category is Category.ROLE else _EARLIER)


def _asks_nothing(request: str) -> bool:
    words = re.sub(r"[\W_]+", " ", request.casefold()).strip()
    return not words or _NOTHING.fullmatch(words) is not None


def _subcategory(category: Category, request: str) -> str:
    """The one whose cues a request has most often; the first of them where it has none."""
    cues = _cues()[1][category]
    return max(SUBCATEGORIES[category], key=lambda name: len(cues[name].findall(request)))
