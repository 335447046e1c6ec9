from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from annotation.core.labelling import Answer, PastOrder, answer_of, balanced_order, verdict_of

SHOWN = [Order.ORIGINAL, Order.SWAPPED]
pairs = st.lists(
    st.tuples(
        st.sampled_from(["alpha", "beta", "gamma"]), st.sampled_from(["alpha", "beta", "delta"])
    )
)


@pytest.mark.parametrize(
    ("answer", "order", "verdict"),
    [
        (Answer.FIRST, Order.ORIGINAL, Verdict.A),
        (Answer.SECOND, Order.ORIGINAL, Verdict.B),
        (Answer.FIRST, Order.SWAPPED, Verdict.B),
        (Answer.SECOND, Order.SWAPPED, Verdict.A),
        (Answer.TIE, Order.ORIGINAL, Verdict.TIE),
        (Answer.TIE, Order.SWAPPED, Verdict.TIE),
    ],
)
def test_an_answer_is_translated_into_the_comparison_s_own_coordinates(answer, order, verdict):
    assert verdict_of(answer, order) is verdict


@given(st.sampled_from(Answer), st.sampled_from(SHOWN))
def test_a_stored_verdict_reads_back_as_the_answer_that_was_given(answer, order):
    assert answer_of(verdict_of(answer, order), order) is answer


@given(st.sampled_from(Answer), st.sampled_from(SHOWN))
def test_the_same_click_in_the_other_order_is_the_flipped_verdict(answer, order):
    assert verdict_of(answer, order.other()) is verdict_of(answer, order).flipped()


def present(pairs, seed):
    """Choose an order for each pair in turn, as the service does: from counts of what was shown."""
    counts = Counter()
    orders = []
    for number, (model_a, model_b) in enumerate(pairs):
        past = [PastOrder(*key, count) for key, count in counts.items()]
        order = balanced_order(model_a, model_b, past, random=Random(f"{seed}:{number}"))
        counts[(model_a, model_b, order)] += 1
        orders.append(order)
    return orders


def first_shown(pair, order):
    return pair[0] if order is Order.ORIGINAL else pair[1]


@given(pairs, st.integers())
def test_in_every_block_the_two_models_come_first_equally_often_but_for_one(pairs, seed):
    first = Counter()
    for pair, order in zip(pairs, present(pairs, seed), strict=True):
        if pair[0] != pair[1]:
            block = frozenset(pair)
            first[(block, first_shown(pair, order))] += 1
            one, other = sorted(block)
            assert abs(first[(block, one)] - first[(block, other)]) <= 1


@given(st.lists(st.sampled_from([("", ""), ("alpha", ""), ("alpha", "alpha")])), st.integers())
def test_where_models_do_not_tell_the_sides_apart_a_and_b_are_balanced(pairs, seed):
    lead = 0
    for order in present(pairs, seed):
        lead += 1 if order is Order.ORIGINAL else -1
        assert abs(lead) <= 1


def test_a_block_is_unordered():
    shown = [PastOrder("alpha", "beta", Order.ORIGINAL, 1)]
    # alpha came first once, so beta must come first now, wherever it stands.
    assert balanced_order("alpha", "beta", shown, random=Random(1)) is Order.SWAPPED
    assert balanced_order("beta", "alpha", shown, random=Random(1)) is Order.ORIGINAL


def test_other_blocks_do_not_count():
    shown = [PastOrder("alpha", "gamma", Order.ORIGINAL, 9), PastOrder("", "", Order.ORIGINAL, 9)]
    drawn = {balanced_order("alpha", "beta", shown, random=Random(seed)) for seed in range(20)}
    assert drawn == set(SHOWN)


def test_the_draw_depends_on_the_seed_alone():
    pairs = [("alpha", "beta")] * 30
    assert present(pairs, 7) == present(pairs, 7)
    assert present(pairs, 7) != present(pairs, 8)


def test_odd_presentations_cannot_be_foreseen():
    # Every odd presentation of a block is a draw: over many blocks both orders come up.
    firsts = [present([("alpha", "beta")], seed)[0] for seed in range(400)]
    # 400 fair coins: 200 +- 10 (one standard deviation); 150..250 is five of them.
    assert 150 < firsts.count(Order.ORIGINAL) < 250
