from __future__ import annotations

import html
from datetime import timedelta

import pytest
from django.utils import timezone

from judging.models import (
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    PreferenceSet,
    RunKind,
    RunUnit,
)
from judging.queries.run_lists import run_list
from tests.benchmark.stage import Stage
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_judgment,
    make_preference,
    make_rating,
    make_run,
    make_user,
)
from tests.judging.study import make_pair
from tests.markup import tight

pytestmark = pytest.mark.django_db


def study():
    """Two scenarios, a finished distillation and the test run that applies it."""
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB" + "AAAA")
    parent = stage.distilled(ann)
    run = stage.tested(ann, parent, base="AA?-" + "AAAA", selected="ABAB" + "AAAA")
    return stage, ann, parent, run


def addresses(run, stage):
    comparison = stage.comparisons["Writing"][0]
    return [
        "/runs/",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/progress/",
        f"/runs/{run.pk}/comparisons/{comparison.pk}/",
    ]


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def test_strangers_sign_in_first(client):
    stage, _ann, _parent, run = study()
    for address in [*addresses(run, stage), "/runs/new/", "/preference-sets/1/"]:
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_do_not_see_runs(client):
    stage, _ann, _parent, run = study()
    client.force_login(make_user(role="ANNOTATOR"))
    for address in [*addresses(run, stage), "/runs/new/"]:
        assert client.get(address).status_code == 403


def test_only_managers_start_stop_and_repeat(viewer):
    _stage, _ann, _parent, run = study()
    assert viewer.get("/runs/new/").status_code == 403
    assert viewer.post("/runs/new/", {"dataset": "study"}).status_code == 403
    assert viewer.post(f"/runs/{run.pk}/stop/").status_code == 403
    assert viewer.post(f"/runs/{run.pk}/retry/").status_code == 403
    assert "Start a run" not in tight(viewer.get("/runs/"))


def test_wrong_methods_are_refused(manager):
    stage, _ann, _parent, run = study()
    assert [manager.post(each).status_code for each in addresses(run, stage)] == [405] * 4
    for action in ("stop", "retry"):
        assert manager.get(f"/runs/{run.pk}/{action}/").status_code == 405


@pytest.mark.parametrize(
    "address",
    [
        "/runs/999999/",
        "/runs/999999/progress/",
        "/runs/999999/comparisons/1/",
        "/preference-sets/999999/",
    ],
)
def test_what_is_not_there_is_not_found(viewer, address):
    assert viewer.get(address).status_code == 404


def test_a_comparison_that_the_run_did_not_judge_is_not_found(viewer):
    stage, _ann, parent, _run = study()
    comparison = stage.comparisons["Writing"][0]
    assert viewer.get(f"/runs/{parent.pk}/comparisons/{comparison.pk}/").status_code == 404


def test_an_empty_list_says_what_runs_are_for(manager):
    page = tight(manager.get("/runs/"))
    assert "No runs yet" in page
    assert "Start a run" in page


def test_the_list_counts_answered_rows(viewer):
    _stage, _ann, parent, run = study()
    lines = {line.id: line for line in viewer.get("/runs/").context["found"].lines}
    # 8 comparisons by 2 preferences and 2 orders, less one comparison to come and one unreadable.
    assert (lines[run.pk].answered, lines[run.pk].total) == (28, 32)
    assert (lines[parent.pk].answered, lines[parent.pk].total) == (0, 0)


def test_the_list_says_what_was_judged_and_follows_runs_under_way(viewer):
    make_run(config={"targets": {"kind": "ALL", "scenarios": ["Code"]}})
    make_run(config={"targets": {"kind": "PLAN", "plan": 7}})
    make_run()
    make_run(kind="DISTIL")
    page = tight(viewer.get("/runs/"))
    assert "everything, Code" in page
    assert "comparisons that were planned together, #7" in page
    assert page.count("labelled comparisons that were not learned from") == 1
    assert "hx-trigger" in page
    JudgeRun.objects.update(status="DONE")
    assert "hx-trigger" not in tight(viewer.get("/runs/"))


