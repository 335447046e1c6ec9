import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from annotation.core.intervals import clustered_wilson, wilson
from benchmark.core.bradley_terry import (
    PRIOR,
    VerdictCounts,
    chains_of_wins,
    outcome_of,
    partly_rated,
    weakly_rated,
)
from benchmark.core.ranking import (
    RatingMethod,
    Standing,
    bradley_terry,
    rank_models,
    win_rates,
)
from tests.paths import shared_data
from tests.refusals import refuses

models = st.sampled_from(["m1", "m2", "m3", "m4"])
outcomes = st.lists(
    st.builds(
        outcome_of, models, models, st.lists(st.sampled_from(Verdict), min_size=0, max_size=3)
    ),
    max_size=25,
)


def games(*results):
    """Outcomes from (winner, loser, times)."""
    return [VerdictCounts(one, other, 1, 0) for one, other, times in results for _ in range(times)]


def by_model(rows):
    return {row.model: row for row in rows}


def test_a_tie_is_half_a_win_for_each():
    verdicts = [Verdict.A, Verdict.TIE, Verdict.B, Verdict.A]
    assert outcome_of("x", "y", verdicts) == VerdictCounts("x", "y", 2.5, 1.5)


def test_three_wins_to_one_are_the_logarithm_of_three():
    # 400 log10(3) = 190.85 points between the two, around a mean of 1000.
    ranking = bradley_terry(games(("x", "y", 3), ("y", "x", 1)), draws=0)
    ratings = [row.rating for row in ranking.models]
    assert ratings == pytest.approx([1095.424, 904.576], abs=1e-3)
    assert [row.rank for row in ranking.models] == [1, 2]
    assert all(row.low is None and row.rank_low is None for row in ranking.models)


@pytest.mark.parametrize("method", RatingMethod)
def test_ratings_of_ties_alone_have_no_interval(method):
    tied = [outcome_of("x", "y", [Verdict.TIE], session) for session in range(12)]
    ranking = rank_models(tied, method, draws=50)
    assert ranking.ties_alone
    told = {(row.rank, row.rank_high, row.low, row.high) for row in ranking.models}
    assert told == {(1, 2, None, None)}
    assert not any(row.low_unbounded or row.high_unbounded for row in ranking.models)
    decided = rank_models([*tied, outcome_of("x", "y", [Verdict.A], 12)], method, draws=50)
    assert not decided.ties_alone


def test_an_anchor_is_exactly_1000():
    rows = by_model(
        bradley_terry(games(("x", "y", 30), ("y", "x", 10)), draws=50, anchor="y").models
    )
    assert rows["y"].rating == 1000
    assert rows["x"].rating == pytest.approx(1190.849, abs=1e-3)
    assert (rows["y"].low, rows["y"].high) == (1000, 1000)


@pytest.mark.parametrize("anchor", ["nobody", "top"])
def test_an_anchor_without_a_rating_is_refused(anchor):
    with refuses("ranking:unknown-anchor", match=anchor):
        bradley_terry(games(("x", "y", 3), ("y", "x", 1), ("top", "x", 2)), anchor=anchor)


@pytest.mark.parametrize(("wins", "sets"), [(9, (1, 4)), (10, (2, 3))])
def test_a_model_that_never_lost_is_unbounded_and_first(wins, sets):
    """It is surely ahead only if its sessions are as many as an interval needs."""
    ranking = bradley_terry(
        games(("top", "x", wins), ("x", "y", 30), ("y", "x", 30), ("x", "low", wins))
    )
    assert [(row.model, row.standing, row.rank) for row in ranking.models] == [
        ("top", Standing.UNBOUNDED, 1),
        ("x", Standing.RATED, 2),
        ("y", Standing.RATED, 2),
        ("low", Standing.UNBOUNDED, 4),
    ]
    rows = by_model(ranking.models)
    assert (rows["top"].rating, rows["top"].low, rows["top"].rank_low) == (None, None, None)
    assert {(rows[name].rank_low, rows[name].rank_high) for name in ("x", "y")} == {sets}


def test_models_that_nothing_links_are_not_comparable():
    rows = by_model(bradley_terry(games(("x", "y", 3), ("y", "x", 2), ("p", "q", 9))).models)
    assert rows["x"].standing is Standing.RATED
    for model in ("p", "q"):
        assert rows[model].standing is Standing.NOT_COMPARABLE
        assert (rows[model].rating, rows[model].rank) == (None, None)


