"""Runs are started over the API as on their page."""

from __future__ import annotations

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Comparison, Dataset, Scenario
from judging.models import JudgeRun, Judgment, SatisfactionJudgment
from tests.benchmark.stage import Stage
from tests.factory import (
    make_call,
    make_comparison,
    make_endpoint,
    make_rating,
    make_run,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

RUNS = "/api/v1/runs/"


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture
def ann():
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB" + "AAAA")
    return ann


def send(client, query="", **body):
    return client.post(RUNS + query, body, content_type="application/json")


def faults_of(answer):
    assert answer.status_code == 400, answer.json()
    return {(each["field"], each["code"]) for each in answer.json()["faults"]}


def test_a_distillation_is_started_with_its_three_roles_and_rules(manager, ann):
    writer = make_endpoint(name="writes").name
    judge = make_endpoint(name="selects").name
    rules = {"pooling": "ALL", "seed": 7}
    body = {"annotator": "ann", "judge": judge, "writer": writer, "pairwise": rules}
    answer = send(manager, kind="DISTIL", dataset="study", verdict="PAPER", **body)
    assert answer.status_code == 202
    (row,) = answer.json()["runs"]
    run = JudgeRun.objects.get()
    assert (row["id"], row["status"], row["attached"]) == (run.pk, "PENDING", False)
    assert (run.kind, run.judge, run.writer, run.annotator) == ("DISTIL", judge, writer, ann)
    assert (run.config["pooling"], run.config["seed"]) == ("ALL", 7)
    assert run.config["verdict_rule"] == "PAPER"
    assert run.created_by.role == "MANAGER"


def test_each_judge_and_annotator_has_a_run(manager, ann):
    make_endpoint(name="fake")
    answer = send(manager, kind="DISTIL", dataset="study", judge=["lexical", "fake", "fake"])
    assert [(row["judge"], row["annotator"]) for row in answer.json()["runs"]] == [
        ("lexical", ann.username),
        ("fake", ann.username),
    ]


def test_a_test_run_applies_what_another_judge_selected(manager, ann):
    make_endpoint(name="fake")
    asked = {"kind": "TEST", "dataset": "study", "judge": "fake", "annotator": ann.username}
    answer = send(manager, **asked, selected_by="lexical")
    assert (answer.status_code, answer.json()["code"]) == (409, "run:not-distilled")
    assert answer.json()["detail"]
    answer = send(manager, **asked, with_sets=False, targets={"kind": "ALL", "sample": 2})
    assert answer.status_code == 202
    run = JudgeRun.objects.get()
    assert (run.kind, run.config["targets"]["sample"]) == ("TEST", 2)


@pytest.mark.parametrize(
    ("place", "sent", "code"),
    [
        ("draw", {"draw": True}, "number_type"),
        ("budget", {"budget": True}, "decimal_type"),
        ("targets.sample", {"targets": {"kind": "ALL", "sample": True}}, "number_type"),
    ],
)
def test_true_is_no_number(manager, ann, place, sent, code):
    asked = {"kind": "TEST", "dataset": "study", "judge": "lexical", "annotator": ann.username}
    assert faults_of(send(manager, **asked, **sent)) == {(place, code)}
    assert not JudgeRun.objects.exists()


def test_drawn_preferences_rank(manager, ann):
    asked = {"kind": "TEST", "dataset": "study", "judge": "lexical", "annotator": ann.username}
    call_command("distil", "--dataset", "study", "--no-control", stdout=StringIO())
    assert send(manager, **asked, draw=5, targets={"kind": "ALL"}).status_code == 202
    run = JudgeRun.objects.get(kind="RANKING")
    assert (run.config["drawn"], run.annotator) == (5, ann)
    answer = send(
        manager, **asked, draw=101, with_sets=False, with_control=True, sets_of=ann.username
    )
    assert faults_of(answer) == {
        ("draw", "out_of_bounds"),
        ("with_sets", "not_applicable"),
        ("with_control", "not_applicable"),
        ("sets_of", "not_applicable"),
    }


def test_satisfaction_is_scored_by_several_evaluators(manager):
    slug = make_rating().response.turn.session.dataset.slug
    body = {"satisfaction": {"variant": "NO_MEMORY"}, "judge": ["fake", "learned"]}
    make_endpoint(name="fake")
    answer = send(manager, kind="SATISFACTION", dataset=slug, **body)
    assert answer.status_code == 202, answer.json()
    assert {run.judge for run in JudgeRun.objects.all()} == {"fake", "learned"}


def test_models_answer_turns(manager):
    make_endpoint(name="fake")
    slug = make_turn().session.dataset.slug
    answer = send(manager, kind="GENERATE", dataset=slug, judge="fake", generation={"samples": 2})
    assert answer.status_code == 202
    assert JudgeRun.objects.get().config["samples"] == 2


def test_turns_to_answer_are_chosen_by_filters_and_a_sample_alone(manager):
    asked = {"kind": "GENERATE", "dataset": make_turn().session.dataset.slug}
    make_endpoint(name="fake")
    targets = {"kind": "STUDY", "study": "pilot", "plan": 1, "models": ["m"], "sample": 1}
    answer = send(manager, **asked, judge="fake", targets=targets)
    places = ("kind", "study", "plan", "models")
    assert faults_of(answer) == {(f"targets.{place}", "unknown") for place in places}
    assert send(manager, **asked, judge="fake", targets={"sample": 1}).status_code == 202


def test_a_check_tries_a_judge_on_some_pairs(manager, ann):
    answer = send(manager, kind="CHECK", dataset="study", judge="lexical", verdict="PAPER", pairs=2)
    assert answer.status_code == 202
    config = JudgeRun.objects.get().config
    assert (len(config["pairs"]), config["verdict_rule"]) == (2, "PAPER")


@pytest.mark.parametrize(
    "way",
    [
        {"query": "?estimate"},
        {"query": "?estimate=True"},
        {"query": "?estimate=1", "estimate": False},
        {"query": "?estimate=false", "estimate": True},
        {"estimate": True},
    ],
)
def test_an_estimate_starts_nothing(manager, ann, way):
    make_endpoint(
        name="fake", found_tokens_per_second=8.0, max_tokens=1024, found_context_tokens=1024
    )
    answer = send(manager, kind="DISTIL", dataset="study", judge="fake", **way)
    assert answer.status_code == 200
    slow = {"judge": "fake", "tokens": 1024, "speed": 8.0, "timeout": 120.0}
    assert answer.json()["slow"] == [slow]
    (tight,) = answer.json()["tight"]
    assert (tight["judge"], tight["context"]) == ("fake", 1024)
    assert tight["fewest"] <= 1024 < tight["most"]
    assert answer.json()["calls"] > 0
    assert answer.json()["runs"][0]["judge"] == "fake"
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize("query", ["?estimate=false", "?estimate=0"])
def test_who_wants_no_estimate_gets_a_run(manager, ann, query):
    answer = send(manager, query, kind="DISTIL", dataset="study", judge="lexical")
    assert answer.status_code == 202


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("?estimat", ("estimat", "unknown")),
        ("?dry_run=1", ("dry_run", "unknown")),
        ("?estimate=perhaps", ("estimate", "bool_parsing")),
        ("?estimate&estimate=perhaps", ("estimate", "bool_parsing")),
    ],
)
def test_a_mistyped_query_starts_nothing(manager, ann, query, fault):
    answer = send(manager, query, kind="DISTIL", dataset="study", judge="lexical", budget=-1)
    assert faults_of(answer) == {fault, ("budget", "out_of_bounds")}
    assert not JudgeRun.objects.exists()


