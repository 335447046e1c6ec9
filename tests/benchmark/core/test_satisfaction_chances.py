from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, top_k_accuracy_score

from annotation.core.choices import Reason
from benchmark.core.satisfaction_chances import chance_figures, likely_reasons
from benchmark.core.satisfaction_evaluation import GoldBlock
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_decisions import REASONS

RANDOM = np.random.default_rng(11)


def block(user, gold, reasons=()):
    return GoldBlock(
        user, "travel", tuple(map(str, range(len(gold)))), tuple(gold), (0,) * 5, reasons
    )


def said(chance, reasons=()):
    return Prediction(4, 4.0, None, chance, tuple(reasons))


def many(*, bent, users=40):
    """Users whose turns dissatisfy as often as `chance` says, which is then bent."""
    blocks, predictions = [], []
    for user in range(users):
        chances = RANDOM.uniform(0.02, 0.6, 50)
        below = RANDOM.uniform(size=50) < chances
        blocks.append(block(user, [3 if one else 5 for one in below]))
        predictions.append([said(float(bent(one))) for one in chances])
    return blocks, predictions


def test_right_chances_have_a_small_error_and_bent_ones_a_large_one():
    right = chance_figures(*many(bent=lambda p: p), seed=1, draws=200)
    wrong = chance_figures(*many(bent=lambda p: p / 4), seed=1, draws=200)
    assert right.turns == wrong.turns == 2_000
    assert right.error.value < 0.04
    # Chances are .31 on average and a quarter of that is said: .23 too little.
    assert wrong.error.value == pytest.approx(0.23, abs=0.03)
    assert right.error.interval.high < wrong.error.interval.low
    assert right.brier.value < wrong.brier.value
    assert right.brier.value < right.base_brier
    assert [one.turns for one in right.bins] == [200] * 10
    assert [one.chance for one in right.bins] == sorted(one.chance for one in right.bins)


@pytest.mark.parametrize("seed", [13, 14, 18, 26])
def test_a_calibration_error_lies_in_its_interval(seed):
    """Of right chances all of the error is chance, which every draw adds to.

    These are the samples of forty whose error lies below the percentiles of its draws.
    """
    random = np.random.default_rng(seed)
    chances = random.uniform(0.02, 0.6, (100, 6))
    below = random.uniform(size=chances.shape) < chances
    blocks = [block(user, np.where(own, 3, 5).tolist()) for user, own in enumerate(below)]
    predictions = [[said(float(one)) for one in own] for own in chances]
    found = chance_figures(blocks, predictions, seed=1, draws=200).error
    assert 0 <= found.interval.low <= found.value <= found.interval.high


def test_a_bent_error_keeps_the_width_of_its_draws():
    wrong = chance_figures(*many(bent=lambda p: p / 4), seed=1, draws=200).error
    assert wrong.interval.low > 0.15
    assert wrong.interval.low < wrong.value < wrong.interval.high


def test_the_squared_error_is_that_of_scikit_learn():
    blocks, predictions = many(bent=lambda p: p, users=2)
    found = chance_figures(blocks, predictions, seed=1, draws=0)
    below = [score < 4 for one in blocks for score in one.gold]
    chances = [one.dissatisfied for own in predictions for one in own]
    assert found.brier.value == pytest.approx(brier_score_loss(below, chances), abs=1e-12)
    assert found.error.interval is None


def test_by_hand():
    """Chances .2 .2 .8 .8, two bins: shares 0 and 1, distances .2 and .2."""
    blocks = [block(1, [5, 5]), block(2, [2, 2])]
    found = chance_figures(blocks, [[said(0.2)] * 2, [said(0.8)] * 2], seed=1, draws=0)
    assert [(one.turns, one.chance, one.share) for one in found.bins] == [(2, 0.2, 0), (2, 0.8, 1)]
    assert found.error.value == pytest.approx(0.2)
    assert found.base_brier == 0.25


def test_an_evaluator_without_chances_has_no_figures():
    silent = [[Prediction(4, 4.0), None]]
    assert chance_figures([block(1, [3, 5])], silent, seed=1, draws=0) is None
    assert likely_reasons([block(1, [3, 5], (Reason.OTHER, None))], silent, seed=1, draws=0) is None


def reasons_of(users=12, turns=20):
    blocks, predictions, stated, named = [], [], [], []
    for user in range(users):
        own = RANDOM.choice(5, turns, p=(0.5, 0.2, 0.2, 0.05, 0.05))
        chances = RANDOM.dirichlet(np.ones(5), turns)
        chances[np.arange(turns), own] += 0.25
        chances /= chances.sum(axis=1, keepdims=True)
        blocks.append(block(user, [2] * turns, tuple(REASONS[one] for one in own)))
        predictions.append([said(0.5, one) for one in chances.tolist()])
        stated += own.tolist()
        named += chances.tolist()
    return blocks, predictions, np.array(stated), np.array(named)


def test_likely_reasons_are_measured_as_scikit_learn_does():
    blocks, predictions, stated, named = reasons_of()
    found = likely_reasons(blocks, predictions, seed=1, draws=100)
    first = named.argmax(axis=1)
    assert found.turns == 240
    assert found.accuracy.value == pytest.approx(accuracy_score(stated, first), abs=1e-12)
    assert found.top_2.value == pytest.approx(top_k_accuracy_score(stated, named, k=2), abs=1e-12)
    assert found.macro_f1.value == pytest.approx(
        f1_score(stated, first, average="macro"), abs=1e-12
    )
    commonest = np.bincount(stated).argmax()
    assert found.commonest == pytest.approx((stated == commonest).mean())
    always = np.full(len(stated), commonest)
    assert found.commonest_f1 == pytest.approx(
        f1_score(stated, always, average="macro", zero_division=0), abs=1e-12
    )
    assert found.gain.value == pytest.approx(found.accuracy.value - found.commonest)
    for one in (found.accuracy, found.top_2, found.macro_f1, found.gain):
        assert one.interval.low <= one.value <= one.interval.high


def test_only_turns_with_a_stated_reason_count():
    blocks = [block(1, [2, 2, 5], (Reason.OTHER, Reason.NOT_RECORDED, None))]
    chances = [0.1, 0.1, 0.1, 0.1, 0.6]
    found = likely_reasons(blocks, [[said(0.5, chances)] * 3], seed=1, draws=0)
    assert (found.turns, found.accuracy.value, found.commonest) == (1, 1.0, 1.0)
    assert found.accuracy.interval is None