def test_the_list_leads_from_generated_responses_to_comparisons(manager):
    dataset = make_run(kind="GENERATE", status="DONE").dataset
    page = tight(manager.get(f"/runs/?dataset={dataset.slug}"))
    assert f'class="button primary" href="/datasets/{dataset.slug}/pairing/"' in page
    make_run(dataset=dataset)
    page = tight(manager.get(f"/runs/?dataset={dataset.slug}"))
    assert f'class="button" href="/datasets/{dataset.slug}/pairing/"' in page


def test_the_list_is_filtered_by_dataset(viewer):
    study()
    other = make_run()
    found = viewer.get(f"/runs/?dataset={other.dataset.slug}").context["found"]
    assert [line.id for line in found.lines] == [other.pk]
    assert viewer.get("/runs/?dataset=none").context["found"].lines == []


def test_a_run_shows_its_rules_steps_and_errors(viewer):
    _stage, ann, parent, run = study()
    run.config |= {"seed": 42}
    run.save()
    page = tight(viewer.get(f"/runs/{run.pk}/"))
    assert "Judge comparisons" in page
    assert "<dt>seed</dt><dd>42</dd>" in page
    assert "verdict:unparseable" in page
    assert "The reply contains no verdict" in page
    assert f'<a href="/runs/{parent.pk}/">run {parent.pk}</a>' in page
    assert f"/trust/?dataset=study&amp;annotator={ann.pk}&amp;run={run.pk}" in page


def test_a_distillation_shows_what_it_selected(manager):
    _stage, ann, parent, run = study()
    page = tight(manager.get(f"/runs/{parent.pk}/"))
    assert "Selected preferences" in page
    assert "shuffled labels" in page
    assert f"/runs/new/?dataset=study&amp;annotator={ann.pk}&amp;kind=TEST" in page
    assert f'<a href="/runs/{run.pk}/">run {run.pk}</a>' in page


def test_a_run_says_by_which_set_each_scenario_was_judged(viewer):
    stage, ann, parent, run = study()
    sets = PreferenceSet.objects.filter(run=parent, control="NONE")
    own, unused = sets.order_by("scenario__position")
    first, second = run.config["scenarios"]
    first |= {"basis": "OWN", "sets": {"NONE": own.pk}, "stack": first["base"]}
    second |= {"basis": "BASE", "sets": {"NONE": unused.pk}}
    run.save()

    def told(one, *tags):
        link = f'<a href="/preference-sets/{one.pk}/">preference set {one.pk}</a>'
        return link + "".join(f'<span class="tag">{tag}</span>' for tag in tags)

    vote = 'the scenario\'s set<span class="tag">weighted vote</span>' + told(own)
    base = "the base judge" + told(unused, "not used")
    page = html.unescape(tight(viewer.get(f"/runs/{run.pk}/")))
    assert f'<th>Writing</th><td>{vote}</td><td class="n">4</td>' in page
    assert f'<th>Code</th><td>{base}</td><td class="n">4</td>' in page
    for scenario, said in (("Writing", vote), ("Code", base)):
        comparison = stage.comparisons[scenario][0]
        page = viewer.get(f"/runs/{run.pk}/comparisons/{comparison.pk}/")
        assert f"Judged by: {said}" in html.unescape(tight(page))
    base_only = stage.tested(ann, None, base="AAAAAAAA")
    assert "Applied preferences" not in tight(viewer.get(f"/runs/{base_only.pk}/"))


@pytest.mark.parametrize("status", ["PENDING", "RUNNING", "FAILED"])
def test_an_unfinished_distillation_leads_nowhere_yet(manager, status):
    _stage, _ann, parent, _run = study()
    JudgeRun.objects.filter(pk=parent.pk).update(status=status)
    page = tight(manager.get(f"/runs/{parent.pk}/"))
    assert "See trust figures" not in page
    assert "Measure on the test split" not in page