def test_two_models_that_lost_to_the_same_one_are_not_comparable_with_each_other():
    # x and y beat each other; both beat low, and far beat low: nothing says how far stands to x.
    rows = by_model(
        bradley_terry(
            games(("x", "y", 3), ("y", "x", 2), ("x", "low", 1), ("far", "low", 1)), draws=0
        ).models
    )
    assert rows["low"].standing is Standing.UNBOUNDED
    assert rows["far"].standing is Standing.NOT_COMPARABLE


def test_where_nobody_ever_lost_to_somebody_beaten_nobody_is_rated():
    ranking = bradley_terry(games(("a", "b", 1), ("b", "c", 1), ("p", "q", 1)))
    assert [(row.model, row.standing, row.rank) for row in ranking.models] == [
        ("a", Standing.UNBOUNDED, 1),
        ("b", Standing.UNBOUNDED, 2),
        ("c", Standing.UNBOUNDED, 3),
        ("p", Standing.NOT_COMPARABLE, None),
        ("q", Standing.NOT_COMPARABLE, None),
    ]


def test_an_end_that_lies_among_unbounded_draws_is_not_stated():
    # y won 1 of 10: it wins nothing in (9/10)^10 = 35 % of the draws. Then x is without an upper
    # end and y without a lower one; the other end of each is well known.
    ranking = bradley_terry(games(("x", "y", 9), ("y", "x", 1)), draws=400, seed=1)
    assert 0.55 < ranking.bounded_draws / ranking.draws < 0.75
    x, y = ranking.models
    assert (x.low_unbounded, x.high, x.high_unbounded) == (False, None, True)
    assert (y.low, y.low_unbounded, y.high_unbounded) == (None, True, False)
    assert x.low < x.rating
    assert y.high > y.rating
    assert x.low - 1000 == pytest.approx(1000 - y.high)
    assert (x.rank_low, x.rank_high, y.rank_low, y.rank_high) == (1, 2, 1, 2)


def test_a_model_that_never_wins_in_some_draws_leaves_the_others_their_ends():
    """z won 1 of 10 from x; x and y are even: only z's lower end lies among unbounded draws."""
    rows = games(("x", "y", 30), ("y", "x", 30), ("x", "z", 9), ("z", "x", 1))
    ranking = bradley_terry(rows, draws=400, seed=1)
    found = by_model(ranking.models)
    assert ranking.bounded_draws < 0.75 * ranking.draws
    for model in ("x", "y"):
        assert found[model].low < found[model].rating < found[model].high
    assert (found["z"].low, found["z"].low_unbounded) == (None, True)
    assert found["z"].high > found["z"].rating
    # Against z as the anchor the others have no upper end, and against x z has none below.
    against = by_model(bradley_terry(rows, draws=400, seed=1, anchor="z").models)
    assert [against[model].high_unbounded for model in ("x", "y", "z")] == [True, True, False]
    assert (against["z"].low, against["z"].high) == (1000, 1000)
    against = by_model(bradley_terry(rows, draws=400, seed=1, anchor="x").models)
    assert [against[model].low_unbounded for model in ("x", "y", "z")] == [False, False, True]


def test_a_draw_that_says_nothing_of_a_model_leaves_both_of_its_ends_open():
    """p and q were compared twice with the others, once each way: most draws miss one of them."""
    rows = games(("x", "y", 20), ("y", "x", 20), ("p", "x", 1), ("y", "p", 1))
    ranking = bradley_terry(rows, draws=400, seed=2)
    found = by_model(ranking.models)
    assert (found["p"].low_unbounded, found["p"].high_unbounded) == (True, True)
    assert (found["p"].rank_low, found["p"].rank_high) == (1, 3)
    assert found["x"].high is not None


@pytest.mark.parametrize("anchor", [None, "x"])
def test_what_a_draw_rates_is_what_a_fit_to_its_group_gives(anchor):
    """One draw of all comparisons in which z never won: x and y by themselves."""
    names = ("x", "y", "z")
    wins = np.array([[[0, 3, 5], [1, 0, 0], [0, 0, 0]]], dtype=float)
    zero = None if anchor is None else names.index(anchor)
    low, high = partly_rated(
        wins, chains_of_wins(wins > 0), zero, np.array([9, 4, 5]), np.array([1200, 1100, 700.0])
    )
    # 400 log10(3) = 190.85 points apart, around the mean 1150 of the two in the fit, or from 1000.
    expected = [1150 + 95.424, 1150 - 95.424] if zero is None else [1000, 1000 - 190.849]
    assert low[0, :2] == pytest.approx(expected, abs=1e-2)
    assert high[0, :2] == pytest.approx(expected, abs=1e-2)
    assert low[0, 2] == high[0, 2] == -np.inf


