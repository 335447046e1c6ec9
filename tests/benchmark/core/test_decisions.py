from annotation.core.choices import JudgmentStatus, Order, Verdict
from benchmark.core.accuracy import StoredJudgment, decide
from judging.core.votes import VoteRule

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORIGINAL, SWAPPED = Order.ORIGINAL, Order.SWAPPED
DONE, PENDING = JudgmentStatus.DONE, JudgmentStatus.PENDING
UNPARSEABLE, FAILED = JudgmentStatus.UNPARSEABLE, JudgmentStatus.FAILED


def reply(preference, order, verdict=None, status=DONE, log_odds=None):
    return StoredJudgment(preference, order, status, verdict, log_odds)


def test_the_members_vote_in_each_order_and_others_do_not():
    replies = [
        reply(1, ORIGINAL, A),
        reply(2, ORIGINAL, A),
        reply(3, ORIGINAL, B),
        reply(9, ORIGINAL, B),
        reply(9, SWAPPED, B),
    ]
    assert decide(replies, {1, 2, 3}) == {ORIGINAL: A}
    assert decide(replies, {9}) == {ORIGINAL: B, SWAPPED: B}


def test_an_even_split_follows_the_rule():
    split = [reply(1, SWAPPED, A, log_odds=0.2), reply(2, SWAPPED, B, log_odds=-3.0)]
    assert decide(split, {1, 2}) == {SWAPPED: TIE}
    # The paper gives it to the response shown first: B in the swapped order.
    assert decide(split, {1, 2}, rule=VoteRule.PAPER) == {SWAPPED: B}
    assert decide(split, {1, 2}, rule=VoteRule.SOFT) == {SWAPPED: B}


def test_an_order_that_is_not_finished_is_no_decision():
    pending = [reply(1, ORIGINAL, A), reply(2, ORIGINAL, status=PENDING), reply(1, SWAPPED, A)]
    assert decide(pending, {1, 2}) == {}


def test_an_unreadable_reply_is_no_ballot_and_only_such_are_no_verdict():
    replies = [
        reply(1, ORIGINAL, status=UNPARSEABLE),
        reply(2, ORIGINAL, B),
        reply(1, SWAPPED, status=UNPARSEABLE),
        reply(2, SWAPPED, status=FAILED),
    ]
    assert decide(replies, {1, 2}) == {ORIGINAL: B, SWAPPED: None}


def test_calls_that_failed_say_nothing_of_the_judge():
    assert decide([reply(1, ORIGINAL, status=FAILED)], {1}) == {}


def test_nobody_decides_nothing():
    assert decide([reply(1, ORIGINAL, A)], set()) == {}
