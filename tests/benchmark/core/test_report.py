from dataclasses import replace

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval, wilson
from annotation.core.quality import HitShare, UndefinedFigure
from benchmark.core.report import adjusted, control_rows, repeats_rows, report_rows
from benchmark.core.trust import (
    BASE,
    LONGER,
    SELECTED,
    SHUFFLED,
    STACK,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
    trust_figures,
)

A, B = Verdict.A, Verdict.B
BOTH = (Order.ORIGINAL, Order.SWAPPED)


def case(key, scenario, base, selected):
    decisions = {BASE: dict.fromkeys(BOTH, base)}
    if selected:
        decisions[SELECTED] = dict.fromkeys(BOTH, selected)
    return JudgedComparison(key, scenario, A, decisions)


def rows(cases, labels=()):
    return list(report_rows("ann", trust_figures(cases, labels, seed=1)))


def test_every_scenario_has_a_row_and_several_have_one_together():
    math = [case(key, "Math", B if key % 2 else A, A) for key in range(2, 12)]
    found = rows([case(1, "Code", A, A), *math])
    assert [(row.scenario, row.n, row.verdicts, row.base, row.selected) for row in found] == [
        ("Code", 1, 2, 1.0, 1.0),
        ("Math", 10, 20, 0.5, 1.0),
        (None, 11, 22, 6 / 11, 1.0),
    ]
    assert (found[0].low, found[0].high, found[0].gain_p) == (None, None, 1.0)  # of one session
    assert found[1].gain == 0.5
    assert (found[1].low, found[1].high) == (pytest.approx(wilson(10, 10).low), 1.0)
    # Five sessions gain, none loses: both ways of all five the same sign, of 2^5.
    assert found[1].gain_p == found[1].gain_p_holm == 2 / 32


def test_the_gains_of_several_annotators_are_adjusted_within_a_scenario():
    def told(name, gaining):
        cases = [case(key, "Code", B if key < gaining else A, A) for key in range(12)]
        return report_rows(name, trust_figures(cases, (), seed=1))

    found = adjusted([*told("a", 7), *told("b", 0), *told("c", 6), *rows([case(1, "Math", B, A)])])
    assert [(row.annotator, row.gain_p) for row in found[:3]] == [
        ("a", 2 / 128),
        ("b", 1.0),
        ("c", 2 / 64),
    ]
    # Of three, the least times three, the next times two; mathematics is a family of its own.
    assert [row.gain_p_holm for row in found] == [6 / 128, 1.0, 4 / 64, 1.0]


def test_a_single_scenario_is_its_own_whole():
    (row,) = rows([case(1, "pandalm", A, B)], [HumanLabel(1, "pandalm", A, Order.SWAPPED)])
    assert (row.scenario, row.human_position_bias) == ("pandalm", -0.5)
    assert (row.shuffled, row.position_bias, row.consistency) == (None, 0.0, 1.0)


def test_without_preferences_the_base_judge_is_described():
    (row,) = rows([case(1, "Code", B, None)])
    assert (row.n, row.base, row.base_low, row.base_high) == (1, 0.0, None, None)
    assert row.gain_p is row.gain_p_holm is None
    assert (row.selected, row.low, row.high, row.gain) == (None, None, None, None)
    assert (row.position_bias, row.consistency) == (0.0, 1.0)


def test_nothing_judged_has_no_rows():
    assert rows([]) == []


def test_controls_stand_beside_each_scenario_and_beside_all_together():
    rubric, bea = Condition(ConditionKind.RUBRIC, "PAIRWISE"), Condition(ConditionKind.OTHER, "bea")
    cases = [
        JudgedComparison(1, "Code", A, {BASE: {Order.ORIGINAL: A}, bea: dict.fromkeys(BOTH, B)}),
        JudgedComparison(
            2, "Math", A, {SHUFFLED: dict.fromkeys(BOTH, None), rubric: {Order.ORIGINAL: A}}
        ),
        JudgedComparison(
            3, "Math", A, {SHUFFLED: dict.fromkeys(BOTH, A), LONGER: {Order.COMBINED: B}}
        ),
    ]
    found = list(control_rows("ann", trust_figures(cases, (), seed=1)))
    assert [(row.scenario, row.control, row.of, row.n, row.value) for row in found] == [
        ("Code", "base", "", 1, 1.0),
        ("Code", "other", "bea", 1, 0.0),
        ("Math", "shuffled", "", 1, 1.0),
        ("Math", "rubric", "PAIRWISE", 1, 1.0),
        ("Math", "longer", "", 1, 0.0),
        (None, "base", "", 1, 1.0),
        (None, "shuffled", "", 1, 1.0),
        (None, "other", "bea", 1, 0.0),
        (None, "rubric", "PAIRWISE", 1, 1.0),
        (None, "longer", "", 1, 0.0),
    ]
    shuffled = found[2]
    assert (shuffled.annotator, shuffled.verdicts, shuffled.unreadable) == ("ann", 2, 2)
    assert (shuffled.low, shuffled.high) == (None, None)


def test_nothing_judged_has_no_controls():
    assert list(control_rows("ann", trust_figures([], (), seed=1))) == []


def test_the_annotator_s_own_repeats_are_a_row_where_there_are_any():
    own = HitShare(9, 12, Interval(0.5, 0.9), None)
    (row,) = repeats_rows("ann", "Code", own)
    assert (row.control, row.of, row.scenario, row.n) == ("repeats", "ann", "Code", 12)
    assert (row.value, row.low, row.high) == (0.75, 0.5, 0.9)
    nothing = HitShare(0, 0, None, UndefinedFigure.NO_REPEATS)
    assert list(repeats_rows("ann", None, nothing)) == []


def test_what_stands_in_is_named_beside_the_selected_set():
    voted = case(1, "Code", B, B)
    voted = JudgedComparison(1, "Code", A, {**voted.decisions, STACK: dict.fromkeys(BOTH, A)})
    (row,) = rows([voted])
    assert (row.stands_in, row.own, row.selected, row.stack) == ("stack", 1.0, 0.0, 1.0)
    assert (row.own_gain, row.own_gain_p, row.gain) == (1.0, 1.0, 0.0)
    (row,) = rows([case(1, "Code", B, A)])
    assert (row.stands_in, row.own, row.own_gain) == ("selected", 1.0, row.gain)
    (row,) = rows([case(1, "Code", B, None)])
    assert (row.stands_in, row.own, row.own_gain) == ("", None, None)


def test_the_base_judge_is_said_to_stand_in_where_it_decided_in_place_of_a_set():
    code = [replace(case(key, "Code", A, A), in_place=True) for key in range(3)]
    math = [case(key, "Math", B, A) for key in range(3, 6)]
    told = [(row.scenario, row.stands_in, row.own) for row in rows([*code, *math])]
    assert told == [("Code", "base", 1.0), ("Math", "selected", 1.0), (None, "selected", 1.0)]
    assert [row.stands_in for row in rows([case(1, "Code", A, None)])] == [""]
