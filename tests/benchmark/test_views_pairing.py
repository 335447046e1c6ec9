from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode

import pytest

from annotation.core.pairing import PairingRules
from annotation.models import AuditEvent, Comparison, PairingPlan, Study
from benchmark.services.pairing import Verdicts
from benchmark.services.pairing_runs import plan_pairing
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from tests.benchmark.pairing import label_all, make_answers
from tests.factory import make_dataset, make_endpoint, make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER", username="boss"))
    return client


@pytest.fixture
def dataset():
    return make_answers()


def address(dataset):
    return f"/datasets/{dataset.slug}/pairing/"


def asked(**changes):
    return {"kind": "ALL", "cap": 1, "seed": 42, "judge": "lexical", **changes}


def create(client, dataset, **changes):
    answer = client.post(address(dataset), asked(**changes), follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_plan_is_counted_before_it_is_made(manager, dataset):
    page = manager.get(address(dataset)).content.decode()
    assert "<b>24</b>" in page  # 3 pairs of models on 8 turns
    assert "alpha · beta" in page
    assert "No calls: these judges need no endpoint." in page
    assert not Comparison.objects.exists()
    page = manager.get(address(dataset), asked(kind="SAMPLE", size=7)).content.decode()
    assert "<b>7</b>" in page


def test_the_page_begins_with_an_endpoint_that_did_not_answer(manager, dataset):
    make_endpoint(name="a", model="alpha")
    make_endpoint(name="z", model="omega")
    page = manager.get(address(dataset)).content.decode()
    assert '<option value="z" selected>' in page
    assert re.search(r"<dt>calls</dt>\s*<dd>48</dd>", page)


def test_the_price_is_that_of_both_orders_under_an_endpoint(manager, dataset):
    endpoint = make_endpoint()
    page = manager.get(address(dataset), asked(judge=endpoint.name)).content.decode()
    assert re.search(r"<dt>calls</dt>\s*<dd>48</dd>", page)


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        ({}, 24),
        ({"kind": "ANCHOR", "anchor": "beta"}, 16),
        ({"kind": "SAMPLE", "size": 7}, 7),
        ({"kind": "ADAPTIVE"}, 3),
        ({"kind": "ADAPTIVE", "size": 5}, 5),
        ({"scenarios": ["Code"]}, 12),
        ({"models": ["alpha"]}, 16),
        ({"models": ["alpha", "beta"], "both_models": "on"}, 8),
        ({"variants": "on"}, 24),
    ],
)
def test_a_plan_is_made_once(manager, dataset, changes, made):
    assert f"Created {made} comparisons." in create(manager, dataset, **changes)
    assert "Created 0 comparisons." in create(manager, dataset, **changes)
    assert Comparison.objects.count() == made
    plan = PairingPlan.objects.get()
    assert plan.comparisons.count() == made
    event = AuditEvent.objects.get(action="dataset.compared")
    assert event.detail == {"comparisons": made, "plan": plan.pk, "batch": 1}


def test_the_next_batch_follows_the_verdicts_on_the_last(manager, dataset):
    create(manager, dataset, kind="ADAPTIVE")
    page = manager.get(address(dataset), asked(kind="ADAPTIVE")).content.decode()
    assert "3 of 3 comparisons in the last batch have no verdict yet." in " ".join(page.split())
    assert "Create batch" not in page
    label_all(dataset)
    page = manager.get(address(dataset), asked(kind="ADAPTIVE")).content.decode()
    assert "Create batch 2" in page
    assert "Created 3 comparisons." in create(manager, dataset, kind="ADAPTIVE")
    more = {"kind": "ADAPTIVE", "incomplete": "on"}
    assert "Created 3 comparisons." in create(manager, dataset, **more)
    assert list(PairingPlan.objects.get().planned.values_list("batch", flat=True)) == [
        1, 1, 1, 2, 2, 2, 3, 3, 3,
    ]  # fmt: skip
    page = manager.get(address(dataset), asked(kind="ADAPTIVE", verdicts="base")).content.decode()
    assert "have no verdict yet" in page


def test_a_plan_is_made_and_judged_at_once(manager, dataset):
    sent = asked(kind="SAMPLE", size=6, judge_now="1")
    answer = manager.post(address(dataset), sent)
    judged = JudgeRun.objects.get()
    assert answer.url == f"/runs/{judged.pk}/"
    assert judged.config["targets"]["plan"] == PairingPlan.objects.get().pk
    assert judged.parent is None  # the base judge: nothing was learned here
    assert judged.created_by.username == "boss"
    page = manager.get(address(dataset), asked()).content.decode()
    assert "Create and judge" in page
    page = manager.get(address(dataset), asked(kind="ADAPTIVE")).content.decode()
    assert "Create and judge" not in page  # batches go by verdicts


