import pytest

from annotation.core.choices import Order, Verdict
from benchmark.core.ablation import ablation_row
from benchmark.core.accuracy import Judged

A, B = Verdict.A, Verdict.B


def row_of(*judged):
    return ablation_row(judged, annotator="ann", variant="all", dev=0, members=0, run=1)


def test_without_a_decision_there_is_neither_a_mean_nor_a_difference():
    row = row_of()
    assert (row.mean, row.difference) == (None, None)
    assert row.record()["original"] is None


def test_orders_are_told_apart_by_where_the_chosen_response_was_shown():
    row = row_of(
        Judged(1, A, {Order.ORIGINAL: A, Order.SWAPPED: B}),  # A is first in the original order
        Judged(2, B, {Order.ORIGINAL: B, Order.SWAPPED: B}),  # B is first in the swapped one
        Judged(3, A, {Order.ORIGINAL: A}),
    )
    # Right where it was first: 1, 2 and 3; where it was second: 2, but not 1.
    assert (row.original, row.swapped) == (1.0, 0.5)
    assert (row.mean, row.difference) == (0.75, 0.5)
    assert row.accuracy == pytest.approx(4 / 5)
    told = row.record()
    assert (told["annotator"], told["mean"], told["difference"]) == ("ann", 0.75, 0.5)
