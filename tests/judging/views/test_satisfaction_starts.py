"""Starting satisfaction runs in each way of asking, and what their pages show of it."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Response, User
from judging.core.rules import SPECS, Level, SatisfactionSettings, Variant
from judging.core.targets import RunTarget, Targets
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_item, make_response, make_study, make_user
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import start_satisfaction_run
from tests.markup import tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture
def server():
    with FakeLlm() as fake:
        yield fake


def fields_for(dataset, judge, **more):
    return {
        "dataset": dataset.slug,
        "judge": judge,
        "kind": "SATISFACTION",
        "annotator": "",
        **more,
    }


@pytest.mark.parametrize(
    ("variant", "level"),
    [(variant, level) for variant, spec in SPECS.items() for level in spec.prompts],
)
def test_every_way_can_be_started_from_the_page(manager, variant, level):
    dataset = make_ratings(people=2, sessions=level is Level.SESSION)
    endpoint = make_endpoint()
    fields = fields_for(dataset, endpoint.name, variant=variant.value, level=level.value)
    answer = manager.post("/runs/new/", fields)
    run = JudgeRun.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/runs/{run.pk}/")
    assert (run.config["variant"], run.config["level"]) == (variant.value, level.value)
    assert run.satisfaction_judgments.count() == 20


def test_nothing_chosen_is_the_checklist_of_turns(manager):
    dataset = make_ratings(people=2)
    manager.post("/runs/new/", fields_for(dataset, "lexical"))
    run = JudgeRun.objects.get()
    assert (run.config["variant"], run.config["level"]) == ("CHECKLIST", "TURN")


def test_another_dataset_may_teach(manager):
    train, dataset = make_ratings(people=3), make_ratings(people=2)
    fields = fields_for(dataset, make_endpoint().name, variant="FEW_SHOT", train=train.slug)
    manager.post("/runs/new/", fields)
    assert JudgeRun.objects.get().config["train"] == train.slug


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"variant": "SPUR", "level": "SESSION"}, "no prompt for what you want to score"),
        ({"variant": "TASK_GUARDED"}, "no prompt for what you want to score"),
        ({"variant": "SPUR", "judge": "lexical"}, "scores by a memory or without one"),
        ({"level": "SESSION", "turn_targets": "candidates"}, "only original responses"),
        ({"history_in": "nowhere"}, "Select a valid choice"),
        ({"turn_targets": "test"}, "Select a valid choice"),
        ({"turn_targets": "candidates"}, "nothing to judge among these targets"),
        ({"variant": "GUESS"}, "Select a valid choice"),
        ({"train": "nowhere"}, "Select a valid choice"),
        ({"level": "SESSION"}, "no rated responses"),
    ],
)
def test_what_does_not_fit_together_is_refused(manager, fields, said):
    dataset = make_ratings(people=2)
    answer = manager.post(
        "/runs/new/", fields_for(dataset, make_endpoint(name="model").name) | fields
    )
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not JudgeRun.objects.exists()


def test_a_single_rater_has_nobody_to_learn_from(manager):
    dataset = make_ratings(people=1)
    fields = fields_for(dataset, make_endpoint().name, variant="FEW_SHOT")
    answer = manager.post("/runs/new/", fields)
    assert answer.status_code == 422
    assert "There are no other users here" in answer.content.decode()


def test_an_estimate_counts_the_induction(manager, server):
    """20 rated turns teach in two folds, 4 classes in all, 20 turns are scored."""
    dataset = make_ratings(people=2)
    endpoint = make_endpoint(base_url=server.base_url, input_price=1, output_price=2)
    fields = fields_for(dataset, endpoint.name, variant="SPUR")
    page = manager.post(reverse("judging:run-estimate"), fields, headers={"HX-Request": "true"})
    assert page.status_code == 200
    assert "44" in page.content.decode()
    assert server.stats()["calls"] == 0
    assert not JudgeRun.objects.exists()


def finished(server, dataset, variant):
    endpoint = make_endpoint(base_url=server.base_url)
    settings = SatisfactionSettings(variant=variant)
    run = start_satisfaction_run(dataset=dataset, judge=endpoint.name, settings=settings)
    return run_to_end(run.pk)


def page_of(manager, run):
    return " ".join(manager.get(f"/runs/{run.pk}/").content.decode().split())


def test_the_page_of_a_run_shows_its_rubrics(manager, server):
    run = finished(server, make_ratings(people=2), Variant.SPUR)
    page = page_of(manager, run)
    assert "Rubrics induced from training users (SPUR-style)" in page
    assert "Extract reasons from ratings" in page
    assert "Write rubrics" in page
    assert "User group 2" in page
    rubrics = run.rubrics.filter(step="FINAL")
    assert all(text in page for row in rubrics for text in row.sentences)


def test_the_page_of_a_run_shows_its_examples(manager, server):
    run = finished(server, make_ratings(people=2), Variant.FEW_SHOT)
    page = page_of(manager, run)
    assert "10 examples" in page
    assert "Where to go, p1 kind 0 0?" in page


def test_rubrics_that_were_not_induced_are_said_to_be_missing(manager, server):
    server.faults = {"garbage": 1.0}
    run = finished(server, make_ratings(people=2, turns=2), Variant.SPUR)
    page = page_of(manager, run)
    assert "No rubrics" in page
    assert "rubrics:missing" in page


def test_the_list_of_runs_tells_the_ways_apart(manager, server):
    dataset = make_ratings(people=2, turns=2)
    for variant in (Variant.ZERO_SHOT, Variant.PROMETHEUS):
        finished(server, dataset, variant)
    page = manager.get("/runs/").content.decode()
    assert "Plain question (zero-shot)" in page
    assert "Prometheus-style" in page


def test_what_the_page_costs_does_not_grow_with_rubrics(manager, server):
    counts = []
    for people, turns in ((2, 2), (4, 4)):
        run = finished(server, make_ratings(people=people, turns=turns), Variant.SPUR)
        manager.get(f"/runs/{run.pk}/")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            manager.get(f"/runs/{run.pk}/")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_unrated_responses_are_scored_from_the_page(manager):
    dataset = make_ratings(people=2)
    response = Response.objects.filter(turn__session__dataset=dataset).first()
    make_response(response.turn, model="other", text="Another answer.")
    page = manager.get(f"/runs/new/?dataset={dataset.slug}&kind=SATISFACTION&turn_targets=all")
    assert '<option value="all" selected>' in page.content.decode()
    fields = fields_for(
        dataset, "lexical", turn_targets="all", model=["other"], scenario=["kind 0"], sample="5"
    )
    manager.post("/runs/new/", fields)
    run = JudgeRun.objects.get()
    assert run.config["targets"] == {
        "kind": "ALL",
        "study": "",
        "plan": None,
        "scenarios": ["kind 0"],
        "models": ["other"],
        "languages": [],
        "sample": 5,
    }
    run_to_end(run.pk)
    page = page_of(manager, run)
    assert "scored for calibration only" in page
    assert "?part=CANDIDATE" in page
    (row,) = run.satisfaction_judgments.filter(part="CANDIDATE")
    listed = manager.get(f"/runs/{run.pk}/turns/?part=CANDIDATE").content.decode()
    assert "other" in listed
    judged = tight(manager.get(f"/runs/{run.pk}/turns/{row.pk}/"))
    assert "Scored by lexical on behalf of" in judged
    assert "not rated" in judged


def test_unrated_turns_are_scored_by_the_judge_of_the_rated_ones(manager):
    make_endpoint(name="fake")
    dataset = make_ratings(people=2)
    run = start_satisfaction_run(dataset=dataset, judge="fake")
    JudgeRun.objects.filter(pk=run.pk).update(status="DONE")
    (link,) = re.findall(r'href="(/runs/new/[^"]*)"', page_of(manager, run))
    form = manager.get(link.replace("&amp;", "&")).context["form"]
    assert (form.initial["kind"], form.initial["judge"]) == ("SATISFACTION", ["fake"])
    assert form.initial["turn_targets"] == "all"


def test_the_conversations_of_a_study_are_scored_from_the_page(manager):
    dataset = make_ratings(people=2)
    pilot = make_study(dataset, slug="pilot", kind="SATISFACTION")
    session = dataset.sessions.first()
    make_item(pilot, session=session)
    make_study(dataset, slug="pairs")
    page = manager.get(f"/runs/new/?dataset={dataset.slug}&kind=SATISFACTION").content.decode()
    offered = re.search(r'<select name="turn_targets".*?</select>', page, re.DOTALL)[0]
    assert re.findall(r'value="study:(\w+)"', offered) == ["pilot"]
    manager.post("/runs/new/", fields_for(dataset, "lexical", turn_targets="study:pilot"))
    run = JudgeRun.objects.get()
    scored = run.satisfaction_judgments.exclude(part="REFERENCE")
    assert {row.response.turn.session for row in scored} == {session}
    assert "everything in a study, pilot" in page_of(manager, run)


def test_a_dataset_is_scored_in_an_annotators_stead_from_the_page(manager):
    learned_in, dataset = make_ratings(people=2), make_ratings(people=1)
    annotator = User.objects.get(username=f"{learned_in.slug}:p1")
    fields = fields_for(dataset, "lexical", history_in=learned_in.slug)
    manager.post("/runs/new/", fields | {"annotator": annotator.pk, "turn_targets": "rated"})
    run = JudgeRun.objects.get()
    assert run.config["history_dataset"] == learned_in.slug
    assert run.config["targets"]["kind"] == "ALL"
    assert set(run.satisfaction_judgments.values_list("user", "part")) == {
        (annotator.pk, "UNLABELLED")
    }
    manager.post("/runs/new/", fields)  # everybody, of whom one is under way
    assert JudgeRun.objects.count() == 2
    assert JudgeRun.objects.latest("pk").annotator.username == f"{learned_in.slug}:p0"


def test_memories_of_a_run_over_unrated_turns_score_the_same_turns_again(manager):
    dataset = make_ratings(people=2)
    run = start_satisfaction_run(
        dataset=dataset, judge="lexical", targets=Targets(kind=RunTarget.ALL, sample=3)
    )
    run_to_end(run.pk)
    manager.post(f"/runs/{run.pk}/memories/score/")
    again = JudgeRun.objects.latest("pk")
    assert again.config["targets"] == run.config["targets"]
    assert again.config["memories_of"] == run.pk
    assert again.satisfaction_judgments.count() == run.satisfaction_judgments.count()


def test_where_there_are_only_ratings_a_run_scores_satisfaction(manager):
    for sessions in (False, True):
        dataset = make_ratings(people=1, sessions=sessions)
        page = tight(manager.get(f"/runs/new/?dataset={dataset.slug}"))
        assert re.search(r'value="SATISFACTION"[^>]* checked', page)
