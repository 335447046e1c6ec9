"""Rankings by other methods, between two models, of many sessions, and beside other libraries."""

from itertools import combinations

import choix
import evalica
import numpy as np
import pytest

from annotation.core.choices import Verdict
from benchmark.core.bradley_terry import OutcomeCells, VerdictCounts, fit_log_odds
from benchmark.core.ranking import (
    HeadToHead,
    RatingMethod,
    Standing,
    bradley_terry,
    duels_of_counts,
    head_to_head,
    rank_models,
    win_rates,
)
from judging.core.formats.battles import Battle, BattleTable
from tests.benchmark.core.test_ranking import by_model, games
from tests.refusals import refuses

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


def battles(seed, *, models=6, size=300, ties=0.2):
    """Model numbers and who won (1, 0, a tie one half) of random battles with known strengths."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=models)
    one = rng.integers(models, size=size)
    other = (one + rng.integers(1, models, size=size)) % models
    won = (rng.random(size) < 1 / (1 + np.exp(strengths[other] - strengths[one]))).astype(float)
    return one, other, np.where(rng.random(size) < ties, 0.5, won)


def wins_of(one, other, won, models=6):
    wins = np.zeros((models, models))
    np.add.at(wins, (one, other), won)
    np.add.at(wins, (other, one), 1 - won)
    return wins


@pytest.mark.parametrize("seed", range(3))
def test_strengths_are_those_of_evalica_and_choix(seed):
    one, other, won = battles(seed)
    wins = wins_of(one, other, won)
    ours = fit_log_odds(wins[None])[0]
    # choix counts whole wins: each twice, a tie once either way.
    pairs = [
        (winner, loser)
        for winner, loser in np.ndindex(6, 6)
        for _ in range(int(2 * wins[winner, loser]))
    ]
    theirs = choix.opt_pairwise(6, pairs, tol=1e-13)
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-6)
    words = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    scores = evalica.bradley_terry(
        [f"m{number}" for number in one],
        [f"m{number}" for number in other],
        [words[each] for each in won],
        tolerance=1e-14,
        limit=100_000,
    ).scores
    log_odds = np.log([scores[f"m{number}"] for number in range(6)])
    assert ours == pytest.approx(log_odds - log_odds.mean(), abs=1e-6)


def sessions_of(rng, *, sessions, models=5):
    """Sessions of one to three comparisons of known strengths."""
    session = np.repeat(np.arange(sessions), rng.integers(1, 4, size=sessions))
    one = rng.integers(models, size=len(session))
    other = (one + rng.integers(1, models, size=len(session))) % models
    won = (rng.random(len(session)) < 1 / (1 + np.exp((one - other) / 2))).astype(float)
    return [
        VerdictCounts(f"m{a}", f"m{b}", share, 1 - share, unit)
        for a, b, share, unit in zip(
            one.tolist(), other.tolist(), won.tolist(), session.tolist(), strict=True
        )
    ]


def test_blocks_hold_every_session_once():
    rows = sessions_of(np.random.default_rng(1), sessions=200)
    blocks = OutcomeCells.of(rows).sessions
    cells = OutcomeCells.of(VerdictCounts(r.model_a, r.model_b, r.wins_a, r.wins_b) for r in rows)
    assert (int(blocks.counts.sum()), len(blocks.block)) == (200, len(blocks.cell))
    held = np.bincount(blocks.cell, weights=blocks.times * blocks.counts[blocks.block])
    assert held.tolist() == cells.counts.tolist()
    assert (np.diff(blocks.block) >= 0).all()
    contents = {
        tuple(zip(blocks.cell[own], blocks.times[own], strict=True))
        for own in (np.flatnonzero(blocks.block == place) for place in range(len(blocks.counts)))
    }
    assert len(contents) == len(blocks.counts)


def test_drawn_wins_are_those_of_the_drawn_sessions():
    rows = sessions_of(np.random.default_rng(2), sessions=40)
    tally = OutcomeCells.of(rows)
    drawn = tally.sessions.draw(np.random.default_rng(3), 5)
    assert drawn.sum(axis=1).tolist() == [40] * 5
    sessions = tally.sessions
    counts = np.zeros((5, len(tally.counts)))
    for block, cell, times in zip(sessions.block, sessions.cell, sessions.times, strict=True):
        counts[:, cell] += drawn[:, block] * times
    expected = np.zeros((5, 5, 5))
    for cell, (a, b) in enumerate(zip(tally.first, tally.second, strict=True)):
        expected[:, a, b] += counts[:, cell] * tally.wins_first[cell]
        expected[:, b, a] += counts[:, cell] * tally.wins_second[cell]
    assert tally.wins_of(drawn) == pytest.approx(expected)
    thirds = OutcomeCells.of(VerdictCounts(r.model_a, r.model_b, 1 / 3, 2 / 3) for r in rows)
    assert thirds.wins_of(thirds.sessions.counts[None])[0] == pytest.approx(thirds.wins, abs=1e-12)


@pytest.mark.parametrize("alike", [1, 1000])
def test_very_many_sessions_are_drawn_once_in_the_mean(alike):
    """25,000 different sessions: each is drawn a Poisson number of times, as by replacement."""
    rng = np.random.default_rng(4)
    places = np.arange(25_000)
    # Every session holds three comparisons that tell its number; `alike` hold those of the first.
    places[:alike] = 0
    cells = np.stack([places % 30, 30 + places // 30 % 30, 60 + places // 900], axis=1)
    kinds = [(f"a{k}", "b", 1.0, 0.0) for k in range(60 + 28)]
    tally = OutcomeCells.of_columns(
        kinds, cells.ravel(), np.repeat(np.arange(25_000), 3), np.ones(75_000, dtype=np.int64)
    )
    counts = tally.sessions.counts
    assert (len(counts), int(counts.max())) == (25_001 - alike, alike)
    drawn = tally.sessions.draw(rng, 3).astype(float)
    assert drawn[:, counts == 1].mean() == pytest.approx(1, abs=0.01)
    assert drawn[:, counts == 1].var() == pytest.approx(1, abs=0.03)
    assert drawn[:, counts == alike].mean() == pytest.approx(alike, rel=0.1)


def test_win_rates_rank_models_that_never_lost_too():
    rows = games(("top", "x", 8), ("x", "y", 6), ("y", "x", 4), ("p", "q", 3))
    ranking = rank_models(rows, RatingMethod.WIN_RATE, draws=200, seed=1)
    found = by_model(ranking.models)
    assert [row.model for row in ranking.models] == ["top", "y", "x", "p", "q"]
    assert (found["top"].rating, found["top"].high) == (1, None)  # 8 sessions: too few
    assert found["y"].rating == pytest.approx(0.4)
    assert found["x"].rating == pytest.approx(6 / 18)
    assert found["y"].low < 0.4 < found["y"].high
    assert found["p"].standing is Standing.NOT_COMPARABLE
    assert ranking.first["top"] == pytest.approx(1)
    # A draw may miss the ten comparisons of y: then it says nothing of y.
    assert ranking.bounded_draws <= ranking.draws == 200
    assert {rate.model: rate.value for rate in win_rates(rows)}["y"] == found["y"].rating


def test_an_interval_of_a_win_rate_is_that_of_every_board():
    """Each session has a verdict for either: resamples vary less than so few verdicts may."""
    rows = [
        VerdictCounts("x", "y", *((2.0, 1.0) if place % 4 else (1.0, 2.0)), place)
        for place in range(24)
    ]
    expected = {rate.model: rate.interval for rate in win_rates(rows)}
    ranking = rank_models(rows, RatingMethod.WIN_RATE, draws=200, seed=1)
    for row in ranking.models:
        interval = expected[row.model]
        assert (row.low, row.high) == (interval.low, interval.high)
    without = rank_models(rows, RatingMethod.WIN_RATE, draws=0, seed=1)
    assert {(row.low, row.high) for row in without.models} == {(None, None)}


def test_all_ties_leave_nobody_first():
    """Two models, twelve ties: each is first in half of the draws, by every method."""
    rows = [VerdictCounts("x", "y", 0.5, 0.5) for _ in range(12)]
    for method in RatingMethod:
        ranking = rank_models(rows, method, draws=50, seed=1)
        assert ranking.first == {"x": 0.5, "y": 0.5}
        assert [row.rank for row in ranking.models] == [1, 1]


def test_who_is_first_adds_up_to_one():
    rows = games(("x", "y", 6), ("y", "x", 5), ("x", "z", 5), ("z", "y", 5), ("z", "x", 1))
    for method in RatingMethod:
        assert sum(rank_models(rows, method, draws=100, seed=1).first.values()) == pytest.approx(1)


def test_elo_of_many_comparisons_is_bradley_terry_and_so_is_its_interval():
    rows = games(("x", "y", 900), ("y", "x", 600), ("x", "z", 700), ("z", "y", 800))
    elo, odds = (
        by_model(rank_models(rows, method, draws=500, seed=1).models)
        for method in (RatingMethod.ELO, RatingMethod.BRADLEY_TERRY)
    )
    for model in "xyz":
        for found in ("rating", "low", "high"):
            one, other = getattr(elo[model], found), getattr(odds[model], found)
            assert one == pytest.approx(other, abs=1)


def test_elo_counts_a_comparison_once_however_many_verdicts_it_has():
    one, three = [VerdictCounts("x", "y", 1, 0)], [VerdictCounts("x", "y", 3, 0)]
    found = [by_model(rank_models(rows, RatingMethod.ELO).models)["x"] for rows in (one, three)]
    assert [row.rating for row in found] == [1002, 1002]


def test_elo_ranks_with_the_anchor_at_1000():
    rows = games(("x", "y", 40), ("y", "x", 10), ("x", "z", 30), ("z", "y", 5))
    ranking = rank_models(rows, RatingMethod.ELO, draws=1000, seed=1, anchor="y")
    assert ranking.models[0].model == "x"
    found = by_model(ranking.models)
    assert found["y"].rating == pytest.approx(1000)
    assert found["x"].low < found["x"].rating < found["x"].high
    assert ranking.draws == 1000
    assert ranking == rank_models(rows, RatingMethod.ELO, draws=1000, seed=1, anchor="y")
    free = by_model(rank_models(rows, RatingMethod.ELO, draws=0).models)
    assert sum(row.rating for row in free.values()) == pytest.approx(3000)
    assert free["x"].low is None
    with refuses("ranking:unknown-anchor"):
        rank_models(rows, RatingMethod.ELO, anchor="w")


def test_how_sure_one_is_above_another():
    # 30 of 40: by the normal approximation x leads in about all draws; z and y are even.
    rows = games(("x", "y", 30), ("y", "x", 10), ("y", "z", 20), ("z", "y", 20))
    ranking = bradley_terry(rows, draws=1000, seed=1)
    assert ranking.above["x", "y"] > 0.99
    assert ranking.above["y", "z"] == pytest.approx(0.5, abs=0.05)
    for one, other in combinations("xyz", 2):
        assert ranking.above[one, other] + ranking.above[other, one] == pytest.approx(1)
    assert sum(ranking.first.values()) == pytest.approx(1, abs=0.02)
    assert bradley_terry(rows[:5], draws=1000).above == {}
    alone = bradley_terry(games(("x", "y", 30)), draws=100)
    assert (alone.above, alone.first) == ({}, {})


def test_head_to_head_counts_verdicts_from_both_sides():
    rows = [
        ("x", "y", A, 1),
        ("x", "y", TIE, 1),
        ("y", "x", A, 2),
        ("x", "z", B, 3),
        ("x", "x", A, 4),
    ]
    duels = head_to_head(rows)
    assert duels == {
        ("x", "y"): HeadToHead(1, 1, 1, 2),
        ("y", "x"): HeadToHead(1, 1, 1, 2),
        ("x", "z"): HeadToHead(0, 0, 1, 1),
        ("z", "x"): HeadToHead(1, 0, 0, 1),
    }
    assert (duels["x", "y"].n, duels["x", "y"].share) == (3, 0.5)
    counted = [("x", "y", A, 5), ("y", "x", TIE, 2), ("x", "x", A, 9)]
    assert duels_of_counts(counted)["y", "x"] == HeadToHead(0, 2, 5, 7)


def test_battles_of_a_file_are_outcomes():
    table = BattleTable(
        (Battle("x", "y", A), Battle("y", "x", TIE)),
        np.array([0, 1, 0]),
        np.array([-1, -1, -1]),
        np.array([3, 2, 1]),
    )
    tally = OutcomeCells.of_battles(table)
    assert tally.models == ("x", "y")
    assert tally.wins.tolist() == [[0, 5], [1, 0]]
    assert int(tally.sessions.counts.sum()) == 6
