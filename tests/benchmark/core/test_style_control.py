from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.rank_sets import SCALE
from benchmark.core.ranking import Standing, bradley_terry
from benchmark.core.style_control import (
    PRIOR,
    STYLES,
    StyledOutcome,
    style_counts,
    style_ranking,
)
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", (0, 0, 0)),
        ("Plain.", (0, 0, 0)),
        ("# One\n## Two\n#no heading", (2, 0, 0)),
        ("- a\n* b\n  + c\n1. d\n2) e\n-no", (0, 5, 0)),
        ("1、甲\n2、乙", (0, 2, 0)),
        ("**two** words, __three__, ** none", (0, 0, 2)),
        ("```\n# code\n- x\n**y**\n```\n# Out", (1, 0, 0)),
        ("```\n# never closed", (0, 0, 0)),
    ],
)
def test_layout_is_counted_outside_of_code(text, counts):
    assert style_counts(text) == (len(text), *counts)


def row(a, b, won, style_a=(1, 0, 0, 0), style_b=(1, 0, 0, 0), session=None):
    return StyledOutcome(VerdictCounts(a, b, won, 1 - won, session), style_a, style_b)


def simulated(seed, *, size=600, models=4, beta=(0.8, 0.0, 0.0, 0.0)):
    """Verdicts by known strengths and styles; strong models write more."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-0.6, 0.6, models)
    rows = []
    for place in range(size):
        a, b = rng.choice(models, 2, replace=False)
        styles = [
            (int(rng.integers(100, 900) * (1 + model)), *rng.integers(0, 5, size=3).tolist())
            for model in (a, b)
        ]
        x = [(one - other) / (one + other + 1) for one, other in zip(*styles, strict=True)]
        odds = strengths[a] - strengths[b] + np.dot(beta, x)
        won = float(rng.random() < 1 / (1 + np.exp(-odds)))
        rows.append(row(f"m{a}", f"m{b}", won, *styles, session=place // 2))
    return rows


def test_ratings_and_effects_maximise_the_posterior():
    """Beside scipy's direct minimisation of the penalised loss."""
    from scipy.optimize import minimize

    rows = simulated(1, size=200)
    found = style_ranking(rows, draws=0)
    x = np.array(
        [(np.array(r.style_a) - r.style_b) / (np.add(r.style_a, r.style_b) + 1) for r in rows]
    )
    x /= np.sqrt((x**2).mean(axis=0))
    one, other = (
        np.array([int(getattr(r.outcome, side)[1]) for r in rows])
        for side in ("model_a", "model_b")
    )
    won = np.array([r.outcome.wins_a for r in rows])

    def loss(theta):
        gap = theta[:4][one] - theta[:4][other] + x @ theta[4:]
        return (np.logaddexp(0, -gap) + (1 - won) * gap).sum() + PRIOR / 2 * (theta[4:] ** 2).sum()

    best = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-7}).x
    assert [each.value for each in found.effects] == pytest.approx(best[4:], abs=1e-4)
    ratings = {each.model: each.rating for each in found.ranking.models}
    expected = 1000 + SCALE * (best[:4] - best[:4].mean())
    assert [ratings[f"m{place}"] for place in range(4)] == pytest.approx(expected, abs=0.02)
    assert all(each.interval is None for each in found.effects)


def test_control_takes_away_what_length_alone_won():
    rows = simulated(2, size=1500, beta=(2.0, 0.0, 0.0, 0.0))
    found = style_ranking(rows, seed=1, draws=300)
    plain = {each.model: each.rating for each in bradley_terry([r.outcome for r in rows]).models}
    controlled = {each.model: each for each in found.ranking.models}
    # 1.2 between m3 and m0 in log-odds are 208 points; without control length adds to them.
    assert plain["m3"] - plain["m0"] > 350
    assert controlled["m3"].rating - controlled["m0"].rating == pytest.approx(208, abs=70)
    assert controlled["m3"].low < controlled["m3"].rating < controlled["m3"].high
    length, *others = found.effects
    assert [each.style for each in found.effects] == list(STYLES)
    assert length.interval.low > 0.3
    assert all(each.interval.low < 0 < each.interval.high for each in others)
    assert found.ranking.bounded_draws == found.ranking.draws == 300
    assert found.ranking.above["m3", "m0"] == 1
    assert found == style_ranking(rows, seed=1, draws=300)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_naming_the_responses_the_other_way_round_changes_nothing(seed):
    rows = simulated(seed, size=40)
    turned = [
        StyledOutcome(
            VerdictCounts(r.model_b, r.model_a, r.wins_b, r.wins_a, r.session), style_b, style_a
        )
        for r, style_a, style_b in rows
    ]
    one, other = (style_ranking(each, draws=0) for each in (rows, turned))
    for first, second in zip(one.ranking.models, other.ranking.models, strict=True):
        assert (first.model, first.standing) == (second.model, second.standing)
        assert first.rating == pytest.approx(second.rating, abs=1e-5)
    assert [each.value for each in one.effects] == pytest.approx(
        [each.value for each in other.effects], abs=1e-6
    )


