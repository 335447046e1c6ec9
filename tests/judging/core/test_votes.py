from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from judging.core.votes import MemberVerdict, VoteRule, check_rule, mean_log_odds, score, vote
from tests.paths import paper_vectors
from tests.refusals import refuses

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
DEFAULT, PAPER, SOFT = VoteRule.DEFAULT, VoteRule.PAPER, VoteRule.SOFT


def ballots(verdicts):
    return [MemberVerdict(Verdict(one)) for one in verdicts]


@pytest.mark.parametrize(
    ("verdicts", "order", "rule", "winner"),
    [
        ("AAB", Order.ORIGINAL, DEFAULT, A),
        ("ABB", Order.SWAPPED, DEFAULT, B),
        ("AB", Order.ORIGINAL, DEFAULT, TIE),
        ("AB", Order.ORIGINAL, PAPER, A),
        ("AB", Order.SWAPPED, PAPER, B),
        ("AB", Order.COMBINED, PAPER, TIE),
        ("ABB", Order.ORIGINAL, PAPER, B),
        ("", Order.ORIGINAL, DEFAULT, None),
        ("", Order.SWAPPED, PAPER, None),
    ],
)
def test_the_members_decide(verdicts, order, rule, winner):
    decided = vote(ballots(verdicts), order=order, rule=rule)
    assert (decided.winner, decided.counted, decided.rule) == (winner, len(verdicts), rule)


def test_a_tie_verdict_counts_for_neither():
    assert vote([MemberVerdict(TIE), MemberVerdict(B)], order=Order.ORIGINAL).winner is B
    assert vote([MemberVerdict(TIE)], order=Order.ORIGINAL).winner is TIE


@pytest.mark.parametrize(
    ("strengths", "winner", "counted"),
    [
        ([2.0, -0.5, -0.5], A, 3),
        ([0.5, -2.0, 0.5], B, 3),
        ([1.0, -1.0], TIE, 2),
        ([None, -0.1], B, 1),
        ([None], None, 0),
    ],
)
def test_soft_sums_log_odds(strengths, winner, counted):
    members = [MemberVerdict(A, log_odds=strength) for strength in strengths]
    decided = vote(members, order=Order.ORIGINAL, rule=SOFT)
    assert (decided.winner, decided.counted) == (winner, counted)


def test_the_paper_rule_gives_the_released_row_votes():
    vectors = paper_vectors()
    for cells, swapped, columns, (correct, _, valid) in vectors["sensejudge_row_vote"]:
        chosen = [cells[column] for column in columns if column < len(cells)]
        members = [MemberVerdict(A if cell else B) for cell in chosen if cell is not None]
        order = Order.SWAPPED if swapped else Order.ORIGINAL
        winner = vote(members, order=order, rule=PAPER).winner
        assert (winner is A, winner is not None) == (correct, valid)


@pytest.mark.parametrize(
    ("winner", "truth", "points"), [(A, A, 1), (B, A, 0), (TIE, B, 0.5), (None, B, None)]
)
def test_an_even_split_scores_one_half(winner, truth, points):
    assert score(winner, truth=truth) == points


def test_nothing_is_scored_against_a_tie():
    with pytest.raises(ValueError, match="with a winner"):
        score(A, truth=TIE)


@given(st.lists(st.sampled_from([A, B])), st.sampled_from([Order.ORIGINAL, Order.SWAPPED]))
def test_swapping_the_responses_swaps_the_decision(verdicts, order):
    turned = [one.flipped() for one in verdicts]
    for rule in (DEFAULT, PAPER):
        winner = vote(ballots(verdicts), order=order, rule=rule).winner
        mirrored = vote(ballots(turned), order=order.other(), rule=rule).winner
        assert mirrored == (winner.flipped() if winner else None)


def shown(original=None, swapped=None):
    """Log-odds as shown, in the comparison's own coordinates."""
    own = {Order.ORIGINAL: original, Order.SWAPPED: None if swapped is None else -swapped}
    return {order: odds for order, odds in own.items() if odds is not None}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([shown(2.6, 1.4)], 0.6),  # leans to the first place by 2.0: A, once
        ([shown(-1.4, -2.6)], 0.6),  # leans to the second
        ([shown(1.0, 1.0)], 0.0),  # nothing but leaning
        ([shown(2.6, 1.4), shown(0.4, 1.8)], -0.05),  # .6 and -.7
        ([shown(2.6, 1.4), shown(original=-9.0)], 0.6),  # a member without an order is left out
        ([shown(swapped=3.0)], None),
        ([], None),
    ],
)
def test_l_star_is_the_mean_of_both_orders_and_then_of_the_members(members, expected):
    assert mean_log_odds(members) == (None if expected is None else pytest.approx(expected))


def test_another_rule_is_refused_where_l_star_decides():
    check_rule(VoteRule.DEFAULT, by_log_odds=True)
    check_rule(VoteRule.PAPER, by_log_odds=False)
    for rule in (VoteRule.PAPER, VoteRule.SOFT):
        with refuses("vote:by-log-odds"):
            check_rule(rule, by_log_odds=True)
