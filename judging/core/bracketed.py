"""Reading what MT-Bench's prompts ask for: [[A]], [[B]], [[C]] or a grade such as [[7]].

Of several marks the last one stands, with no fall-back to an earlier one: a reply may quote the
form, or a response that states a verdict, before it decides.
"""

from __future__ import annotations

import re
from typing import Final

from annotation.core.choices import Verdict

LOWEST_GRADE: Final = 1
HIGHEST_GRADE: Final = 10
GRADE_SCALE: Final = "1-10"
"""What a grade means, as stored with it."""

_MARK: Final = re.compile(r"(?:\[\[|［［)\s*([^\[\]［］]{0,40}?)\s*(?:\]\]|］］)")
_NUMBER: Final = re.compile(r"\d{1,2}(?:\.\d{1,4})?", re.ASCII)
_VERDICTS: Final = {"A": Verdict.A, "B": Verdict.B, "C": Verdict.TIE}
_WIDE: Final = str.maketrans("ＡＢＣ０１２３４５６７８９．", "ABC0123456789.")


def parse_bracketed(text: str) -> Verdict | None:
    """The verdict AS SHOWN in the last [[...]], C for a tie; None where it is no verdict."""
    mark = _last_mark(text)
    return None if mark is None else _VERDICTS.get(mark.upper())


def parse_grade(text: str) -> float | None:
    """The grade in the last [[...]]; None where it is no number from 1 to 10."""
    mark = _last_mark(text)
    if mark is None or not _NUMBER.fullmatch(mark):
        return None
    grade = float(mark)
    return grade if LOWEST_GRADE <= grade <= HIGHEST_GRADE else None


def compare_scores(first: float, second: float) -> Verdict:
    """The response with the higher score; a tie where they are equal."""
    if first == second:
        return Verdict.TIE
    return Verdict.A if first > second else Verdict.B


def _last_mark(text: str) -> str | None:
    marks = _MARK.findall(text)
    return str(marks[-1]).translate(_WIDE) if marks else None
