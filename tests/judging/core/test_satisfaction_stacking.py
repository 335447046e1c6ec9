"""Stacking on a judge that knows something, on one that knows nothing, and on gaps."""

from __future__ import annotations

import numpy as np
import pytest

from judging.core.satisfaction_stacking import (
    MIN_JUDGED,
    PENALTIES,
    StackedTurns,
    fit_stack,
    predict_stack,
)
from tests.refusals import refuses

USERS, BLOCKS_A_USER, TURNS_A_BLOCK = 20, 4, 12


def people(seed, *, judge):
    """Turns of users whose scores are half what was learned and half something else.

    The judge's score is that something else with noise, noise alone, or its distance from the
    block's mean with the block's level mixed up.
    """
    random = np.random.default_rng(seed)
    users = np.repeat(np.arange(USERS), BLOCKS_A_USER * TURNS_A_BLOCK)
    blocks = np.repeat(np.arange(USERS * BLOCKS_A_USER), TURNS_A_BLOCK)
    level = random.normal(4, 0.5, USERS)[users]
    unseen = random.normal(0, 0.7, len(users))
    gold = np.clip(np.round(level + unseen + random.normal(0, 0.4, len(users))), 1, 5).astype(int)
    judged = {
        "informative": 3.5 + unseen + random.normal(0, 0.5, len(users)),
        "noise": random.normal(3.5, 1, len(users)),
        "shifted": random.normal(0, 2, blocks.max() + 1)[blocks] + unseen,
    }[judge]
    turns = StackedTurns(
        learned=level + random.normal(0, 0.1, len(users)),
        dissatisfied=np.clip(random.normal(0.3, 0.1, len(users)), 0.01, 0.99),
        judged=judged,
        blocks=blocks,
        users=users,
    )
    return turns, gold


def correlation(expected, gold):
    return float(np.corrcoef(expected, gold)[0, 1])


@pytest.mark.parametrize("judge", ["informative", "shifted"])
def test_a_judge_that_knows_something_helps(judge):
    stack = fit_stack(*people(1, judge=judge), seed=42)
    turns, gold = people(2, judge=judge)
    found = predict_stack(stack, turns)
    assert stack.penalty < PENALTIES[-1]
    assert correlation(found.expected, gold) > correlation(turns.learned, gold) + 0.1
    assert ((found.scores - gold) ** 2).mean() < ((np.round(turns.learned) - gold) ** 2).mean()
    below = gold < 4
    assert found.dissatisfied[below].mean() > found.dissatisfied[~below].mean() + 0.1
    assert ((found.dissatisfied > 0) & (found.dissatisfied < 1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_judge_that_knows_nothing_costs_nothing(seed):
    stack = fit_stack(*people(seed, judge="noise"), seed=42)
    turns, gold = people(seed + 100, judge="noise")
    lost = correlation(turns.learned, gold) - correlation(
        predict_stack(stack, turns).expected, gold
    )
    assert lost < 0.01


def test_turns_that_the_judge_left_out_keep_the_learned_score():
    stack = fit_stack(*people(1, judge="informative"), seed=42)
    turns, _gold = people(2, judge="informative")
    gaps = StackedTurns(
        turns.learned,
        turns.dissatisfied,
        np.where(np.arange(len(turns.judged)) % 3 == 0, np.nan, turns.judged),
        turns.blocks,
        turns.users,
    )
    found = predict_stack(stack, gaps).expected
    missing = np.isnan(gaps.judged)
    assert found[missing] == pytest.approx(turns.learned[missing], abs=0.11)  # bent at the ends
    assert np.abs(found[~missing] - turns.learned[~missing]).max() > 0.2


def test_a_judge_of_too_few_turns_is_refused():
    turns, gold = people(1, judge="informative")
    judged = np.where(np.arange(len(turns.judged)) < MIN_JUDGED - 1, turns.judged, np.nan)
    few = StackedTurns(turns.learned, turns.dissatisfied, judged, turns.blocks, turns.users)
    with refuses("learned:too-few-ratings", match="stacking needs 50 judged turns"):
        fit_stack(few, gold, seed=42)


def test_a_single_user_cannot_show_that_a_judge_helps():
    turns, gold = people(1, judge="informative")
    own = turns.users == 0
    one = turns.taken(own)
    stack = fit_stack(
        StackedTurns(
            np.tile(one.learned, 2),
            np.tile(one.dissatisfied, 2),
            np.tile(one.judged, 2),
            np.tile(one.blocks, 2),
            np.repeat([0, 1], own.sum()),
        ),
        np.tile(gold[own], 2),
        seed=42,
    )
    assert np.isfinite(stack.cuts).all()
