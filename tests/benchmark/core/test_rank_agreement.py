from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.rank_agreement import (
    AnnotatorRankings,
    annotator_rankings,
    groups_alike,
    kendall,
    leader,
    orders,
    read_reference,
    reference_agreement,
    spearman,
)
from benchmark.core.ranking import RatingMethod, bradley_terry, rank_models, win_rates
from tests.refusals import refuses

scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7)


@given(scores)
def test_both_are_those_of_scipy(pairs):
    from scipy.stats import kendalltau, spearmanr

    one, other = (np.array([column], dtype=float) for column in zip(*pairs, strict=True))
    found = [measure(orders(one, one), orders(other, other))[0] for measure in (kendall, spearman)]
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert np.isnan(found).all()
    else:
        expected = [kendalltau(one[0], other[0]).statistic, spearmanr(one[0], other[0]).statistic]
        assert found == pytest.approx(expected)


def games(*results, session=0):
    """Outcomes from (winner, loser, times), each of a session of its own."""
    pairs = [(one, other) for one, other, times in results for _ in range(times)]
    return [
        VerdictCounts(one, other, 1, 0, session + place) for place, (one, other) in enumerate(pairs)
    ]


CLEAR = [
    ("a", "b", 14),
    ("b", "a", 6),
    ("b", "c", 14),
    ("c", "b", 6),
    ("a", "c", 16),
    ("c", "a", 4),
]


def test_a_ranking_is_held_against_a_reference():
    ranking = bradley_terry(games(*CLEAR), draws=400, seed=1)
    same = reference_agreement(ranking, {"a": 3, "b": 2, "c": 1, "unknown": 9})
    assert (same.models, same.kendall, same.spearman) == (3, 1, 1)
    assert same.kendall_interval.low < 1
    assert same.kendall_interval.high == 1
    turned = reference_agreement(ranking, {"a": 1, "b": 2, "c": 3})
    assert (turned.kendall, turned.spearman) == (-1, -1)
    # a > b > c against b > a > c: one of three pairs turned, 1/3; ranks 1 - 6 * 2 / 24 = 1/2.
    swapped = reference_agreement(ranking, {"b": 3, "a": 2, "c": 1})
    assert (swapped.kendall, swapped.spearman) == pytest.approx((1 / 3, 1 / 2))
    assert reference_agreement(ranking, {"a": 1, "b": 1, "c": 1}).kendall is None
    assert reference_agreement(ranking, {"a": 1, "b": 2}) is None
    shares = rank_models(games(*CLEAR)[::7], RatingMethod.WIN_RATE, draws=400)
    alone = reference_agreement(shares, {"a": 3, "b": 2, "c": 1})
    assert alone.kendall is not None
    assert alone.kendall_interval is None


def test_scores_of_a_reference_that_hardly_differ_are_told_apart():
    ranking = bradley_terry(games(*CLEAR), draws=0, seed=1)
    assert reference_agreement(ranking, {"a": 3e-9, "b": 2e-9, "c": 1e-9}).kendall == 1


def test_models_that_draws_do_not_tell_apart_are_one_group():
    rows = games(("a", "b", 18), ("b", "a", 2), ("b", "c", 11), ("c", "b", 9))
    found = bradley_terry(rows, draws=200, seed=1)
    assert groups_alike(found) == (("a",), ("b", "c"))
    assert groups_alike(replace(found, ahead=frozenset())) == (("a", "b", "c"),)
    # Each is close to the next, and the first is yet surely ahead of the last.
    chain = frozenset({("a", "c")})
    assert groups_alike(replace(found, ahead=chain)) == (("a", "b"), ("c",))
    assert groups_alike(bradley_terry([], draws=0, seed=1)) == ()


def leads(outcomes):
    rates = {rate.model: rate for rate in win_rates(outcomes)}
    return leader(bradley_terry(outcomes, draws=200, seed=1), rates)


