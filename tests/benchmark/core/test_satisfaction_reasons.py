import pytest

from annotation.core.choices import Reason
from annotation.core.intervals import wilson
from benchmark.core.satisfaction_evaluation import GoldBlock
from benchmark.core.satisfaction_groups import COLUMNS, reason_figures
from judging.core.satisfaction_baselines import Prediction

DETAIL, UNMET = Reason.INSUFFICIENT_DETAIL, Reason.REQUIREMENT_UNMET
BLOCK = GoldBlock(
    user=1,
    scenario="s",
    keys=tuple("abcdef"),
    gold=(2, 3, 3, 1, 3, 5),
    history=(0,) * 5,
    reasons=(DETAIL, DETAIL, UNMET, Reason.NOT_RECORDED, UNMET, None),
)


def test_named_reasons_are_compared():
    own = [
        Prediction(2, 2.0, DETAIL),
        Prediction(3, 3.0, UNMET),
        Prediction(3, 3.0, DETAIL),
        Prediction(3, 3.0, UNMET),
        Prediction(4, 4.0),
        None,
    ]
    found = reason_figures([BLOCK], [own])
    # Both name one for a, b, c: a is right; of the stated ones two are DETAIL, one UNMET.
    assert (found.both, found.right, found.commonest) == (3, 1, 2)
    assert found.share == pytest.approx(1 / 3)
    assert found.interval is None
    cells = {
        (row, column): n
        for row, own_row in zip(COLUMNS, found.table, strict=True)
        for column, n in zip(COLUMNS, own_row, strict=True)
        if n
    }
    assert cells == {
        ("INSUFFICIENT_DETAIL", "INSUFFICIENT_DETAIL"): 1,
        ("INSUFFICIENT_DETAIL", "REQUIREMENT_UNMET"): 1,
        ("REQUIREMENT_UNMET", "INSUFFICIENT_DETAIL"): 1,
        ("REQUIREMENT_UNMET", "SATISFIED"): 1,
        ("UNKNOWN", "REQUIREMENT_UNMET"): 1,
    }


def test_the_units_of_the_interval_are_users():
    right = [Prediction(2, 2.0, DETAIL)] * 4
    blocks = [
        GoldBlock(user, scenario, tuple("abcd"), (2,) * 4, (0,) * 5, (said,) * 4)
        for user in range(10)
        for scenario, said in (("s", UNMET if user else DETAIL), ("t", UNMET if user else DETAIL))
    ]
    # Eighty turns of ten users: one user is right in all eight, the others in none.
    assert reason_figures(blocks, [right] * 20).interval == wilson(1, 10)
    assert reason_figures(blocks[:18], [right] * 18).interval is None


def test_who_never_names_a_reason_has_no_figures():
    assert reason_figures([BLOCK], [[Prediction(2, 2.0)] * 6]) is None


def test_reasons_that_never_meet_have_no_share():
    own = [None] * 5 + [Prediction(2, 2.0, DETAIL)]
    found = reason_figures([BLOCK], [own])
    assert (found.both, found.commonest, found.share, found.interval) == (0, 0, None, None)
