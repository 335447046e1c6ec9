"""The comparisons behind a cell in the table of judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import Order
from annotation.core.refusals import Refused
from benchmark.queries.choices import ScenarioChoice, picked
from benchmark.queries.evidence import StandIn, stand_in_cases
from benchmark.queries.judge_tables import (
    JudgeWay,
    TablesQuestion,
    TablesScope,
    labels_asked,
    stand_ins_of,
    tables_scope,
)
from benchmark.queries.rows import VOICES, Behind, Found, VerdictMatch, decision_cell
from benchmark.queries.verdict_runs import OPENING_CHARS, openings

ROWS_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class TableRow:
    """One comparison behind a cell: which run decided it in whose stead.

    `cells` are the decisions shown original, swapped, combined, as rows.decision_cell writes them.
    """

    found: Found
    run: int
    annotator: str
    key: str
    opening: str
    cells: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class TableRows:
    """A page of what is behind a cell, `total` labels on `comparisons`, and how it turned out."""

    scope: TablesScope
    name: JudgeWay
    behind: Behind
    scenario: ScenarioChoice | None
    outcome: VerdictMatch | None
    counts: Mapping[VerdictMatch, int]
    total: int
    comparisons: int
    rows: Sequence[TableRow]
    page: Page[tuple[StandIn, Found]]


def table_rows(
    question: TablesQuestion,
    *,
    name: JudgeWay,
    behind: Behind,
    scenario: int | None,
    outcome: VerdictMatch | None,
    page: str,
) -> TableRows:
    """The comparisons behind a cell, a page at a time.

    Args:
        question: as on the page.
        name: whose line.
        behind: BASE, SELECTED or SHUFFLED.
        scenario: only this one; None for all.
        outcome: only comparisons of this outcome; None for all.
        page: its number as in the address; anything odd is the first.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = tables_scope(question)
    stand_ins = stand_ins_of(scope, labels_asked(scope)).get(name) if scope.dataset else None
    if not stand_ins or behind not in VOICES:
        raise Refused("benchmark:unknown-choice", f"no verdicts of {name.judge!r} here")
    topic = None if scenario is None else picked(scope.scenarios, scenario)
    shown = {
        (each.annotator, label.comparison): label.shown
        for each in stand_ins
        for label in each.labels
    }
    found = [
        (
            each,
            Found(
                case.comparison,
                case.scenario,
                case.human,
                shown.get((each.annotator, case.comparison)),
                case.decisions[VOICES[behind]],
            ),
        )
        for each, cases in zip(
            stand_ins, stand_in_cases(stand_ins, rule=question.rule), strict=True
        )
        for case in cases
        if case.decisions.get(VOICES[behind]) and (topic is None or case.scenario == topic.name)
    ]
    kept = [row for row in found if outcome in {None, row[1].outcome}]
    shown_page = Paginator(kept, ROWS_A_PAGE).get_page(page)
    return TableRows(
        scope=scope,
        name=name,
        behind=behind,
        scenario=topic,
        outcome=outcome,
        counts=Counter(row.outcome for _each, row in found if row.outcome),
        total=len(found),
        comparisons=len({row.comparison for _each, row in found}),
        rows=_rows(scope, list(shown_page.object_list)),
        page=shown_page,
    )


def _rows(scope: TablesScope, found: Collection[tuple[StandIn, Found]]) -> list[TableRow]:
    texts = openings(row.comparison for _each, row in found)
    names = {each.id: each.name for each in scope.annotators}
    return [
        TableRow(
            found=row,
            run=each.run,
            annotator=names.get(each.annotator, ""),
            key=texts[row.comparison][0],
            opening=Truncator(texts[row.comparison][2]).chars(OPENING_CHARS),
            cells=tuple(decision_cell(row, order) for order in Order),
        )
        for each, row in found
    ]
