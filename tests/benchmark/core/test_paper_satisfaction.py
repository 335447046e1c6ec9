from __future__ import annotations

from typing import NamedTuple

import pytest

from benchmark.core.paper_satisfaction import TABLE_2, TABLE_3, ours_beside


class Line(NamedTuple):
    name: str
    setting: str


LINES = [
    Line("nearest_1", "history"),
    Line("nearest_3", "history"),
    Line("small", "memory cdf"),
    Line("large", "memory cdf"),
    Line("small", "memory raw"),
    Line("GLOBAL_MEAN", ""),
]
ROWS = {row.evaluator: row for row in TABLE_2}


@pytest.mark.parametrize(
    ("evaluator", "beside"),
    [
        ("User-memory evaluator", LINES[2:4]),  # any judge that was asked so
        ("Nearest-history score", LINES[:1]),  # that number of neighbours alone
        ("Zero-shot judge", []),  # nobody was asked so
        ("BERT scorer", []),  # quoted only: not even beside a line without a setting
    ],
)
def test_our_lines_stand_beside_the_row_of_their_setting(evaluator, beside):
    assert list(ours_beside(ROWS[evaluator], LINES)) == beside


def test_the_ablation_tells_raw_from_calibrated_scores():
    beside = {row.variant: list(ours_beside(row, LINES)) for row in TABLE_3}
    assert beside == {
        "no memory": [],
        "memory": LINES[4:5],
        "memory, mean shift": [],
        "memory, CDF": LINES[2:4],
    }


@pytest.mark.parametrize("figure", ["pearson", "spearman", "qwk", "f1_dsat"])
def test_the_papers_own_evaluator_leads_its_table(figure):
    best = max(TABLE_2, key=lambda row: getattr(row, figure))
    assert best is ROWS["User-memory evaluator"]
