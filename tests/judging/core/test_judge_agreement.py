from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import wilson
from benchmark.core import bias
from benchmark.core.decisions import winners
from judging.core.judge_agreement import Share, alike, consistency, right

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
FIRST, SECOND = Order.ORIGINAL, Order.SWAPPED
CELLS = {
    (1, FIRST): A,
    (1, SECOND): A,
    (2, FIRST): A,
    (2, SECOND): B,
    (3, FIRST): TIE,
    (4, SECOND): B,
}


SESSIONS = {1: 1, 2: 1, 3: 3, 4: 4}


def test_right_is_the_winner_of_the_label():
    # 1 twice right, 2 once, 3 a tie, which scores one half as everywhere; 4 has no label
    found = right(CELLS, {1: A, 2: B, 3: A}, SESSIONS)
    assert (found.hits, found.n) == (3.5, 5)
    assert found.counts == ((3, 4), (0.5, 1))  # 1 and 2 are of one session
    # A bootstrap draws sessions by their place: it is the same however rows were read.
    assert right(dict(reversed(CELLS.items())), {1: A, 2: B, 3: A}, SESSIONS) == found


def test_consistent_is_one_winner_in_both_orders():
    # 1 is, 2 is not; 3 and 4 were judged in one order alone; two ties name no winner.
    assert consistency(CELLS, SESSIONS) == Share(1, 2, ((1, 2),))
    tied = CELLS | {(3, SECOND): TIE}
    assert consistency(tied, SESSIONS) == Share(1, 3, ((1, 2), (0, 1)))


@given(st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from(Verdict)), max_size=30))
def test_every_page_has_one_rule_for_consistency(pairs):
    decisions = [{FIRST: one, SECOND: two} for one, two in pairs]
    cells = {(key, order): row[order] for key, row in enumerate(decisions) for order in row}
    here = consistency(cells, {key: key for key in range(len(pairs))})
    on_trust = bias.consistency(decisions)
    assert here.value == on_trust.value
    assert here.interval == on_trust.interval
    _readable, one_winner = bias.read_and_alike(winners(decisions))
    assert one_winner.sum() == here.hits


def test_alike_is_what_two_judges_share_of_comparisons():
    # 1 is shared in both orders, in one of which they differ, 2 and 3 in the first alone.
    other = {(1, FIRST): A, (1, SECOND): B, (2, FIRST): B, (3, FIRST): TIE, (9, FIRST): A}
    found = alike(CELLS, other, SESSIONS)
    assert found == alike(other, CELLS, SESSIONS)
    assert found == Share(1.5, 3, ((0.5, 2), (1, 1)))


def test_alike_does_not_count_one_decision_on_both_orders_twice():
    one = {(key, order): A for key in range(10) for order in (FIRST, SECOND)}
    found = alike(one, one, {key: key for key in range(10)})
    assert (found.hits, found.n) == (10, 10)
    assert found.interval == wilson(10, 10)


@pytest.mark.parametrize(("share", "value"), [(Share(3, 4), 0.75), (Share(0, 0), None)])
def test_a_share(share, value):
    assert share.value == value


def test_the_units_of_a_share_are_sessions_of_which_it_needs_ten():
    # Twenty verdicts of ten sessions, one session wrong in both orders: nine of ten sessions.
    told = [(session, session > 0) for session in range(10) for _order in range(2)]
    found = Share.of(told)
    assert (found.hits, found.n, found.value) == (18, 20, 0.9)
    assert found.interval == wilson(9, 10)
    assert Share.of(told[:18]).interval is None
