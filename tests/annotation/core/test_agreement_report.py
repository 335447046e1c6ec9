from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annotation.core.agreement import Coefficient, Measure, UndefinedAgreement
from annotation.core.agreement_report import (
    MATRIX_LIMIT,
    SCORE_SCALE,
    Answers,
    Finding,
    agreement_report,
    finding_of,
    verdict_scale,
)
from annotation.core.intervals import Interval, Units, clustered_wilson, wilson

A, B, T = 0, 1, 2
VERDICTS = verdict_scale(ties=True)


def answers(rows):
    """Rows of item, annotator, value, and optionally scenario and model pair."""
    columns = np.array([(*row, *(0, 0)[len(row) - 3 :]) for row in rows], dtype=np.int64)
    table = columns.reshape(-1, 5).T
    return Answers(*table, session=table[0])


def report(rows, scale=VERDICTS):
    return agreement_report(answers(rows), scale, seed=1, draws=20)


ROWS = [
    # Three annotators (7, 8, 9); items 1 and 2 in scenario 0, 3 to 5 in scenario 1.
    (1, 7, A, 0, 0),
    (1, 8, A, 0, 0),
    (1, 9, A, 0, 0),
    (2, 7, A, 0, 1),
    (2, 8, B, 0, 1),
    (3, 7, B, 1, 0),
    (3, 8, B, 1, 0),
    (4, 7, T, 1, -1),
    (4, 9, T, 1, -1),
    (5, 9, A, 1, -1),
]


def test_the_groups_add_up():
    found = report(ROWS)
    assert (found.overall.key, found.overall.items, found.overall.answers) == (None, 4, 9)
    assert [(each.key, each.items) for each in found.scenarios] == [(0, 2), (1, 2)]
    # Item 4 has no model pair.
    assert [(each.key, each.items) for each in found.models] == [(0, 2), (1, 1)]
    assert (found.fewest, found.most) == (2, 3)
    assert [each.measure for each in found.overall.coefficients] == list(VERDICTS.measures)


def test_unanimous_items_are_counted_as_the_paper_does():
    found = report(ROWS)
    assert [(each.same, each.different) for each in found.scenarios] == [(1, 1), (2, 0)]
    assert (found.overall.same_share, found.overall.same_interval) == (0.75, None)


