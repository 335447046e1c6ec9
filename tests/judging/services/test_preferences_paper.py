"""Selection as in the paper's released code: tied subsets are stored, applied, averaged."""

from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.splits import Pooling
from benchmark.core.trust import SELECTED
from benchmark.queries.evidence import voice_opinions
from benchmark.queries.trust import report
from judging.core.matrix import read_matrix
from judging.core.questions import PairAnswer
from judging.core.rules import Combine, PairwiseSettings, SelectionMode
from judging.core.selection import assess
from judging.core.selection_search import SelectionSettings
from judging.core.verdicts import VerdictRule
from judging.core.votes import MemberVerdict, VoteRule, vote
from judging.models import JudgeRun, Judgment, PreferenceSet
from judging.queries.configurations import applied_plans
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_user
from tests.judging.study import (
    FakeJudge,
    make_study,
    opener_of,
    planned_distillation,
    planned_test,
    start_distillation,
    start_test_run,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

PAPER = PairwiseSettings(mode=SelectionMode.PAPER, pooling=Pooling.SCENARIO)


def wavering(pair, preference):
    """Right under half of the preferences, by their texts' last letter; else names the first."""
    longer = Verdict.A if len(pair.first) > len(pair.second) else Verdict.B
    return PairAnswer(longer if preference.endswith("r") else Verdict.A)


def contrary(pair, _preference):
    return PairAnswer(Verdict.B if len(pair.first) > len(pair.second) else Verdict.A)


def judged(answer, *, comparisons=12):
    """A distillation in paper mode and the test run under what it selected."""
    dataset, rater = make_study(comparisons=comparisons)
    judge = FakeJudge(answer=answer)
    parent = start_distillation(dataset=dataset, annotator=rater, judge="lexical", settings=PAPER)
    parent = run_to_end(parent.pk, opener=opener_of(judge))
    test = start_test_run(dataset=dataset, annotator=rater)
    return dataset, parent, run_to_end(test.pk, opener=opener_of(judge))


def alone(run, plan, subset):
    """Of one subset: the share of row-orders that the released rules find right."""
    winners = dict(plan.winners)
    rows = Judgment.objects.filter(run=run, preference__in=subset)
    said: dict[tuple[int, str], list[MemberVerdict]] = {}
    for comparison, order, verdict in rows.values_list("comparison_id", "order", "verdict"):
        said.setdefault((comparison, order), []).append(MemberVerdict(Verdict(verdict)))
    right = [
        vote(votes, order=Order(order), rule=VoteRule.PAPER).winner is winners[comparison]
        for (comparison, order), votes in said.items()
    ]
    return sum(right) / len(right)


def test_all_tied_subsets_are_stored_judged_and_averaged():
    dataset, parent, run = judged(wavering)
    chosen = PreferenceSet.objects.get(run=parent)  # the released code has no control
    again = assess(read_matrix(chosen.matrix).matrix, SelectionSettings(SelectionMode.PAPER))
    stored = [tuple(each) for each in chosen.selection["selected"]]
    assert stored == list(again.selection.selected)
    assert chosen.is_used
    (plan,) = applied_plans(run.config)
    subsets = [tuple(chosen.columns[column] for column in each) for each in stored]
    assert list(plan.subsets) == subsets
    assert len(subsets) > 1
    assert set(plan.selected) == {key for each in subsets for key in each}
    found = [alone(run, plan, each) for each in subsets]
    (row,) = report(dataset.slug).rows
    assert row.selected == pytest.approx(sum(found) / len(found))
    assert (row.shuffled, row.stack) == (None, None)


def test_the_worst_subsets_may_stand_for_their_opposite():
    dataset, parent, run = judged(contrary)
    chosen = PreferenceSet.objects.get(run=parent)
    assert chosen.selection["strategy"] == "inverted_worst"
    (plan,) = applied_plans(run.config)
    assert plan.inverted
    (row,) = report(dataset.slug).rows
    assert (row.base, row.selected) == (0.0, 1.0)
    said = voice_opinions(run.pk, SELECTED)
    assert {key: one.verdict for key, one in said.items()} == dict(plan.winners)


def test_what_does_not_go_with_it_is_refused():
    dataset, rater = make_study(comparisons=50)
    given = {"dataset": dataset, "annotator": rater}
    endpoint = make_endpoint(has_logprobs=True).name

    def planned(**rules):
        settings = PairwiseSettings(mode=SelectionMode.PAPER, pooling=Pooling.SCENARIO, **rules)
        return planned_distillation(**given, judge=endpoint, settings=settings)

    with refuses("vote:by-log-odds"):
        planned(verdict_rule=VerdictRule.LOGPROB)
    with refuses("run:no-stack", match="paper mode"):
        planned(combine=Combine.STACK)
    with refuses("selection:too-many-columns", match="21"):
        planned(dev_size=19)
    run = planned(dev_size=18)
    assert (run.config["mode"], run.config["shuffled_control"]) == ("PAPER", False)
    parent = run_to_end(
        start_distillation(**given, judge="lexical", settings=PAPER).pk,
        opener=opener_of(FakeJudge()),
    )
    assert parent.status == "DONE"
    with refuses("vote:by-log-odds"):
        planned_test(**given, judge=endpoint, verdict=VerdictRule.LOGPROB)
    # Without sets nothing was selected.
    plain = planned_test(**given, judge=endpoint, with_sets=False)
    assert plain.config["mode"] == "DEFAULT"


def test_the_form_starts_it_and_the_pages_say_what_it_is(client):
    client.force_login(make_user(role="MANAGER"))
    dataset, parent, run = judged(wavering)
    fields = {"dataset": dataset.slug, "judge": "lexical", "kind": "DISTIL", "annotator": ""}
    client.post("/runs/new/", {**fields, "mode": "PAPER", "pooling": "SCENARIO", "again": "on"})
    started = JudgeRun.objects.filter(kind="DISTIL").order_by("-pk")[0]
    assert (started.pk != parent.pk, started.config["mode"]) == (True, "PAPER")
    chosen = PreferenceSet.objects.get(run=parent)
    page = client.get(f"/preference-sets/{chosen.pk}/").content.decode()
    assert "figures average them" in page
    where = f"dataset={dataset.slug}&annotator={parent.annotator_id}&run={run.pk}"
    page = client.get(f"/trust/?{where}").content.decode()
    assert "means over all subsets" in " ".join(page.split())
    rows = client.get(f"/trust/rows/?{where}&of=selected").content.decode()
    assert "those of the first" in rows
