from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order
from judging.core.rejudging import ColumnText, judges_alike, planned_cells

COLUMNS = [ColumnText(1, ""), ColumnText(2, "short"), ColumnText(3, None)]


def test_a_text_that_was_judged_is_taken_over_and_a_new_one_is_asked():
    judged = {
        (10, "", Order.ORIGINAL): 100,
        (10, "", Order.SWAPPED): 101,
        (10, "short", Order.SWAPPED): 102,
        (11, "short", Order.ORIGINAL): 103,
    }
    cells = list(planned_cells([10], COLUMNS, judged))
    assert [(cell.order.value, cell.column.preference, cell.known) for cell in cells] == [
        ("ORIGINAL", 1, 100),
        ("ORIGINAL", 2, None),
        ("ORIGINAL", 3, None),
        ("SWAPPED", 1, 101),
        ("SWAPPED", 2, 102),
        ("SWAPPED", 3, None),
    ]
    # Column 3 has no text: nobody is asked, and an error code says so.
    assert [cell.column.preference for cell in cells if cell.asks] == [2]


def test_a_text_finds_its_judgments_under_whatever_number():
    judged = {(10, "short", order): 7 for order in (Order.ORIGINAL, Order.SWAPPED)}
    cells = list(planned_cells([10], [ColumnText(99, "short")], judged))
    assert [cell.known for cell in cells] == [7, 7]


@given(st.integers(0, 5), st.sets(st.sampled_from(["", "a", "b", "c"])), st.integers(0, 4))
def test_each_changed_text_costs_two_questions_a_comparison(comparisons, texts, known):
    columns = [ColumnText(place, text) for place, text in enumerate(sorted(texts))]
    judged = {
        (comparison, column.text or "", order): 1
        for comparison in range(comparisons)
        for column in columns[:known]
        for order in (Order.ORIGINAL, Order.SWAPPED)
    }
    cells = list(planned_cells(range(comparisons), columns, judged))
    assert len(cells) == 2 * comparisons * len(columns)
    assert sum(cell.asks for cell in cells) == 2 * comparisons * len(columns[known:])


PROMPTS = {"judge_pair.v1.en": "a", "judge_pair_base.v1.en": "b", "build_memory.v1.en": "c"}
SNAPSHOT = {
    "judge": "qwen",
    "model": "m",
    "temperature": 0.0,
    "prompts": PROMPTS,
}


@pytest.mark.parametrize(
    ("changed", "alike"),
    [
        ({}, True),
        ({"something": "new"}, True),
        ({"prompts": PROMPTS | {"build_memory.v1.en": "x"}}, True),
        ({"prompts": PROMPTS | {"judge_pair.v1.en": "x"}}, False),
        ({"prompts": {}}, False),
        ({"model": "n"}, False),
        ({"temperature": 1.0}, False),
        ({"version": 2}, False),
    ],
)
def test_verdicts_stand_side_by_side_where_the_judge_is_asked_alike(changed, alike):
    assert judges_alike(SNAPSHOT, SNAPSHOT | changed) is alike
    assert judges_alike(SNAPSHOT | changed, SNAPSHOT) is alike