def test_where_nothing_is_decided_the_leaderboard_leads_to_the_plan(manager, dataset):
    page = manager.get("/leaderboard/", {"dataset": dataset.slug}).content.decode()
    assert f'href="{address(dataset)}"' in page


def test_a_plan_becomes_a_study_and_a_run(manager, dataset):
    page = create(manager, dataset, kind="SAMPLE", size=6)
    plan = PairingPlan.objects.get()
    links = re.findall(r'href="(/(?:studies|runs)/new/[^"]*)"', page)
    study, run = [link.replace("&amp;", "&") for link in links if "plan" in link]
    assert f'<option value="{plan.pk}" selected' in manager.get(study).content.decode()
    assert f'<option value="plan:{plan.pk}" selected' in manager.get(run).content.decode()
    fields = {
        "dataset": dataset.slug,
        "kind": "TEST",
        "judge": "lexical",
        "targets": f"plan:{plan.pk}",
    }
    assert manager.post("/runs/new/", fields).status_code == 302
    judged = JudgeRun.objects.get()
    assert judged.config["targets"]["plan"] == plan.pk
    assert {row.comparison_id for row in judged.judgments.all()} == set(
        plan.comparisons.values_list("pk", flat=True)
    )
    page = manager.get(f"/runs/{judged.pk}/").content.decode()
    assert f"comparisons that were planned together, #{plan.pk}" in page


@pytest.mark.parametrize(
    ("changes", "judge", "sets"),
    [
        ({}, None, None),
        ({"judge": "fake"}, "fake", None),
        ({"verdicts": "base"}, "lexical", "none"),
        ({"judge": "fake", "verdicts": "selected"}, "fake", None),
    ],
)
def test_judging_a_plan_begins_with_the_judge_that_the_page_goes_by(
    manager, dataset, changes, judge, sets
):
    make_endpoint(name="fake")
    page = create(manager, dataset, kind="ADAPTIVE", **changes)
    assert "A run judges all comparisons of a plan" in page
    (link,) = re.findall(r'href="/runs/new/[?]([^"]*plan[^"]*)"', page)
    asked = dict(parse_qsl(link.replace("&amp;", "&")))
    assert (asked["kind"], asked.get("judge"), asked.get("sets")) == ("TEST", judge, sets)


def test_a_study_of_an_adaptive_plan_is_of_its_last_batch(manager, dataset):
    create(manager, dataset, kind="ADAPTIVE")
    label_all(dataset)
    page = create(manager, dataset, kind="ADAPTIVE")
    plan = PairingPlan.objects.get()
    (link,) = re.findall(r'href="(/studies/new/[^"]*plan=[^"]*)"', page)
    page = manager.get(link.replace("&amp;", "&")).content.decode()
    (option,) = re.findall(r'<option value="([^"]*)" selected[^>]*>[^<]*batch', page)
    assert option == f"{plan.pk}:2"
    fields = {
        "name": "Second",
        "kind": "PAIRWISE",
        "plan_of_pairs": option,
        "overlap": 1,
        "min_turns": 1,
        "lease_minutes": 30,
        "pause_after": 50,
        "seed": 42,
        "gold_rate": 0,
        "repeat_rate": 0,
    }
    answer = manager.post(f"/studies/new/?dataset={dataset.slug}", fields)
    assert answer.status_code == 302, answer.context["form"].errors
    study = Study.objects.get()
    assert set(study.items.values_list("comparison", flat=True)) == set(
        plan.planned.filter(batch=2).values_list("comparison", flat=True)
    )
    page = manager.get(f"/studies/{study.slug}/").content.decode()
    assert f"planned comparisons: #{plan.pk} · batch: 2" in page


def test_more_than_can_be_made_at_once_is_said_before(manager, dataset, monkeypatch):
    monkeypatch.setattr("annotation.services.imports.comparisons.MOST_AT_ONCE", 23)
    page = manager.get(address(dataset)).content.decode()
    assert "would create more than 20,000 comparisons at once" in page
    assert "<b>24</b>" in page
    assert 'form="create-comparisons"' not in page


