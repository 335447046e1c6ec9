from __future__ import annotations

import json
from collections import defaultdict
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from annotation.core.intervals import Units, student_quantile, wilson_of_spread
from annotation.core.study_items import (
    ItemChoice,
    Stratum,
    StudyTarget,
    chosen_items,
    inclusion_chances,
)
from benchmark.core.corrected import FEWEST_LABELS, JudgedRows, Obstacle, corrected
from tests.paths import shared_data

NAN = np.nan
GOLDEN = {
    "gpt-4": (578, 0.7332, 0.8575, 0.2948, 0.3700, 0.7353, 0.6999, 0.7679),
    "gpt-3.5-turbo": (678, 0.6474, 0.6088, 0.5475, 0.4773, 0.6441, 0.6139, 0.6731),
    "vicuna-13b-v1.2": (585, 0.4827, 0.4575, 0.6041, 0.5703, 0.4804, 0.4487, 0.5121),
    "alpaca-13b": (582, 0.2823, 0.2431, 0.6011, 0.5850, 0.2848, 0.2514, 0.3208),
}
"""Protocols A6.3, MT-Bench votes with GPT-4's verdict on all 800 items of a model: labelled items,
people, judge, r, lambda, corrected with its interval."""


def alone(scores, labels, chances=None):
    """Rows that are units of their own."""
    return JudgedRows(
        np.array(scores, float),
        np.array(labels, float),
        np.arange(len(scores)),
        None if chances is None else np.array(chances, float),
    )


