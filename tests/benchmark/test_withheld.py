"""Trust pages of an annotator: what a study withholds shows once it is closed."""

from __future__ import annotations

import pytest

from annotation.models import PairwiseLabel, Study
from judging.models import RunKind, SatisfactionJudgment
from tests.benchmark.stage import Stage
from tests.factory import (
    make_claim,
    make_item,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

SENTENCE = "are shown once the study is closed."
VOICES = ("human", "base", "selected", "shuffled")


@pytest.fixture
def stage():
    """Six labels of `ann`; the dev comparison and one of the test part are of a study."""
    stage = Stage.make(size=6)
    ann = stage.rater("ann")
    type(ann).objects.filter(pk=ann.pk).update(is_active=True)
    stage.label(ann, "ABABAB", shown="ORIGINAL")
    stage.tested(ann, stage.distilled(ann), base="BBBBBB", selected="ABABAB", shuffled="ABBABB")
    return stage


@pytest.fixture
def ann(stage, client):
    ann = PairwiseLabel.objects.first().annotator
    client.force_login(ann)
    return ann


def with_repeats(stage, ann):
    """A study whose answers are withheld: the labels of the first and the second comparison."""
    study = make_study(stage.dataset, annotators=[ann], repeat_rate=0.1)
    for comparison in stage.comparisons["Writing"][:2]:
        make_claim(make_item(study, comparison=comparison), ann, state="DONE")
        PairwiseLabel.objects.filter(comparison=comparison).update(study=study)


def to_be_answered(stage, ann):
    """A study that asks again, elsewhere, what is answered already."""
    study = make_study(stage.dataset, annotators=[ann])
    for comparison in stage.comparisons["Writing"][:2]:
        make_item(study, comparison=comparison)


def text(answer):
    return " ".join(answer.content.decode().split())


def keys_at(client, of):
    return {row.key for row in client.get("/trust/rows/", {"of": of}).context["found"].rows}


@pytest.mark.parametrize("study", [with_repeats, to_be_answered])
def test_rows_and_figures_are_of_what_may_be_read(client, stage, ann, study):
    every = {each.key for each in stage.comparisons["Writing"]}
    kept = {each.key for each in stage.comparisons["Writing"][:2]}
    before = client.get("/trust/")
    assert SENTENCE not in text(before)
    assert (before.context["page"].labels, len(before.context["page"].sets)) == (6, 1)
    study(stage, ann)
    for of in VOICES:
        assert keys_at(client, of) == every - kept
    page = client.get("/trust/")
    assert page.context["page"].labels == 4
    assert page.context["page"].sets == ()
    assert page.context["page"].progress == {"DONE": 24}
    assert page.context["overall"].human is not before.context["overall"].human
    assert SENTENCE in text(page)
    assert SENTENCE in text(client.get("/trust/rows/", {"of": "human"}))
    assert client.get("/trust/figures.csv").content.decode().splitlines()[1].split(",")[2] == "4"
    Study.objects.update(status="CLOSED")
    for of in VOICES:
        assert keys_at(client, of) == every
    assert len(client.get("/trust/").context["page"].sets) == 1


@pytest.mark.parametrize("role", ["VIEWER", "MANAGER"])
def test_others_read_everything(client, stage, ann, role):
    with_repeats(stage, ann)
    client.force_login(make_user(role=role))
    assert len(keys_at(client, "selected")) == 6
    assert SENTENCE not in text(client.get("/trust/"))


def test_an_annotator_of_whom_all_is_withheld_is_not_told_that_no_judge_was_run(client, stage, ann):
    with_repeats(stage, ann)
    study = Study.objects.get()
    PairwiseLabel.objects.update(study=study)
    page = text(client.get("/trust/"))
    assert SENTENCE in page
    assert "no judge has been run" not in page


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_satisfaction_figures_count_no_withheld_turn(client, rate):
    ann = make_user()
    client.force_login(ann)
    scenario = make_scenario()
    run = make_run(scenario.dataset, kind=RunKind.SATISFACTION, status="DONE")
    study = make_study(scenario.dataset, kind="SATISFACTION", annotators=[ann], repeat_rate=rate)
    for place in range(4):
        response = make_response(make_turn(make_session(scenario)), original=True)
        make_rating(response, annotator=ann, score=4, study=study if place else None)
        SatisfactionJudgment.objects.create(
            run=run, user=ann, response=response, status="DONE", score=4
        )
    turns = client.get("/trust/").context["page"].own_satisfaction.turns
    assert turns == (1 if rate else 4)


def test_what_is_withheld_costs_an_annotator_the_same_queries_however_much_it_is(
    client, stage, ann, django_assert_max_num_queries
):
    with_repeats(stage, ann)
    with django_assert_max_num_queries(26):
        client.get("/trust/")
    study = Study.objects.get()
    for _ in range(20):
        make_item(study)
    with django_assert_max_num_queries(26):
        client.get("/trust/")
