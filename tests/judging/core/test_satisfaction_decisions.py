from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from annotation.core.choices import Reason
from judging.core.satisfaction_decisions import (
    REASONS,
    bent,
    choose_cuts,
    fit_logistic,
    fit_reasons,
    reason_counts,
    whole_scores,
)

RANDOM = np.random.default_rng(3)
ONES = sparse.csr_matrix(np.ones((8, 1)))


def test_cuts_recover_scores_that_the_expectation_orders():
    gold = RANDOM.integers(1, 6, size=2_000)
    expected = gold + RANDOM.uniform(-0.3, 0.3, size=2_000)
    cuts = choose_cuts(expected, gold, np.arange(2_000) % 9, seed=1)
    assert (whole_scores(expected, cuts) == gold).mean() > 0.95
    assert (np.diff(cuts) > 0).all()


def test_a_whole_score_is_never_more_than_two_below():
    # Expectations between 4 and 5 alone would be cut anywhere to imitate the gold's spread.
    gold = RANDOM.integers(1, 6, size=500)
    expected = 4 + gold / 5 - 0.01 * RANDOM.random(500)
    cuts = choose_cuts(expected, gold, np.arange(500) % 5, seed=1)
    assert (whole_scores(expected, cuts) >= expected - 2).all()
    assert (whole_scores(expected, cuts) < expected - 1.5).any()  # they reach further than to 1.5


def test_users_without_a_number_do_not_matter():
    gold = RANDOM.integers(1, 6, size=200)
    expected = gold + RANDOM.normal(size=200) * 0.3
    users = np.arange(200) % 4
    same = choose_cuts(expected, gold, users, seed=1)
    assert choose_cuts(expected, gold, users * 2, seed=1).tolist() == same.tolist()


def test_a_cut_counts_as_reached():
    assert whole_scores(np.array([2.0, 1.9, 9.0]), np.array([2.0, 3, 4, 5])).tolist() == [2, 1, 5]


def test_logistic_agrees_with_scikit_learn():
    rows = RANDOM.normal(size=(300, 2))
    positive = rows[:, 0] + RANDOM.normal(size=300) > 0.4
    found = fit_logistic(rows, positive)
    # A normal prior of spread 10 is C = 100; ours holds the intercept as well.
    other = LogisticRegression(C=100, tol=1e-10).fit(rows, positive)
    expected = other.predict_proba(rows)[:, 1]
    assert np.abs(found.probability(rows) - expected).max() < 2e-3


def test_logistic_stays_finite_where_classes_part():
    rows = np.array([[0.0], [1.0]] * 10)
    assert np.isfinite(fit_logistic(rows, rows[:, 0] > 0.5).weights).all()


def test_reasons_without_any_example_are_equally_likely():
    model = fit_reasons(sparse.csr_matrix((0, 2)), np.zeros(0, np.intp), strength=1.0, lean=1.0)
    assert np.allclose(model.probabilities(sparse.csr_matrix((1, 2)), np.zeros(5)), 0.2)


@pytest.mark.parametrize("kinds", [2, 4])
def test_reasons_follow_what_the_response_is_like(kinds):
    reasons = np.arange(400) % kinds
    rows = sparse.csr_matrix(np.eye(5)[reasons] * 3)
    model = fit_reasons(rows, reasons, strength=1.0, lean=1.0)
    shares = model.probabilities(rows[:kinds], np.zeros(5))
    assert shares.argmax(axis=1).tolist() == list(range(kinds))
    assert np.allclose(shares.sum(axis=1), 1)


def test_one_reason_alone_has_its_share():
    model = fit_reasons(ONES, np.full(8, 2), strength=1.0, lean=1.0)
    # Each reason counts once more: 9 of 13.
    assert model.probabilities(ONES[:1], np.zeros(5))[0, 2] == pytest.approx(9 / 13)


def test_a_rare_reason_is_named_as_readily_as_a_common_one():
    """Nine of ten turns complain of one thing; the tenth's words tell it apart all the same."""
    reasons = np.array([0] * 90 + [3] * 10)
    rows = sparse.csr_matrix(np.eye(5)[reasons] + RANDOM.normal(size=(100, 5)) * 0.2)
    model = fit_reasons(rows, reasons, strength=1.0, lean=1.0)
    found = model.probabilities(rows, np.zeros((100, 5))).argmax(axis=1)
    assert (found[90:] == 3).mean() > 0.8
    assert (found[:90] == 0).mean() > 0.8


@pytest.mark.parametrize("kinds", [2, 3])
def test_reasons_agree_with_scikit_learn(kinds):
    reasons = np.arange(60) % kinds
    rows = sparse.csr_matrix(RANDOM.normal(size=(60, 4)))
    model = fit_reasons(rows, reasons, strength=0.7, lean=5.0)
    other = LogisticRegression(C=0.7, class_weight="balanced").fit(rows, reasons)
    found = model.probabilities(rows, np.zeros(5))[:, :kinds]
    # The reasons that never occurred keep 1 of 65 each.
    assert np.allclose(found / (1 - (5 - kinds) / 65), other.predict_proba(rows), atol=1e-9)


def test_a_users_own_complaints_prevail_in_the_end():
    model = fit_reasons(ONES, np.full(8, 2), strength=1.0, lean=2.0)
    own = reason_counts((Reason.OTHER, Reason.OTHER, None) * 10)
    assert own.tolist() == [0, 0, 0, 0, 20]
    assert REASONS[int(model.probabilities(ONES[:1], own)[0].argmax())] is Reason.OTHER


@given(st.lists(st.floats(-3, 9), min_size=2, max_size=9, unique=True))
def test_bending_keeps_order_and_range(values):
    ordered = np.sort(np.array(values))
    found = bent(ordered)
    assert ((found >= 1) & (found <= 5)).all()
    assert (np.diff(found) >= -1e-12).all()  # beyond the ends only rounding is left


def test_bending_leaves_the_middle_alone():
    assert bent(np.array([3.0]))[0] == pytest.approx(3.0, abs=1e-6)
    assert bent(np.array([5.0]))[0] == pytest.approx(5 - 0.1 * np.log(2))
