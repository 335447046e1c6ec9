"""Judging again asks for what was edited and for nothing else."""

from __future__ import annotations

import pytest

from annotation.core.splits import Pooling
from annotation.models import Response
from judging.core.rules import PairwiseSettings
from judging.models import Judgment, LlmCall, Preference, PreferenceSet
from judging.queries.configurations import applied_plans, column_plans
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.preference_edits import add_preference, edit_preference, switch_preference
from judging.services.run_requests import finished_like
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import (
    LONGER,
    SHORTER,
    FakeJudge,
    make_study,
    opener_of,
    planned_distillation,
    planned_rejudging,
    start_distillation,
    start_rejudging,
    start_test_run,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

NEW = "This person prefers shorter responses, and says so."


@pytest.fixture
def manager():
    return make_user(role="MANAGER")


@pytest.fixture
def server():
    with FakeLlm(rule="longer") as running:
        yield running


@pytest.fixture
def endpoint(server):
    return make_endpoint(base_url=server.base_url)


def distinct_study():
    """Twenty pairs of different texts: 10 in dev, so 12 columns."""
    dataset, rater = make_study(comparisons=20)
    for response in Response.objects.all():
        response.text = f"{response.text} No {response.pk}."
        response.save()
    return dataset, rater


def distilled(judge, *, opener=None, **study):
    dataset, rater = make_study(**study) if study else distinct_study()
    run = start_distillation(dataset=dataset, annotator=rater, judge=judge)
    return run_to_end(run.pk, **({} if opener is None else {"opener": opener}))


def own(run, **fields):
    rows = Preference.objects.filter(run=run, control="NONE", **fields)
    return rows.order_by("position", "version").first()


def test_one_of_twelve_edited_costs_two_calls_a_dev_comparison(server, endpoint, manager):
    run = distilled(endpoint.name)
    edited = edit_preference(own(run, position=4), text=NEW, editor=manager)
    asked = planned_rejudging(run)
    assert len(column_plans(asked.config)[0].preferences) == 12
    expected = estimate(asked)
    before = server.stats()["calls"]
    again = run_to_end(start_rejudging(run).pk)
    dev = 10
    assert server.stats()["calls"] - before == 2 * dev * 1 == expected.calls
    assert LlmCall.objects.filter(run=again).count() == 2 * dev
    assert (again.status, again.parent) == ("DONE", run)
    # Whole in itself: 12 columns and those of the control, 10 comparisons, both orders. The control
    # has 6 of its own, and the unedited text where it does not flip its pair.
    real, control = (each.preferences for each in column_plans(again.config))
    columns = {*real, *control}
    assert len(columns) == 18 + (own(run, position=4).pk in control)
    assert Judgment.objects.filter(run=again, status="DONE").count() == len(columns) * 10 * 2
    fresh = Judgment.objects.filter(run=again, preference=edited)
    assert set(fresh.values_list("call__run", flat=True)) == {again.pk}


def test_what_stands_is_taken_over_with_its_calls(endpoint, manager):
    run = distilled(endpoint.name)
    edit_preference(own(run, position=4), text=NEW, editor=manager)
    again = run_to_end(start_rejudging(run).pk)
    unedited = own(run, position=5)

    def judged(of):
        return list(
            Judgment.objects.filter(run=of, preference=unedited)
            .order_by("comparison_id", "order")
            .values_list("comparison_id", "order", "verdict", "log_odds", "call_id", "status")
        )

    assert len(judged(run)) == 20
    assert judged(again) == judged(run)


def test_no_question_is_put_twice_to_a_judge_without_an_endpoint(manager):
    first = FakeJudge()
    run = distilled("lexical", opener=opener_of(first), comparisons=20)
    row = own(run, position=1)
    edit_preference(row, text=SHORTER, editor=manager)
    second = FakeJudge()
    again = run_to_end(start_rejudging(run).pk, opener=opener_of(second))
    # The control was distilled from flipped labels, so "shorter" has been judged before.
    assert second.asked == []
    assert again.status == "DONE"
    changed = Preference.objects.filter(previous=row).get()
    newest = edit_preference(changed, text=NEW, editor=manager)
    third = FakeJudge()
    run_to_end(start_rejudging(run).pk, opener=opener_of(third))
    assert [preference for _pair, preference in third.asked] == [NEW] * 20
    edit_preference(newest, text=LONGER, editor=manager)
    fourth = FakeJudge()
    run_to_end(start_rejudging(run).pk, opener=opener_of(fourth))
    assert fourth.asked == []


def test_the_embedded_judge_itself_judges_only_what_changed(manager):
    run = distilled("lexical")
    edit_preference(own(run, position=3), text="Dislikes emoji. Prefers tables.", editor=manager)
    asked = start_rejudging(run)
    assert Judgment.objects.filter(run=asked, status="PENDING").count() == 2 * 10
    again = run_to_end(asked.pk)
    chosen = PreferenceSet.objects.get(run=again, control="NONE")
    assert len(chosen.columns) == 12
    assert again.status == "DONE"


def test_an_edited_column_still_knows_the_pair_it_came_from(manager):
    run = distilled("lexical", opener=opener_of(FakeJudge()), comparisons=20)
    pair, aggregate = own(run, position=4), own(run, kind="AGGREGATE")
    edited = edit_preference(pair, text=NEW, editor=manager)
    joint = edit_preference(aggregate, text=f"{NEW} In all.", editor=manager)
    added = add_preference(run, scenario_id=pair.scenario_id, text=f"{NEW} I say.", editor=manager)
    again = run_to_end(start_rejudging(run).pk, opener=opener_of(FakeJudge()))
    chosen = PreferenceSet.objects.get(run=again, control="NONE")
    before = PreferenceSet.objects.get(run=run, control="NONE")
    sources = dict(zip(chosen.columns, chosen.matrix["column_source"], strict=True))
    was = dict(zip(before.columns, before.matrix["column_source"], strict=True))
    assert sources[edited.pk] == was[pair.pk] == before.rows.index(pair.source_comparison_id)
    assert sources[joint.pk] == was[aggregate.pk] == "all"
    assert sources[added.pk] is None
    assert chosen.columns[0] == before.columns[0]
    assert chosen.rows == before.rows


def test_what_is_switched_off_is_no_column_and_comes_back_without_a_question(manager):
    run = distilled("lexical", opener=opener_of(FakeJudge()), comparisons=20)
    off = switch_preference(own(run, position=2), active=False, editor=manager)
    silent = FakeJudge()
    again = run_to_end(start_rejudging(run).pk, opener=opener_of(silent))
    assert silent.asked == []
    assert len(PreferenceSet.objects.get(run=again, control="NONE").columns) == 11
    draws = PreferenceSet.objects.filter(control="SHUFFLED").order_by("draw")
    before, after = (list(draws.filter(run=each).values_list("columns")) for each in (run, again))
    assert before == after
    assert len(before) == 10
    on = switch_preference(off, active=True, editor=manager)
    once_more = run_to_end(start_rejudging(run).pk, opener=opener_of(silent))
    assert silent.asked == []
    assert on.pk in PreferenceSet.objects.get(run=once_more, control="NONE").columns


def test_a_text_of_ones_own_can_be_selected_and_is_applied_to_the_test_part(manager):
    run = distilled("lexical", opener=opener_of(FakeJudge()), comparisons=20)
    scenario = own(run, position=1).scenario_id
    for row in list(Preference.objects.filter(run=run, kind="PAIR", control="NONE")):
        switch_preference(row, active=False, editor=manager)
    added = add_preference(run, scenario_id=scenario, text="prefers longer, always", editor=manager)
    again = run_to_end(start_rejudging(run).pk, opener=opener_of(FakeJudge()))
    chosen = PreferenceSet.objects.get(run=again, control="NONE")
    # The base judge takes the first shown; the added text is right everywhere.
    assert list(chosen.members.all()) == [added]
    tested = start_test_run(dataset=run.dataset, annotator=run.annotator)
    assert tested.parent == again
    (plan,) = applied_plans(tested.config)
    assert plan.selected == (added.pk,)
    assert len(plan.winners) == 10


def test_what_failed_is_asked_again_and_what_could_not_be_read_is_not(manager):
    run = distilled("lexical", opener=opener_of(FakeJudge()), comparisons=20)
    row = own(run, position=2)
    rows = Judgment.objects.filter(run=run, preference=own(run, kind="AGGREGATE")).order_by("pk")
    # Only the joint text is distilled from several pairs; make it one that nothing else says.
    Preference.objects.filter(pk=own(run, kind="AGGREGATE").pk).update(text="prefers joint")
    failed, unread = rows[0], rows[1]
    Judgment.objects.filter(pk=failed.pk).update(
        status="FAILED", verdict=None, error_code="llm:timeout"
    )
    Judgment.objects.filter(pk=unread.pk).update(
        status="UNPARSEABLE", verdict=None, error_code="verdict:unparseable"
    )
    switch_preference(row, active=False, editor=manager)
    again = start_rejudging(run)
    pending = Judgment.objects.get(run=again, status="PENDING")
    assert (pending.comparison_id, pending.order) == (failed.comparison_id, failed.order)
    assert Judgment.objects.get(run=again, status="UNPARSEABLE").error_code == "verdict:unparseable"


def test_nothing_to_judge_is_said(manager):
    run = distilled("lexical", opener=opener_of(FakeJudge()), comparisons=20)
    with refuses("preference:nothing-changed"):
        planned_rejudging(run)
    edited = edit_preference(own(run, position=1), text=NEW, editor=manager)
    first = start_rejudging(run)
    assert start_rejudging(run).pk == first.pk
    run_to_end(first.pk, opener=opener_of(FakeJudge()))
    with refuses("preference:nothing-changed"):
        start_rejudging(run)
    off = switch_preference(edited, active=False, editor=manager)
    switch_preference(off, active=True, editor=manager)
    with refuses("preference:nothing-changed"):
        start_rejudging(run)


def test_only_a_finished_first_distillation_is_judged_again(manager):
    run = distilled("lexical", opener=opener_of(FakeJudge()), comparisons=20)
    edit_preference(own(run, position=1), text=NEW, editor=manager)
    again = start_rejudging(run)
    with refuses("preference:not-editable"):
        start_rejudging(again)
    run.status = "FAILED"
    run.save()
    with refuses("preference:not-editable"):
        start_rejudging(run)


def test_verdicts_of_another_judge_are_not_mixed_in(endpoint, manager):
    run = distilled(endpoint.name)
    edit_preference(own(run, position=1), text=NEW, editor=manager)
    with refuses("budget:no-prices"):
        start_rejudging(run, budget=1)
    endpoint.model = "another-model"
    endpoint.save()
    with refuses("judge:changed"):
        start_rejudging(run)


def test_an_ablation_never_takes_edited_preferences(manager):
    run = distilled("lexical", comparisons=20)
    edit_preference(own(run, position=1), text="Prefers lists.", editor=manager)
    run_to_end(start_rejudging(run).pk)
    wanted = planned_distillation(
        dataset=run.dataset,
        annotator=run.annotator,
        judge="lexical",
        settings=PairwiseSettings(shuffled_control=False, pooling=Pooling.SCENARIO),
    )
    assert finished_like(wanted) == run


def test_a_budget_needs_no_prices_of_who_distilled_and_is_not_asked_again(manager):
    judge = make_endpoint(input_price="1.0", output_price="2.0")
    run = distilled(judge.name, opener=opener_of(FakeJudge()), comparisons=6)
    run.writer, run.writer_endpoint = "writer", make_endpoint(name="writer")
    run.save()
    edit_preference(own(run, position=1), text=NEW, editor=manager)
    again = start_rejudging(run, budget=1)
    assert (again.writer, again.writer_endpoint) == ("writer", None)