def test_the_units_of_intervals_are_sessions():
    rows = [(item, who, A if item % 4 or who == 7 else B) for item in range(40) for who in (7, 8)]
    alone = report(rows)
    assert (alone.overall.same_interval, alone.overall.leading.sessions) == (wilson(30, 40), 40)
    taken = answers(rows)
    taken = replace(taken, session=taken.item // 2)
    found = agreement_report(taken, VERDICTS, seed=1, draws=50)
    assert found.overall.leading.value == alone.overall.leading.value
    assert (found.overall.leading.sessions, found.overall.leading.units.missing) == (20, 0)
    assert found.overall.same_interval == clustered_wilson(
        np.array([1.0, 2.0] * 10), np.array([2.0] * 20)
    )
    assert found.overlaps[0].coefficients[0].sessions == 20
    few = agreement_report(replace(taken, session=taken.item // 5), VERDICTS, seed=1, draws=50)
    assert (few.overall.leading.units.missing, few.overall.leading.interval) == (2, None)
    assert (few.overall.same_interval, few.overlaps[0].coefficients[0].interval) == (None, None)


def test_annotators_are_compared_two_by_two():
    found = report(ROWS)
    # 7 and 8 answered 4 and 3 items that others answered too, 9 two.
    assert found.annotators == (7, 8, 9)
    pairs = {(each.first, each.second): each for each in found.overlaps}
    assert {pair: each.items for pair, each in pairs.items()} == {(7, 8): 3, (7, 9): 2, (8, 9): 1}
    share, kappa = pairs[7, 8].coefficients
    assert share.value == pytest.approx(2 / 3)
    # Two of three agree; 7 says A A B and 8 A B B: expected (2*1 + 1*2)/9; (6 - 4)/(9 - 4).
    assert kappa.value == pytest.approx(0.4)


def test_a_second_answer_of_the_same_annotator_does_not_count():
    found = report([(1, 7, A), (1, 7, B), (1, 8, A), (2, 7, B), (2, 7, B)])
    assert (found.overall.items, found.overall.answers, found.overall.same) == (1, 2, 1)


def test_nothing_is_a_report_that_says_so():
    for rows in ([], [(1, 7, A), (2, 8, B)]):
        found = report(rows)
        assert found.overall.leading.undefined is UndefinedAgreement.NO_ITEMS
        assert (found.overall.same_share, found.overall.same_interval) == (None, None)
        assert (found.annotators, found.overlaps, found.fewest, found.most) == ((), (), 0, 0)


def test_annotators_without_a_common_item_are_no_pair():
    found = report([(1, 7, A), (1, 8, A), (2, 8, B), (2, 9, B)])
    assert [(each.first, each.second) for each in found.overlaps] == [(8, 7), (8, 9)]


def test_scores_are_measured_as_ordinal():
    found = report([(1, 7, 4), (1, 8, 3), (2, 7, 0), (2, 8, 0)], SCORE_SCALE)
    assert found.overall.leading.measure is Measure.ALPHA_ORDINAL
    assert found.overall.leading.value > 0.8
    measures = [each.measure for each in found.overlaps[0].coefficients]
    assert Measure.KAPPA_QUADRATIC in measures


def test_a_crowd_is_cut_to_those_with_the_most_in_common():
    rows = [(item, person, A) for person in range(MATRIX_LIMIT + 2) for item in range(person + 1)]
    found = report(rows)
    # Nobody shares the last annotator's last item: the last two have as many, in their order.
    last = MATRIX_LIMIT + 1
    assert found.annotators == (last - 1, last, *range(last - 2, 1, -1))
    assert found.left_out == 2
    assert len(found.overlaps) == MATRIX_LIMIT * (MATRIX_LIMIT - 1) // 2
    assert {each.first for each in found.overlaps} <= set(found.annotators)


def test_ten_unanimous_items_do_not_make_people_reliable():
    found = report([(item, person, (A, B)[item % 2]) for item in range(10) for person in (7, 8)])
    leading = found.overall.leading
    assert (leading.value, leading.interval, leading.units.missing) == (1.0, None, 0)
    assert finding_of(leading) is Finding.UNSURE
    # Shares have Wilson's: 3.8415 / (10 + 3.8415) below 1 at most.
    for told in (found.overall.coefficients, found.overlaps[0].coefficients):
        intervals = {each.measure: each.interval for each in told}
        assert intervals.pop(Measure.PERCENT) == wilson(10, 10) == found.overall.same_interval
        assert set(intervals.values()) == {None}


@pytest.mark.parametrize(
    ("leading", "finding"),
    [
        ((None, 0, None), Finding.NO_OVERLAP),
        ((None, 30, None), Finding.UNDEFINED),
        ((1.0, 3, None), Finding.TOO_FEW),
        ((None, 3, None), Finding.TOO_FEW),
        ((0.9, 30, None), Finding.UNSURE),
        ((0.9, 9, (0.8, 1.0)), Finding.RELIABLE),
        ((0.9, 9, (0.7, 1.0)), Finding.TENTATIVE),
        ((0.9, 9, (0.1, 1.0)), Finding.LOW),
        ((0.1, 9, (-0.1, 0.3)), Finding.CHANCE),
        ((-0.2, 9, (-0.3, -0.1)), Finding.AGAINST),
    ],
)
def test_the_lower_end_of_the_interval_decides(leading, finding):
    value, items, interval = leading
    undefined = None if value is not None else UndefinedAgreement.ONE_CATEGORY
    span = Interval(*interval) if interval else None
    found = Coefficient(
        Measure.ALPHA_NOMINAL, value, undefined, items, 2 * items, span, units=Units.alike(items)
    )
    assert finding_of(found) is finding
