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
)

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
