from __future__ import annotations

import pytest

from annotation.core.study_rules import (
    ALWAYS,
    UNTOUCHED,
    FaultyRule,
    RuleFault,
    faulty_changes,
    may_become,
)

RULES = dict.fromkeys((*ALWAYS, *UNTOUCHED), 1) | {"overlap": 2}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("DRAFT", "OPEN"),
        ("OPEN", "PAUSED"),
        ("OPEN", "CLOSED"),
        ("PAUSED", "OPEN"),
        ("PAUSED", "CLOSED"),
        ("CLOSED", "OPEN"),
        ("OPEN", "OPEN"),
    ],
)
def test_a_status_that_may_follow(before, after):
    assert may_become(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [("OPEN", "DRAFT"), ("DRAFT", "PAUSED"), ("DRAFT", "CLOSED"), ("CLOSED", "PAUSED")],
)
def test_a_status_that_may_not(before, after):
    assert not may_become(before, after)


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_asked_stays_once_somebody_got_an_item(name):
    changed = {**RULES, name: 0}
    assert faulty_changes(RULES, changed, touched=True) == [FaultyRule(name, RuleFault.TOUCHED)]
    assert faulty_changes(RULES, changed, touched=False) == []


@pytest.mark.parametrize("name", [name for name in ALWAYS if name != "overlap"])
def test_what_concerns_no_answer_may_always_change(name):
    assert faulty_changes(RULES, {**RULES, name: 0}, touched=True) == []


@pytest.mark.parametrize(("overlap", "fine"), [(1, False), (2, True), (3, True)])
def test_the_overlap_only_goes_up(overlap, fine):
    faults = faulty_changes(RULES, {**RULES, "overlap": overlap}, touched=True)
    assert faults == ([] if fine else [FaultyRule("overlap", RuleFault.OVERLAP_DOWN)])