def mixed(n, total, seed=0, bias=0.2):
    """Scores of all, labels of the first n, in thirds of a scale from 0 to 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=total) / 3
    scores = np.clip(labels * 0.3 + rng.random(total) * 0.9 - 0.2 + bias, 0, 1)
    return scores, np.where(np.arange(total) < n, labels, NAN)


def test_the_formula_of_independent_rows():
    scores, labels = mixed(40, 200)
    found = corrected(alone(scores, labels), is_random=True, bounds=(-9.0, 9.0))
    y, f = labels[:40], scores[:40]
    weight = np.cov(y, f)[0, 1] / scores.var(ddof=1)
    assert found.weight == pytest.approx(weight)
    assert found.corrected.value == pytest.approx(weight * scores.mean() + (y - weight * f).mean())
    rest = y - weight * f
    added = weight * (scores - scores.mean()) / 200
    added[:40] += (rest - rest.mean()) / 40
    # A labelled row holds a fortieth of the labels: its own error is too small by as much.
    spread = (added[:40] ** 2).sum() / (1 - 1 / 40) + (added[40:] ** 2).sum()
    half = student_quantile(39) * sqrt(spread)
    assert found.corrected.interval.low == pytest.approx(found.corrected.value - half)
    assert found.corrected.interval.high == pytest.approx(found.corrected.value + half)
    assert found.correlation == pytest.approx(np.corrcoef(y, f)[0, 1])
    assert found.saved == pytest.approx(1 / (1 - found.correlation**2 * (1 - 40 / 200)))
    assert (found.labels, found.targets) == (40, 200)
    assert found.on_labelled == pytest.approx(f.mean())
    assert found.judge.value == pytest.approx(scores.mean())
    assert found.human.value == pytest.approx(y.mean())


def test_a_constant_bias_of_the_judge_goes():
    scores, labels = mixed(50, 400, bias=0.0)
    one = corrected(alone(scores, labels), is_random=True, bounds=(0.0, 2.0))
    other = corrected(alone(scores + 0.7, labels), is_random=True, bounds=(0.0, 2.0))
    assert other.judge.value == pytest.approx(one.judge.value + 0.7)
    assert other.corrected.value == pytest.approx(one.corrected.value)


def test_with_all_targets_labelled_it_is_people_alone():
    scores, labels = mixed(60, 60)
    found = corrected(alone(scores, labels), is_random=True)
    assert found.corrected.value == pytest.approx(found.human.value)
    assert found.corrected.interval.low == pytest.approx(found.human.interval.low)
    assert found.weight > 0
    assert found.correlation > 0
    assert found.saved is None


def test_scores_that_never_differ_have_no_interval():
    rows = alone([4.0] * 40, [4.0] * 40)
    found = corrected(rows, is_random=True, bounds=(1.0, 5.0))
    assert (found.human.interval, found.judge.interval, found.corrected.interval) == (None,) * 3


@pytest.mark.parametrize(("score", "told"), [(0.5, 0.5), (1.0, 1.0)])
def test_a_judge_that_says_one_thing_changes_nothing(score, told):
    labels = [1.0, 0.0] * 15 + [NAN] * 70
    found = corrected(alone([score] * 100, labels), is_random=True)
    assert (found.weight, found.correlation, found.saved) == (0.0, None, None)
    assert found.corrected == found.human
    assert found.judge.value == told


def test_a_judge_that_contradicts_people_is_not_heard():
    labels = [1.0, 0.0] * 15 + [NAN] * 30
    found = corrected(alone([0.0, 1.0] * 30, labels), is_random=True)
    assert (found.weight, found.correlation, found.saved) == (0.0, -1.0, None)
    assert found.corrected.value == 0.5


def test_labels_by_probability_have_a_lambda_of_their_own():
    """As if each labelled row were there as often as it stands for, 2 or 4 times."""
    rng = np.random.default_rng(7)
    scores, labels = mixed(90, 90, seed=4)
    units, often = np.arange(90) // 3, np.where(np.arange(90) % 2 == 0, 2, 4)
    known = rng.random(90) < 1 / 3
    rows = JudgedRows(scores, np.where(known, labels, NAN), units, 1 / often)
    found = corrected(rows, is_random=False, bounds=(-9.0, 9.0))
    y, f = (np.repeat(each[known], often[known]) for each in (labels, scores))
    weight = np.cov(y, f, ddof=0)[0, 1] / f.var()
    assert 0 < weight < 1
    assert found.weight == pytest.approx(weight)
    value = weight * scores.mean() + (y - weight * f).mean()
    assert found.corrected.value == pytest.approx(value)
    assert found.human.value == pytest.approx(y.mean())
    assert found.on_labelled == pytest.approx(f.mean())
    for told, used in ((found.corrected, weight), (found.human, 0.0)):
        middle, spread, total = (y - used * f).mean(), 0.0, often[known].sum()
        held = []
        for unit in range(30):
            added, share = 0.0, 0.0
            for at in range(3 * unit, 3 * unit + 3):
                added += used * (scores[at] - scores.mean()) / 90
                if known[at]:
                    error = labels[at] - used * scores[at] - middle
                    added += often[at] * error / total
                    share += often[at] / total
            spread += added**2 / (1 - share)
            held.append(share)
        freedom = 1 / sum(share**2 for share in held) - 1
        half = student_quantile(freedom) * sqrt(spread)
        assert told.interval.low == pytest.approx(told.value - half)
        assert told.interval.high == pytest.approx(told.value + half)
    assert (found.obstacle, found.saved) == (None, None)


@pytest.mark.parametrize(
    ("score", "weight"), [([0.5] * 40, 0.0), ([1.0, 0.0] * 20, 0.0), ([0.0, 0.1] * 20, 1.0)]
)
def test_lambda_by_probability_lies_between_nothing_and_all(score, weight):
    labels = [0.0, 1.0] * 15 + [NAN] * 10
    found = corrected(alone(score, labels, [0.5, 0.25] * 20), is_random=False)
    assert found.weight == weight
    assert (found.corrected == found.human) is (weight == 0)


def test_equal_probabilities_weigh_like_none():
    scores, labels = mixed(60, 300)
    found = corrected(alone(scores, labels, [0.25] * 300), is_random=False)
    plain = corrected(alone(scores, labels), is_random=True)
    assert found.human == plain.human
    assert found.corrected.value == pytest.approx(plain.corrected.value, abs=5e-3)


def test_the_correlation_by_chance_is_that_of_each_label_as_often_as_it_stands_for():
    rng = np.random.default_rng(3)
    scores, labels = rng.random(40), rng.random(40)
    often = np.where(np.arange(40) % 2 == 0, 1, 4)
    found = corrected(alone(scores, labels, 1 / often), is_random=False)
    repeated = np.corrcoef(np.repeat(labels, often), np.repeat(scores, often))[0, 1]
    assert found.correlation == pytest.approx(repeated)


def test_what_is_corrected_stands_before_what_is_not():
    few = corrected(alone([1.0] * 40, [1.0] * 5 + [NAN] * 35), is_random=True)
    enough = corrected(alone([0.0, 1.0] * 20, [0.0, 1.0] * 15 + [NAN] * 10), is_random=True)
    judged = corrected(alone([0.5] * 40, [NAN] * 40), is_random=True)
    assert sorted([judged, few, enough], key=lambda each: each.order) == [enough, few, judged]


def test_units_that_agree_count_once():
    scores, labels = mixed(200, 400)
    once = corrected(alone(scores, labels), is_random=True)
    four = JudgedRows(*(np.repeat(each, 4) for each in (scores, labels, np.arange(400))))
    twice = corrected(four, is_random=True)
    assert twice.corrected.value == pytest.approx(once.corrected.value, abs=1e-3)
    assert twice.corrected.interval.low == pytest.approx(once.corrected.interval.low, abs=1e-3)
    assert (twice.corrected.units.number, twice.corrected.rows) == (200, 800)
    assert twice.corrected.units.effective == pytest.approx(200)


def test_shares_take_wilson_s_interval():
    labels = np.array([1.0, 0.0, 1.0, 1.0] * 10)
    found = corrected(alone(labels, labels), is_random=True).human
    spread = 40 / 39 * labels.var() / 40
    told = wilson_of_spread(0.75, spread, units=Units.alike(40), trials=160)
    assert found.interval.low == pytest.approx(told.low)
    assert found.interval.high == pytest.approx(told.high)


def test_few_units_have_no_interval():
    scores, labels = mixed(30, 60)
    rows = JudgedRows(scores, labels, np.arange(60) % 9)
    found = corrected(rows, is_random=True)
    assert found.corrected.interval is None
    assert (found.corrected.units.number, found.obstacle) == (9, None)


def test_a_unit_that_holds_most_labels_is_said_and_has_no_interval():
    scores, labels = mixed(60, 120)
    rows = JudgedRows(scores, labels, np.where(np.arange(120) < 40, 0, np.arange(120)))
    found = corrected(rows, is_random=True)
    # 60 labels, 40 of one unit: 60^2 / (40^2 + 20) = 2.22 effective units of 21.
    assert found.corrected.units == pytest.approx((21, 3600 / 1620, 2 / 3))
    assert found.human.interval is found.corrected.interval is None
    assert found.corrected.units.one_holds_most
    # The judge's scores: 40 of 120 of one unit, 120^2 / (40^2 + 80) = 8.6.
    assert found.judge.interval is not None


def test_unequal_units_by_hand():
    """Variance by A6.3 and A1.7, summed unit by unit without the module."""
    rng = np.random.default_rng(8)
    units = np.repeat(np.arange(16), [8, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1])
    labels, scores = np.where(np.arange(60) % 2, rng.random(60), NAN), rng.random(60)
    found = corrected(JudgedRows(scores, labels, units), is_random=True, bounds=(-9.0, 9.0))
    known, n, weight = ~np.isnan(labels), 30, found.weight
    rest = labels - weight * scores
    spread, squares = 0.0, 0
    for unit in range(16):
        own, told = units == unit, (units == unit) & known
        part = weight * (scores[own] - scores.mean()).sum() / 60
        part += (rest[told] - rest[known].mean()).sum() / n
        spread += part**2 / (1 - told.sum() / n)
        squares += told.sum() ** 2
    half = t.ppf(0.975, n**2 / squares - 1) * sqrt(spread)
    assert found.corrected.interval.low == pytest.approx(found.corrected.value - half, abs=1e-4)


@pytest.mark.parametrize(
    ("labels", "score", "is_random", "obstacle", "missing"),
    [
        (0, 0.5, True, Obstacle.FEW_LABELS, 20),
        (FEWEST_LABELS - 1, 0.5, True, Obstacle.FEW_LABELS, 1),
        (FEWEST_LABELS, 0.5, False, Obstacle.NOT_RANDOM, 0),
        (FEWEST_LABELS, 7.0, True, Obstacle.OUT_OF_RANGE, 0),
        (FEWEST_LABELS, -0.1, False, Obstacle.OUT_OF_RANGE, 0),
        (FEWEST_LABELS, 0.5, True, None, 0),
    ],
)
def test_what_cannot_be_corrected_says_why(labels, score, is_random, obstacle, missing):
    rows = alone([score] * 50, [1.0] * labels + [NAN] * (50 - labels))
    found = corrected(rows, is_random=is_random)
    assert (found.obstacle, found.missing) == (obstacle, missing)
    assert (found.corrected is None) is (obstacle is not None)
    assert (found.human is None) is (found.on_labelled is None) is (labels == 0)
    assert found.judge.rows == 50


def test_rows_are_read_with_their_units():
    rows = JudgedRows.of([(0.5, None, "b"), (1.0, 0.0, "a"), (0.0, 1.0, "b")], [1, 0.5, 0.25])
    assert rows.units.tolist() == [0, 1, 0]
    assert rows.labelled.tolist() == [False, True, True]
    assert rows.chances.tolist() == [1, 0.5, 0.25]


@pytest.mark.parametrize("chances", [[0.0], [1.5], [0.5, 0.5]])
def test_probabilities_are_those_of_each_row(chances):
    with pytest.raises(ValueError, match="probability"):
        JudgedRows.of([(0.5, None, "b")], chances)


@settings(max_examples=30)
@given(st.integers(20, 60), st.integers(0, 90), st.integers(0, 9))
def test_a_model_s_losses_mirror_its_wins(n, rest, seed):
    scores, labels = mixed(n, n + rest, seed)
    won = corrected(alone(scores, labels), is_random=True)
    lost = corrected(alone(1 - scores, 1 - labels), is_random=True)
    assert lost.corrected.value == pytest.approx(1 - won.corrected.value)
    assert lost.corrected.interval.low == pytest.approx(1 - won.corrected.interval.high)
    assert 0 <= won.corrected.interval.low <= won.corrected.interval.high <= 1


def items(model):
    """What a model got of GPT-4 on each item, of people on average, and the question."""
    told, given = {}, defaultdict(list)
    for line in shared_data("mtbench_votes_gpt4_pair.jsonl").read_text("utf-8").splitlines():
        key, worth = vote(json.loads(line))
        told[key] = worth
    for line in shared_data("mtbench_votes_human.jsonl").read_text("utf-8").splitlines():
        key, worth = vote(json.loads(line))
        given[key].append(worth)
    own = [key for key in told if model in key[2:]]
    scores = np.array([told[key] for key in own])
    labels = np.array([np.mean(given[key]) if key in given else NAN for key in own])
    turned = np.array([key[2] != model for key in own])
    scores, labels = (np.where(turned, 1 - each, each) for each in (scores, labels))
    return JudgedRows(scores, labels, np.unique([key[0] for key in own], return_inverse=True)[1])


def vote(row):
    names = sorted((row["model_a"], row["model_b"]))
    winner = {"model_a": row["model_a"], "model_b": row["model_b"]}.get(row["winner"])
    worth = 0.5 if winner is None else float(winner == names[0])
    return (row["question_id"], row["turn"], *names), worth


@pytest.mark.parametrize("model", GOLDEN)
def test_mt_bench_has_its_golden_figures(model):
    found = corrected(items(model), is_random=True)
    ends = found.corrected.interval
    told = (found.labels, found.human.value, found.judge.value, found.correlation, found.weight)
    told += (found.corrected.value, ends.low, ends.high)
    assert told == pytest.approx(GOLDEN[model], abs=5.1e-5)
    narrower = (ends.high - ends.low) / (found.human.interval.high - found.human.interval.low)
    assert 0.89 <= narrower <= 0.98


@pytest.mark.parametrize("n", [50, 100, 200])
def test_the_interval_covers_on_mt_bench(n):
    """Of 2,000 samples of voted items 500: a true 95 holds within .93-.97 nearly always."""
    rows = items("vicuna-13b-v1.2")
    scores, labels = rows.scores[rows.labelled], rows.labels[rows.labelled]
    truth, held = labels.mean(), 0
    rng = np.random.default_rng(3)
    known = np.arange(len(labels)) < n
    for _ in range(500):
        drawn = rng.integers(len(labels), size=len(labels))
        found = corrected(alone(scores[drawn], np.where(known, labels[drawn], NAN)), is_random=True)
        held += found.corrected.interval.low <= truth <= found.corrected.interval.high
    assert 0.93 <= held / 500 <= 0.97


def test_labels_count_for_as_many_as_they_stand_for_by_hand():
    """Ten rows of x, all 1, of which five have a label; ten of y with all: their labels are 0.

    The judge says 1/2 of all: 1/2 + (5 (1/2) / (1/2) + 10 (-1/2)) / 20 = 1/2. Counted alike the
    labels would say 5/15.
    """
    labels = [1.0] * 5 + [NAN] * 5 + [0.0] * 10
    found = corrected(alone([0.5] * 20, labels, [0.5] * 10 + [1.0] * 10), is_random=False)
    assert found.obstacle is Obstacle.FEW_LABELS
    twice = alone([0.5] * 40, labels * 2, ([0.5] * 10 + [1.0] * 10) * 2)
    found = corrected(twice, is_random=False)
    assert (found.corrected.value, found.human.value) == pytest.approx((0.5, 0.5))
    plain = corrected(alone([0.5] * 40, labels * 2), is_random=True)
    assert plain.corrected.value == pytest.approx(1 / 3)


def test_over_balanced_draws_the_estimate_by_chances_is_unbiased():
    """Of 80 easy and 20 hard items 15 each are drawn: counted alike, hard ones weigh too much."""
    rng = np.random.default_rng(5)
    truth = (rng.random(100) < np.repeat([0.9, 0.2], [80, 20])).astype(float)
    judge = np.where(rng.random(100) < 0.7, truth, 0.5)
    by_chance, alike = [], []
    for order in range(150):
        known = [
            StudyTarget(at, f"{order}-{at}", "c", "easy" if at < 80 else "hard", "en", ("a", "b"))
            for at in range(100)
        ]
        choice = ItemChoice(sample=30, strata=(Stratum.SCENARIO,))
        found = inclusion_chances(known, choice, chosen_items(known, choice))
        chances = np.array([found.get(at, 1.0) for at in range(100)])
        labels = np.where([at in found for at in range(100)], truth, NAN)
        by_chance.append(corrected(alone(judge, labels, chances), is_random=False).corrected.value)
        alike.append(corrected(alone(judge, labels), is_random=True).corrected.value)
    assert np.mean(by_chance) == pytest.approx(truth.mean(), abs=3 * np.std(by_chance) / 150**0.5)
    assert abs(np.mean(alike) - truth.mean()) > 0.05
