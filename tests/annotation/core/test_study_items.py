from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.assignment import study_order
from annotation.core.choices import StudyKind
from annotation.core.study_items import (
    EVERYTHING,
    ItemChoice,
    Stratum,
    StudyTarget,
    chosen_items,
    in_language,
    inclusion_chances,
    stored_choice,
)

MIXED = "xxxxxxyy"
BOTH = (Stratum.SCENARIO, Stratum.MODELS)


def targets(*scenarios):
    return [
        StudyTarget(number, f"s{number // 3}", f"c{number}", scenario, "en", ("b", "a"))
        for number, scenario in enumerate(scenarios)
    ]


@given(st.lists(st.sampled_from("xyz"), max_size=20), st.none() | st.integers(1, 25))
def test_a_plain_sample_is_the_beginning_of_the_order_of_studies(scenarios, sample):
    known = targets(*scenarios)
    order = study_order((each, each.session, each.key) for each in known)
    assert chosen_items(known, ItemChoice(sample=sample)) == order[:sample]


@given(st.lists(st.sampled_from("xyz"), max_size=20), st.integers(1, 25))
def test_a_balanced_sample_has_equal_numbers_and_keeps_the_order(scenarios, sample):
    known = targets(*scenarios)
    drawn = chosen_items(known, ItemChoice(sample=sample, strata=(Stratum.SCENARIO,)))
    order = chosen_items(known, EVERYTHING)
    assert drawn == [each for each in order if each in drawn]
    counts, offered = Counter(each.scenario for each in drawn), Counter(scenarios)
    least = min((counts[x] for x in offered if counts[x] < offered[x]), default=sample)
    assert max(counts.values(), default=0) <= least + 1


def test_strata_are_the_coarser_first_and_models_are_unordered():
    (target,) = targets("x")
    assert target.strata(BOTH) == ("a | b", "x")
    assert target.strata(()) == ()


def test_languages_filter():
    known = targets("x", "y")
    assert in_language(known, ItemChoice(languages=("zh",))) == []
    assert in_language(known, ItemChoice(languages=("en",))) == known
    assert in_language(known, EVERYTHING) == known


CHOICE = ItemChoice(scenarios=("x",), models=("a",), plan=3, sample=5, strata=BOTH)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (
            StudyKind.PAIRWISE,
            {
                "scenarios": ["x"],
                "models": ["a"],
                "plan": 3,
                "sample": 5,
                "strata": ["SCENARIO", "MODELS"],
            },
        ),
        (StudyKind.SATISFACTION, {"scenarios": ["x"], "sample": 5, "strata": ["SCENARIO"]}),
    ],
)
def test_what_says_something_of_a_kind_is_stored(kind, stored):
    assert CHOICE.of_kind(kind).stored() == stored
    assert EVERYTHING.stored() == {}
    for choice in (EVERYTHING, ItemChoice(models=("m1",), sample=5, strata=BOTH)):
        assert stored_choice(choice.stored()) == choice


def alone(*scenarios, salt=""):
    """Targets that are a session each."""
    return [
        StudyTarget(number, f"{salt}{number}", "c", scenario, "en", ("a", "b"))
        for number, scenario in enumerate(scenarios)
    ]


def chances(known, sample, strata=()):
    choice = ItemChoice(sample=sample, strata=strata)
    drawn = chosen_items(known, choice)
    return drawn, inclusion_chances(known, choice, drawn)


def test_of_a_balanced_sample_a_small_stratum_has_the_higher_chance():
    """Of 6 x and 2 y the sample of 4 takes 2 each: 2/6 and 2/2."""
    drawn, found = chances(alone(*MIXED), 4, (Stratum.SCENARIO,))
    by_scenario = {each.scenario: found[each.target] for each in drawn}
    assert (by_scenario, len(found)) == ({"x": 2 / 6, "y": 1.0}, 4)
    assert chances(alone(*MIXED), None)[1] == dict.fromkeys(range(8), 1.0)
    assert set(chances(alone(*MIXED), 4)[1].values()) == {0.5}


def test_a_stratum_without_a_draw_leaves_no_chances():
    assert chances(alone(*MIXED), 1, (Stratum.SCENARIO,))[1] is None
    assert chances([], 1)[1] == {}


@pytest.mark.parametrize(
    ("sample", "pair", "single"),
    [
        (2, (2 / 3) / 2, 2 / 3),  # two of the three sessions give their first
        (3, 1 / 2, 1.0),  # a full round
        (4, (1 + 1 / 2) / 2, 1.0),  # and half of the second, in which two sessions take part
        (5, 1.0, 1.0),
    ],
)
def test_comparisons_of_one_session_come_in_rounds(sample, pair, single):
    """Two sessions of two comparisons, one of one."""
    known = [
        StudyTarget(number, session, f"c{number}", "x", "en", ("a", "b"))
        for number, session in enumerate("aabbc")
    ]
    drawn, found = chances(known, sample)
    for each in drawn:
        expected = single if each.session == "c" else pair
        assert found[each.target] == pytest.approx(expected)


@pytest.mark.parametrize("strata", [(), (Stratum.SCENARIO,)])
def test_the_chances_are_how_often_a_target_is_drawn(strata):
    """Over 600 orders what is drawn, over its chance, sums to the whole: each target counts 1."""
    sizes, weighed, plain = "aaabbcde", [0.0] * 8, [0.0] * 8
    for order in range(600):
        known = [
            StudyTarget(number, f"{order}{session}", f"c{number}", scenario, "en", ("a", "b"))
            for number, (session, scenario) in enumerate(zip(sizes, "xxxxxxxy", strict=True))
        ]
        if strata:
            known = alone(*"xxxxxxxy", salt=f"{order}-")
        drawn, found = chances(known, 4, strata)
        for each in drawn:
            weighed[each.target] += 1 / found[each.target] / 600
            plain[each.target] += 2 / 600
    assert weighed == pytest.approx([1] * 8, abs=0.25)
    assert max(plain) > 1.5
