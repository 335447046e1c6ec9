"""A weighted vote of a judge that is asked by prompts: learned without each pair, then applied."""

from __future__ import annotations

import math

import pytest

from annotation.core.splits import Pooling
from benchmark.queries.trust import report
from judging.core.questions import PairAnswer
from judging.core.rules import Combine, PairwiseSettings, StackWay
from judging.core.verdicts import VerdictRule
from judging.models import Judgment, LlmCall, Preference, PreferenceSet
from judging.queries.configurations import applied_plans
from judging.services import applications
from judging.services.applications import combine_ways
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.run_control import reset_failed
from judging.services.selections import select_preferences
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import (
    LONGER,
    FakeJudge,
    make_study,
    opener_of,
    planned_distillation,
    start_distillation,
    start_test_run,
)

pytestmark = pytest.mark.django_db

STACKED = PairwiseSettings(combine=Combine.STACK, pooling=Pooling.SCENARIO)


def distilled(judge=None, *, settings=STACKED, comparisons=8, **endpoint):
    """Eight pairs, four of them dev, by a fake judge behind an endpoint's name."""
    dataset, rater = make_study(comparisons=comparisons)
    given = {"dataset": dataset, "annotator": rater, "judge": make_endpoint(**endpoint).name}
    parent = start_distillation(**given, settings=settings)
    return given, run_to_end(parent.pk, opener=opener_of(judge or FakeJudge()))


def judged(given, judge=None):
    return run_to_end(start_test_run(**given).pk, opener=opener_of(judge or FakeJudge()))


def weights_of(parent):
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    return {way: weight for way, weight, _members in chosen.selection["ways"]}


def test_weights_come_from_what_each_way_foretold_of_pairs_left_out():
    given, parent = distilled()
    # The base judge names the first in both orders: z = 0 on four pairs, L = 4 log(1/2) + 2.
    # What is distilled says "longer", which is right in both orders: z = log 4, L = 4 log(4/5).
    base, way = math.e**2 / 16, 0.8**4
    total = base + 2 * way
    assert weights_of(parent) == pytest.approx(
        {"BASE": base / total, "AGGREGATE": way / total, "SELECTED": way / total}
    )
    held_out = Preference.objects.filter(run=parent, kind="HELD_OUT", control="NONE")
    assert set(held_out.values_list("text", flat=True)) == {LONGER}
    # Each is judged on the pair that it was distilled without, in both orders, and on no other.
    for row in held_out:
        cells = Judgment.objects.filter(run=parent, preference=row)
        assert set(cells.values_list("comparison_id", "order")) == {
            (row.source_comparison_id, "ORIGINAL"),
            (row.source_comparison_id, "SWAPPED"),
        }
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert chosen.stack.text.splitlines()[1] == f"{100 * base / total:.1f} the base judge"
    assert len(chosen.columns) == 6  # those left out are no columns

    run = judged(given)
    (plan,) = applied_plans(run.config)
    assert plan.stack not in plan.preferences
    # The longer is A in half of them: .3 by each distilled way, nothing by the base judge.
    log_odds = math.log((0.5 + 0.6 * way / total) / (0.5 - 0.6 * way / total))
    rows = Judgment.objects.filter(run=run, preference=plan.stack).order_by("comparison_id")
    assert rows.count() == 2 * 4
    for row in rows.select_related("comparison__response_a"):
        sign = 1 if "thorough" in row.comparison.response_a.text else -1
        assert (row.verdict, row.status) == ("A" if sign > 0 else "B", "DONE")
        assert row.log_odds == pytest.approx(sign * log_odds)
    (found,) = report(given["dataset"].slug).rows
    assert (found.base, found.selected, found.stack) == (0.5, 1.0, 1.0)


def test_l_star_is_what_foretells_where_letters_are_read():
    settings = PairwiseSettings(
        combine=Combine.STACK, pooling=Pooling.SCENARIO, verdict_rule=VerdictRule.LOGPROB
    )
    given, parent = distilled(settings=settings, has_logprobs=True)
    # The fake judge's log-odds are 1.5 for what it names: l* of the base judge is 0.
    base, way = math.e**2 / 16, (1 / (1 + math.exp(-1.5))) ** 4
    assert weights_of(parent)["BASE"] == pytest.approx(base / (base + 2 * way))
    judged(given)
    (found,) = report(given["dataset"].slug).rows
    assert found.stack == 1.0