def test_a_satisfaction_run_leads_to_its_turns_and_memories(viewer):
    run = make_run(kind=RunKind.SATISFACTION)
    page = tight(viewer.get(f"/runs/{run.pk}/"))
    assert f"/runs/{run.pk}/turns/" in page
    assert f"/runs/{run.pk}/memories/" in page


def test_progress_asks_for_itself_until_the_run_is_over(viewer):
    _stage, _ann, _parent, run = study()
    JudgeRun.objects.filter(pk=run.pk).update(status="RUNNING")
    answer = viewer.get(f"/runs/{run.pk}/progress/")
    assert answer.status_code == 200
    assert 'hx-trigger="every 2s"' in tight(answer)
    assert 'hx-trigger="every 2s"' in tight(viewer.get(f"/runs/{run.pk}/"))
    JudgeRun.objects.filter(pk=run.pk).update(status="DONE")
    over = viewer.get(f"/runs/{run.pk}/progress/")
    assert (over.status_code, over["HX-Refresh"]) == (286, "true")
    assert "hx-trigger" not in tight(over)


@pytest.mark.parametrize(("minutes", "is_left"), [(0, False), (10, True)])
def test_a_run_that_nobody_is_at_work_on_can_be_resumed(manager, minutes, is_left):
    run = make_run(
        status="RUNNING", stage="judge", heartbeat_at=timezone.now() - timedelta(minutes=minutes)
    )
    for address in (f"/runs/{run.pk}/", f"/runs/{run.pk}/progress/"):
        page = tight(manager.get(address))
        assert ("This run is idle." in page) is is_left
        assert ("Resume" in page) is is_left
        assert "Stop" in page
    manager.post(f"/runs/{run.pk}/retry/")
    run.refresh_from_db()
    assert (run.status, run.generation) == (("PENDING", 1) if is_left else ("RUNNING", 0))


def test_a_run_behind_another_is_queued(manager):
    now = timezone.now()
    make_run(status="RUNNING", stage="judge", heartbeat_at=now)
    run = make_run(status="PENDING")
    JudgeRun.objects.filter(pk=run.pk).update(created_at=now - timedelta(seconds=90))
    for address in (f"/runs/{run.pk}/", f"/runs/{run.pk}/progress/"):
        page = tight(manager.get(address))
        assert "Queued. The run starts as soon as a worker is free." in page
        assert "This run is idle." not in page
        assert "Resume" not in page


def test_a_run_that_learns_says_how_far_it_is(viewer):
    learning = make_run(status="RUNNING", stage="learn", heartbeat_at=timezone.now())
    address = f"/runs/{learning.pk}/progress/"
    assert "s ratings: step" not in tight(viewer.get(address))  # not begun
    RunUnit.objects.create(run=learning, position=0, name="learn", result={"done": 3, "steps": 68})
    page = tight(viewer.get(address))
    assert "s ratings: step 3 of 68." in page
    assert '<progress value="3" max="68"' in viewer.get(address).content.decode()
    JudgeRun.objects.filter(pk=learning.pk).update(stage="score")
    assert "s ratings: step" not in tight(viewer.get(address))


def test_a_failed_run_says_why(viewer):
    run = make_run(status="FAILED", error_code="llm:timeout", error_detail="after 120 s")
    page = tight(viewer.get(f"/runs/{run.pk}/"))
    assert "The endpoint did not answer in time" in page
    assert "after 120 s" in page


def test_a_manager_stops_a_run_and_lets_it_go_on(manager):
    _stage, _ann, _parent, run = study()
    JudgeRun.objects.filter(pk=run.pk).update(status="RUNNING")
    assert manager.post(f"/runs/{run.pk}/stop/").url == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert run.status == "CANCELLED"
    assert "Resume" in tight(manager.get(f"/runs/{run.pk}/"))
    assert manager.post(f"/runs/{run.pk}/retry/").url == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert run.status == "PENDING"


