"""The comparisons behind a number of a judge against gold answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import Order
from annotation.core.refusals import Refused
from benchmark.core.gold import SUBSETS, Section
from benchmark.queries.annotators import OPENING_CHARS, JudgeOption, gold_answers, openings
from benchmark.queries.gold import GoldQuestion, GoldScope, gold_cases, gold_scope
from benchmark.queries.rows import Found, VerdictMatch, decision_cell

ROWS_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class JudgedGoldRow:
    """One comparison behind a number.

    `cells` are the decisions shown original, swapped, combined: None where there was none, ""
    where the reply could not be read.
    """

    found: Found
    key: str
    opening: str
    cells: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class GoldRows:
    """A page of the comparisons behind a number, and how many there are of each outcome."""

    scope: GoldScope
    judge: JudgeOption
    subset: str
    section: Section | None
    outcome: VerdictMatch | None
    counts: Mapping[VerdictMatch, int]
    total: int
    rows: Sequence[JudgedGoldRow]
    page: Page[Found]


def gold_rows(
    question: GoldQuestion,
    *,
    subset: str,
    section: Section | None = None,
    outcome: VerdictMatch | None,
    page: str,
) -> GoldRows:
    """The comparisons behind a number of one judge, a page at a time.

    Args:
        question: as on the page.
        subset: only this scenario; "" for all.
        section: only the subsets of this section of RewardBench; None for all.
        outcome: only comparisons of this outcome; None for all.
        page: its number as in the address; anything odd is the first.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = gold_scope(question)
    if scope.dataset is None or scope.judge is None:
        raise Refused(
            "benchmark:unknown-choice", "no judge decided on comparisons with a gold answer"
        )
    [(judge, cases)] = gold_cases((scope.judge,), gold_answers(scope.dataset))
    here = [
        case
        for case in cases
        if subset in {"", case.subset} and (section is None or case.subset in SUBSETS[section])
    ]
    if not here:
        raise Refused("benchmark:unknown-choice", f"nothing was judged in {subset or section!r}")
    found = [
        Found(case.judged.key, case.subset, case.judged.human, None, case.judged.decisions)
        for case in here
    ]
    kept = [row for row in found if outcome in {None, row.outcome}]
    shown = Paginator(kept, ROWS_A_PAGE).get_page(page)
    return GoldRows(
        scope=scope,
        judge=judge,
        subset=subset,
        section=section,
        outcome=outcome,
        counts=Counter(row.outcome for row in found if row.outcome),
        total=len(found),
        rows=_rows(list(shown.object_list)),
        page=shown,
    )


def _rows(found: Sequence[Found]) -> list[JudgedGoldRow]:
    texts = openings(row.comparison for row in found)
    return [
        JudgedGoldRow(
            found=row,
            key=texts[row.comparison][0],
            opening=Truncator(texts[row.comparison][2]).chars(OPENING_CHARS),
            cells=tuple(decision_cell(row, order) for order in Order),
        )
        for row in found
    ]
