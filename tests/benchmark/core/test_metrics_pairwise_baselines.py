from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from benchmark.core.metrics import longer_wins, majority

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [("ab", "a", A), ("a", "ab", B), ("ab", "cd", TIE), ("a   ", "bc", B), ("", "", TIE)],
)
def test_the_longer_response_wins(first, second, winner):
    assert longer_wins(first, second) is winner
    assert longer_wins(second, first) is winner.flipped()


@pytest.mark.parametrize(
    ("verdicts", "winner"),
    [
        ([], None),
        ([A], A),
        ([A, B], TIE),
        ([TIE], TIE),
        ([B, B, A, TIE], B),
        ([TIE, TIE, A], A),
    ],
)
def test_the_majority_of_those_who_chose(verdicts, winner):
    assert majority(verdicts) is winner
