import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import wilson
from benchmark.core.accuracy import InvalidPolicy, Judged, accuracy
from benchmark.core.bias import consistency, human_position_bias, judge_position_bias
from tests.paths import shared_data

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORIGINAL, SWAPPED = Order.ORIGINAL, Order.SWAPPED
labels = st.lists(
    st.tuples(st.sampled_from(Verdict), st.sampled_from([ORIGINAL, SWAPPED, None]), st.none())
)
decisions = st.lists(
    st.dictionaries(st.sampled_from([ORIGINAL, SWAPPED]), st.sampled_from([A, B, TIE, None])),
    max_size=20,
)


def test_a_human_who_always_takes_the_first_shown_has_a_bias_of_one_half():
    result = human_position_bias([(A, ORIGINAL, None)] * 3 + [(B, SWAPPED, None)] * 5)
    assert (result.value, result.first, result.second, result.gap) == (0.5, 8, 0, 8)


def test_a_humans_interval_is_wilsons_around_zero():
    result = human_position_bias([(A, ORIGINAL, None)] * 30 + [(A, SWAPPED, None)] * 20)
    share = wilson(30, 50)
    assert result.value == pytest.approx(0.1)
    assert (result.interval.low, result.interval.high) == (share.low - 0.5, share.high - 0.5)


