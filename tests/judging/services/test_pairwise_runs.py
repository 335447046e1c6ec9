from __future__ import annotations

from itertools import pairwise

import pytest

from annotation.core.choices import Verdict
from annotation.core.splits import Pooling
from annotation.models import Comparison, PairwiseLabel
from benchmark.queries.trust import report
from judging.core.rules import Combine, PairwiseSettings
from judging.core.stand_in import exceeds
from judging.models import JudgeRun, Judgment, Preference, PreferenceSet
from judging.queries.configurations import applied_plans, distil_plans
from judging.queries.preferences import run_columns
from judging.queries.runs import distilled_scenarios
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_rater, make_scenario
from tests.judging.study import (
    FakeJudge,
    label_pair,
    make_pair,
    make_study,
    opener_of,
    planned_distillation,
    start_distillation,
    start_test_run,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def distilled(dataset, rater, **settings):
    settings = {"pooling": Pooling.SCENARIO, **settings}
    run = start_distillation(
        dataset=dataset, annotator=rater, judge="lexical", settings=PairwiseSettings(**settings)
    )
    return run_to_end(run.pk, opener=opener_of(FakeJudge()))


def test_every_row_of_a_distillation_is_written_at_once():
    dataset, rater = make_study(scenarios=2, comparisons=6)
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    # Each scenario: 6 comparisons, 3 in dev; 3 pairs + 1 aggregate, and for the control's ten draws
    # 3 pairs, each flipped in one of them, + 10 aggregates.
    assert Preference.objects.filter(run=run).count() == 2 * (4 + 13)
    # 3 comparisons under 1 + 4 + 13 columns in two orders.
    assert Judgment.objects.filter(run=run, status="PENDING").count() == 2 * 3 * 18 * 2
    assert (run.status, run.generation, run.stage) == ("PENDING", 0, "")
    assert run.config["judge"]["judge"] == "lexical"
    assert Preference.objects.filter(kind="EMPTY").count() == 1


def test_calls_of_one_comparison_and_order_stand_together():
    dataset, rater = make_study()
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    rows = list(
        Judgment.objects.filter(run=run).order_by("pk").values_list("comparison_id", "order")
    )
    assert len(set(rows)) == 6
    changes = sum(before != after for before, after in pairwise(rows))
    assert changes == 5


def plans_of(dataset, rater, **asked):
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical", **asked)
    return distil_plans(run.config)


def test_who_labelled_everything_shares_the_split_and_ties_are_test():
    dataset, rater = make_study(comparisons=40)
    everything, some = make_rater(dataset, "bea"), make_rater(dataset, "cyd")
    ties = []
    for number, comparison in enumerate(Comparison.objects.order_by("pk")):
        label_pair(comparison, everything, "B")
        label_pair(comparison, some, "TIE" if number < 10 else "A")
        ties += [comparison.pk] * (number < 10)
    first, second, third = (plans_of(dataset, one)[0] for one in (rater, everything, some))
    assert first.dev == second.dev
    assert len(third.dev) == len(third.winners) == 10
    assert not set(third.dev) & set(ties)
    assert (third.dev_ties, third.test_ties, len(third.test_winners)) == (0, 10, 20)
    assert all(winner is Verdict.A for _, winner in third.winners)
    assert set(first.dev) - set(ties) <= set(third.dev)


def test_where_scenarios_have_few_labels_they_are_learned_from_as_one():
    dataset, rater = make_study(scenarios=3, comparisons=8)
    (plan,) = plans_of(dataset, rater, settings=PairwiseSettings())
    assert (plan.scenario_id, plan.scenario, len(plan.winners)) == (None, "", 10)
    assert len(plan.test_winners) == 14
    by_scenario = PairwiseSettings(pooling=Pooling.SCENARIO)
    assert [len(plan.winners) for plan in plans_of(dataset, rater, settings=by_scenario)] == [4] * 3


def test_a_set_over_all_scenarios_serves_each():
    dataset, rater = make_study(scenarios=3, comparisons=8)
    parent = distilled(dataset, rater, pooling=Pooling.AUTO)
    assert Preference.objects.filter(run=parent, kind="AGGREGATE", scenario=None).count() == 1 + 10
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert (chosen.scenario, chosen.scenario_name) == (None, "all scenarios")
    plans = applied_plans(start_test_run(dataset=dataset, annotator=rater).config)
    assert len(plans) == 3
    assert {plan.sets["NONE"] for plan in plans} == {chosen.pk}
    dev = set(distil_plans(parent.config)[0].dev)
    judged = {key for plan in plans for key, _ in plan.winners}
    assert (len(judged), judged & dev) == (14, set())


def test_labels_that_came_later_are_test_except_beside_a_dev_pair():
    dataset, rater = make_study(comparisons=12)
    parent = distilled(dataset, rater)
    dev = Comparison.objects.get(pk=distil_plans(parent.config)[0].dev[0])
    session = dev.turn.session
    beside = make_pair(session.scenario, session=session)
    later = make_pair(session.scenario)
    for comparison in (beside, later):
        label_pair(comparison, rater)
    (plan,) = applied_plans(start_test_run(dataset=dataset, annotator=rater).config)
    judged = {key for key, _ in plan.winners}
    assert (later.pk in judged, beside.pk in judged) == (True, False)


def test_a_set_no_better_than_the_base_judge_on_held_out_pairs_is_not_used():
    dataset, rater = make_study(comparisons=12)
    parent = distilled(dataset, rater)
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    (before,) = applied_plans(start_test_run(dataset=dataset, annotator=rater).config)
    assert chosen.is_used is exceeds(chosen.leave_one_out, chosen.base_accuracy)
    PreferenceSet.objects.filter(pk=chosen.pk).update(is_used=not chosen.is_used)
    (after,) = applied_plans(start_test_run(dataset=dataset, annotator=rater, again=True).config)
    members = {member.pk for member in chosen.members.all()}
    used, unused = (before, after) if chosen.is_used else (after, before)
    assert set(used.selected) == members
    assert unused.selected == (unused.base,)


def test_the_control_is_distilled_from_flipped_labels():
    dataset, rater = make_study(comparisons=40)
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    plan = distil_plans(run.config)[0]
    assert len(plan.draws) == run.config["control_draws"] == 10
    assert len(set(plan.draws)) > 5  # of 252 halves: two draws may be alike
    for draw in plan.draws:
        assert [one for one, _ in draw] == [one for one, _ in plan.winners]
        assert len(set(draw).difference(plan.winners)) == 5  # exactly half of ten
    # A pair that is flipped in several draws is distilled once; one that is not is not again.
    stored = Preference.objects.filter(run=run, control="SHUFFLED")
    flipped = dict(stored.filter(kind="PAIR").values_list("source_comparison_id", "source_verdict"))
    assert flipped == {one: winner.value for one, winner in plan.flipped}
    assert len(flipped) > 5
    own = set(Preference.objects.filter(run=run, control="NONE").values_list("pk", flat=True))
    base, *_ = (each.preferences[0] for each in run_columns(run, base=0))
    for each in run_columns(run, base=0)[1:]:
        rows = Preference.objects.in_bulk(each.preferences[1:])
        *pairs, last = (rows[key] for key in each.preferences[1:])
        assert (last.kind, last.control, last.draw) == ("AGGREGATE", "SHUFFLED", each.draw)
        assert [(row.source_comparison_id, row.source_verdict) for row in pairs] == [
            (one, winner.value) for one, winner in plan.draws[each.draw]
        ]
        assert sum(row.pk in own for row in pairs) == 5
    assert base == 0


def test_an_endpoint_has_one_draw_of_flipped_labels():
    dataset, rater = make_study(comparisons=40)
    run = planned_distillation(dataset=dataset, annotator=rater, judge=make_endpoint().name)
    plan = distil_plans(run.config)[0]
    assert (run.config["control_draws"], plan.more_shuffled) == (1, ())
    embedded = planned_distillation(dataset=dataset, annotator=rater, judge="lexical")
    assert distil_plans(embedded.config)[0].shuffled == plan.shuffled


def test_every_draw_is_selected_judged_and_averaged():
    dataset, rater = make_study(comparisons=40)
    parent = distilled(dataset, rater, combine=Combine.SUBSET)
    sets = PreferenceSet.objects.filter(run=parent, control="SHUFFLED").order_by("draw")
    assert [one.draw for one in sets] == list(range(10))
    # The null is that of the first: a further one would only cost its time.
    assert [one.p_value is None for one in sets] == [False] + [True] * 9
    (row,) = distilled_scenarios(parent.pk)
    assert row.control_accuracy == pytest.approx(sum(one.dev_accuracy for one in sets) / 10)
    # As if the first preference of each had been selected, the longer's or the shorter's.
    PreferenceSet.objects.filter(run=parent).update(is_used=True)
    for one in sets:
        one.members.set(one.columns[1:2])
    run = run_to_end(
        start_test_run(dataset=dataset, annotator=rater).pk, opener=opener_of(FakeJudge())
    )
    (plan,) = applied_plans(run.config)
    assert [list(draw) for draw in plan.draws] == [
        [key for key in one.columns if key in one.members.values_list("pk", flat=True)]
        for one in sets
    ]
    # Each draw by itself, as if it were the only one, gives the figure's parts.
    found = report(dataset.slug).rows[0]
    alone: list[float] = []
    for draw in plan.draws:
        only = {**run.config["scenarios"][0], "shuffled": list(draw), "more_shuffled": []}
        JudgeRun.objects.filter(pk=run.pk).update(config={**run.config, "scenarios": [only]})
        alone.append(report(dataset.slug).rows[0].shuffled or 0.0)
    assert set(alone) == {0.0, 1.0}
    assert found.shuffled == pytest.approx(sum(alone) / 10)


def test_a_stack_from_shuffled_labels_stands_beside_a_stack():
    dataset, rater = make_study(comparisons=40)
    parent = distilled(dataset, rater)
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert chosen.selection["stands_in"]["choice"] == "STACK"
    sets = PreferenceSet.objects.filter(run=parent, control="SHUFFLED").order_by("draw")
    assert [(one.stack.control, one.stack.draw) for one in sets] == [
        ("SHUFFLED", draw) for draw in range(10)
    ]
    assert chosen.stack.text not in {one.stack.text for one in sets}
    (plan,) = applied_plans(start_test_run(dataset=dataset, annotator=rater).config)
    assert plan.draws == plan.control == tuple((one.stack_id,) for one in sets)


def test_beside_the_base_judge_there_is_no_control():
    dataset, rater = make_study(comparisons=40)
    PairwiseLabel.objects.update(verdict="A")  # now the longer, now the shorter
    parent = distilled(dataset, rater)
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert (chosen.stack, chosen.is_used) == (None, False)
    assert chosen.selection["stands_in"]["choice"] == "BASE"
    assert not PreferenceSet.objects.filter(run=parent, stack__isnull=False).exists()
    (plan,) = applied_plans(start_test_run(dataset=dataset, annotator=rater).config)
    assert (plan.selected, plan.stack, plan.draws) == ((plan.base,), None, ())


def test_without_the_control_there_are_no_shuffled_columns():
    dataset, rater = make_study()
    run = distilled(dataset, rater, shuffled_control=False)
    assert not Preference.objects.filter(run=run, control="SHUFFLED").exists()
    assert PreferenceSet.objects.filter(run=run).count() == 1


def test_a_scenario_nobody_labelled_is_not_in_the_run():
    dataset, rater = make_study()
    make_pair(make_scenario(dataset))
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    assert len(distil_plans(run.config)) == 1


def test_a_scenario_without_a_dev_label_has_no_columns_and_the_base_judge_stands_in():
    dataset, rater = make_study()
    scenario = make_scenario(dataset, name="one pair")
    label_pair(make_pair(scenario), rater)
    run = distilled(dataset, rater)
    lonely = PreferenceSet.objects.get(run=run, scenario=scenario, control="NONE")
    assert lonely.selection["error_code"] == "selection:no-labels"
    assert [member.kind for member in lonely.members.all()] == ["EMPTY"]
    assert (lonely.dev_accuracy, lonely.rows) == (None, [])


def test_asking_twice_gives_the_unfinished_run():
    dataset, rater = make_study()
    first = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    again = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    other = start_distillation(
        dataset=dataset, annotator=rater, judge="lexical", settings=PairwiseSettings(dev_size=2)
    )
    assert (first.pk == again.pk, first.pk == other.pk) == (True, False)
    run_to_end(first.pk, opener=opener_of(FakeJudge()))
    later = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    assert later.pk != first.pk


def test_an_unknown_judge_or_no_label_writes_nothing():
    dataset, _ = make_study()
    nobody = make_rater(dataset, "nobody")
    with refuses("run:no-labels", match="not labelled any comparison"):
        start_distillation(dataset=dataset, annotator=nobody, judge="lexical")
    with refuses("judge:unknown"):
        start_distillation(dataset=dataset, annotator=nobody, judge="none")
    assert not JudgeRun.objects.exists()


def test_an_endpoint_is_described_in_the_run_but_not_its_key():
    dataset, rater = make_study()
    endpoint = make_endpoint(key_variable="LLM_SECRET")
    run = start_distillation(dataset=dataset, annotator=rater, judge=endpoint.name)
    assert run.endpoint == endpoint
    described = run.config["judge"]
    assert (described["judge"], described["model"]) == (endpoint.name, "test-model")
    assert "LLM_SECRET" not in str(run.config)
    assert {name.rpartition(".")[2] for name in described["prompts"]} == {"en", "zh"}


def test_the_test_run_judges_under_the_base_the_selected_and_the_shuffled_set():
    dataset, rater = make_study(comparisons=12)
    parent = distilled(dataset, rater)
    run = start_test_run(dataset=dataset, annotator=rater)
    plan = applied_plans(run.config)[0]
    assert (run.parent, run.judge, run.kind) == (parent, "lexical", "TEST")
    assert plan.winners == distil_plans(parent.config)[0].test_winners
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert chosen.is_used
    assert set(plan.selected or ()) == set(chosen.members.values_list("pk", flat=True))
    assert plan.sets["NONE"] == chosen.pk
    assert Judgment.objects.filter(run=run).count() == 6 * 2 * len(plan.preferences)
    assert start_test_run(dataset=dataset, annotator=rater).pk == run.pk


def test_without_sets_the_base_judge_alone_needs_no_distillation():
    dataset, rater = make_study(comparisons=12)
    run = start_test_run(dataset=dataset, annotator=rater, with_sets=False)
    plan = applied_plans(run.config)[0]
    assert (run.parent, plan.selected, plan.shuffled) == (None, None, None)
    assert Judgment.objects.filter(run=run).count() == 12 * 2


def test_without_sets_nothing_is_withheld():
    dataset, rater = make_study(comparisons=12)
    parent = distilled(dataset, rater, dev_size=2)
    run = start_test_run(dataset=dataset, annotator=rater, with_sets=False)
    assert run.parent == parent
    assert len(applied_plans(run.config)[0].winners) == 12


def test_another_annotators_sets_may_be_tried():
    dataset, rater = make_study(comparisons=12)
    other = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        label_pair(comparison, other, "A")
    parent = distilled(dataset, rater)
    run = start_test_run(dataset=dataset, annotator=other, sets_of=rater)
    assert (run.annotator, run.parent) == (other, parent)
    assert run.config["sets_of"] == rater.username
    assert {winner for _, winner in applied_plans(run.config)[0].winners} == {Verdict.A}


def test_a_distillation_by_the_same_judge_comes_before_a_newer_one():
    dataset, rater = make_study(comparisons=12)
    endpoint = make_endpoint()
    run = start_distillation(dataset=dataset, annotator=rater, judge=endpoint.name)
    own = run_to_end(run.pk, opener=opener_of(FakeJudge()))
    newer = distilled(dataset, rater)
    assert start_test_run(dataset=dataset, annotator=rater, judge=endpoint.name).parent == own
    assert start_test_run(dataset=dataset, annotator=rater).parent == newer
    third = make_endpoint()  # it selected none, and two others did: whose is for people to say
    with refuses("run:which-sets", match="lexical"):
        start_test_run(dataset=dataset, annotator=rater, judge=third.name)


def test_a_test_run_needs_a_distillation_and_a_label():
    dataset, rater = make_study(comparisons=12)
    with refuses("run:not-distilled", match="no preferences have been distilled"):
        start_test_run(dataset=dataset, annotator=rater)
    distilled(dataset, rater)
    with refuses("run:no-labels", match="no label with a winner"):
        start_test_run(dataset=dataset, annotator=make_rater(dataset, "c"), sets_of=rater)