def test_what_failed_and_is_asked_again_changes_the_vote_and_what_cannot_be_read_is_none():
    given, _parent = distilled()
    silent = FakeJudge(
        answer=lambda _pair, _preference: PairAnswer(
            None, error_code="verdict:unparseable", unparseable=True
        )
    )
    run = judged(given, silent)
    (plan,) = applied_plans(run.config)
    stacks = Judgment.objects.filter(run=run, preference=plan.stack)
    assert set(stacks.values_list("status", "error_code")) == {
        ("UNPARSEABLE", "verdict:unparseable")
    }
    Judgment.objects.filter(run=run).update(status="FAILED", error_code="llm:timeout")
    reset_failed(run.pk)
    run_to_end(run.pk, opener=opener_of(FakeJudge()))
    assert set(stacks.values_list("status", flat=True)) == {"DONE"}


def failing(rows):
    assert rows.update(status="FAILED", verdict=None, log_odds=None, error_code="llm:timeout")


def test_calls_that_never_came_are_no_even_split(monkeypatch):
    given, parent = distilled()
    held_out = Preference.objects.filter(run=parent, kind="HELD_OUT").order_by("pk")
    failing(parent.judgments.filter(preference=held_out[0]))
    select_preferences(parent)
    # Three pairs are left to every way: L = 3 log(1/2) + 2 and 3 log(4/5).
    base, way = math.e**2 / 8, 0.8**3
    assert weights_of(parent)["BASE"] == pytest.approx(base / (base + 2 * way))
    stored = PreferenceSet.objects.get(run=parent, control="NONE").selection["log_odds"]
    assert [each is None for each in stored].count(True) == 1

    run = judged(given)
    (plan,) = applied_plans(run.config)
    stacks = Judgment.objects.filter(run=run, preference=plan.stack)
    assert stacks.count() == 8
    first = plan.comparisons[0]
    (aggregate,) = next(way.members for way in plan.ways if way.way == "AGGREGATE")
    failing(run.judgments.filter(preference=aggregate, comparison=first))
    beats = []
    monkeypatch.setattr(applications, "Pulse", lambda _run: lambda: beats.append(1))
    combine_ways(run)
    assert not stacks.filter(comparison=first).exists()
    assert (stacks.count(), len(beats)) == (6, 8)  # the control's vote is computed beside it


def test_a_server_is_asked_k_times_more_and_two_k_judgments_for_each_control_and_never_twice():
    dataset, rater = make_study(comparisons=40)
    with FakeLlm(rule="longer") as server:
        endpoint = make_endpoint(base_url=server.base_url)
        given = {"dataset": dataset, "annotator": rater, "judge": endpoint.name}
        usual = PairwiseSettings(pooling=Pooling.SCENARIO)
        plain, stacked = (
            estimate(planned_distillation(**given, settings=rules)) for rules in (usual, STACKED)
        )
        for before, after, more in zip(plain.stages, stacked.stages, (20, 40), strict=True):
            assert after.questions - before.questions == more
        run = run_to_end(start_distillation(**given, settings=STACKED).pk)
        calls = LlmCall.objects.count()
        again = run_to_end(start_distillation(**given, settings=STACKED).pk)
        assert (run.status, again.status, LlmCall.objects.count()) == ("DONE", "DONE", calls)
        run_to_end(start_test_run(**given).pk)
    # The server's base judge is always right, so nothing can be better.
    (found,) = report(dataset.slug).rows
    assert (found.stands_in, found.stack, found.own) == ("base", None, 1.0)


def test_pages_and_figures_say_what_stands_in_and_by_which_dev_pairs(client):
    given, parent = distilled()
    client.force_login(make_user(role="MANAGER"))
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    page = client.get(f"/preference-sets/{chosen.pk}/").content.decode()
    assert "the preference distilled from all comparisons" in page
    assert (
        "The weighted vote stands in: it was right on 4 of 4 dev pairs, the selected preferences "
        "on 4, the base judge on 2; at least 0.8 more than the base judge are required." in page
    )
    assert "its weights were learned with each pair" in page
    control = PreferenceSet.objects.get(run=parent, control="SHUFFLED")
    assert "stands in:" not in client.get(f"/preference-sets/{control.pk}/").content.decode()

    run = judged(given)
    (plan,) = applied_plans(run.config)
    # A vote of the same ways from shuffled labels, computed as the other is.
    assert plan.control == ((control.stack_id,),)
    assert {way.way for way in plan.shuffled_ways} == set(StackWay)
    assert control.stack_id not in plan.preferences
    assert Judgment.objects.filter(run=run, preference=control.stack_id).count() == 2 * 4
    trust = client.get(f"/trust/?dataset={given['dataset'].slug}").content.decode()
    assert "The weighted vote stands in: it was right on 4 of 4 dev pairs" in trust
