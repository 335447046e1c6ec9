from __future__ import annotations

import math

import pytest

from annotation.core.choices import JudgmentStatus, Order, Verdict
from benchmark.core.decisions import (
    ORDER_CODES,
    STATUS_CODES,
    VERDICT_CODES,
    Judgments,
    Opinion,
    disagreements,
)
from judging.core.votes import VoteRule

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


def reply(verdict, *, preference=1, order=Order.ORIGINAL, log_odds=None):
    status = JudgmentStatus.DONE if verdict else JudgmentStatus.UNPARSEABLE
    code = ORDER_CODES[order] + STATUS_CODES[status] + VERDICT_CODES[verdict]
    return (1, 7, preference, code, log_odds)


def said(for_a=0, for_b=0, ties=0, log_odds=None):
    return Opinion(for_a, for_b, ties, 0, log_odds)


def test_all_ballots_of_the_members_are_heard_in_all_orders():
    rows = Judgments.of(
        [
            reply(A, log_odds=2.0),
            reply(B, order=Order.SWAPPED, log_odds=-1.0),
            reply(A, preference=2),
            reply(TIE, preference=2, order=Order.SWAPPED),
            reply(None, preference=2),
            reply(B, preference=9),
        ],
    )
    found = rows.opinions([([7], {1, 2})])[7]
    assert found == Opinion(for_a=2, for_b=1, ties=1, unread=1, log_odds=0.5)
    assert (found.ballots, found.verdict, found.confidence) == (4, A, 0.25)


def test_by_the_released_rule_an_even_split_of_an_order_goes_to_the_first_shown():
    rows = Judgments.of(
        [
            reply(A, log_odds=2.0),
            reply(B, preference=2),
            reply(None, preference=3),
            reply(B, order=Order.SWAPPED),
            reply(B, preference=2, order=Order.SWAPPED),
        ],
    )
    asked = [([7], {1, 2, 3})]
    found = rows.opinions(asked, rule=VoteRule.PAPER)[7]
    assert found == Opinion(for_a=2, for_b=2, ties=0, unread=1, log_odds=2.0)
    plain = rows.opinions(asked)[7]
    assert plain.flipped() == Opinion(for_a=3, for_b=1, ties=0, unread=1, log_odds=-2.0)


@pytest.mark.parametrize(
    ("given", "verdict", "confidence"),
    [
        (said(2, 0), A, 1.0),
        (said(0, 2), B, 1.0),
        (said(1, 1), TIE, 0.0),
        (said(0, 1, 1), B, 0.5),
        (said(0, 0, 2), TIE, 0.0),
        (said(), None, 0.0),
    ],
)
def test_a_verdict_is_the_majority_and_is_as_sure_as_it_leans(given, verdict, confidence):
    assert (given.verdict, given.confidence) == (verdict, confidence)


def test_the_surest_comes_first_then_the_strongest_then_file_order():
    rows = [
        (1, 7, A, said(1, 1)),  # the judge says tie
        (2, 7, A, said(0, 2)),
        (3, 7, A, said(0, 2, log_odds=-4.0)),
        (4, 7, B, said(0, 2)),  # agrees
        (5, 7, TIE, said(2, 0)),
        (6, 7, A, said()),  # nothing was read
        (2, 6, A, said(0, 2)),
    ]
    found = disagreements(rows)
    assert [(row.comparison, row.annotator) for row in found] == [
        (3, 7),
        (2, 6),
        (2, 7),
        (5, 7),
        (1, 7),
    ]
    assert [row.opposed for row in found] == [True, True, True, False, False]


def letters(original, swapped, preference):
    """A member's log-odds in the comparison's own coordinates; None where nothing was read."""
    return [
        reply(
            None if odds is None else A if odds > 0 else B,
            preference=preference,
            order=order,
            log_odds=odds,
        )
        for order, odds in ((Order.ORIGINAL, original), (Order.SWAPPED, swapped))
    ]


def test_of_a_judge_that_is_read_by_l_star_the_mean_decides():
    rows = Judgments.of(
        [
            *letters(2.6, -1.4, 1),  # l* .6
            *letters(-0.2, -0.2, 2),  # -.2
            *letters(-0.2, -0.2, 3),
            *letters(-5.0, None, 4),
        ]
    )
    found = rows.opinions_by_log_odds([([7], {1, 2, 3, 4})])[7]
    assert (found.for_a, found.for_b, found.ties, found.unread) == (1, 2, 0, 1)
    assert found.log_odds == pytest.approx(0.2 / 3)
    assert found.verdict is A
    assert found.confidence == pytest.approx(math.tanh(0.1 / 3))
    nothing = Judgments.of(letters(None, 3.0, 1)).opinions_by_log_odds([([7], {1})])[7]
    assert (nothing.verdict, nothing.unread, nothing.log_odds) == (None, 1, None)


def test_the_strongest_l_star_comes_first():
    strong = Opinion(0, 1, 0, 0, -2.0, by_log_odds=True)
    weak = Opinion(0, 2, 0, 0, -0.1, by_log_odds=True)
    found = disagreements([(1, 7, A, weak), (2, 7, A, strong)])
    assert [row.comparison for row in found] == [2, 1]


@pytest.mark.parametrize(
    ("opinion", "chance"),
    [
        (Opinion(3, 1, 0, 5, None), 0.75),
        (Opinion(1, 0, 2, 0, None), 1 / 3),
        (Opinion(0, 2, 0, 0, None), 1.0),
        (Opinion(2, 0, 0, 0, math.log(3)), 0.75),
        (Opinion(0, 2, 0, 0, -math.log(3)), 0.75),
        (Opinion(0, 2, 0, 0, math.log(3)), 0.25),  # the majority against the mean
        (Opinion(0, 1, 0, 0, -5000.0), 1.0),
        (Opinion(1, 1, 0, 0, 2.0), None),
        (Opinion(0, 0, 0, 1, None), None),
    ],
)
def test_how_likely_the_winner_is_by_log_odds_or_the_ballots(opinion, chance):
    assert opinion.winner_chance == (None if chance is None else pytest.approx(chance))