def test_where_nobody_reaches_anybody_back_a_draw_tells_who_is_ahead_at_most():
    """x beat y, y beat z: x is ahead, z behind, and of y nothing is known."""
    wins = np.array([[[0, 1, 0], [0, 0, 1], [0, 0, 0]]], dtype=float)
    low, high = partly_rated(
        wins, chains_of_wins(wins > 0), None, np.array([1, 2, 1]), np.full(3, 1000.0)
    )
    assert low.tolist() == [[np.inf, -np.inf, -np.inf]]
    assert high.tolist() == [[np.inf, np.inf, -np.inf]]


@pytest.mark.parametrize(
    ("won", "of", "last"),
    [(14, 20, 2), (15, 20, 1), (26, 40, 2), (27, 40, 1), (60, 100, 2), (61, 100, 1)],
)
def test_of_two_models_the_better_is_first_where_a_sign_test_says_so(won, of, last):
    """Two-sided p: 14 of 20 .12, 15 .041; 26 of 40 .081, 27 .038; 60 of 100 .057, 61 .035."""
    rows = [VerdictCounts("a", "b", one, 1 - one) for one in [1] * won + [0] * (of - won)]
    best = bradley_terry(rows, seed=42).models[0]
    assert (best.model, best.rank_low, best.rank_high) == ("a", 1, last)


def test_no_comparisons_are_an_empty_ranking():
    ranking = bradley_terry([])
    assert (ranking.models, ranking.comparisons, ranking.bounded_draws) == ((), 0, 0)
    assert win_rates([]) == ()


def test_a_model_against_itself_and_an_unjudged_comparison_say_nothing():
    assert (
        bradley_terry([VerdictCounts("x", "x", 1, 0), VerdictCounts("x", "y", 0, 0)]).models == ()
    )


def test_one_model_far_ahead_of_a_chain_converges():
    # A full Newton step from equal strengths overshoots here.
    results = games(("a", "b", 1000), ("b", "a", 1), ("b", "c", 1000), ("c", "b", 1))
    ratings = [row.rating for row in bradley_terry(results, draws=0).models]
    # Without a cycle each link is exact: 400 log10(1000) = 1200 points.
    assert ratings == pytest.approx([2200, 1000, -200])


@given(outcomes)
def test_where_each_session_holds_one_comparison_nothing_changes(rows):
    alone = bradley_terry(rows, draws=50, seed=3)
    own = [replace(row, session=key) for key, row in enumerate(rows)]
    assert bradley_terry(own, draws=50, seed=3) == alone


def test_comparisons_of_one_session_are_drawn_together():
    # x beats y in three sessions of four, y and z are even: copies in a session add no evidence.
    alone = [
        VerdictCounts(one, other, 1, 0, session=key)
        for key, (one, other) in enumerate(
            [("x", "y"), ("x", "y"), ("y", "x"), ("x", "y"), ("y", "z"), ("z", "y")] * 10
        )
    ]
    fivefold = [row for row in alone for _ in range(5)]
    once, five = (bradley_terry(each, draws=300, seed=1) for each in (alone, fivefold))
    assert (five.comparisons, five.sessions, once.sessions) == (300, 60, 60)
    for single, several in zip(once.models, five.models, strict=True):
        assert several.rating == pytest.approx(single.rating, abs=1e-6)
        assert several.low == pytest.approx(single.low, abs=1e-6)
        assert (several.rank_low, several.rank_high) == (single.rank_low, single.rank_high)
    apart = bradley_terry([replace(row, session=None) for row in fivefold], draws=300, seed=1)
    assert apart.models[0].high < five.models[0].high


def test_what_a_session_holds_stays_together_in_every_draw():
    # Every session has one win each way, so no draw moves anything.
    rows = [
        VerdictCounts(one, other, 1, 0, session=key)
        for key in range(12)
        for one, other in (("x", "y"), ("y", "x"))
    ]
    for row in bradley_terry(rows, draws=50, seed=1).models:
        assert (row.rating, row.low, row.high) == pytest.approx((1000, 1000, 1000))