def test_what_is_over_is_not_stopped_and_what_runs_is_not_repeated(manager):
    run = make_run(status="DONE")
    page = tight(manager.post(f"/runs/{run.pk}/stop/", follow=True))
    assert "The run has already finished." in page
    JudgeRun.objects.filter(pk=run.pk).update(status="RUNNING", heartbeat_at=timezone.now())
    page = tight(manager.post(f"/runs/{run.pk}/retry/", follow=True))
    assert "The run is in progress. Wait for it to finish, or cancel it." in page


def test_a_run_whose_ratings_were_withdrawn_offers_no_retry(manager):
    run = make_run(status="DONE")
    judgment = {"status": "FAILED", "error_code": "comparison:no-text"}
    make_judgment(run, make_comparison(), make_preference(), **judgment)
    page = tight(manager.get(f"/runs/{run.pk}/"))
    assert "comparison:no-text" in page
    assert "Retry failed calls" not in page


def test_what_failed_is_asked_again(manager):
    _stage, _ann, _parent, run = study()
    rows = Judgment.objects.filter(run=run, status="UNPARSEABLE")
    rows.update(status="FAILED", error_code="llm:timeout")
    page = tight(manager.get(f"/runs/{run.pk}/"))
    assert "Retry failed calls" in page
    assert "Test or change model endpoints" in page
    (line,) = (each for each in run_list(dataset="", page="").lines if each.id == run.pk)
    assert line.answered == Judgment.objects.filter(run=run, status="DONE").count()
    manager.post(f"/runs/{run.pk}/retry/")
    assert Judgment.objects.filter(run=run, status="PENDING").count() == 4


def start(manager, **fields):
    return manager.post("/runs/new/", {"dataset": "study", "judge": "lexical", **fields})


def test_the_form_offers_the_datasets_annotators_and_judges(manager):
    study()
    endpoint = make_endpoint(name="qwen")
    make_endpoint(name="retired", enabled=False)
    make_dataset(slug="other")
    page = tight(manager.get("/runs/new/?dataset="))
    assert "Study" in page
    assert "Task" not in page
    assert "Task" not in tight(manager.get("/runs/new/?dataset=gone"))
    page = tight(manager.get("/runs/new/"))
    assert '<option value="study" selected>' in page  # of the last run
    page = tight(manager.get("/runs/new/?dataset=study"))
    assert "Task" in page
    assert ">ann</option>" in page
    assert f'value="{endpoint.name}"' in page
    assert "retired" not in page


def test_without_datasets_there_is_nothing_to_run_on(manager):
    assert "No datasets yet" in tight(manager.get("/runs/new/"))


def test_learning_measuring_and_scoring_are_started(manager):
    stage, ann, _parent, _run = study()
    make_rating(stage.comparisons["Code"][0].response_a, annotator=ann)
    for kind, person in (("DISTIL", ann.pk), ("TEST", ann.pk), ("SATISFACTION", "")):
        answer = start(manager, kind=kind, annotator=person)
        run = JudgeRun.objects.order_by("-pk").first()
        assert (answer.status_code, answer.url) == (302, f"/runs/{run.pk}/")
        assert (run.kind, run.annotator_id, run.judge) == (kind, person or None, "lexical")
        assert run.created_by is not None