def test_who_never_lost_leads_and_not_the_best_of_the_rest():
    rest = games(("b", "c", 12), ("c", "b", 3), session=100)
    assert leads(games(("a", "b", 10), ("a", "c", 10)) + rest) == ("a", None, None, True)
    assert leads(games(("a", "b", 1)) + rest) == ("a", None, None, False)
    assert leads(games(("a", "b", 10), ("d", "c", 10)) + rest) is None  # who of the two?
    assert leads(games(("a", "b", 3))) is None
    assert leads([]) is None


def test_a_leader_is_clearly_above_all_others():
    found = bradley_terry(games(*CLEAR), draws=20, seed=1)
    sure = replace(found, above={("a", "b"): 0.97, ("a", "c"): 0.96, ("b", "c"): 0.5})
    for last in (1, 2):
        first = replace(found.models[0], rank_high=last)
        told = leader(replace(sure, models=(first, *found.models[1:])), {})
        assert told == ("a", "c", 0.96, last == 1)
    assert leader(replace(found, above={}), {}) is None


def test_annotators_are_held_against_one_another():
    others = {"a": "c", "b": "b", "c": "a"}
    turned = [(others[one], others[other], times) for one, other, times in CLEAR]
    found = annotator_rankings(
        {"ann": games(*CLEAR), "bob": games(*turned), "cid": games(*CLEAR, session=10)},
        seed=1,
        draws=200,
    )
    assert [(row.annotator, row.models) for row in found.rows] == [
        ("ann", ("a", "b", "c")),
        ("bob", ("c", "b", "a")),
        ("cid", ("a", "b", "c")),
    ]
    assert (found.pairs["ann", "cid"].kendall, found.pairs["ann", "bob"].kendall) == (1, -1)
    assert found.pairs["ann", "bob"].kendall_interval.high < 1
    ann = found.rows[0]
    assert (ann.comparisons, ann.sessions) == (60, 60)
    assert ann.first > 0.9
    # Together bob and cid are even: that is no order.
    assert (ann.others.models, ann.others.kendall) == (3, None)
    assert (found.few, found.more) == ((), ())
    assert found.at_odds == {"a": ("ann", "cid"), "c": ("bob",)}
    assert found._replace(rows=(ann, found.rows[2])).at_odds == {}
    unsure = ann._replace(first=None)
    assert found._replace(rows=(unsure, found.rows[1])).at_odds == {}


def test_all_others_are_those_without_a_row_too(monkeypatch):
    """dan says the opposite of ann but is left out of the table; few sessions give no interval."""
    turned = [(other, one, times) for one, other, times in CLEAR]
    monkeypatch.setattr("benchmark.core.rank_agreement.MOST_ANNOTATORS", 1)
    cast = {"ann": games(*CLEAR), "dan": games(*turned)[:58], "few": games(("a", "b", 2))}
    (ann,) = annotator_rankings(cast, seed=1, draws=50).rows
    assert (ann.others.models, ann.others.kendall) == (3, -1)
    assert ann.others.kendall_interval is not None
    fewer = [row for row in games(*turned) if row.session % 20 == 0]
    apart = [replace(row, session=place % 5) for place, row in enumerate(fewer * 4)]
    (ann,) = annotator_rankings({"ann": games(*CLEAR), "few": apart}, seed=1, draws=50).rows
    assert ann.others.kendall == -1
    assert ann.others.kendall_interval is None


def test_an_annotator_s_equal_models_share_their_place():
    """ann holds a and b equal, and c below; tie holds all equal."""
    fought = [
        VerdictCounts(one, other, won, 1 - won, place)
        for place in range(12)
        for one, other, won in (("a", "b", 0.5), ("a", "c", 1), ("b", "c", 1))
    ]
    even = [replace(row, wins_a=0.5, wins_b=0.5) for row in fought]
    ann, tie = annotator_rankings({"ann": fought, "tie": even}, seed=1, draws=20).rows
    assert (ann.models, ann.ranks, ann.first) == (("a", "b", "c"), (1, 1, 3), None)
    assert (ann.told(">"), tie.told(">")) == ("a = b > c", "a = b = c")
    (clear,) = annotator_rankings({"ann": games(*CLEAR)}, seed=1, draws=0).rows
    assert (clear.told("›"), clear.first) == ("a › b › c", None)


