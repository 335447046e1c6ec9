import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import JudgmentStatus, Order, Verdict
from benchmark.core.decisions import ORDER_CODES, STATUS_CODES, VERDICT_CODES, Judgments
from judging.core.verdicts import verdict_of_log_odds
from judging.core.votes import MemberVerdict, VoteRule, mean_log_odds, vote

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


def shown(preference, original=None, swapped=None, status=UNPARSEABLE):
    """What a member said by letters: log-odds as shown, or a reply without any."""
    own = {ORIGINAL: original, SWAPPED: None if swapped is None else -swapped}
    return [
        reply(preference, order, status=status)
        if odds is None
        else reply(preference, order, verdict_of_log_odds(odds), log_odds=odds)
        for order, odds in own.items()
    ]


def by_log_odds(replies, members):
    """What l* decided on the one comparison, and what was leaned to in each order."""
    judgments = Judgments.of(replies)
    seats = [([7], members)]
    decided, signs = judgments.decisions_by_log_odds(seats), judgments.shown_signs(seats)
    return decided.get(7, {}), signs.get(7, {})


@pytest.mark.parametrize(
    ("replies", "decided", "leaned"),
    [
        # .6 for A, and a leaning of 2.0 to the first place.
        (shown(1, 2.6, 1.4), {ORIGINAL: A, SWAPPED: A}, {ORIGINAL: A, SWAPPED: B}),
        (shown(1, 1.0, 1.0), {ORIGINAL: TIE, SWAPPED: TIE}, {ORIGINAL: A, SWAPPED: B}),
        # Two members: l* .6 and -.7; in the swapped order 1.4 and 1.8 for the first shown.
        (
            shown(1, 2.6, 1.4) + shown(2, 0.4, 1.8),
            {ORIGINAL: B, SWAPPED: B},
            {ORIGINAL: A, SWAPPED: B},
        ),
        # A member that lacks an order is left out of the verdict.
        (
            shown(1, 2.6, 1.4) + shown(2, -9.0),
            {ORIGINAL: A, SWAPPED: A},
            {ORIGINAL: B, SWAPPED: B},
        ),
        # Nobody is left.
        (shown(1, 2.6), {ORIGINAL: None, SWAPPED: None}, {ORIGINAL: A, SWAPPED: None}),
        (
            shown(1, 2.6, status=FAILED),
            {ORIGINAL: None, SWAPPED: None},
            {ORIGINAL: A},
        ),
        # Nothing was said, or not everything yet.
        (shown(1, status=FAILED), {}, {}),
        (shown(1, 2.6, status=PENDING), {}, {ORIGINAL: A}),
        ([reply(1, ORIGINAL, A, log_odds=1.0)], {}, {ORIGINAL: A}),
    ],
)
def test_l_star_gives_one_verdict_and_each_order_its_leaning(replies, decided, leaned):
    members = {preference for _run, _comparison, preference, *_ in replies}
    assert by_log_odds(replies, members) == (decided, leaned)


def test_l_star_of_others_does_not_count():
    replies = shown(1, 2.6, 1.4) + shown(9, -9.0, 9.0)
    assert by_log_odds(replies, {1})[0] == {ORIGINAL: A, SWAPPED: A}
    assert by_log_odds(replies, set()) == ({}, {})
    assert Judgments.of(replies).decisions_by_log_odds([]) == {}


@given(
    st.lists(
        st.tuples(*[st.none() | st.integers(-30, 30).map(lambda one: one / 10)] * 2),
        min_size=1,
        max_size=6,
    )
)
def test_l_star_of_many_comparisons_is_that_of_one(odds):
    replies = [each for member, own in enumerate(odds) for each in shown(member, *own)]
    one = mean_log_odds(
        {
            order: value
            for order, value in ((ORIGINAL, own[0]), (SWAPPED, own[1] and -own[1]))
            if value is not None
        }
        for own in odds
    )
    expected = None if one is None else verdict_of_log_odds(one)
    assert by_log_odds(replies, range(len(odds)))[0] == {ORIGINAL: expected, SWAPPED: expected}


ONE_HOT = {A: [1, 0, 0, 0], B: [0, 1, 0, 0], TIE: [0, 0, 1, 0], None: [0, 0, 0, 1]}


@given(
    st.lists(
        st.tuples(st.none() | st.sampled_from([A, B]), st.none() | st.sampled_from([A, B])),
        min_size=3,
        max_size=3,
    ),
    st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=5),
    st.sampled_from([VoteRule.DEFAULT, VoteRule.PAPER]),
)
def test_several_sets_decide_as_each_does_alone_on_average(members, sets, rule):
    replies = [
        reply(member, order, verdict, DONE if verdict else UNPARSEABLE)
        for member, ballots in enumerate(members)
        for order, verdict in zip((ORIGINAL, SWAPPED), ballots, strict=True)
    ]
    found = Judgments.of(replies).shares([([7], sets)], rule=rule)[7]
    alone = [decide(replies, each, rule=rule) for each in sets]
    for place, order in enumerate((ORIGINAL, SWAPPED)):
        mean = np.mean([ONE_HOT[each[order]] for each in alone], axis=0)
        assert found[place].tolist() == pytest.approx(mean.tolist())
    assert found[2].tolist() == [0, 0, 0, 0]  # never judged in both orders at once


@given(
    st.lists(
        st.tuples(*[st.none() | st.floats(-3, 3).filter(lambda one: abs(one) > 0.01)] * 2),
        min_size=3,
        max_size=3,
    ),
    st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=5),
)
def test_several_sets_by_log_odds_as_each_alone(members, sets):
    replies = [
        reply(
            member,
            order,
            None if odds is None else verdict_of_log_odds(odds),
            UNPARSEABLE if odds is None else DONE,
            log_odds=odds,
        )
        for member, own in enumerate(members)
        for order, odds in zip((ORIGINAL, SWAPPED), own, strict=True)
    ]
    judgments = Judgments.of(replies)
    found = judgments.shares([([7], sets)], by_log_odds=True)[7]
    alone = [judgments.decisions_by_log_odds([([7], each)])[7][ORIGINAL] for each in sets]
    mean = np.mean([ONE_HOT[each] for each in alone], axis=0).tolist()
    assert found[0].tolist() == found[1].tolist() == pytest.approx(mean)


def test_a_set_that_waits_leaves_the_order_out_of_the_average():
    replies = [
        reply(1, ORIGINAL, A),
        reply(2, ORIGINAL, status=PENDING),
        reply(1, SWAPPED, B),
        reply(2, SWAPPED, B),
    ]
    found = Judgments.of(replies).shares([([7], [{1}, {2}]), ([], [{1}]), ([8], [set()])])
    assert found[7].tolist() == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert list(found) == [7]