@pytest.mark.parametrize(("sessions", "missing"), [(9, 1), (10, 0)])
def test_fewer_than_ten_sessions_have_ratings_and_no_interval(sessions, missing):
    rows = [
        VerdictCounts(one, other, 1, 0, session=key % sessions)
        for key, (one, other) in enumerate([("x", "y"), ("x", "y"), ("y", "x")] * 20)
    ]
    found = bradley_terry(rows, draws=50, seed=1)
    assert (found.sessions, found.units.missing) == (sessions, missing)
    best = found.models[0]
    assert best.rating > 1000
    assert (best.low is None, best.rank_low is None) == (missing > 0, missing > 0)


def test_one_session_with_most_of_the_comparisons_leaves_no_interval():
    """300 battles of one session, won 2 to 1, and ten others: one and a bit effective sessions."""
    giant = [VerdictCounts("x", "y", *won, session=0) for won in [(1, 0), (1, 0), (0, 1)] * 100]
    others = [VerdictCounts("x", "y", 1, 0, session=key) for key in range(1, 11)]
    for method in RatingMethod:
        found = rank_models(giant + others, method, draws=50, seed=1)
        assert (found.sessions, found.units.one_holds_most) == (11, True)
        assert found.units.effective == pytest.approx(310**2 / (300**2 + 10))
        assert {(row.low, row.high, row.rank_low) for row in found.models} == {(None, None, None)}
    apart = [replace(row, session=key) for key, row in enumerate(giant + others)]
    assert bradley_terry(apart, draws=50, seed=1).models[0].low is not None