def test_an_equal_run_is_joined_unless_a_new_one_is_asked_for(manager, ann):
    asked = {"kind": "DISTIL", "dataset": "study", "judge": "lexical"}
    (first,) = send(manager, **asked).json()["runs"]
    (second,) = send(manager, **asked).json()["runs"]
    assert (second["id"], second["attached"]) == (first["id"], True)
    (third,) = send(manager, **asked, again=True).json()["runs"]
    assert third["id"] != first["id"]


def test_a_budget_limits_each_run_where_calls_have_a_price(manager, ann):
    make_endpoint(name="priced", input_price=1, output_price=2)
    asked = {"kind": "DISTIL", "dataset": "study"}
    answer = send(manager, **asked, judge="lexical", budget="1")
    assert (answer.status_code, answer.json()["code"]) == (409, "budget:no-prices")
    assert "lexical" in answer.json()["detail"]
    assert send(manager, **asked, judge="priced", budget=0.25009).status_code == 202
    assert JudgeRun.objects.get().budget == Decimal("0.2500")


def test_nobody_starts_runs_without_signing_in(client, ann):
    assert send(client, kind="DISTIL", dataset="study").status_code == 401
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
def test_only_managers_start_runs(client, ann, role):
    client.force_login(make_user(role=role))
    answer = send(client, kind="DISTIL", dataset="study")
    assert (answer.status_code, answer.json()["code"]) == (403, "api:permission_denied")
    assert not JudgeRun.objects.exists()


