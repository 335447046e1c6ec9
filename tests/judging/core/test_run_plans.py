from __future__ import annotations

import json

from annotation.core.choices import Verdict
from judging.core.runs import (
    COLUMNS,
    AppliedPlan,
    ColumnPlan,
    DistilPlan,
    applied_plans,
    column_plans,
    distil_plans,
)

A, B = Verdict.A, Verdict.B

DISTIL = DistilPlan(
    scenario_id=3,
    scenario="math",
    dev=(1, 2, 3),
    test=(4, 5),
    winners=((1, A), (3, B)),
    shuffled=((1, B), (3, B)),
    dev_ties=1,
    test_winners=((4, A),),
    test_ties=0,
)
APPLIED = AppliedPlan(
    scenario_id=3,
    scenario="math",
    winners=((4, A),),
    ties=1,
    base=10,
    selected=(10, 12),
    shuffled=(14, 12),
    sets={"NONE": 7},
)


def stored(*plans):
    return json.loads(json.dumps({"scenarios": [plan.to_json() for plan in plans]}))


def test_plans_survive_their_configuration():
    assert distil_plans(stored(DISTIL)) == (DISTIL,)
    assert applied_plans(stored(APPLIED)) == (APPLIED,)
    bare = AppliedPlan(scenario_id=1, scenario="x", winners=(), ties=0, base=10)
    assert applied_plans(stored(bare)) == (bare,)


def test_columns_survive_their_configuration():
    plans = (ColumnPlan(3, "NONE", (1, 7, 9)), ColumnPlan(3, "SHUFFLED", (1,)))
    config = json.loads(json.dumps({COLUMNS: [plan.to_json() for plan in plans]}))
    assert column_plans(config) == plans
    assert column_plans({}) == ()


def test_a_configuration_of_another_kind_has_no_plans():
    assert distil_plans({}) == ()
    assert applied_plans({}) == ()


def test_every_preference_is_judged_under_once_the_base_judge_first():
    assert APPLIED.preferences == (10, 12, 14)
    assert AppliedPlan(1, "x", (), 0, base=10).preferences == (10,)
