import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.calibrated import (
    METRICS,
    RawBlock,
    RawTurn,
    Recalibration,
    compare,
    recalibrated,
)
from benchmark.core.metrics import UndefinedMetric

HISTORY = (0, 1, 1, 4, 4)  # F(2) = .1, F(3) = .2, F(4) = .6, F(5) = 1; mean 4.1


def block(raw, history=HISTORY, stated=None):
    stated = stated or raw
    turns = (
        RawTurn(1, f"turn_{at}", said, score)
        for at, (said, score) in enumerate(zip(stated, raw, strict=True))
    )
    return RawBlock(tuple(turns), history)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Recalibration.RAW, (4, 4, 2)),
        # Mean of the block 10/3, shift 4.1 - 10/3 = 23/30: 4.77 and 2.77 go up.
        (Recalibration.MEAN_SHIFT, (5, 5, 3)),
        # q = 4/6, 4/6, 1/6: above F(4), and between F(2) and F(3).
        (Recalibration.CDF, (5, 5, 3)),
        (Recalibration.PAPER_MEAN_SHIFT, (5, 5, 3)),
        # Ranks by score, then id: turn_2 1/6, turn_0 3/6, turn_1 5/6. Equal raw scores part.
        (Recalibration.PAPER_CDF, (4, 5, 3)),
    ],
)
def test_each_method_by_hand(method, expected):
    assert recalibrated(block([4, 4, 2]), method) == expected


def test_the_papers_shift_rounds_halves_to_even():
    shifted = block([2, 3, 4], history=(0, 0, 5, 5, 0))  # 3.5 - 3: 2.5, 3.5, 4.5
    assert recalibrated(shifted, Recalibration.MEAN_SHIFT) == (3, 4, 5)
    assert recalibrated(shifted, Recalibration.PAPER_MEAN_SHIFT) == (2, 4, 4)


@pytest.mark.parametrize("method", Recalibration)
def test_a_short_history_leaves_the_raw_scores(method):
    assert recalibrated(block([5, 1, 2], history=(0, 0, 0, 2, 2)), method) == (5, 1, 2)
    assert recalibrated(RawBlock((), HISTORY), method) == ()


@given(
    raw=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    history=st.lists(st.integers(0, 9), min_size=5, max_size=5),
)
def test_every_method_stays_on_the_scale_and_keeps_the_order(raw, history):
    for method in Recalibration:
        found = recalibrated(block(raw, tuple(history)), method)
        assert all(1 <= score <= 5 for score in found)
        pairs = [(a, b) for a in zip(raw, found, strict=True) for b in zip(raw, found, strict=True)]
        assert all(a[1] <= b[1] for a, b in pairs if a[0] < b[0])


def test_methods_are_compared_on_the_same_turns():
    found = compare([block([4, 4, 2], stated=[5, 5, 3]), block([5, 1], stated=[5, 1])])
    by_method = {one.method: one for one in found}
    assert list(by_method) == list(Recalibration)
    raw = by_method[Recalibration.RAW]
    assert raw.mean == pytest.approx(16 / 5)
    assert raw.metrics[METRICS.index("mae")].value == pytest.approx(3 / 5)
    # The second block has q = 1/4 and 3/4: 4 and 5.
    assert by_method[Recalibration.CDF].metrics[METRICS.index("mae")].value == pytest.approx(3 / 5)


def test_nothing_to_compare():
    for one in compare([]):
        assert one.mean is None
        assert {metric.undefined for metric in one.metrics} == {UndefinedMetric.EMPTY}