def test_a_session_needs_its_csrf_token(ann):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(role="MANAGER"))
    assert send(client, kind="DISTIL", dataset="study").status_code == 403
    assert not JudgeRun.objects.exists()


def test_every_fault_is_listed(manager, ann):
    answer = send(
        manager,
        kind="DISTIL",
        dataset="study",
        annotator="nobody",
        judge=["learned", "gone"],
        writer="gone",
        budget=-1,
        verdict="LOUD",
        again="perhaps",
        targets={},
        pairwise={"sed": 1, "dev_size": "many", "seed": 2},
    )
    assert faults_of(answer) == {
        ("annotator", "annotator:unknown"),
        ("judge", "judge:unknown"),
        ("writer", "judge:unknown"),
        ("budget", "out_of_bounds"),
        ("verdict", "enum"),
        ("again", "bool_parsing"),
        ("targets", "unknown"),
        ("pairwise.sed", "unexpected_keyword_argument"),
        ("pairwise.dev_size", "int_parsing"),
    }
    assert len(answer.json()["faults"]) == 10
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, {("kind", "required"), ("dataset", "required")}),
        ({"kind": ["DISTIL"], "dataset": "study"}, {("kind", "literal_error")}),
        ({"kind": "TRAIN", "dataset": "none", "pairs": 0, "targets": {"sample": 0}},
         {("kind", "literal_error"), ("dataset", "dataset:unknown"), ("pairs", "out_of_bounds"),
          ("targets.sample", "out_of_bounds")}),
        ({"kind": "TEST", "dataset": "st\x00udy", "sets_of": "eve"},
         {("dataset", "characters")}),
        ({"kind": "GENERATE", "dataset": "study", "generation": {"system": "\ud800"}},
         {("generation", "characters")}),
        ({"kind": "DISTIL", "dataset": "study", "\ud800": 1}, {("", "dict_type")}),
        ({"kind": "DISTIL", "dataset": "study", "pairwise": {"prompt": "REWARD"}},
         {("pairwise.prompt", "unknown")}),
        ({"kind": "SATISFACTION", "dataset": "study",
          "satisfaction": {"variant": "SPUR", "level": "SESSION"}},
         {("satisfaction", "run:variant-level")}),
        ({"kind": "TEST", "dataset": "study", "targets": {"study": "pilot", "plan": 9}},
         {("targets.study", "not_applicable"), ("targets.plan", "not_applicable")}),
        ({"kind": "SATISFACTION", "dataset": "study", "targets": {"kind": "ALL", "study": "pilot"}},
         {("targets.study", "not_applicable")}),
        ({"kind": "TEST", "dataset": "study",
          "targets": {"kind": "PLAN", "study": "pilot", "plan": 9}},
         {("targets.study", "not_applicable")}),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_by_its_place(manager, ann, body, found):
    assert faults_of(send(manager, **body)) == found


@pytest.mark.parametrize(
    "targets", [{"kind": "CANDIDATES"}, {"kind": "PLAN", "plan": 9}, {"kind": "STUDY"}]
)
def test_targets_are_those_of_the_kind_and_the_dataset(manager, ann, targets):
    answer = send(manager, kind="TEST", dataset="study", with_sets=False, targets=targets)
    assert (answer.status_code, answer.json()["code"]) == (409, "run:targets")
    assert not JudgeRun.objects.exists()


def test_only_an_object_is_read(manager):
    answer = manager.post(RUNS, [1], content_type="application/json")
    assert faults_of(answer) == {("", "dict_type")}
    assert manager.post(RUNS, {"kind": "DISTIL"}).status_code == 415


