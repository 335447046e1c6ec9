"""One thing varied, all else equal: every variant on the same comparisons, nothing paid twice."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Comparison, Response
from benchmark.core.ablation import Vary
from benchmark.models import VerificationReport
from benchmark.queries.ablations import ablation_of
from benchmark.services.ablation_runs import AblationRequest, plan_ablation, who_labelled
from judging.core.rules import PairwiseSettings
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, LlmCall, PreferenceSet, RunKind, RunUnit
from judging.queries.configurations import distil_plans
from judging.queries.runs import run_progress
from judging.services import runs
from judging.services.child_runs import WAIT_SECONDS
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start
from judging.services.run_control import cancel, reset_failed
from judging.services.run_requests import RunRequest
from tests.factory import make_endpoint, make_rater, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import (
    FakeJudge,
    dispatched,
    going,
    label_pair,
    make_study,
    opener_of,
    planned_test,
    start_distillation,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

PAGE = "/trust/ablations/"


def planned(study, vary, judges=("lexical",)):
    dataset, rater = study
    return plan_ablation(AblationRequest(dataset, [rater], vary, judges))


def ablated(study, vary, judges=("lexical",), *, opener=None):
    run = start(planned(study, vary, judges))
    done = run_to_end(run.pk, opener=opener or opener_of(FakeJudge()))
    assert done.status == "DONE", done.error_detail
    return {row.variant: row for row in ablation_of(run.pk).rows}


@pytest.fixture
def study():
    """The rater always likes the longer; the fake judge without a preference says the first."""
    return make_study(comparisons=40)


def test_preferences_beat_the_base_judge_that_always_names_the_first(study):
    rows = ablated(study, Vary.PREFERENCES)
    assert list(rows) == ["none", "all pairs", "aggregate", "selected", "stack"]
    # 40 pairs of two texts in two orders are two different ones: the rest collapses in the split.
    assert {row.comparisons for row in rows.values()} == {rows["none"].comparisons}
    assert (rows["none"].accuracy, rows["none"].members) == (0.5, 1)
    assert (rows["selected"].accuracy, rows["aggregate"].accuracy) == (1.0, 1.0)
    assert (rows["aggregate"].members, rows["all pairs"].members) == (1, rows["none"].dev)
    assert len({row.run for row in rows.values()}) == 1


def test_an_ablation_begun_before_it_named_its_verdict_rule_is_read_strictly(study):
    run = planned(study, Vary.PREFERENCES)
    del run.config["verdict_rule"]
    run = run_to_end(start(run).pk, opener=opener_of(FakeJudge()))
    assert run.status == "DONE", run.error_detail
    assert VerificationReport.objects.get(run=run).settings["verdict_rule"] == "STRICT"


def test_sizes_grow_by_one_and_vote_with_as_many(study):
    rows = ablated(study, Vary.SUBSET_SIZE)
    assert [row.members for row in rows.values()] == list(range(1, len(rows) + 1))
    assert rows["1"].accuracy == 1.0
    assert rows["1"].low is not None


def test_dev_sizes_are_measured_on_the_comparisons_that_all_leave_to_the_test(study):
    rows = ablated(study, Vary.DEV_SIZE)
    assert [row.dev for row in rows.values()] == [2, 5, 10, 20]
    distilled = JudgeRun.objects.filter(kind=RunKind.DISTIL)
    tests = [
        {key for key, _winner in plan.test_winners}
        for run in distilled
        for plan in distil_plans(run.config)
    ]
    assert {row.comparisons for row in rows.values()} == {len(set.intersection(*tests))}


def test_windows_are_distilled_and_judged_apart(study):
    rows = ablated(study, Vary.WINDOW, [make_endpoint().name])
    assert list(rows) == ["LAST_TURN", "LAST_TWO_TURNS", "ALL"]
    windows = JudgeRun.objects.filter(kind=RunKind.ABLATION).values_list(
        "config__window", flat=True
    )
    assert sorted(windows) == ["ALL", "LAST_TURN", "LAST_TWO_TURNS"]


def test_each_judge_applies_the_preferences_that_it_can_read(study, client):
    other = make_endpoint().name
    rows = ablated(study, Vary.JUDGE, judges=["lexical", other])
    assert list(rows) == [
        "lexical > lexical",
        f"lexical > {other}",
        f"{other} > {other}",
    ]
    client.force_login(make_user(role="VIEWER"))
    assert "only reads preferences that it wrote itself" in client.get(PAGE).content.decode()


@pytest.mark.parametrize("judges", [["lexical"], ["fake", "fake"]])
def test_a_single_judge_varies_nothing(study, judges):
    make_endpoint(name="fake")
    with refuses("ablation:one-judge"):
        planned(study, Vary.JUDGE, judges)
    assert not JudgeRun.objects.exists()


def test_the_weighted_vote_has_a_row_where_the_run_combined_by_it(study):
    stacked = ablated(study, Vary.PREFERENCES)["stack"]
    stack = PreferenceSet.objects.get(control="NONE", run__kind="DISTIL").stack
    assert (stacked.members, stacked.verdicts > 0) == (1, True)
    judged = JudgeRun.objects.get(kind=RunKind.ABLATION)
    assert judged.judgments.filter(preference=stack, status="DONE").exists()
    assert "stack" not in ablated(study, Vary.PREFERENCES, [make_endpoint().name])


def test_letter_probabilities_give_both_orders_one_verdict(texts, server):
    dataset, rater = texts
    priced(server, has_logprobs=True)
    options = {"dataset": dataset.slug, "vary": "preferences", "judge": "fake", "json": True}
    found = json.loads(command(**options, verdict="logprob"))
    assert found["verdict"] == "logprob"
    assert all(row["original"] == row["swapped"] for row in found["rows"])
    rules = JudgeRun.objects.values_list("config__verdict_rule", flat=True)
    assert list(rules) == ["LOGPROB"] * 3
    assert json.loads(command(**options))["verdict"] == "strict"
    assert JudgeRun.objects.filter(kind=RunKind.DISTIL).count() == 2
    with refuses("judge:no-letters"):
        plan_ablation(
            AblationRequest(
                dataset, [rater], Vary.JUDGE, ["fake", "lexical"], verdict=VerdictRule.LOGPROB
            )
        )


def test_what_is_there_is_not_run_again(study):
    first = ablated(study, Vary.PREFERENCES)
    runs = JudgeRun.objects.exclude(kind="ABLATE").count()
    assert ablated(study, Vary.PREFERENCES) == first
    ablated(study, Vary.SUBSET_SIZE)
    assert JudgeRun.objects.filter(kind=RunKind.DISTIL).count() == 1
    assert JudgeRun.objects.exclude(kind="ABLATE").count() == runs + 1
    assert VerificationReport.objects.filter(kind="ablation").count() == 3
    reused = RunUnit.objects.order_by("pk").values_list("reused", flat=True)
    assert list(reused) == [False, False, True, True, True, False]


def test_both_orders_stand_apart_as_in_the_paper_s_table(study):
    """The base judge names the first: right where the chosen is first (q, c, r), else wrong."""
    rows = ablated(study, Vary.PREFERENCES)
    base, selected = rows["none"], rows["selected"]
    assert (base.original, base.swapped, base.mean, base.difference) == (1.0, 0.0, 0.5, 1.0)
    assert (selected.original, selected.swapped, selected.difference) == (1.0, 1.0, 0.0)


def test_several_annotators_stand_apart_and_together(study):
    dataset, _rater = study
    second = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        label_pair(comparison, second, "A")  # whatever is longer
    both = who_labelled(dataset, judge="lexical")
    run = start(plan_ablation(AblationRequest(dataset, both, Vary.PREFERENCES, ["lexical"])))
    run_to_end(run.pk, opener=opener_of(FakeJudge()))
    rows = ablation_of(run.pk).rows
    # The vote has a row of its own where it stands in: nothing could be learned of bea.
    assert [row.annotator for row in rows] == ["ann"] * 5 + ["bea"] * 4 + [""] * 4
    ann, bea, both_of_them = (
        next(row for row in rows if (row.annotator, row.variant) == (name, "selected"))
        for name in ("ann", "bea", "")
    )
    assert both_of_them.verdicts == ann.verdicts + bea.verdicts
    right = ann.accuracy * ann.verdicts + bea.accuracy * bea.verdicts
    assert both_of_them.accuracy == pytest.approx(right / both_of_them.verdicts)
    assert (both_of_them.run, both_of_them.members) == (None, ann.members + bea.members)


def test_a_judge_that_reads_no_earlier_turns_is_refused_with_the_reason(study):
    dataset, _rater = study
    with refuses("ablation:cannot-move"):
        planned(study, Vary.WINDOW)
    with pytest.raises(CommandError, match=r"^ablation:cannot-move: The lexical judge") as refused:
        command(dataset=dataset.slug, vary="window")
    assert refused.value.returncode == 2
    with refuses("ablation:nobody"):
        plan_ablation(AblationRequest(dataset, [], Vary.PREFERENCES, ["lexical"]))
    assert not JudgeRun.objects.exists()


def test_an_equal_ablation_under_way_is_joined_stopped_and_resumed_with_its_runs(study):
    run = start(planned(study, Vary.PREFERENCES))
    again = start(planned(study, Vary.PREFERENCES))
    assert (again.pk, again.attached) == (run.pk, True)
    opener = opener_of(FakeJudge())
    following = dispatched(run)
    for _message in range(2):  # a stage of the distillation each, and others have their turn
        following = going(
            runs.run_batch(run.pk, following.generation, following.batches[0], opener=opener)
        )
    child = RunUnit.objects.get(run=run, position=0).child
    answered = run_progress(child.pk).answered
    assert (child.status, answered > 0) == ("PENDING", True)
    assert cancel(run.pk)
    child.refresh_from_db()
    assert child.status == "CANCELLED"
    assert runs.run_batch(run.pk, following.generation, following.batches[0]) is None
    assert reset_failed(run.pk) == 2
    child.refresh_from_db()
    assert (child.status, run_progress(child.pk).answered) == ("PENDING", answered)
    done = run_to_end(run.pk, opener=opener)
    assert (done.status, run_progress(run.pk).answered) == ("DONE", 2)
    assert JudgeRun.objects.filter(kind=RunKind.DISTIL).count() == 1
    assert VerificationReport.objects.get().run == run


def test_a_child_that_others_are_at_work_on_is_waited_for_and_goes_on_without_us(
    study, monkeypatch
):
    """An equal distillation under way elsewhere: each message waits and lets others have a turn."""
    dataset, rater = study
    settings = replace(PairwiseSettings(), shuffled_control=False)
    wanted = RunRequest(
        kind=RunKind.DISTIL,
        dataset=dataset,
        annotator=rater,
        judge="lexical",
        pairwise=settings,
        for_ablation=True,
    )
    (own,) = plan(wanted)
    own = start(own)
    begun = dispatched(own)
    slept = []
    monkeypatch.setattr("judging.services.child_runs.time.sleep", slept.append)
    run = start(planned(study, Vary.PREFERENCES))
    following = dispatched(run)
    following = going(runs.run_batch(run.pk, following.generation, following.batches[0]))
    unit = RunUnit.objects.get(run=run, position=0)
    assert (unit.child, unit.reused, unit.status, slept) == (own, True, "PENDING", [WAIT_SECONDS])
    cancel(run.pk)
    own.refresh_from_db()
    assert (own.status, own.generation) == ("RUNNING", begun.generation)


def test_an_earlier_distillation_under_the_same_rules_is_taken(study):
    dataset, rater = study
    usual = PairwiseSettings()
    own = start_distillation(dataset=dataset, annotator=rater, judge="lexical", settings=usual)
    run_to_end(own.pk, opener=opener_of(FakeJudge()))
    ablated(study, Vary.PREFERENCES)
    assert JudgeRun.objects.get(kind=RunKind.ABLATION).parent == own


def test_what_an_ablation_distils_is_nobody_s_preferences(study):
    dataset, rater = study
    ablated(study, Vary.PREFERENCES)
    assert JudgeRun.objects.filter(kind=RunKind.DISTIL, status="DONE").exists()
    with refuses("run:not-distilled"):
        planned_test(dataset=dataset, annotator=rater, judge="lexical")


def test_a_run_that_fails_has_no_figures(study):
    with FakeLlm(script=[Act(status=400)] * 2000) as server:
        name = make_endpoint(base_url=server.base_url).name
        run = run_to_end(start(planned(study, Vary.PREFERENCES, [name])).pk)
        assert (run.status, run.error_code) == ("FAILED", "ablation:run-failed")
        assert "llm:bad-request" in run.error_detail
        dataset, _rater = study
        with pytest.raises(CommandError, match="ablation:run-failed") as failed:
            command(dataset=dataset.slug, vary="preferences", judge=name)
    assert failed.value.returncode == 1
    assert not VerificationReport.objects.exists()


def command(**options):
    out = StringIO()
    call_command("ablate", stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def test_the_command_prints_a_table_or_json():
    dataset, _rater = make_study(comparisons=24)
    for response in Response.objects.all():  # the embedded judge by itself likes what is longer
        text = "Short." if "long" in response.text else "A long and thorough answer."
        Response.objects.filter(pk=response.pk).update(text=f"{text} {response.pk}")
    options = {"dataset": dataset.slug, "vary": "preferences"}
    told = json.loads(command(**options, json=True))
    told_of = ["none", "all pairs", "aggregate", "selected", "stack"]
    assert [row["variant"] for row in told["rows"]] == told_of
    assert all(0 <= row["low"] <= row["accuracy"] <= row["high"] <= 1 for row in told["rows"])
    assert "selected" in command(**options)


@pytest.fixture
def texts():
    """Sixteen pairs whose texts differ, so that no two questions are equal."""
    dataset, rater = make_study(comparisons=16)
    for response in Response.objects.all():
        Response.objects.filter(pk=response.pk).update(text=f"{response.text} {response.pk}")
    return dataset, rater


@pytest.fixture
def server():
    with FakeLlm(rule="longer") as server:
        yield server


def priced(server, name="fake", **fields):
    prices = {"input_price": 1, "output_price": 1, "max_tokens": 20}
    return make_endpoint(name=name, base_url=server.base_url, **prices, **fields)


@pytest.mark.parametrize("vary", [each.value for each in Vary if each is not Vary.PROMPT])
def test_every_ablation_runs_against_a_server_and_asks_no_more_than_was_estimated(
    texts, server, vary
):
    dataset, _rater = texts
    dataset.slug = "texts"  # the split depends on it: with some, the test parts share nothing
    dataset.save()
    priced(server)
    judge = "fake,lexical" if vary == "judge" else "fake"
    options = {"dataset": dataset.slug, "vary": vary, "judge": judge, "json": True}
    estimate = json.loads(command(**options, estimate=True))
    assert (JudgeRun.objects.count(), server.stats()["calls"]) == (0, 0)
    found = json.loads(command(**options, budget=Decimal(1)))
    assert found["rows"]
    assert found["left_out"] == []
    assert all(row["comparisons"] > 0 for row in found["rows"])
    assert 0 < server.stats()["calls"] <= estimate["calls"]
    spent = sum(call.cost for call in LlmCall.objects.all())
    assert 0 < spent <= estimate["cost_at_most"]
    # Everything is there now: asking again would cost nothing, and does.
    again = json.loads(command(**options, estimate=True))
    assert (again["calls"], again["stored"] > 0) == (0, True)
    calls = server.stats()["calls"]
    assert json.loads(command(**options))["rows"] == found["rows"]
    assert server.stats()["calls"] == calls


def test_a_budget_is_for_all_runs_together_and_more_money_goes_on(texts, server):
    dataset, _rater = texts
    priced(server)
    options = {"dataset": dataset.slug, "vary": "window", "judge": "fake"}
    budget = Decimal("0.008")  # a prompt costs about 0.002 at most
    with pytest.raises(CommandError, match=r"^budget:spent: run \d+ got a part") as spent:
        command(**options, budget=budget)
    assert spent.value.returncode == 1
    # It says how to go on, and that works.
    going_on = f"`ablate --dataset {dataset.slug} --vary window --judge fake --budget N`"
    assert going_on in str(spent.value)
    assert not VerificationReport.objects.exists()
    whole = JudgeRun.objects.get(kind="ABLATE")
    own = JudgeRun.objects.exclude(kind="ABLATE")
    assert whole.held == sum(run.held for run in own) <= budget
    assert (whole.status, whole.error_code) == ("FAILED", "budget:spent")
    paid = server.stats()["calls"]
    assert paid > 0
    assert "LAST_TURN" in command(**options, budget=Decimal(1))
    assert server.stats()["distinct"] == server.stats()["calls"]  # nothing was paid for twice
    assert server.stats()["calls"] > paid


def test_where_the_money_ends_at_a_later_annotator_the_others_are_kept(texts, server, client):
    dataset, _rater = texts
    second = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        label_pair(comparison, second, "A")
    priced(server)
    options = {"dataset": dataset.slug, "vary": "preferences", "judge": "fake"}
    command(**options, annotator="ann")
    with pytest.raises(CommandError, match="budget:spent: bea left out"):
        command(**options, budget=Decimal("0.01"))
    report = VerificationReport.objects.latest("pk")
    assert report.settings["left_out"] == ["bea"]
    assert {row["annotator"] for row in report.rows} == {"ann"}
    client.force_login(make_user(role="VIEWER"))
    page = client.get(PAGE).content.decode()
    assert "The budget ran out before these were measured: bea." in page


def test_a_budget_needs_prices_of_every_endpoint_that_is_asked(texts, server):
    dataset, _rater = texts
    make_endpoint(name="free", base_url=server.base_url)
    for judge, vary in (("free", "window"), ("lexical", "dev-size"), ("free,lexical", "judge")):
        with pytest.raises(CommandError, match="budget:no-prices") as refused:
            command(dataset=dataset.slug, vary=vary, judge=judge, budget=Decimal(1))
        assert refused.value.returncode == 2
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"dataset": "", "vary": "window"},
        {"dataset": "no-such", "vary": "window"},
        {"dataset": "given", "vary": "dev-size", "judge": "nobody"},
        {"dataset": "given", "vary": "dev-size", "annotator": "nobody"},
    ],
)
def test_wrong_input_ends_with_2(options):
    dataset, _rater = make_study()
    with pytest.raises(CommandError) as refused:
        command(**{**options, "dataset": options["dataset"].replace("given", dataset.slug)})
    assert refused.value.returncode == 2
    assert not JudgeRun.objects.exists()


def test_the_page_shows_what_is_stored(client, study, django_assert_max_num_queries):
    client.force_login(make_user(role="VIEWER"))
    assert "No ablations yet" in client.get(PAGE).content.decode()
    ablated(study, Vary.PREFERENCES)
    ablated(study, Vary.SUBSET_SIZE)
    with django_assert_max_num_queries(10):
        page = client.get(PAGE)
    text = page.content.decode()
    assert text.index("Number of voting preferences") < text.index("Choice of voting preferences")
    assert "selected preferences" in text
    assert f"/runs/{JudgeRun.objects.filter(kind='ABLATION').latest('pk').pk}/" in text
    assert "(q, c, r)" in text
    report = VerificationReport.objects.earliest("pk")
    table = client.get("/trust/ablations.csv", {"report": report.pk}).content.decode()
    lines = list(csv.DictReader(StringIO(table)))
    assert [line["variant"] for line in lines][-2:] == ["selected", "stack"]
    base = {name: lines[0][name] for name in ("original", "swapped", "mean", "difference")}
    assert base == {"original": "1.0", "swapped": "0.0", "mean": "0.5", "difference": "1.0"}
    for number in ("", "x", "9999"):
        assert client.get("/trust/ablations.csv", {"report": number}).status_code == 404
    assert client.get("/trust/ablations/", {"dataset": "other"}).context["views"] == []
    assert client.post(PAGE).status_code == 405


def test_the_page_is_not_for_annotators(client, study):
    assert client.get(PAGE).status_code == 302
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(PAGE).status_code == 403


NEW, ESTIMATE = "/trust/ablations/new/", "/trust/ablations/new/estimate/"


def test_a_manager_starts_one_from_the_page_and_follows_it(client, study):
    dataset, rater = study
    form = {"dataset": dataset.slug, "vary": "preferences", "judge": "lexical", "annotator": ""}
    assert client.get(NEW).status_code == 302
    for role in ("VIEWER", "ANNOTATOR"):
        client.force_login(make_user(role=role))
        assert [client.get(NEW).status_code, client.post(NEW, form).status_code] == [403, 403]
        assert client.post(ESTIMATE, form).status_code == 403
    client.force_login(make_user(role="MANAGER"))
    assert 'name="vary"' not in client.get(NEW).content.decode()  # the dataset comes first
    assert "ann" in client.get(NEW, {"dataset": dataset.slug}).content.decode()
    assert client.get(ESTIMATE).status_code == 405
    for headers in ({}, {"HX-Request": "true"}):
        told = client.post(ESTIMATE, form, headers=headers).content.decode()
        assert "No calls: these judges need no endpoint." in told
    refused = client.post(NEW, {**form, "vary": "window"})
    assert (refused.status_code, b"changes nothing" in refused.content) == (422, True)
    assert b"changes nothing" in client.post(ESTIMATE, {**form, "vary": "window"}).content
    assert not JudgeRun.objects.exists()
    first = client.post(NEW, {**form, "annotator": rater.pk})
    run = JudgeRun.objects.get()
    assert (first.url, run.kind, run.annotator) == (f"/runs/{run.pk}/", "ABLATE", rater)
    assert client.post(NEW, form).url == first.url  # everybody is the one who labelled
    shown = client.get(first.url).content.decode()
    assert "ann · lexical → lexical" in shown
    assert f"run {run.pk}" in client.get(PAGE).content.decode()
    run_to_end(run.pk)
    shown = client.get(first.url).content.decode()
    assert "/trust/ablations/?dataset=" in shown
    assert "Ablation" in client.get("/runs/").content.decode()
    assert "selected preferences" in client.get(PAGE).content.decode()
