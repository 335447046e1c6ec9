from __future__ import annotations

import numpy as np
import pytest

from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.corrected import Obstacle
from benchmark.core.corrected_ranking import (
    JudgedPair,
    agreement_figure,
    corrected_ranking,
    win_figures,
)
from benchmark.core.ranking import bradley_terry

STRENGTHS = {"a": 0.9, "b": 0.3, "c": -0.3, "d": -0.9}


def sample(sessions, *, labelled, seed=1, bias=0.8):
    """Sessions of three comparisons; the judge thinks better of `d` than people do."""
    rng = np.random.default_rng(seed)
    names = sorted(STRENGTHS)
    rows = []
    for session in range(sessions):
        for _ in range(3):
            one, other = rng.choice(4, size=2, replace=False)
            first, second = names[one], names[other]
            gap = STRENGTHS[first] - STRENGTHS[second]
            label = float(rng.random() < 1 / (1 + np.exp(-gap)))
            lean = bias * ((first == "d") - (second == "d"))
            fair = label if rng.random() < 0.5 else float(rng.random() < 0.5)
            score = float(rng.random() < 0.2 + 0.6 * fair + 0.2 * lean)
            known = session < labelled
            rows.append(JudgedPair(first, second, score, label if known else None, session))
    return rows


def test_what_a_model_gets_is_what_the_other_loses():
    pair = JudgedPair("x", "y", 1.0, 0.5, 7)
    assert pair.of("x") == (1.0, 0.5, 7)
    assert pair.of("y") == (0.0, 0.5, 7)
    assert pair._replace(label=None).of("y") == (0.0, None, 7)


def test_win_rates_stand_best_first_by_what_is_known_best():
    rows = [JudgedPair("x", "y", 1.0, 0.0, at) for at in range(30)]
    found = win_figures(rows, is_random=True)
    assert [model for model, _figure in found] == ["y", "x"]
    assert found[0][1].corrected.value == 1
    # Without labels the judge is all there is.
    unlabelled = win_figures([each._replace(label=None) for each in rows], is_random=True)
    assert [model for model, _figure in unlabelled] == ["x", "y"]
    assert unlabelled[0][1].obstacle is Obstacle.FEW_LABELS


def test_agreement_is_estimated_for_all_that_was_judged():
    """Labelled are mostly comparisons on which the judge is consistent, and right more often."""
    rng = np.random.default_rng(6)
    rows = []
    for at in range(2_000):
        same = bool(rng.random() < 0.5)
        label = float(rng.integers(2))
        score = (label if rng.random() < 0.9 else 1 - label) if same else 0.5
        known = at < 400
        rows.append((JudgedPair("x", "y", score, label if known else None, at), same))
    found = agreement_figure(rows, is_random=True)
    assert found.judge.value == pytest.approx(0.75, abs=0.03)
    assert found.corrected.interval.low <= 0.7 <= found.corrected.interval.high
    width = found.corrected.interval.high - found.corrected.interval.low
    assert width < found.human.interval.high - found.human.interval.low
    tie = [(JudgedPair("x", "y", 0.5, worth, at), True) for at, worth in enumerate((0, 0.5, 1) * 7)]
    assert agreement_figure(tie, is_random=True).human.value == pytest.approx(2 / 3)


def test_without_use_of_the_judge_ratings_are_those_of_people():
    rows = [each._replace(score=0.5) for each in sample(60, labelled=60)]
    found = corrected_ranking(rows, draws=200, seed=3)
    people = bradley_terry(
        [
            VerdictCounts(one, two, label, 1 - label, unit)
            for one, two, _f, label, unit, _chance in rows
        ],
        draws=200,
        seed=3,
    )
    assert found.weight == 0
    assert {row.model: row.rating for row in found.models} == pytest.approx(
        {row.model: row.rating for row in people.models}
    )
    assert (found.labels, found.units, found.draws) == (180, 60, 200)


def test_the_judge_s_favourite_is_put_in_its_place():
    rows = sample(600, labelled=200)
    found = {row.model: row for row in corrected_ranking(rows, draws=200, seed=3).models}
    everybody = [each._replace(label=each.score) for each in rows]
    judge = {row.model: row for row in corrected_ranking(everybody, draws=0, seed=3).models}
    truth = {name: 1000 + 400 / np.log(10) * own for name, own in STRENGTHS.items()}
    for name in STRENGTHS:
        assert found[name].low <= truth[name] <= found[name].high
        assert found[name].rank_low <= found[name].rank <= found[name].rank_high
    assert judge["d"].rating > truth["d"] + 40
    assert judge["d"].low is None


def test_the_order_of_rows_and_of_a_pair_says_nothing():
    rows = sample(40, labelled=30)
    turned = [
        JudgedPair(two, one, 1 - score, None if label is None else 1 - label, f"s{unit}")
        for one, two, score, label, unit, _chance in reversed(rows)
    ]
    first = corrected_ranking(rows, draws=100, seed=3)
    second = corrected_ranking(turned, draws=100, seed=3)
    for one, other in zip(first.models, second.models, strict=True):
        assert other.model == one.model
        assert other.rating == pytest.approx(one.rating)
        assert (other.rank_low, other.rank_high) == (one.rank_low, one.rank_high)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [JudgedPair("x", "x", 1.0, 1.0, at) for at in range(40)],
        [JudgedPair("x", "y", 1.0, 1.0 if at < 19 else None, at) for at in range(40)],
    ],
)
def test_what_cannot_be_corrected_is_not_ranked(rows):
    assert corrected_ranking(rows, draws=10, seed=1) is None


def test_a_model_that_never_lost_has_no_rating():
    rows = sample(40, labelled=40)
    never = [JudgedPair("z", "a", 1.0, 1.0, f"z{at}") for at in range(12)]
    found = corrected_ranking([*rows, *never], draws=50, seed=3)
    last = found.models[-1]
    assert (last.model, last.rating, last.low, last.rank) == ("z", None, None, None)
    alone = corrected_ranking(never * 2, draws=50, seed=3)
    assert [row.rating for row in alone.models] == [None, None]


def test_few_sessions_have_no_interval():
    rows = [each._replace(unit=each.unit % 9) for each in sample(60, labelled=60)]
    found = corrected_ranking(rows, draws=50, seed=3)
    assert {(row.low, row.rank_low) for row in found.models} == {(None, None)}
    assert found.draws == 0


@pytest.mark.parametrize(("labelled", "draws"), [(9, 0), (10, 50)])
def test_labelled_sessions_are_what_counts(labelled, draws):
    found = corrected_ranking(sample(100, labelled=labelled), draws=50, seed=3)
    assert found.draws == draws
    assert (found.models[0].rank_low is None) is (draws == 0)


def test_a_rate_beyond_its_ends_is_not_never():
    """People: 2 wins of x, 10 ties, 8 losses; there the judge has x win 12 times, else never.

    So lambda (.006 - .6) + .35 is below 0, and x gets half a win of 20: odds of 39.
    """
    labels = [1.0] * 2 + [0.5] * 10 + [0.0] * 8
    rows = [JudgedPair("x", "y", float(at < 12), label, at) for at, label in enumerate(labels)]
    rows += [JudgedPair("x", "y", 0.0, None, at) for at in range(20, 2000)]
    found = {row.model: row.rating for row in corrected_ranking(rows, draws=50, seed=3).models}
    assert found["y"] - found["x"] == pytest.approx(400 * np.log10(39), abs=0.1)
