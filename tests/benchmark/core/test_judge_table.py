from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.judges import MEAN, agreement_records, judge_figures
from benchmark.core.trust import (
    BASE,
    PERSONAL,
    SELECTED,
    SHUFFLED,
    STACK,
    JudgedComparison,
    trust_figures,
)

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


def both(winner):
    return {Order.ORIGINAL: winner, Order.SWAPPED: winner}


def case(key, scenario, *winners, human=A, annotator=0):
    """A case from what was decided alike in both orders: base, selected, shuffled; "" not asked."""
    voices = zip((BASE, SELECTED, SHUFFLED), winners, strict=False)
    decisions = {voice: both(winner) for voice, winner in voices if winner != ""}
    return JudgedComparison(key, scenario, human, decisions, annotator)


def study():
    """Mathematics: base 5 of 10, selected all. Code: base 0 of 30, selected 15."""
    return [
        *(case(key, "Math", A if key < 5 else B, A, A if key < 5 else B) for key in range(10)),
        *(case(key, "Code", B, A if key < 25 else B, B) for key in range(10, 40)),
    ]


def test_scenarios_pool_orders_and_their_mean_counts_each_once():
    found = judge_figures(study(), seed=1)
    assert [
        (each.scenario, each.base.asked.value, each.selected.asked.value, each.gain.value)
        for each in found.cells
    ] == [("Math", 0.5, 1.0, 0.5), ("Code", 0.0, 0.5, 0.5)]
    overall = found.overall
    assert (overall.base.asked.value, overall.selected.asked.value) == (1 / 8, 5 / 8)
    assert overall.base.asked.verdicts == 80
    means = found.means
    assert (means.base.value, means.selected.value, means.gain.value) == (0.25, 0.75, 0.5)
    assert (means.shuffled.value, means.gain_over_shuffled.value) == (0.25, 0.5)
    assert means.base.scenarios == 2
    assert means.gain.interval.low <= 0.5 <= means.gain.interval.high
    # In code the base judge is always wrong: the mean moves by mathematics alone.
    assert 0.0 < means.base.interval.low < 0.25 < means.base.interval.high < 0.5
    assert (means.base.p, means.gain.p < 0.001, overall.gain.p < 0.001) == (None, True, True)


def test_the_figures_are_those_of_the_annotators_page():
    found = judge_figures(study(), seed=7)
    page = trust_figures(study(), [], seed=7)
    assert found.overall.selected.asked == page.overall.selected.agreement
    assert found.overall.gain == page.overall.gain
    assert [each.base.asked for each in found.cells] == [
        each.base.agreement for each in page.scenarios
    ]


def test_what_annotators_said_of_one_comparison_is_drawn_together():
    alone = [case(key, "s", A if key % 2 else B, A) for key in range(40)]
    thrice = [
        case(one.comparison, "s", one.decisions[BASE][Order.ORIGINAL], A, annotator=who)
        for who in (1, 2, 3)
        for one in alone
    ]
    single, pooled = (judge_figures(cases, seed=5).overall for cases in (alone, thrice))
    assert pooled.base.asked.comparisons == single.base.asked.comparisons == 40
    assert pooled.base.asked.verdicts == 3 * single.base.asked.verdicts
    # As wide as from one annotator: two more who say the same add no evidence.
    assert pooled.base.asked.interval == single.base.asked.interval
    assert pooled.gain.interval == single.gain.interval
    assert pooled.gain.comparisons == 40


def test_a_gain_pairs_what_one_annotator_said():
    cases = [
        case(1, "s", A, B, human=A, annotator=1),
        case(1, "s", A, B, human=B, annotator=2),
        case(2, "s", A, "", human=A, annotator=1),
    ]
    assert judge_figures(cases, seed=1).overall.gain.value == 0.0


def test_both_policies_for_unreadable_replies_stand_side_by_side():
    cases = [case(1, "s", A), case(2, "s", None)]
    cell = judge_figures(cases, seed=1).overall
    assert (cell.base.asked.value, cell.base.other.value) == (1.0, 0.5)
    turned = judge_figures(cases, seed=1, policy=InvalidPolicy.WRONG).overall
    assert (turned.base.asked.value, turned.base.other.value) == (0.5, 1.0)


def test_without_verdicts_there_is_no_mean():
    found = judge_figures([case(1, "s", A, human=TIE)], seed=1)
    assert (found.means.base.value, found.means.base.interval) == (None, None)
    assert (found.means.gain.value, found.overall.selected.asked.value) == (None, None)
    nothing = judge_figures([], seed=1)
    assert (nothing.cells, nothing.overall.base.asked.comparisons) == ((), 0)


def test_files_hold_scenarios_all_and_the_mean_under_the_same_columns():
    rows = list(agreement_records({"judge": "lexical"}, judge_figures(study(), seed=1)))
    assert [row["scenario"] for row in rows] == ["Math", "Code", "all", MEAN]
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(rows[0]))}
    assert {row["judge"] for row in rows} == {"lexical"}
    code = rows[1]
    assert (code["n"], code["base"], code["selected"], code["gain"]) == (30, 0.0, 0.5, 0.5)
    assert code["base_wrong"] == 0.0
    assert code["gain_low"] < 0.5 < code["gain_high"]
    assert 0 < code["gain_p"] < 0.001
    assert (rows[-1]["n"], rows[-1]["base"], rows[-1]["base_verdicts"]) == (2, 0.25, None)
    assert rows[-1]["base"] == pytest.approx(0.25)


def test_one_set_counts_whole_beside_others_that_are_averaged():
    alone = [case(key, "s", B, A if key < 5 else None, A) for key in range(12)]
    shares = np.zeros((len(Order), 4))
    shares[:2] = [0.5, 0.5, 0, 0]  # half of the tied sets decided for A
    averaged = [replace(case(key, "s", B, A), shares={SELECTED: shares}) for key in range(20, 32)]
    found = judge_figures([*alone, *averaged], seed=1).overall.selected.asked
    # 5 of the set's own 12 were read, each in two orders, as the other 12.
    assert (found.comparisons, found.verdicts, found.unreadable) == (17, 34, 14)
    assert found.value == (10 + 12) / 34


def test_what_stands_in_has_columns_of_its_own():
    cases = [
        JudgedComparison(key, "s", A, {voice: both(won) for voice, won in said.items()}).own
        for key, said in enumerate([{BASE: B, SELECTED: B, STACK: A}] * 12)
    ]
    selected, own = (judge_figures(cases, seed=1, voice=voice) for voice in (SELECTED, PERSONAL))
    *_cells, whole, mean = agreement_records({}, selected, own)
    assert (whole["selected"], whole["gain"], whole["own"], whole["own_gain"]) == (0, 0, 1, 1)
    assert (mean["own"], mean["own_gain"], mean["own_verdicts"]) == (1, 1, None)
    alone = list(agreement_records({}, selected))[-1]
    assert (alone["own"], alone["own_gain"]) == (0, 0)
