from __future__ import annotations

import pytest

from judging.models import JudgeRun
from tests.benchmark.stage import Stage
from tests.factory import make_rating, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def start(manager):
    fields = {"dataset": "study", "judge": "lexical", "kind": "DISTIL", "annotator": ""}
    return manager.post("/runs/new/", fields)


def study():
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB" + "AAAA")
    return stage, ann


def test_learning_for_everybody_starts_a_run_for_each_who_has_labels(manager):
    stage, ann = study()
    bob, rater = stage.rater("bob"), stage.rater("rater")
    stage.label(bob, "BBBB" * 2)
    make_rating(stage.comparisons["Code"][0].response_a, annotator=rater)
    answer = start(manager)
    assert (answer.status_code, answer.url) == (302, "/runs/?dataset=study")
    started = JudgeRun.objects.all()
    assert {(run.kind, run.annotator_id) for run in started} == {
        ("DISTIL", ann.pk),
        ("DISTIL", bob.pk),
    }
    assert all(run.created_by is not None for run in started)


def test_learning_for_everybody_where_one_has_labels_leads_to_the_run(manager):
    _stage, ann = study()
    answer = start(manager)
    run = JudgeRun.objects.order_by("-pk").first()
    assert (answer.url, run.annotator_id) == (f"/runs/{run.pk}/", ann.pk)


def test_learning_for_everybody_without_labels_says_so(manager):
    stage = Stage.make()
    make_rating(stage.comparisons["Writing"][0].response_a)
    answer = start(manager)
    assert answer.status_code == 422
    assert not JudgeRun.objects.exists()


def test_the_learned_evaluator_learns_no_preferences(manager):
    study()
    fields = {"dataset": "study", "judge": "learned", "kind": "DISTIL", "annotator": ""}
    answer = manager.post("/runs/new/", fields)
    assert answer.status_code == 422
    assert "The learned evaluator scores satisfaction only." in answer.content.decode()
    assert not JudgeRun.objects.exists()
