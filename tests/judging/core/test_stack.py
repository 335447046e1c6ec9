from __future__ import annotations

import math

import numpy as np
import pytest

from annotation.core.choices import Order, Verdict
from judging.core.rules import StackWay
from judging.core.stack import (
    BARE_VERDICT,
    held_out_shares,
    log_odds_of_score,
    stack_score,
    stack_weights,
    verdict_of_score,
    way_log_odds,
    ways_text,
)
from judging.core.votes import MemberVerdict

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORIGINAL, SWAPPED = Order.ORIGINAL, Order.SWAPPED


def test_weights_are_the_softmax_of_what_each_way_foretold():
    # Two pairs. The base judge says nothing: L = 2 log(1/2) + 2. The other foretells both with
    # log 4: L = 2 log(4/5). Weights e^2 / 4 and .64, divided by their sum.
    found = stack_weights(np.array([[0.0, math.log(4)], [0.0, math.log(4)]]))
    total = math.e**2 / 4 + 0.64
    assert found.tolist() == pytest.approx([math.e**2 / 4 / total, 0.64 / total])


@pytest.mark.parametrize("pairs", [0, 1])
def test_of_fewer_than_two_pairs_the_base_judge_alone_weighs(pairs):
    assert stack_weights(np.full((pairs, 3), 5.0)).tolist() == [1.0, 0.0, 0.0]


def test_a_pair_that_is_left_out_has_no_say_in_the_weights_that_judge_it():
    # The other way is right on the first two pairs and decides the third; that pair is what makes
    # the base judge decide the first two, where it is wrong.
    sure = math.log(1e6)
    log_odds = np.array([[-2.0, 2.0], [-2.0, 2.0], [sure, -sure]])
    assert held_out_shares(log_odds) == (0.0, 0.0, 0.0)
    assert held_out_shares(np.zeros((3, 2))) == (0.5, 0.5, 0.5)
    # What the ways learned without the pair, too, weighs instead, and it is alike for each.
    without_two = np.broadcast_to([-sure, sure], (3, 3, 2))
    assert held_out_shares(log_odds, without_two) == (1.0, 1.0, 0.0)


def test_a_score_is_the_weighted_lean_of_the_ways():
    # .25 x (4/5 - 1/2) + .75 x (1/5 - 1/2) = -.15
    score = stack_score(np.array([0.25, 0.75]), np.array([math.log(4), -math.log(4)]))
    assert score == pytest.approx(-0.15)
    assert verdict_of_score(score) is B
    assert log_odds_of_score(score) == pytest.approx(math.log(0.35 / 0.65))
    assert (verdict_of_score(0.1), verdict_of_score(0.0)) == (A, TIE)
    assert math.isfinite(log_odds_of_score(0.5))


def both(first, second, odds=(None, None)):
    return {
        order: MemberVerdict(verdict, one)
        for order, verdict, one in zip((ORIGINAL, SWAPPED), (first, second), odds, strict=True)
        if verdict is not None
    }


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([both(A, A)], BARE_VERDICT),
        ([both(B, B)], -BARE_VERDICT),
        ([both(A, B)], 0.0),  # leans to the first place
        ([both(A, None)], BARE_VERDICT / 2),  # one order could not be read
        ([both(A, A), both(B, A)], BARE_VERDICT / 2),  # an even split in one order
        ([both(A, A), both(B, A), both(A, B)], BARE_VERDICT),
        ([both(TIE, TIE)], 0.0),
        ([{}], 0.0),
        ([], 0.0),
    ],
)
def test_a_bare_verdict_is_worth_log_four_and_the_orders_are_averaged(members, expected):
    assert way_log_odds(members, by_log_odds=False) == pytest.approx(expected)


def test_l_star_decides_where_there_is_one():
    members = [both(A, B, (2.6, -1.4)), both(A, A, (1.0, None))]
    # The first: (2.6 - 1.4) / 2; the second lacks an order and is left out.
    assert way_log_odds(members, by_log_odds=True) == pytest.approx(0.6)
    assert way_log_odds([{}], by_log_odds=True) == 0.0


def test_the_ways_are_told_in_words():
    ways = [
        (StackWay.BASE, 0.125, [""]),
        (StackWay.SELECTED, 0.875, ["Prefers\nshort answers.", "Prefers lists."]),
    ]
    assert ways_text(ways, language="en").splitlines() == [
        "A weighted vote of several ways to judge, in percent:",
        "12.5 the base judge",
        "87.5 the selected preferences: Prefers short answers. / Prefers lists.",
    ]
    assert "12.5 基础评判者" in ways_text(ways, language="zh-Hans")
