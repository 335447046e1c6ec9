import pytest

from annotation.core.choices import Verdict
from benchmark.core.majority import majority, pairs_of_models

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ([A], A),
        ([A, B], TIE),
        ([A, A, B], A),
        ([B, TIE, TIE], B),
        ([TIE, TIE], TIE),
        ([B, B, A, TIE], B),
    ],
)
def test_most_decide_and_an_even_split_is_a_tie(votes, verdict):
    assert majority((7, "x", "y", each, 1) for each in votes) == [("x", "y", verdict, 1)]


def test_comparisons_are_decided_apart():
    votes = [(1, "x", "y", A, 1), (2, "x", "y", B, 1), (1, "x", "y", A, 1)]
    assert majority(votes) == [("x", "y", A, 1), ("x", "y", B, 1)]
    assert majority([]) == []


ROWS = [
    ("x", "y", A, 1),
    ("y", "x", B, 2),
    ("x", "y", TIE, 3),
    ("y", "z", A, 1),
    ("z", "y", TIE, 2),
    ("x", "x", A, 1),
]


def test_the_better_model_stands_left():
    # x won 2.5 of 3, y 0.5 + 1.5 of 5, z 0.5 of 2.
    first, second = pairs_of_models(ROWS)
    assert first[:5] == ("x", "y", 2, 1, 0)
    assert second[:5] == ("y", "z", 1, 1, 0)
    assert (first.n, first.share) == (3, pytest.approx(2.5 / 3))
    assert first.interval is None  # three sessions
    many = [("x", "y", A if session % 3 else B, session) for session in range(30)]
    (pair,) = pairs_of_models(many)
    assert pair.interval.low < 2 / 3 < pair.interval.high


def test_against_an_anchor_it_stands_right():
    assert [each[:5] for each in pairs_of_models(ROWS, anchor="x")] == [("y", "x", 0, 1, 2)]
    assert [each[:2] for each in pairs_of_models(ROWS, anchor="y")] == [("x", "y"), ("z", "y")]
    assert pairs_of_models([]) == ()
