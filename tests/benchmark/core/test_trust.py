from dataclasses import replace

import pytest

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.trust import (
    BASE,
    FIRST,
    LONGER,
    SELECTED,
    SHORTER,
    SHUFFLED,
    STACK,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
    TrustFinding,
    trust_figures,
)

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
SOMEBODY = Condition(ConditionKind.OTHER, "somebody")


def both(winner):
    return {Order.ORIGINAL: winner, Order.SWAPPED: winner}


def cases(*groups):
    """Cases in which the human says A, from (times, base, selected, shuffled); None: not asked."""
    made = []
    for times, *winners in groups:
        for _ in range(times):
            voices = zip((BASE, SELECTED, SHUFFLED), winners, strict=True)
            decisions = {voice: both(winner) for voice, winner in voices if winner}
            made.append(JudgedComparison(len(made), f"scenario {len(made) % 2}", A, decisions))
    return made


def finding(*groups):
    return trust_figures(cases(*groups), [], seed=1).finding


@pytest.mark.parametrize(
    ("expected", "groups"),
    [
        (TrustFinding.NOTHING, []),
        (TrustFinding.NOTHING, [(5, None, None, None)]),
        (TrustFinding.NOT_SELECTED, [(20, A, None, None)]),
        (TrustFinding.BETTER, [(30, A, A, A), (30, B, A, A), (5, A, B, B)]),
        (TrustFinding.ALIKE, [(50, A, A, A), (9, B, A, A), (8, A, B, B)]),
        (TrustFinding.WORSE, [(50, A, A, A), (25, A, B, B)]),
        (TrustFinding.CHANCE, [(20, A, A, A), (20, A, B, B)]),
        (TrustFinding.AGAINST, [(5, A, A, A), (40, A, B, B)]),
        (TrustFinding.ALIKE, [(30, None, A, None)]),
    ],
)
def test_the_answer_follows_from_the_intervals(expected, groups):
    assert finding(*groups) is expected


def test_figures_stand_beside_their_controls():
    rows = cases((30, B, A, A), (10, A, A, B))
    rows.append(JudgedComparison(99, "scenario 0", A, {SOMEBODY: both(B)}))
    labels = [HumanLabel(1, "scenario 0", A, Order.ORIGINAL), HumanLabel(2, "elsewhere", B, None)]
    figures = trust_figures(rows, labels, seed=1)
    assert figures.overall.selected.agreement.value == 1
    assert figures.overall.base.agreement.value == 0.25
    assert figures.overall.gain.value == 0.75
    assert figures.overall.gain_over_shuffled.value == 0.25
    assert [(each.voice, each.agreement.comparisons) for each in figures.overall.others] == [
        (SOMEBODY, 1)
    ]
    assert (figures.overall.human.verdicts, figures.overall.human.unknown) == (1, 1)
    assert [each.human.verdicts for each in figures.scenarios] == [1, 0]


def test_the_best_rule_is_the_one_that_agrees_most_on_as_much():
    def figures(*rules):
        rows = cases((4, A, A, A), (2, A, B, A))
        said = [{voice: {Order.COMBINED: won} for voice, won in each} for each in rules]
        said += [{}] * (len(rows) - len(said))
        made = [
            replace(row, decisions={**row.decisions, **more})
            for row, more in zip(rows, said, strict=True)
        ]
        return trust_figures(made, [], seed=1).overall

    found = figures(*[((LONGER, A), (SHORTER, B))] * 5, ((LONGER, A), (SHORTER, B), (FIRST, A)))
    assert found.best_rule.voice == LONGER  # FIRST decided once
    thin = [each.voice for each in found.others if each.is_thin(found.result.agreement)]
    assert thin == [FIRST]
    found = figures(*[((LONGER, B), (SHORTER, TIE))] * 6)
    assert found.best_rule.voice == SHORTER
    assert figures().best_rule is None
    alone = trust_figures(cases((3, A, None, None)), [], seed=1).overall
    assert alone.result.voice == BASE


def test_each_scenario_has_its_own_figures():
    figures = trust_figures(cases((3, B, A, A)), [], seed=1)
    assert [each.scenario for each in figures.scenarios] == ["scenario 0", "scenario 1"]
    assert [each.selected.agreement.comparisons for each in figures.scenarios] == [2, 1]
    assert [each.gain.value for each in figures.scenarios] == [1, 1]


def test_both_policies_are_computed_whichever_is_asked():
    rows = [JudgedComparison(1, "s", A, {SELECTED: {Order.ORIGINAL: A, Order.SWAPPED: None}})]
    excluded = trust_figures(rows, [], seed=1).overall.selected
    assert (excluded.agreement.value, excluded.other_policy.value) == (1, 0.5)
    wrong = trust_figures(rows, [], seed=1, policy=InvalidPolicy.WRONG).overall.selected
    assert (wrong.agreement.value, wrong.other_policy.value) == (0.5, 1)


def test_cases_without_a_decision_of_a_voice_are_not_its_cases():
    rows = [JudgedComparison(1, "s", A, {BASE: {}}), JudgedComparison(2, "t", TIE, {BASE: both(A)})]
    figures = trust_figures(rows, [], seed=1)
    assert (figures.overall.base.agreement.ties, figures.overall.base.agreement.comparisons) == (
        1,
        0,
    )
    assert [each.scenario for each in figures.scenarios] == ["s", "t"]
    assert [each.base.agreement.ties for each in figures.scenarios] == [0, 1]


def test_by_l_star_agreement_is_of_the_one_verdict_and_bias_of_each_order():
    rows = [
        JudgedComparison(
            key,
            "s",
            A,
            {BASE: both(A), SHUFFLED: both(B)},
            shown={BASE: {Order.ORIGINAL: A, Order.SWAPPED: B}},
        )
        for key in range(5)
    ]
    overall = trust_figures(rows, [], seed=1).overall
    assert overall.base.agreement.value == 1
    assert (overall.base.position.value, overall.base.consistency.value) == (0.5, 0.0)
    assert overall.shuffled.agreement.value == 0


def stacked(*groups):
    """Cases in which the human says A, from (times, base, selected, stack)."""
    made = []
    for times, *winners in groups:
        for _ in range(times):
            voices = zip((BASE, SELECTED, STACK), winners, strict=True)
            decisions = {voice: both(winner) for voice, winner in voices if winner}
            made.append(JudgedComparison(len(made), "Code", A, decisions))
    return trust_figures(made, [], seed=1)


def test_the_answer_is_of_what_stands_in_and_the_selected_set_stays_beside_it():
    # The set agrees on none of 40, the vote on all, the base judge on 10.
    found = stacked((30, B, B, A), (10, A, B, A))
    assert found.finding is TrustFinding.BETTER
    overall = found.overall
    assert (overall.own.voice, overall.own.agreement.value) == (STACK, 1.0)
    assert (overall.own_gain.value, overall.gain.value) == (0.75, -0.25)
    assert overall.selected.agreement.value == 0.0
    assert [each.voice for each in overall.others] == [STACK]


def test_where_no_vote_was_learned_the_selected_set_stands_in():
    overall = stacked((5, B, A, A), (5, B, A, None)).overall
    assert (overall.own.voice, overall.own.agreement.comparisons) == (STACK, 10)
    overall = stacked((10, B, A, None)).overall
    assert (overall.own.voice, overall.own.agreement) == (SELECTED, overall.selected.agreement)
    assert overall.own_gain == overall.gain