def test_where_all_write_alike_ratings_are_those_without_control():
    rows = [row("x", "y", won, session=place) for place, won in enumerate([1, 1, 1, 0.5, 0] * 8)]
    found = style_ranking(rows, draws=200, seed=3, anchor="y")
    plain = bradley_terry([each.outcome for each in rows], draws=200, seed=3, anchor="y")
    assert {each.model: each.rating for each in found.ranking.models} == pytest.approx(
        {each.model: each.rating for each in plain.models}, abs=1e-4
    )
    assert [(each.value, each.interval) for each in found.effects] == [(None, None)] * 4
    assert found.ranking.models[1].low == pytest.approx(1000)


def test_what_a_draw_cannot_rate_has_an_open_end_as_without_control():
    # z won one of ten: in a third of the draws it never wins.
    rows = [
        row("x", "y", float(place % 2), (9, 0, 0, 0), (5, 0, 0, 0), place) for place in range(40)
    ]
    rows += [
        row("x", "z", float(place != 3), (5, 0, 0, 0), (7, 0, 0, 0), 40 + place)
        for place in range(10)
    ]
    found = style_ranking(rows, draws=300, seed=1)
    models = {each.model: each for each in found.ranking.models}
    assert found.ranking.bounded_draws < 270
    assert (models["z"].low, models["z"].low_unbounded) == (None, True)
    assert models["x"].low < models["x"].rating < models["x"].high


def test_models_that_nobody_can_rate_have_no_effects():
    rows = [row("x", "y", 1.0), row("y", "z", 1.0), row("x", "x", 1.0), row("p", "q", 0.0)]
    found = style_ranking(rows)
    assert found.effects == ()
    assert {each.standing for each in found.ranking.models} == {
        Standing.UNBOUNDED,
        Standing.NOT_COMPARABLE,
    }
    rated = [row("x", "y", 1.0), row("y", "x", 1.0), row("x", "w", 1.0), row("v", "v", 1.0)]
    assert len(style_ranking(rated).ranking.models) == 3
    with refuses("ranking:unknown-anchor"):
        style_ranking(rated, anchor="w")


def test_many_comparisons_are_summed_in_blocks(monkeypatch):
    """Three models: 28 products a comparison, 7 at a time; the tables stay that small."""
    rows = simulated(6, size=100, models=3)
    whole = style_ranking(rows, draws=20, seed=1)
    made = []

    def products(design, upper):
        made.append(design.shape[0])
        return design[:, upper[0]] * design[:, upper[1]]

    monkeypatch.setattr("benchmark.core.style_control._PRODUCTS", 7 * 28)
    monkeypatch.setattr("benchmark.core.style_control._products", products)
    blocks = style_ranking(rows, draws=20, seed=1)
    assert max(made) == 7
    assert [each.value for each in blocks.effects] == pytest.approx(
        [each.value for each in whole.effects], abs=1e-8
    )
    for one, other in zip(blocks.ranking.models, whole.ranking.models, strict=True):
        assert (one.low, one.rating, one.high) == pytest.approx(
            (other.low, other.rating, other.high), abs=0.01
        )


def test_comparisons_of_one_session_are_drawn_together():
    rows = simulated(4, size=60)
    together = [each for each in rows for _ in range(4)]
    apart = [
        each._replace(outcome=replace(each.outcome, session=100 * copy + each.outcome.session))
        for each in rows
        for copy in range(4)
    ]
    one, four = (style_ranking(each, draws=200, seed=5).ranking for each in (together, apart))
    assert (one.sessions, four.sessions) == (30, 120)
    first, second = ({each.model: each for each in ranking.models}["m3"] for ranking in (one, four))
    assert second.rating == pytest.approx(first.rating)
    assert second.high - second.low < 0.7 * (first.high - first.low)
