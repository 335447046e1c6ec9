from __future__ import annotations

from itertools import pairwise

import pytest

from annotation.core.choices import Verdict
from annotation.models import Comparison
from judging.core.rules import PairwiseSettings
from judging.models import JudgeRun, Judgment, Preference, PreferenceSet
from judging.queries.configurations import applied_plans, distil_plans
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_rater, make_scenario
from tests.judging.study import (
    FakeJudge,
    label_pair,
    make_pair,
    make_study,
    opener_of,
    start_distillation,
    start_test_run,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def distilled(dataset, rater, **settings):
    run = start_distillation(
        dataset=dataset, annotator=rater, judge="lexical", settings=PairwiseSettings(**settings)
    )
    return run_to_end(run.pk, opener=opener_of(FakeJudge()))


def test_every_row_of_a_distillation_is_written_at_once():
    dataset, rater = make_study(scenarios=2, comparisons=6)
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    # Each scenario: 6 comparisons, 3 in dev; 3 pairs + 1 aggregate, again for the control.
    assert Preference.objects.filter(run=run).count() == 2 * 2 * 4
    # 3 comparisons under 1 + 4 + 4 columns in two orders.
    assert Judgment.objects.filter(run=run, status="PENDING").count() == 2 * 3 * 9 * 2
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


def test_the_split_is_the_same_for_every_annotator_and_ties_are_left_out():
    dataset, rater = make_study(comparisons=20)
    other = make_rater(dataset, "bea")
    for number, comparison in enumerate(Comparison.objects.order_by("pk")):
        label_pair(comparison, other, "TIE" if number < 4 else "A")
    first, second = (
        distil_plans(start_distillation(dataset=dataset, annotator=one, judge="lexical").config)[0]
        for one in (rater, other)
    )
    assert (first.dev, first.test) == (second.dev, second.test)
    assert len(first.dev) == len(first.winners) == 10
    assert second.dev_ties + second.test_ties == 4
    assert len(second.winners) == 10 - second.dev_ties
    assert all(winner is Verdict.A for _, winner in second.winners)


def test_the_control_is_distilled_from_flipped_labels():
    dataset, rater = make_study(comparisons=40)
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    plan = distil_plans(run.config)[0]
    assert [one for one, _ in plan.shuffled] == [one for one, _ in plan.winners]
    assert plan.shuffled != plan.winners
    stored = Preference.objects.filter(run=run, control="SHUFFLED", kind="PAIR")
    assert dict(stored.values_list("source_comparison_id", "source_verdict")) == {
        comparison: winner.value for comparison, winner in plan.shuffled
    }


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
    assert {one for one, _ in plan.winners} == set(distil_plans(parent.config)[0].test)
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert set(plan.selected or ()) == set(chosen.members.values_list("pk", flat=True))
    assert plan.sets["NONE"] == chosen.pk
    assert Judgment.objects.filter(run=run).count() == 6 * 2 * len(plan.preferences)
    assert start_test_run(dataset=dataset, annotator=rater).pk == run.pk


def test_without_sets_the_base_judge_alone_needs_no_distillation():
    dataset, rater = make_study(comparisons=12)
    run = start_test_run(dataset=dataset, annotator=rater, with_sets=False)
    plan = applied_plans(run.config)[0]
    assert (run.parent, plan.selected, plan.shuffled) == (None, None, None)
    assert Judgment.objects.filter(run=run).count() == 6 * 2


def test_without_sets_a_distillation_still_gives_the_split():
    dataset, rater = make_study(comparisons=12)
    parent = distilled(dataset, rater, dev_size=2)
    run = start_test_run(dataset=dataset, annotator=rater, with_sets=False)
    assert run.parent == parent
    assert len(applied_plans(run.config)[0].winners) == 10


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
    third = make_endpoint()
    assert start_test_run(dataset=dataset, annotator=rater, judge=third.name).parent == newer


def test_a_test_run_needs_a_distillation_and_a_label():
    dataset, rater = make_study(comparisons=12)
    with refuses("run:not-distilled", match="no preferences have been distilled"):
        start_test_run(dataset=dataset, annotator=rater)
    distilled(dataset, rater)
    with refuses("run:no-labels", match="no label with a winner"):
        start_test_run(dataset=dataset, annotator=make_rater(dataset, "c"), sets_of=rater)
