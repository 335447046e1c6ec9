from judging.core.runs import AppliedPlan


def test_without_a_set_no_subset_is_applied():
    plan = AppliedPlan(scenario_id=1, scenario="s", winners=(), ties=0, base=1)
    assert plan.subsets == ()
