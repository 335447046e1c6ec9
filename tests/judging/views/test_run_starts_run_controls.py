"""The page of a test run's controls: what was judged, what the rest would take, starting it."""

from __future__ import annotations

import pytest
from django.utils.html import escape

from annotation.core.refusals import text_of
from annotation.models import Comparison
from judging.models import JudgeRun, Preference, PreferenceSet
from judging.queries.runs import run_progress
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from tests.factory import make_endpoint, make_rater, make_run, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import (
    FakeJudge,
    label_pair,
    make_study,
    opener_of,
    planned_test,
    start_distillation,
    start_test_run,
)

pytestmark = pytest.mark.django_db


def text(answer):
    return " ".join(answer.content.decode().split())


@pytest.fixture
def endpoint():
    with FakeLlm(rule="first") as server:
        yield make_endpoint(name="qwen", base_url=server.base_url, input_price=1, output_price=1)


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def people(comparisons=12):
    """Ann likes the longer response, Bea whichever is A; both labelled everything."""
    dataset, ann = make_study(comparisons=comparisons)
    bea = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        label_pair(comparison, bea, "A")
    return dataset, ann, bea


def judged(dataset, person, judge="lexical", **test):
    fake = {"opener": opener_of(FakeJudge())} if judge == "lexical" else {}
    asked = {"dataset": dataset, "annotator": person, "judge": judge}
    run_to_end(start_distillation(**asked).pk, **fake)
    return run_to_end(start_test_run(**asked, **test).pk, **fake)


def test_managers_start_viewers_read_and_annotators_do_neither(client):
    dataset, ann, _bea = people()
    run = judged(dataset, ann)
    address = f"/runs/{run.pk}/controls/"
    assert client.get(address).url == f"/sign-in/?next={address}"
    client.force_login(make_user())
    assert client.get(address).status_code == 403
    client.force_login(make_user(role="VIEWER"))
    assert client.get(address).status_code == 200
    assert client.post(f"{address}start/", {"control": "rubric"}).status_code == 403
    assert client.post(address).status_code == 405
    assert client.get(f"{address}start/").status_code == 405


def test_only_a_run_under_its_annotators_own_preferences_has_controls(manager):
    dataset, ann, bea = people()
    own = judged(dataset, ann)
    tried = start_test_run(dataset=dataset, annotator=bea, sets_of=ann)
    base = start_test_run(dataset=dataset, annotator=bea, with_sets=False)
    for run in (tried, base, own.parent, make_run(dataset, kind="RECORDED")):
        assert manager.get(f"/runs/{run.pk}/controls/").status_code == 404
    assert "Controls" in text(manager.get(f"/runs/{own.pk}/"))
    assert "/controls/" not in text(manager.get(f"/runs/{tried.pk}/"))


def test_what_is_there_is_named_and_what_cannot_be_says_so(manager):
    dataset, ann, bea = people()
    alone = judged(dataset, ann)
    page = text(manager.get(f"/runs/{alone.pk}/controls/"))
    assert "6 test comparisons" in page
    assert page.count("in this run") == 2
    assert "no other annotator's preferences" in page.replace("&#x27;", "'")
    assert "this judge does not use prompts" in page
    other = judged(dataset, bea)
    page = text(manager.get(f"/runs/{alone.pk}/controls/"))
    assert f"/runs/{other.pk}/" in page
    assert "judged 6 of these 6 in that annotator" in page
    assert "no calls" in page


def test_another_annotators_set_is_judged_on_this_ones_comparisons(manager):
    dataset, ann, bea = people()
    run = judged(dataset, ann)
    judged(dataset, bea)
    address = f"/runs/{run.pk}/controls/"
    answer = manager.post(f"{address}start/", {"control": str(bea.pk)})
    started = JudgeRun.objects.order_by("-pk").first()
    assert answer.url == f"/runs/{started.pk}/"
    assert (started.annotator, started.parent.annotator) == (ann, bea)
    assert started.config["sets_of"] == bea.username
    assert f'href="/runs/{started.pk}/"' in text(manager.get(address))
    assert 'name="control"' not in text(manager.get(address))


