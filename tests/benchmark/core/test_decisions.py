from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import JudgmentStatus, Order, Verdict
from benchmark.core.decisions import ORDER_CODES, STATUS_CODES, VERDICT_CODES, Judgments
from judging.core.votes import MemberVerdict, VoteRule, vote

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORIGINAL, SWAPPED = Order.ORIGINAL, Order.SWAPPED
DONE, PENDING = JudgmentStatus.DONE, JudgmentStatus.PENDING
UNPARSEABLE, FAILED = JudgmentStatus.UNPARSEABLE, JudgmentStatus.FAILED


def reply(preference, order, verdict=None, status=DONE, log_odds=None):
    code = ORDER_CODES[order] + STATUS_CODES[status] + VERDICT_CODES[verdict]
    return (1, 7, preference, code, log_odds)


def decide(replies, members, **options):
    """What was decided on the one comparison."""
    judgments = Judgments.of(replies)
    return judgments.decisions([([7], members)], **options).get(7, {})


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


@given(
    st.lists(
        st.tuples(st.sampled_from(Verdict), st.none() | st.integers(-3, 3)), min_size=1, max_size=6
    ),
    st.sampled_from(Order),
    st.sampled_from(VoteRule),
)
def test_many_comparisons_are_decided_as_one_is(ballots, order, rule):
    replies = [
        reply(member, order, verdict, log_odds=log_odds)
        for member, (verdict, log_odds) in enumerate(ballots)
    ]
    one = vote([MemberVerdict(*ballot) for ballot in ballots], order=order, rule=rule)
    assert decide(replies, range(len(ballots)), rule=rule) == {order: one.winner}


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


def test_whose_votes_count_may_differ_by_comparison():
    rows = [
        (
            1,
            comparison,
            preference,
            ORDER_CODES[ORIGINAL] + STATUS_CODES[DONE] + VERDICT_CODES[won],
            None,
        )
        for comparison, preference, won in [(7, 1, A), (7, 2, B), (8, 1, A), (8, 2, B), (9, 1, A)]
    ]
    judgments = Judgments.of(rows)
    assert judgments.decisions([([7, 6], {1}), ([8], {2})]) == {7: {ORIGINAL: A}, 8: {ORIGINAL: B}}
    assert judgments.decisions([]) == {}


def test_the_judgments_of_each_run_stand_apart():
    done = STATUS_CODES[DONE] + VERDICT_CODES[A]
    found = Judgments.of(
        [(2, 7, 1, done, None), (1, 8, 1, done, None), (2, 9, 1, done, None)]
    ).by_run()
    assert {run: each.comparison.tolist() for run, each in found.items()} == {1: [8], 2: [7, 9]}
    assert Judgments.of([]).by_run() == {}
