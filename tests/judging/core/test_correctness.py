from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from judging.core.votes import correctness_matrix, log_odds_matrix, shuffled_winners

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORIGINAL, SWAPPED = Order.ORIGINAL, Order.SWAPPED


def test_cells_stand_by_whether_the_chosen_response_was_shown_first():
    # Comparison 1 was won by A, 2 by B; preference 9 always names the first shown.
    verdicts = {
        (1, 9, ORIGINAL): A,
        (1, 9, SWAPPED): B,
        (2, 9, ORIGINAL): A,
        (2, 9, SWAPPED): B,
    }
    matrix = correctness_matrix(winners=[(1, A), (2, B)], columns=[(9, None)], verdicts=verdicts)
    assert matrix.original == ((1,), (1,))
    assert matrix.swapped == ((0,), (0,))


def test_without_a_winner_there_is_no_verdict():
    matrix = correctness_matrix(
        winners=[(1, B)],
        columns=[(7, None), (8, 0), (9, "all")],
        verdicts={(1, 7, ORIGINAL): B, (1, 8, ORIGINAL): TIE, (1, 9, SWAPPED): A},
    )
    # B won, so the chosen response stands first in the swapped presentation.
    assert matrix.original == ((None, None, 0),)
    assert matrix.swapped == ((1, None, None),)
    assert matrix.sources == (None, 0, "all")


def test_by_log_odds_both_orders_of_a_cell_carry_the_one_verdict():
    # Comparison 1 was won by A, 2 by B. Preference 8 leans to the first place by 2.0 and knows A
    # from B by .6; 9 leans and knows nothing; 10 lacks an order.
    log_odds = {
        **{(key, 8, ORIGINAL): 2.6 for key in (1, 2)},
        **{(key, 8, SWAPPED): -1.4 for key in (1, 2)},
        **{(key, 9, ORIGINAL): 2.0 for key in (1, 2)},
        **{(key, 9, SWAPPED): -2.0 for key in (1, 2)},
        (1, 10, ORIGINAL): 3.0,
    }
    matrix = log_odds_matrix(
        winners=[(1, A), (2, B)],
        columns=[(8, None), (9, 0), (10, "all")],
        log_odds=log_odds,
    )
    assert matrix.original == matrix.swapped == ((1, None, None), (0, None, None))
    assert matrix.sources == (None, 0, "all")
    assert matrix.log_odds is not None
    ((first, *_), (second, *_)) = matrix.log_odds
    assert (round(first, 9), round(second, 9)) == (0.6, -0.6)


@given(st.dictionaries(st.integers(0, 30), st.sampled_from([A, B])), st.integers(0, 9))
def test_flipping_the_labels_turns_every_cell_and_swaps_the_orders(labels, seed):
    winners = tuple(labels.items())
    verdicts = {
        (comparison, 5, order): A if (comparison + seed) % 3 else B
        for comparison in labels
        for order in (ORIGINAL, SWAPPED)
    }
    turned = tuple((comparison, winner.flipped()) for comparison, winner in winners)
    plain = correctness_matrix(winners=winners, columns=[(5, None)], verdicts=verdicts)
    flipped = correctness_matrix(winners=turned, columns=[(5, None)], verdicts=verdicts)
    assert flipped.original == tuple((int(not cell),) for (cell,) in plain.swapped)
    assert flipped.swapped == tuple((int(not cell),) for (cell,) in plain.original)


def test_the_coins_are_seeded_and_each_name_has_its_own():
    winners = tuple((number, A) for number in range(200))
    first = shuffled_winners(winners, seed=1, name="x")
    assert first == shuffled_winners(winners, seed=1, name="x")
    assert first != shuffled_winners(winners, seed=2, name="x")
    assert first != shuffled_winners(winners, seed=1, name="y")
    assert [comparison for comparison, _ in first] == list(range(200))
    flipped = sum(winner is B for _, winner in first)
    assert 70 < flipped < 130  # a fair coin: 100 +- 7