def test_what_a_control_would_take_is_what_it_takes(manager, endpoint):
    dataset, ann, bea = people()
    run = judged(dataset, ann, endpoint.name)
    judged(dataset, bea, endpoint.name)
    address = f"/runs/{run.pk}/controls/"
    context = manager.get(address).context
    ((_other, estimate),) = context["others"]
    page = text(manager.get(address))
    assert "24 calls" in page  # 12 comparisons by the rubric, both orders
    rubric_estimate = context["rubric_estimate"]
    assert rubric_estimate.calls == 24
    assert f"{rubric_estimate.cost_low:.4f}–{rubric_estimate.cost_at_most:.4f}" in page
    manager.post(f"{address}start/", {"control": "rubric", "budget": "5"})
    rubric = run_to_end(JudgeRun.objects.get(config__prompt="PAIRWISE").pk)
    assert (rubric.annotator, rubric.judge, rubric.budget) == (ann, endpoint.name, 5)
    assert run_progress(rubric.pk).calls == 24
    manager.post(f"{address}start/", {"control": str(bea.pk)})
    tried = run_to_end(JudgeRun.objects.filter(parent__annotator=bea, annotator=ann).get().pk)
    assert run_progress(tried.pk).calls == estimate.calls
    page = text(manager.get(address))
    assert f'href="/runs/{rubric.pk}/"' in page
    assert f'href="/runs/{tried.pk}/"' in page


def test_what_cannot_be_started_says_why(manager):
    dataset, ann, bea = people()
    run = judged(dataset, ann)
    address = f"/runs/{run.pk}/controls/start/"
    for control, problem in (
        (str(bea.pk), "run:no-control"),
        ("", "run:no-control"),
        ("rubric", "judge:no-prompts"),
    ):
        answer = manager.post(address, {"control": control}, follow=True)
        assert escape(text_of(problem)) in text(answer)
    judged(dataset, bea)
    answer = manager.post(address, {"control": str(bea.pk), "budget": "3"}, follow=True)
    assert escape(text_of("budget:no-prices")) in text(answer)


def test_the_page_costs_no_more_for_many_annotators(manager, django_assert_max_num_queries):
    dataset, ann, bea = people()
    run = judged(dataset, ann)
    judged(dataset, bea)
    start_test_run(dataset=dataset, annotator=ann, sets_of=bea)
    manager.get(f"/runs/{run.pk}/controls/")
    with django_assert_max_num_queries(8):
        manager.get(f"/runs/{run.pk}/controls/")


def test_what_the_run_heard_itself_stands_there_and_takes_stored_replies(manager, endpoint):
    dataset, ann, bea = people()
    asked = {"dataset": dataset, "judge": endpoint.name}
    for person in (ann, bea):
        run_to_end(start_distillation(annotator=person, **asked).pk)
    PreferenceSet.objects.update(is_used=True)
    for chosen in PreferenceSet.objects.all():
        pair = Preference.objects.filter(run=chosen.run, source_comparison__isnull=False)
        chosen.members.set(pair.filter(pk__in=chosen.columns)[:1])
    for person in (ann, bea):
        run_to_end(start_test_run(annotator=person, with_control=False, **asked).pk)
    wanted = planned_test(dataset=dataset, annotator=ann, judge=endpoint.name)
    assert estimate(wanted).calls == 0  # bea's own run asked the same of the same comparisons
    run = run_to_end(start(wanted).pk)
    assert run_progress(run.pk).calls == 0
    page = text(manager.get(f"/runs/{run.pk}/controls/"))
    assert "6 of 6 comparisons" in page
    assert page.count("in this run") == 3
    assert f'value="{bea.pk}"' not in page
    assert "1 of 1, drawn by the seed" in text(manager.get(f"/runs/{run.pk}/"))
    comparison = run.judgments.order_by("pk").first().comparison_id
    assert "Preferences of bea" in text(manager.get(f"/runs/{run.pk}/comparisons/{comparison}/"))