def test_where_much_is_possible_the_page_tells_how_much_and_a_run_makes_the_plan(
    manager, dataset, monkeypatch
):
    monkeypatch.setattr("benchmark.views.pairing.AT_ONCE", 23)
    page = manager.get(address(dataset)).content.decode()
    assert "<b>24</b><span>possible at most" in page
    assert "comparisons to add" not in page
    assert "Create in a run" in page
    counted = manager.get(address(dataset), asked(kind="SAMPLE", size=7, estimate=1))
    assert "<b>7</b><span>comparisons to add" in counted.content.decode()
    answer = manager.post(address(dataset), asked(kind="SAMPLE", size=7, scenarios=[]))
    run = JudgeRun.objects.get()
    assert (answer.url, run.kind) == (f"/runs/{run.pk}/", "PAIR")
    assert not Comparison.objects.exists()
    again = manager.post(address(dataset), asked(kind="SAMPLE", size=7), follow=True)
    assert "An identical run is already in progress." in again.content.decode()
    run_to_end(run.pk)
    page = manager.get(f"/runs/{run.pk}/").content.decode()
    assert f'href="{address(dataset)}#plans"' in page
    assert "A balanced sample" in page
    assert PairingPlan.objects.get().created_by.username == "boss"
    assert Comparison.objects.count() == 7
    monkeypatch.setattr("benchmark.views.pairing.MOST_AT_ONCE", 23)
    page = manager.get(address(dataset), asked(estimate=1)).content.decode()
    assert "comparisons to add" not in page
    assert "Count and price" not in page


def test_of_more_than_can_be_looked_at_nothing_is_planned(manager, dataset, monkeypatch):
    monkeypatch.setattr("benchmark.services.pairing.MOST_POSSIBLE", 23)
    said = "too many to plan at once. Choose scenarios or models."
    assert said in manager.get(address(dataset)).content.decode()
    for at_once in (1, 1000):
        monkeypatch.setattr("benchmark.views.pairing.AT_ONCE", at_once)
        answer = manager.post(address(dataset), asked(kind="SAMPLE", size=7))
        assert answer.status_code == 422
        assert said in answer.content.decode()
    assert not JudgeRun.objects.exists()
    assert "Created 12 comparisons." in create(manager, dataset, scenarios=["Code"], models=[])


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "ANCHOR"},
        {"kind": "SAMPLE"},
        {"kind": "other"},
        {"cap": 0},
        {"judge": "nobody"},
    ],
)
def test_an_unfinished_plan_is_not_made(manager, dataset, changes):
    assert manager.post(address(dataset), asked(**changes)).status_code == 422
    assert manager.get(address(dataset), asked(**changes)).status_code == 422
    assert not PairingPlan.objects.exists()


def test_nothing_to_compare_is_said(manager):
    dataset = make_dataset()
    page = manager.get(address(dataset))
    assert page.status_code == 200
    assert "no two models gave different responses to the same request" in page.content.decode()
    assert manager.post(address(dataset), asked()).status_code == 422


def test_a_plan_in_the_list_leads_to_its_next_batch(manager, dataset):
    create(manager, dataset, kind="ADAPTIVE", size=5, scenarios=["Code"], verdicts="base")
    page = manager.get(f"{address(dataset)}?verdicts=base&{urlencode(asked())}").content.decode()
    link = re.search(r'href="(\?kind=ADAPTIVE[^"]*)"', page)[1].replace("&amp;", "&")
    assert "verdicts=base" in link
    page = manager.get(f"{address(dataset)}{link}").content.decode()
    assert "5 of 5 comparisons in the last batch" in " ".join(page.split())


def test_only_managers_plan(client, dataset):
    assert client.get(address(dataset)).status_code == 302
    client.force_login(make_user(role="VIEWER"))
    assert client.get(address(dataset)).status_code == 403
    assert client.post(address(dataset), asked()).status_code == 403
    client.force_login(make_user(role="MANAGER"))
    assert client.put(address(dataset)).status_code == 405
    assert client.get("/datasets/none/pairing/").status_code == 404
    assert not Study.objects.exists()


def test_queries_do_not_grow_with_plans(manager, dataset, django_assert_max_num_queries):
    for size in range(1, 6):
        create(manager, dataset, kind="SAMPLE", size=size)
    with django_assert_max_num_queries(22):
        manager.get(address(dataset))


def test_the_page_of_a_run_tells_its_rules_and_leads_managers_to_its_plan(client, dataset):
    rules = PairingRules(scenarios=("Code",), models=("alpha", "beta"), variants=True)
    run = start(plan_pairing(dataset, rules, Verdicts()))
    for role, status, is_led in [
        ("MANAGER", "PENDING", False),
        ("MANAGER", "DONE", True),
        ("VIEWER", "DONE", False),
    ]:
        JudgeRun.objects.update(status=status)
        client.force_login(make_user(role=role))
        page = tight(client.get(f"/runs/{run.pk}/"))
        assert ("See plans" in page) == is_led
        assert "<dt>Scenarios</dt><dd>Code</dd>" in page
        assert "<dt>Models</dt><dd>alpha, beta</dd>" in page
        assert "<dt>Variants as models of their own</dt><dd>yes</dd>" in page
        assert "Both responses" not in page
