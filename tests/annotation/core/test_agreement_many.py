"""The published examples, and every definition written a second time, from pairs of answers."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.core.agreement import Measure, UndefinedAgreement, answer_counts
from annotation.core.agreement_many import STATISTICS, coefficients

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers,
# twelve units, values 1..5, . is missing. Gwet's irrCAC ships the same table as cac.raw4raters.
KRIPPENDORFF = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]

# Fleiss (1971) as worked in https://en.wikipedia.org/wiki/Fleiss%27_kappa: 10 items, 14 raters.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

tables = st.integers(2, 5).flatmap(
    lambda categories: st.lists(
        st.lists(st.integers(0, 3), min_size=categories, max_size=categories),
        min_size=1,
        max_size=8,
    )
)
EVERY = tuple(STATISTICS)
unhurried = settings(deadline=None, max_examples=50)


def measured(table, *measures, draws=20):
    counts = answer_counts(np.array(table, dtype=np.int64))
    return dict(zip(measures, coefficients(measures, counts, seed=1, draws=draws), strict=True))


def value(table, measure):
    return measured(table, measure)[measure].value


def krippendorff_counts():
    units = zip(*KRIPPENDORFF, strict=True)
    return [[unit.count(str(score)) for score in range(1, 6)] for unit in units]


@pytest.mark.parametrize(
    ("measure", "published"),
    [
        (Measure.ALPHA_NOMINAL, 0.743),  # Krippendorff 2011: .743, .815, .849
        (Measure.ALPHA_ORDINAL, 0.815),
        (Measure.ALPHA_INTERVAL, 0.849),
        (Measure.PERCENT, 0.81818),  # irrCAC's overview vignette: pa, AC1, Fleiss
        (Measure.AC1, 0.77544),
        (Measure.FLEISS, 0.76117),
    ],
)
def test_krippendorff_s_example_gives_the_published_figures(measure, published):
    result = measured(krippendorff_counts(), measure)[measure]
    places = len(str(published)) - 2
    assert round(result.value, places) == published
    # Unit 12 has one answer: it can neither agree nor disagree. 41 answers less that one.
    assert (result.items, result.answers) == (11, 40)


def test_krippendorff_s_alpha_worked_by_hand():
    # Nominal, section C of the paper: n = 40, the diagonal of the coincidences sums to 32,
    # the values occur 9, 13, 10, 5 and 3 times. (39 * 32 - 344) / (40 * 39 - 344) with
    # 344 = 9*8 + 13*12 + 10*9 + 5*4 + 3*2.
    expected = (39 * 32 - 344) / (40 * 39 - 344)
    assert value(krippendorff_counts(), Measure.ALPHA_NOMINAL) == pytest.approx(expected, abs=1e-12)


def test_fleiss_example_worked_by_hand():
    # P_e = (20^2 + 28^2 + 39^2 + 21^2 + 32^2) / 140^2 = 4170 / 19600; the agreeing ordered pairs
    # number 688 of 10 * 14 * 13 = 1820.
    observed, chance = 688 / 1820, 4170 / 19600
    found = value(FLEISS, Measure.FLEISS)
    assert found == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)
    assert round(found, 3) == 0.210


def test_gwet_s_paradox():
    # Gwet (2002), table 1: 118 agree on +, none on -, 5 and 2 differ. p_a = 118/125 = .944, the
    # prevalence of + is (2 * 118 + 7)/250 = .972, so p_e = 2 * .972 * .028.
    table = [[2, 0]] * 118 + [[1, 1]] * 7
    chance = 2 * 0.972 * 0.028
    found = value(table, Measure.AC1)
    assert found == pytest.approx((0.944 - chance) / (1 - chance), abs=1e-12)
    assert round(found, 4) == 0.9408
    # The paradox: kappa-like measures call the same table worse than chance.
    assert value(table, Measure.FLEISS) < 0


@pytest.mark.parametrize(
    ("measure", "published"), [(Measure.AC1, 0.84933), (Measure.AC2_QUADRATIC, 0.94024)]
)
def test_gwet_s_abstractors(measure, published):
    # irrCAC, data set cont3x3abstractors; p_a = .89 and .9725, p_e = .26992 and .53985.
    agreed = [[2, 0, 0]] * 13 + [[0, 2, 0]] * 20 + [[0, 0, 2]] * 56
    assert value(agreed + [[0, 1, 1]] * 11, measure) == pytest.approx(published, abs=5e-6)


def test_unanimous_raters_of_one_value():
    found = measured([[3, 0], [2, 0]], *EVERY)
    assert found[Measure.PERCENT].value == 1
    # Chance agreement of AC1 vanishes where one value has it all; the others are undefined.
    assert found[Measure.AC1].value == 1
    for measure in (Measure.FLEISS, Measure.ALPHA_NOMINAL, Measure.ALPHA_ORDINAL):
        assert found[measure].undefined is UndefinedAgreement.ONE_CATEGORY
        assert found[measure].interval is None


@pytest.mark.parametrize("table", [np.zeros((0, 3)), [[1, 0], [0, 1]]])
def test_without_two_answers_on_one_item_nothing_is_defined(table):
    for result in measured(table, *EVERY).values():
        assert (result.value, result.undefined) == (None, UndefinedAgreement.NO_ITEMS)
        assert (result.items, result.answers, result.interval) == (0, 0, None)


def test_one_item_has_figures_but_no_interval():
    result = measured([[1, 2], [1, 0]], Measure.PERCENT)[Measure.PERCENT]
    assert (result.value, result.interval) == (pytest.approx(1 / 3), None)


def test_the_interval_is_reproducible_whatever_the_order_of_the_items():
    table = krippendorff_counts()
    one = measured(table, Measure.ALPHA_ORDINAL, draws=400)
    assert one == measured(table[::-1], Measure.ALPHA_ORDINAL, draws=400)
    interval = one[Measure.ALPHA_ORDINAL].interval
    assert interval.low < one[Measure.ALPHA_ORDINAL].value < interval.high


def test_a_measure_of_two_raters_is_refused():
    with pytest.raises(KeyError):
        measured([[2, 0]], Measure.KAPPA)


# --- the definitions again, answer by answer -------------------------------------------------


def answers_of(row):
    return [category for category, number in enumerate(row) for _ in range(number)]


def weight(measure, one, other, categories):
    apart = abs(one - other)
    if measure is Measure.AC2_LINEAR:
        return 1 - apart / (categories - 1)
    if measure is Measure.AC2_QUADRATIC:
        return 1 - apart**2 / (categories - 1) ** 2
    if measure is Measure.AC2_ORDINAL:
        return 1 - (apart * (apart + 1) / 2) / (categories * (categories - 1) / 2)
    return float(one == other)


def slow_chance_corrected(measure, table):
    categories = len(table[0])
    rated = [answers_of(row) for row in table if sum(row)]
    shares = []
    for answers in rated:
        if len(answers) > 1:
            near = [weight(measure, a, b, categories) for a, b in permutations(answers, 2)]
            shares.append(sum(near) / len(near))
    if not shares:
        return None
    observed = sum(shares) / len(shares)
    if measure is Measure.PERCENT:
        return observed
    prevalence = [
        sum(answers.count(category) / len(answers) for answers in rated) / len(rated)
        for category in range(categories)
    ]
    if measure is Measure.FLEISS:
        if len({each for answers in rated for each in answers}) == 1:
            return None
        chance = sum(share**2 for share in prevalence)
    else:
        total = sum(
            weight(measure, a, b, categories) for a in range(categories) for b in range(categories)
        )
        spread = sum(share * (1 - share) for share in prevalence)
        chance = total * spread / (categories * (categories - 1))
    return (observed - chance) / (1 - chance)


def apart_of(measure, pool):
    def apart(one, other):
        if measure is Measure.ALPHA_NOMINAL:
            return float(one != other)
        if measure is Measure.ALPHA_INTERVAL:
            return float((one - other) ** 2)
        low, high = min(one, other), max(one, other)
        between = sum(low <= each <= high for each in pool)
        return (between - (pool.count(one) + pool.count(other)) / 2) ** 2 if low < high else 0.0

    return apart


def slow_alpha(measure, table):
    units = [answers for answers in map(answers_of, table) if len(answers) > 1]
    pool = [each for answers in units for each in answers]
    apart = apart_of(measure, pool)
    expected = sum(apart(a, b) for a, b in permutations(pool, 2))
    if not expected:
        return None
    expected /= len(pool) * (len(pool) - 1)
    observed = sum(
        sum(apart(a, b) for a, b in permutations(answers, 2)) / (len(answers) - 1)
        for answers in units
    ) / len(pool)
    return 1 - observed / expected


@given(tables)
@unhurried
def test_every_measure_is_its_definition(table):
    for measure, result in measured(table, *EVERY).items():
        slow = slow_alpha if measure.startswith("ALPHA") else slow_chance_corrected
        expected = slow(measure, table)
        if expected is None:
            assert result.value is None
        else:
            assert result.value == pytest.approx(expected, abs=1e-9)
            assert result.value <= 1 + 1e-9


@given(tables)
@unhurried
def test_two_values_make_alpha_s_metrics_the_same(table):
    table = [row[:2] for row in table]
    found = measured(table, Measure.ALPHA_NOMINAL, Measure.ALPHA_ORDINAL, Measure.ALPHA_INTERVAL)
    nominal, ordinal, interval = (each.value for each in found.values())
    assert nominal == pytest.approx(ordinal) == pytest.approx(interval)


@given(tables)
@unhurried
def test_naming_the_values_otherwise_changes_no_nominal_figure(table):
    turned = [row[::-1] for row in table]
    for measure in (Measure.PERCENT, Measure.FLEISS, Measure.ALPHA_NOMINAL, Measure.AC1):
        assert value(turned, measure) == pytest.approx(value(table, measure))


@given(tables)
@unhurried
def test_agreement_on_everything_is_one(table):
    agreed = [
        [sum(row) if place == row.index(max(row)) else 0 for place in range(len(row))]
        for row in table
    ]
    for result in measured(agreed, *EVERY).values():
        assert result.value is None or result.value == pytest.approx(1)