def test_annotators_with_little_to_say_are_named():
    ties = [VerdictCounts("a", "a", 1, 0, place) for place in range(30)]
    found = annotator_rankings(
        {
            "ann": games(*CLEAR),
            "few": games(*CLEAR)[:9],
            "two": games(("a", "b", 10), ("b", "a", 5)),
            "nobody": ties,
        },
        seed=1,
        draws=50,
    )
    assert [row.annotator for row in found.rows] == ["ann"]
    assert found.rows[0].others is None
    assert (found.pairs, found.few) == ({}, ("few", "nobody", "two"))
    assert annotator_rankings({}, seed=1) == AnnotatorRankings((), {}, (), ())


def test_of_very_many_annotators_those_with_most_are_kept(monkeypatch):
    monkeypatch.setattr("benchmark.core.rank_agreement.MOST_ANNOTATORS", 2)
    apart = [("p", "q", 8), ("q", "p", 8), ("q", "r", 8), ("r", "q", 4)]
    found = annotator_rankings(
        {
            "ann": games(*CLEAR),
            "bob": games(*CLEAR)[:40],
            "cid": games(*apart),
            "dan": games(*CLEAR),
        },
        seed=1,
        draws=20,
    )
    assert [row.annotator for row in found.rows] == ["ann", "dan"]
    assert found.more == ("bob", "cid")
    monkeypatch.undo()
    apart = annotator_rankings({"ann": games(*CLEAR), "cid": games(*apart)}, seed=1, draws=20)
    assert apart.pairs == {}
    assert [row.others for row in apart.rows] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 3, "y": 2.5, "z": -1}',
        '[{"model": "x", "score": 3}, {"model": "y", "score": "2.5"}, {"model": "z", "score": -1}]',
        "model,score\nx,3\ny,2.5\nz,-1\n",
        '{" x ": 3, "y": 2.5, "z": -1}',
        "\ufeffscore,other,model\r\n3,,x\r\n2.5,,y\r\n-1,, z\r\n",
    ],
)
def test_references_in_all_layouts(text):
    assert read_reference(text) == {"x": 3, "y": 2.5, "z": -1}


def test_of_ranks_the_lower_is_the_better():
    assert read_reference("model,rank\nx,1\ny,2\nz,3") == {"x": -1, "y": -2, "z": -3}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "fewer than three"),
        ("model,score\nx,1\ny,2", "fewer than three"),
        ("model,score\nx,1\ny,2\nx,3", "names a model twice"),
        ("name,score\nx,1", "expected columns model and score, or rank: 'model'"),
        ("model,score\n,1", "'' is no model's name"),
        ("model,score\nx,high", "could not convert"),
        ("model,score\nx,nan", "'nan' is not a number"),
        ("model,score\nx", "None is not a number"),
        ('{"x": [1]}', r"\[1\] is not a number"),
        ('{"x": 1', "expected columns"),
        ("[1]", "expected columns"),
        (f'{{"x": 1{"0" * 400}, "y": 2, "z": 3}}', "too large"),
        ('{"x": 1, "x": 2, "y": 2, "z": 3}', "'x' stands twice"),
        ('{"x": 1, " x": 2, "y": 2, "z": 3}', "names a model twice"),
        ('{" ": 1, "y": 2, "z": 3}', "' ' is no model's name"),
    ],
)
def test_what_is_no_reference_is_refused(text, problem):
    with refuses("reference:invalid", match=problem):
        read_reference(text)
