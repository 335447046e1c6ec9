from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.pairing import (
    CandidateText,
    PairingKind,
    PairingRules,
    PossiblePair,
    StoredPair,
    pairs_on_turn,
    planned_pairs,
    rules_named,
)
from tests.refusals import refuses


def texts(*answers):
    """Responses numbered from 1, each as `model:text`."""
    return [
        CandidateText(*answer.split(":")[:1], number, answer.split(":")[1])
        for number, answer in enumerate(answers, start=1)
    ]


def keys(pairs):
    return [(pair.key, pair.a.response, pair.b.response, pair.comparison) for pair in pairs]


def test_first_responses_of_every_two_models_are_compared_by_name():
    found = pairs_on_turn(texts("b:1", "a:2", "a:3", "c:4"), (), cap=1)
    assert keys(found) == [("a | b", 2, 1, None), ("a | c", 2, 4, None), ("b | c", 1, 4, None)]


def test_more_responses_are_compared_up_to_the_cap():
    found = pairs_on_turn(texts("a:1", "a:2", "b:3", "b:4", "b:5"), (), cap=3)
    assert keys(found) == [
        ("a | b", 1, 3, None),
        ("a | b | 1.2", 1, 4, None),
        ("a | b | 2.1", 2, 3, None),
    ]


def test_what_is_stored_comes_first_and_is_not_made_again():
    stored = [
        StoredPair(70, "own", 3, 1),
        StoredPair(71, "b | c", 98, 99),  # other responses, whose key is taken
        StoredPair(72, "same", 1, 4),  # a model with itself
    ]
    found = pairs_on_turn(texts("a:1", "b:2", "c:3", "a:4"), stored, cap=1)
    assert keys(found) == [("own", 3, 1, 70), ("a | b", 1, 2, None)]


def test_equal_pairs_of_texts_collapse_whoever_wrote_them():
    found = pairs_on_turn(texts("a:same", "b:same", "c:other", "d:third"), (), cap=1)
    assert [pair.key for pair in found] == ["a | c", "a | d", "c | d"]  # a and b say the same


def test_keys_stay_apart_where_names_run_together():
    answers = texts("a:1", "a | b:2", "b | c:3", "c:4")
    made = list(pairs_on_turn(answers, (), cap=1))
    assert len({pair.key for pair in made}) == len(made) == 6
    clear = next(pair for pair in made if pair.key == "a | b | c")
    stored = StoredPair(70, clear.key, clear.a.response, clear.b.response)
    again = pairs_on_turn(answers, [stored], cap=1)
    assert {pair.key for pair in again} == {pair.key for pair in made}


def test_keys_of_long_names_are_hashed():
    (pair,) = pairs_on_turn(texts(f"{'m' * 200}1:1", f"{'m' * 200}2:2"), (), cap=1)
    assert len(pair.key) == 32


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("all", (PairingKind.ALL, "", None)),
        ("adaptive", (PairingKind.ADAPTIVE, "", None)),
        ("anchor:gpt: 4", (PairingKind.ANCHOR, "gpt: 4", None)),
        ("sample:12", (PairingKind.SAMPLE, "", 12)),
    ],
)
def test_an_argument_names_a_plan(word, named):
    assert rules_named(word) == named


@pytest.mark.parametrize(
    "word", ["", "anchor", "anchor:", "sample:", "sample:x", "ALL", "some", "sample:" + "9" * 5000]
)
def test_no_other_argument_does(word):
    with refuses("pairing:plan", match="all, anchor:MODEL, sample:N or adaptive"):
        rules_named(word)


@pytest.mark.parametrize(
    "rules",
    [
        {"cap": 0},
        {"kind": PairingKind.SAMPLE},
        {"kind": PairingKind.SAMPLE, "size": 0},
        {"kind": PairingKind.ANCHOR},
    ],
)
def test_what_no_plan_can_be_is_refused(rules):
    with refuses("pairing:plan"):
        PairingRules(**rules)


def test_filters_are_stored_sorted_and_only_where_they_filter():
    assert PairingRules(both_models=True).selection() == {}
    rules = PairingRules(models=("b", "a"), both_models=True, scenarios=("x",))
    assert rules.selection() == {"models": ["a", "b"], "both_models": True, "scenarios": ["x"]}
    assert (rules.admits("a", "b"), rules.admits("a", "c")) == (True, False)
    assert PairingRules(models=("a",)).admits("a", "c")
    assert PairingRules().admits("a", "c")


def possible(models, turns, scenarios=1):
    return [
        PossiblePair(
            turn, f"s{turn}", 0, f"x{turn % scenarios}", pair, 0, 0, " | ".join(pair), None
        )
        for turn in range(turns)
        for pair in combinations("abcdef"[:models], 2)
    ]


def test_all_and_an_anchor():
    pairs = possible(3, 2)
    assert planned_pairs(pairs, PairingRules()) == pairs
    anchored = planned_pairs(pairs, PairingRules(kind=PairingKind.ANCHOR, anchor="b"))
    assert [pair.models for pair in anchored] == [("a", "b"), ("b", "c")] * 2
    unknown = PairingRules(kind=PairingKind.ANCHOR, anchor="z")
    with refuses("pairing:unknown-anchor"):
        planned_pairs(pairs, unknown)
    assert planned_pairs([], unknown, planned=pairs) == []


@given(st.integers(2, 6), st.integers(1, 12), st.integers(1, 60), st.integers(0, 9))
def test_a_sample_is_balanced_over_models_and_can_be_filled_up(models, turns, size, seed):
    pairs = possible(models, turns, scenarios=2)
    rules = PairingRules(kind=PairingKind.SAMPLE, size=size, seed=seed)
    drawn = planned_pairs(pairs, rules)
    assert len(set(drawn)) == min(size, len(pairs))
    assert set(planned_pairs(pairs[::-1], rules)) == set(drawn)
    by_models = Counter(pair.models for pair in drawn)
    counts = [by_models[each] for each in combinations("abcdef"[:models], 2)]
    assert max(counts) - min(counts) <= 1
    half, rest = drawn[: size // 2], [pair for pair in pairs if pair not in drawn[: size // 2]]
    assert len(half) + len(planned_pairs(rest, rules, planned=half)) == len(drawn)


def test_a_sample_looks_at_no_label_and_at_no_stored_comparison():
    pairs = possible(3, 8)
    rules = PairingRules(kind=PairingKind.SAMPLE, size=5)
    stored = [pair._replace(comparison=place) for place, pair in enumerate(pairs)]
    keys_of = [
        [(each.turn, each.key) for each in planned_pairs(of, rules)] for of in (pairs, stored)
    ]
    assert keys_of[0] == keys_of[1]
