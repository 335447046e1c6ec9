from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.significance import holm, sign_flip_p


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], None),
        ([0.0, 0.0], 1.0),
        ([1.0], 1.0),  # of +1 and -1 both are as far from zero
        ([1.0, 1.0], 0.5),
        ([1.0] * 5, 2 / 32),
        ([1.0, 1.0, 1.0, -1.0], 10 / 16),  # sums of 2 and more: 1 + 4 of either sign
        ([0.5, 0.0, 0.5, 0.5, 0.0], 2 / 8),
        ([0.1] * 3, 0.25),  # sums that differ by rounding alone are equal
    ],
)
def test_few_units_try_every_flip(differences, p):
    assert sign_flip_p(differences, seed=1) == p


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=8))
def test_it_equals_brute_force(differences):
    far = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product([1, -1], repeat=len(differences))
    ]
    expected = sum(one >= far - 1e-12 for one in sums) / len(sums)
    assert sign_flip_p(differences, seed=1) == pytest.approx(expected)


def test_many_units_are_sampled_with_a_seed_and_come_near_the_normal_p():
    differences = np.array([1.0] * 60 + [-1.0] * 40)
    p = sign_flip_p(differences, seed=7)
    assert p == sign_flip_p(differences, seed=7)
    assert p == pytest.approx(0.0569, abs=0.01)  # exact binomial, two-sided: P(|X - 50| >= 10)
    assert sign_flip_p(np.ones(40), seed=7) == pytest.approx(1 / 10_001)


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # Holm 1979: .01 * 3, .03 * 2, max(.06, .04)
        ([0.6, None, 0.5], [1.0, None, 1.0]),
    ],
)
def test_holm(p_values, adjusted):
    assert [None if one is None else round(one, 9) for one in holm(p_values)] == adjusted


@given(st.lists(st.sampled_from([-2.0, -1.0, 0.5, 1.0]), min_size=20, max_size=40))
def test_sampled_flips_depend_on_sizes_and_on_the_sum_alone(differences):
    p = sign_flip_p(differences, seed=3)
    assert 1 / 10_001 <= p <= 1
    assert p == sign_flip_p([-one for one in reversed(differences)], seed=3)


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_sizes_of_many_and_of_few_units_are_sampled_alike(spread):
    # Forty units of one size, or each of its own.
    differences = np.array([1.0] * 26 + [-1.0] * 14) * (1 + spread * np.arange(40))
    signs = np.random.default_rng(9).choice([-1.0, 1.0], size=(20_000, 40))
    expected = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9)
    assert sign_flip_p(differences, seed=5) == pytest.approx(expected, abs=0.012)