def test_comparisons_of_models_without_a_rating_are_no_units_of_the_others():
    rated = [VerdictCounts("x", "y", *won, session=key // 4) for key, won in enumerate(EVEN * 18)]
    never = [VerdictCounts("top", "x", 1, 0, session=key) for key in range(100, 200)]
    found = bradley_terry(rated + never, draws=50, seed=1)
    assert (found.sessions, found.units.number, found.units.missing) == (109, 9, 1)
    assert {row.low for row in found.models} == {None}


EVEN = [(1, 0), (0, 1)]


def test_ratings_under_a_weak_prior_are_finite_where_comparisons_link():
    """x beat y and y beat z, which nothing holds back but the prior; nothing links w."""
    wins = np.zeros((1, 4, 4))
    wins[0, 0, 1] = wins[0, 1, 2] = 1
    points = weakly_rated(wins)[0]
    assert points[0] > points[1] > points[2]
    assert np.isnan(points).tolist() == [False, False, False, True]
    log_odds = points[:3] * np.log(10) / 400
    gained = 1 / (1 + np.exp(log_odds[0] - log_odds[1]))  # what x did not yet expect to win
    assert gained == pytest.approx(PRIOR * log_odds[0])


def test_win_rates_weigh_verdicts():
    # Two comparisons of x and y with two verdicts each: x wins 3 of 4.
    rate = win_rates([VerdictCounts("x", "y", 2, 0), VerdictCounts("y", "x", 1, 1)])[0]
    assert (rate.model, rate.value, rate.comparisons, rate.verdicts) == ("x", 0.75, 2, 4)
    assert rate.interval is None


@pytest.mark.parametrize("verdicts", [1, 3])
def test_a_win_rate_has_wilsons_interval_where_each_session_holds_one_comparison(verdicts):
    rows = [VerdictCounts("x", "y", *won) for won in [(verdicts, 0)] * 9 + [(0, verdicts)] * 6]
    assert win_rates(rows)[0].interval == wilson(9, 15)
    named = [replace(row, session=key) for key, row in enumerate(rows)]
    assert win_rates(named) == win_rates(rows)


def test_a_win_rates_units_are_sessions():
    rows = [
        VerdictCounts("x", "y", *((0, 1) if key % 3 and key % 4 else (1, 0)), session=key // 4)
        for key in range(120)
    ]
    rows += [VerdictCounts("y", "z", 0.5, 0.5, session=30)]
    by_session = {row.session: 0.0 for row in rows[:-1]}
    for row in rows[:-1]:
        by_session[row.session] += row.wins_a
    rates = {rate.model: rate for rate in win_rates(rows)}
    expected = clustered_wilson(np.array([*by_session.values()]), np.full(30, 4.0))
    assert (rates["x"].interval.low, rates["x"].interval.high) == pytest.approx(
        (expected.low, expected.high)
    )
    assert (rates["z"].value, rates["z"].interval) == (0.5, None)


def test_of_300_battles_of_one_session_and_ten_others_a_win_rate_has_no_interval():
    rows = [
        VerdictCounts("x", "y", *((0, 1) if key % 3 else (1, 0)), session=0) for key in range(300)
    ]
    rows += [VerdictCounts("x", "y", 0, 1, session=key) for key in range(1, 11)]
    # (300 + 10)^2 / (300^2 + 10) = 1.07 effective sessions of eleven.
    assert {rate.interval for rate in win_rates(rows)} == {None}


@given(outcomes)
def test_win_rates_average_to_one_half_weighted_by_verdicts(rows):
    rates = win_rates(rows)
    total = sum(rate.verdicts for rate in rates)
    assert sum(rate.value * rate.verdicts for rate in rates) == pytest.approx(total / 2)


@given(outcomes)
def test_renaming_models_permutes_the_ranking(rows):
    # m1 < m2 < m3 < m4 becomes z3 > z2 > ...: the reverse order of names.
    names = {f"m{number}": f"z{9 - number}" for number in range(1, 5)}
    renamed = [
        VerdictCounts(names[row.model_a], names[row.model_b], row.wins_a, row.wins_b)
        for row in rows
    ]
    before, after = (by_model(bradley_terry(each, draws=0).models) for each in (rows, renamed))
    groups = [row for row in before.values() if row.standing is Standing.RATED]
    if len(groups) == 2 and len(before) == 4:
        return  # two pairs may tie for the rated group; then the first by name is taken
    for model, row in before.items():
        if row.rating is not None:
            assert after[names[model]].rating == pytest.approx(row.rating, abs=1e-5)


@given(outcomes)
def test_the_order_of_the_two_models_in_a_comparison_does_not_matter(rows):
    turned = [VerdictCounts(row.model_b, row.model_a, row.wins_b, row.wins_a) for row in rows]
    assert bradley_terry(turned, draws=20, seed=3) == bradley_terry(rows, draws=20, seed=3)


@given(outcomes)
def test_at_the_fit_expected_wins_are_the_wins(rows):
    ratings = {
        row.model: row.rating
        for row in bradley_terry(rows, draws=0).models
        if row.standing is Standing.RATED
    }
    for model, rating in ratings.items():
        won = expected = 0.0
        for row in rows:
            for one, other, wins in (
                (row.model_a, row.model_b, row.wins_a),
                (row.model_b, row.model_a, row.wins_b),
            ):
                if one == model and other in ratings and other != model:
                    chance = 1 / (1 + 10 ** ((ratings[other] - rating) / 400))
                    won += wins
                    expected += (row.wins_a + row.wins_b) * chance
        assert won == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "mtbench_votes_human.jsonl",
            {
                "gpt-4": 1177.39,
                "claude-v1": 1111.67,
                "gpt-3.5-turbo": 1104.16,
                "vicuna-13b-v1.2": 990.12,
                "alpaca-13b": 867.69,
                "llama-13b": 748.96,
            },
        ),
        (
            "mtbench_votes_gpt4_pair.jsonl",
            {
                "gpt-4": 1314.50,
                "claude-v1": 1171.87,
                "gpt-3.5-turbo": 1091.37,
                "vicuna-13b-v1.2": 970.36,
                "alpaca-13b": 786.35,
                "llama-13b": 665.55,
            },
        ),
    ],
)
def test_mtbench_ratings_are_those_of_fastchat(name, expected):
    # protocols.md 3.5. GPT-4's inconsistent verdicts are ties.
    words = {"model_a": Verdict.A, "model_b": Verdict.B}
    votes = [json.loads(line) for line in shared_data(name).read_text().splitlines()]
    ranking = bradley_terry(
        outcome_of(vote["model_a"], vote["model_b"], [words.get(vote["winner"], Verdict.TIE)])
        for vote in votes
    )
    # Their optimiser stops at a gradient of 1e-6: equal to a hundredth of a point.
    assert {row.model: row.rating for row in ranking.models} == pytest.approx(expected, abs=0.011)
    assert [row.model for row in ranking.models] == list(expected)
    assert all(row.low < row.rating < row.high for row in ranking.models)
    assert ranking.bounded_draws == 1000