def test_a_humans_labels_of_one_session_are_one_unit():
    labels = [(A, ORIGINAL if key // 4 % 3 else SWAPPED, key // 4) for key in range(60)]
    four = human_position_bias(labels)
    alone = human_position_bias(labels[::4])
    assert (four.value, four.interval, four.verdicts) == (alone.value, alone.interval, 60)
    giant = human_position_bias([(verdict, order, 0) for verdict, order, _key in labels] + labels)
    assert (giant.verdicts, giant.interval) == (120, None)


def test_ties_and_unknown_orders_are_counted_apart():
    result = human_position_bias(
        [(TIE, ORIGINAL, 1), (TIE, None, 1), (A, None, 1), (B, Order.COMBINED, 1)]
    )
    assert (result.verdicts, result.ties, result.unknown) == (0, 2, 2)
    assert (result.value, result.interval) == (None, None)


def test_a_judge_that_always_answers_a_favours_the_first_shown_and_is_never_consistent():
    # Always "Response A" as shown is A in the original order and B in the swapped one.
    stuck = [{ORIGINAL: A, SWAPPED: B}] * 10
    result = judge_position_bias(stuck)
    assert (result.value, result.gap, result.verdicts) == (0.5, 20, 20)
    assert result.interval.high == 0.5
    assert result.interval.low == pytest.approx(wilson(10, 10).low - 0.5)
    assert consistency(stuck).value == 0


def test_a_judge_that_is_always_consistent_has_no_position_bias():
    fair = [{ORIGINAL: A, SWAPPED: A}, {ORIGINAL: B, SWAPPED: B}] * 5
    result = judge_position_bias(fair)
    # As of its 20 verdicts: t sqrt(.25 / 20 + t^2 / 1600) / (1 + t^2 / 20), t(9) = 2.2622.
    assert (result.value, round(result.interval.high, 3)) == (0, 0.226)
    assert result.interval.low == pytest.approx(-result.interval.high)


def test_even_splits_and_unreadable_verdicts_favour_nobody():
    rows = [{ORIGINAL: TIE, SWAPPED: None}, {ORIGINAL: TIE, SWAPPED: A}, {Order.COMBINED: A}]
    result = judge_position_bias(rows)
    # Only "A in the swapped order" names a side: the second shown.
    assert (result.first, result.second, result.ties, result.unknown) == (0, 1, 2, 1)


def test_a_judge_without_verdicts_has_no_bias():
    result = judge_position_bias([{}, {ORIGINAL: TIE}])
    assert (result.value, result.interval) == (None, None)


def test_consistency_needs_one_winner_in_both_orders():
    rows = [
        {ORIGINAL: A, SWAPPED: A},
        {ORIGINAL: A, SWAPPED: B},
        {ORIGINAL: TIE, SWAPPED: TIE},
        {ORIGINAL: A, SWAPPED: None},
        {ORIGINAL: B},
    ]
    result = consistency(rows)
    assert (result.value, result.comparisons, result.both_tied) == (pytest.approx(1 / 3), 3, 1)
    assert result.interval is None  # of three
    assert consistency(rows * 4).interval == wilson(4, 12)


def test_a_judges_intervals_draw_sessions():
    # Within a session all comparisons are alike, so five of them tell no more than one.
    sessions = np.repeat(np.arange(30), 5)
    first, second = {ORIGINAL: A, SWAPPED: B}, {ORIGINAL: B, SWAPPED: A}
    leaning = [first if key % 3 else second for key in range(30)]
    often = [row for row in leaning for _ in range(5)]
    assert judge_position_bias(often, sessions=sessions).interval == (
        judge_position_bias(leaning).interval
    )
    alone = [{ORIGINAL: A, SWAPPED: A if key % 3 else B} for key in range(30)]
    five = [row for row in alone for _ in range(5)]
    together = consistency(five, sessions=sessions)
    assert (together.value, together.comparisons) == (2 / 3, 150)
    assert together.interval == wilson(20, 30)


def test_few_sessions_of_many_comparisons_have_no_interval():
    rows, sessions = [{ORIGINAL: A, SWAPPED: B}] * 90, np.repeat(np.arange(9), 10)
    assert judge_position_bias(rows, sessions=sessions).interval is None
    assert consistency(rows, sessions=sessions).interval is None


def test_consistency_of_nothing_has_no_value():
    result = consistency([])
    assert (result.value, result.interval, result.comparisons) == (None, None, 0)


@given(labels)
def test_swapping_every_pair_mirrors_a_humans_position_bias(rows):
    before = human_position_bias(rows)
    after = human_position_bias(
        [(verdict, order and order.other(), session) for verdict, order, session in rows]
    )
    assert (after.first, after.second) == (before.second, before.first)
    if before.value is not None:
        assert after.value == pytest.approx(-before.value)
    if before.interval is not None:
        assert after.interval.low == pytest.approx(-before.interval.high)


@given(decisions)
def test_swapping_every_pair_mirrors_a_judges_position_bias(rows):
    swapped = [{order.other(): winner for order, winner in row.items()} for row in rows]
    before, after = (judge_position_bias(each) for each in (rows, swapped))
    assert (after.first, after.second) == (before.second, before.first)
    if before.value is not None:
        assert after.value == pytest.approx(-before.value)
    assert consistency(swapped) == consistency(rows)


@given(decisions)
def test_naming_the_responses_the_other_way_round_changes_no_bias(rows):
    turned = [
        {order.other(): winner.flipped() if winner else None for order, winner in row.items()}
        for row in rows
    ]
    before, after = (judge_position_bias(each) for each in (rows, turned))
    assert before == after


@pytest.mark.parametrize(
    ("judge", "correct", "same", "first"),
    [
        ("GPT-4", 0.845, 0.928, 0.512),
        ("PaLM2", 0.698, 0.726, 0.556),
        ("Falcon", 0.564, 0.415, 0.776),
        ("LLaMA2", 0.442, 0.749, 0.559),
        ("ChatGPT", 0.400, 0.659, 0.647),
    ],
)
def test_llmbars_recorded_judges_have_their_published_figures(judge, correct, same, first):
    # protocols.md 3.5: an invalid reply counts as wrong.
    rows = [
        json.loads(line) for line in shared_data("llmbar_vanilla.jsonl").read_text().splitlines()
    ]
    side = {1: A, 2: B, "1": A, "2": B}
    items = []
    for key, row in enumerate(rows):
        (recorded,) = row["judges"][judge]
        winners = {
            ORIGINAL: side.get(recorded["swap = False"]["winner"]),
            SWAPPED: side.get(recorded["swap = True"]["winner"]),
        }
        items.append(Judged(key, side[row["label"]], winners))
    assert len(items) == 419
    result = accuracy(items, policy=InvalidPolicy.WRONG)
    assert result.value == pytest.approx(correct, abs=0.0006)
    bias = judge_position_bias([item.decisions for item in items])
    assert bias.value + 0.5 == pytest.approx(first, abs=0.006)
    alike = consistency([item.decisions for item in items])
    assert alike.value == pytest.approx(same, abs=0.01)