@pytest.mark.parametrize("depth", [500, 1_000, 100_000])
def test_what_is_nested_too_deeply_is_refused(manager, depth):
    nested = "[" * depth + "]" * depth
    body = f'{{"kind": "DISTIL", "dataset": "study", "pairwise": {nested}}}'
    assert manager.post(RUNS, body, content_type="application/json").status_code == 400


@pytest.mark.parametrize("address", [RUNS, "/api/v1/replays/", "/api/v1/nothing/"])
def test_json_without_end_is_refused_before_it_is_known_who_sends_it(manager, address):
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = manager.cookies
    browser.cookies["csrftoken"] = "a" * 32
    answer = browser.post(address, "[" * 100_000, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "api:parse_error")


def test_scores_are_set_by_references_only_beside_targets(manager):
    slug = make_rating().response.turn.session.dataset.slug
    rules = {"variant": "NO_MEMORY", "calibration": "REFERENCE_CDF"}
    asked = {"kind": "SATISFACTION", "dataset": slug, "judge": "lexical", "satisfaction": rules}
    answer = send(manager, **asked)
    assert (answer.status_code, answer.json()["code"]) == (409, "run:reference-calibration")
    assert answer.json()["message"]
    assert not JudgeRun.objects.exists()
    assert send(manager, **asked, targets={"kind": "ALL"}).status_code == 202


def test_all_of_another_dataset_is_scored_by_an_annotators_ratings(manager):
    rating = make_rating()
    learned_in = rating.response.turn.session.dataset
    other = make_comparison().turn.session.dataset
    body = {"annotator": rating.annotator.username, "sets_dataset": learned_in.slug}
    answer = send(manager, kind="SATISFACTION", dataset=other.slug, judge="learned", **body)
    assert answer.status_code == 202, answer.json()
    assert JudgeRun.objects.get().config["targets"]["kind"] == "ALL"


@pytest.mark.parametrize("kind", ["CHECK", "ABLATE", "EVALUATE"])
def test_runs_of_every_kind_are_filtered(manager, kind):
    wanted = make_run(kind=kind)
    make_run(kind="DISTIL")
    rows = manager.get(RUNS, {"kind": kind}).json()["results"]
    assert [row["id"] for row in rows] == [wanted.pk]
    assert manager.get(RUNS, {"kind": "NONE"}).status_code == 400


def test_judgments_say_under_which_set_in_few_queries(client, ann, django_assert_num_queries):
    stage = Stage(Dataset.objects.get(slug="study"), list(Scenario.objects.all()))
    for each in stage.scenarios:
        own = Comparison.objects.filter(turn__session__scenario=each)
        stage.comparisons[each.name] = list(own.order_by("pk"))
    parent = stage.distilled(ann)
    for _ in range(3):
        run = stage.tested(ann, parent, base="AAAABBBB", selected="AAAABBBB")
        run.config["scenarios"][0]["basis"] = "OWN"
        run.save()
    JudgeRun.objects.filter(pk=run.pk).update(kind="GRADE")
    Judgment.objects.filter(run=run).update(call=make_call(reply="[[A]]"))
    client.force_login(make_user(role="VIEWER"))
    with django_assert_num_queries(4):
        rows = client.get("/api/v1/judgments/").json()["results"]
    assert {row["run"] for row in rows} >= {run.pk - 2, run.pk - 1}
    told = {(row["comparison"], row["basis"]) for row in rows if row["run"] != run.pk}
    writing, code = ([each.pk for each in own] for own in stage.comparisons.values())
    assert told == {*((key, "OWN") for key in writing), *((key, "BASE") for key in code)}
    rows = client.get("/api/v1/judgments/", {"run": run.pk}).json()["results"]
    assert {row["basis"] for row in rows} == {None}
    assert {(row["call"], row["raw"]) for row in rows} == {("c" * 64, "[[A]]")}


def test_satisfaction_judgments_have_the_reply_they_were_read_from(client):
    run = make_run(kind="SATISFACTION")
    fields = {"run": run, "user": make_user(), "session": make_session(make_scenario(run.dataset))}
    call = make_call(reply="4")
    SatisfactionJudgment.objects.create(status="DONE", score=4, call=call, **fields)
    client.force_login(make_user(role="VIEWER"))
    [row] = client.get("/api/v1/satisfaction-judgments/").json()["results"]
    assert (row["score"], row["call"], row["raw"]) == (4, "c" * 64, "4")