def test_what_is_unlabelled_is_judged_for_everybody_and_leads_to_the_leaderboard(manager):
    stage, ann, _parent, _run = study()
    session = stage.comparisons["Code"][0].turn.session
    fresh = make_pair(session.scenario)
    answer = start(manager, kind="TEST", annotator="", targets="unlabelled", sample="5")
    run = JudgeRun.objects.order_by("-pk").first()
    assert (run.annotator, run.config["targets"]["sample"]) == (ann, 5)
    assert set(run.judgments.values_list("comparison", flat=True)) == {fresh.pk}
    page = tight(manager.get(answer.url))
    assert "everything unlabelled, sample of 5" in page
    assert "/leaderboard/?dataset=study" in page
    assert "/datasets/study/export/judgments.csv" in page
    assert manager.get(f"/runs/{run.pk}/controls/").status_code == 404


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"kind": "DISTIL", "annotator": "999999"}, "Select a valid choice"),
        ({"kind": "BENCHMARK", "annotator": ""}, "Select a valid choice"),
        ({"kind": "SATISFACTION", "annotator": "", "judge": "oracle"}, "Select a valid choice"),
        ({"kind": "SATISFACTION", "annotator": ""}, "This dataset has no rated responses"),
    ],
)
def test_what_cannot_be_started_says_why(manager, fields, problem):
    study()
    answer = start(manager, **fields)
    assert answer.status_code == 422
    assert problem in tight(answer)


def test_the_page_says_what_each_annotator_s_labels_leave_to_learn_from(manager):
    study()
    page = tight(manager.get("/runs/new/", {"dataset": "study"}))
    assert "Labels to learn from" in page
    assert "conversations with a winner" in page


def test_measuring_before_learning_is_refused(manager):
    stage, _ann, _parent, _run = study()
    other = stage.rater("other")
    stage.label(other, "AAAA" * 2)
    answer = start(manager, kind="TEST", annotator=other.pk)
    assert answer.status_code == 422
    assert not JudgeRun.objects.filter(annotator=other).exists()


def test_a_comparison_shows_every_reply_in_both_orders(viewer):
    stage, _ann, _parent, run = study()
    comparison = stage.comparisons["Writing"][2]
    page = tight(viewer.get(f"/runs/{run.pk}/comparisons/{comparison.pk}/"))
    assert "Write a note to my landlord." in page
    assert "Base judge, no preference" in page
    assert "verdict:unparseable" in page
    assert '<pre class="raw">Hm.</pre>' in page
    assert "A is better" in page
    assert "alpha" not in page


def test_a_reply_of_an_endpoint_is_shown_from_its_stored_call(viewer):
    stage, _ann, _parent, run = study()
    comparison = stage.comparisons["Writing"][0]
    call = LlmCall.objects.create(
        key="k" * 64, base_url="http://127.0.0.1:9/v1", model="m", request={}, reply="<b>A wins</b>"
    )
    Judgment.objects.filter(run=run, comparison=comparison).update(call=call)
    page = tight(viewer.get(f"/runs/{run.pk}/comparisons/{comparison.pk}/"))
    assert "&lt;b&gt;A wins&lt;/b&gt;" in page


def test_a_verdict_on_both_orders_together_stands_alone(viewer):
    stage, _ann, _parent, run = study()
    comparison = stage.comparisons["Code"][0]
    Judgment.objects.filter(run=run, comparison=comparison).delete()
    base = Preference.objects.get(kind="EMPTY")
    make_judgment(run, comparison, base, order="COMBINED", verdict="TIE")
    page = tight(viewer.get(f"/runs/{run.pk}/comparisons/{comparison.pk}/"))
    assert "not judged in this order" not in page
    assert "Combined: one verdict recorded for both orders" in page
    assert "tie" in page


def test_what_the_pages_cost_does_not_grow_with_rows(viewer, django_assert_num_queries):
    stage, _ann, _parent, run = study()
    comparison = stage.comparisons["Writing"][0]
    viewer.get("/runs/")
    for address, queries in (
        ("/runs/", 10),
        (f"/runs/{run.pk}/", 16),
        (f"/runs/{run.pk}/progress/", 9),
        (f"/runs/{run.pk}/comparisons/{comparison.pk}/", 9),
    ):
        with django_assert_num_queries(queries):
            viewer.get(address)
