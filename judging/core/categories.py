"""The eight categories of SenseBench with their subcategories (seed 001, Table 7).

Also the reply of the judge that sorts a dialogue into them, or says why it is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

from annotation.core.choices import LabelledEnum
from annotation.core.reasoning import without_reasoning
from annotation.core.refusals import Refused, gettext_noop
from judging.core.structured import last_object, storable


class Category(LabelledEnum):
    """What a dialogue's last request is about; stored as the benchmark's own files name it."""

    CODE = "Code", gettext_noop("Code")
    TRANSLATION = "Translation", gettext_noop("Translation")
    ROLE = "Role", gettext_noop("Role-playing")
    NLU = "NLU", gettext_noop("Natural language understanding")
    MATH = "Math", gettext_noop("Math")
    LOGIC = "Logic", gettext_noop("Logical reasoning")
    WRITING = "Writing", gettext_noop("Writing")
    QA = "QA", gettext_noop("Comprehensive Q&A")


class Usefulness(LabelledEnum):
    """Whether a dialogue can serve in a benchmark, or why not (seed 001, section 3.1.2)."""

    KEEP = "keep", gettext_noop("Useful")
    REDUNDANT = "redundant", gettext_noop("Redundant")
    AMBIGUOUS = "ambiguous", gettext_noop("Ambiguous")
    LOW_QUALITY = "low quality", gettext_noop("Low quality")
    TOO_SIMPLE = "too simple", gettext_noop("Too simple")


SUBCATEGORIES: Final[Mapping[Category, tuple[str, ...]]] = {
    Category.MATH: (
        gettext_noop("Elementary mathematics"),
        gettext_noop("Applied mathematics"),
        gettext_noop("Advanced mathematics"),
    ),
    Category.LOGIC: (
        gettext_noop("Brain teasers"),
        gettext_noop("General logic problems"),
        gettext_noop("Mathematical logical reasoning"),
        gettext_noop("Inductive reasoning"),
        gettext_noop("Conditional reasoning"),
    ),
    Category.CODE: (
        gettext_noop("Code generation"),
        gettext_noop("Code error reporting"),
        gettext_noop("Code explanation"),
    ),
    Category.QA: (
        gettext_noop("Opinion expression"),
        gettext_noop("Seeking advice"),
        gettext_noop("General knowledge"),
        gettext_noop("Other questions"),
    ),
    Category.WRITING: (
        gettext_noop("Practical writing"),
        gettext_noop("Creative writing"),
        gettext_noop("Professional writing"),
    ),
    Category.ROLE: (
        gettext_noop("Celebrity"),
        gettext_noop("Entertainment"),
        gettext_noop("Practical"),
    ),
    Category.NLU: (
        gettext_noop("Reading comprehension"),
        gettext_noop("Translation related"),
        gettext_noop("Text classification"),
        gettext_noop("Information extraction"),
        gettext_noop("Text polishing and editing"),
    ),
    Category.TRANSLATION: (
        gettext_noop("Basic translation"),
        gettext_noop("Complex instruction following"),
        gettext_noop("Multi-task translation"),
        gettext_noop("Self-referential translation"),
        gettext_noop("Long-term translation memory"),
        gettext_noop("Dialect translation"),
    ),
}

SORTING: Final = "sort_dialogue"
"""The prompt."""
_CHARACTERS: Final = 500
_ANCHOR: Final = "quality"
_UNPARSEABLE: Final = "sort:unparseable"


class SortedDialogue(NamedTuple):
    """Where a dialogue belongs; `why` is a sentence, "" from who gives none."""

    usefulness: Usefulness
    category: Category
    subcategory: str
    why: str = ""


def read_sorted(reply: str) -> SortedDialogue:
    """The last answer of a reply: an object with quality, category, subcategory and why.

    Raises:
        Refused: there is none, or it names a quality, category or subcategory that is not one.
    """
    found = last_object(without_reasoning(reply), key=_ANCHOR)
    if found is None:
        raise Refused(_UNPARSEABLE, f"the reply names no {_ANCHOR}")
    usefulness = _named(found, _ANCHOR, {_folded(each): each for each in Usefulness})
    category = _named(found, "category", {_folded(each): each for each in Category})
    own = {_folded(each): each for each in SUBCATEGORIES[category]}
    subcategory = _named(found, "subcategory", own)
    why = storable(str(found.get("why", "")).strip())[:_CHARACTERS]
    return SortedDialogue(usefulness, category, subcategory, why)


_Word = TypeVar("_Word")


def _named(found: Mapping[str, object], field: str, words: Mapping[str, _Word]) -> _Word:
    word = words.get(_folded(str(found.get(field, ""))))
    if word is None:
        raise Refused(_UNPARSEABLE, f"{found.get(field)!r} is no {field}")
    return word


def _folded(word: str) -> str:
    """Without case, hyphens and spaces; "&" is "and"."""
    return "".join(each for each in word.casefold().replace("&", "and") if each.isalnum())
