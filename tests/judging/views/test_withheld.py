"""Preferences and memories as their annotators read them while a study goes on."""

from __future__ import annotations

import pytest

from annotation.models import PairwiseLabel, SatisfactionLabel, Study
from judging.models import Preference, PreferenceKind, PreferenceSet
from judging.services.foreground import run_to_end
from judging.services.preference_edits import add_preference, edit_preference
from tests.factory import (
    make_claim,
    make_item,
    make_preference,
    make_rating,
    make_response,
    make_study,
    make_user,
)
from tests.judging.services.test_memories import make_memory
from tests.judging.study import FakeJudge, opener_of, start_distillation
from tests.judging.study import make_study as make_labelled

pytestmark = pytest.mark.django_db

SENTENCE = "are shown once the study is closed."
OWN = "I added this."


def text(answer):
    return " ".join(answer.content.decode().split())


@pytest.fixture
def run():
    """A finished distillation of two scenarios; to the second a text was added."""
    dataset, rater = make_labelled(scenarios=2, comparisons=6)
    type(rater).objects.filter(pk=rater.pk).update(is_active=True)
    started = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    run = run_to_end(started.pk, opener=opener_of(FakeJudge()))
    last = dataset.scenarios.order_by("position").last()
    add_preference(run, scenario_id=last.pk, text=OWN, editor=make_user(role="MANAGER"))
    return run


@pytest.fixture
def owner(client, run):
    owner = type(run.annotator).objects.get(pk=run.annotator_id)
    client.force_login(owner)
    return owner


def with_repeats(run, owner, comparison):
    study = make_study(run.dataset, annotators=[owner], repeat_rate=0.1)
    make_claim(make_item(study, comparison=comparison), owner, state="DONE")
    PairwiseLabel.objects.filter(comparison=comparison).update(study=study)


def to_be_answered(run, owner, comparison):
    make_item(make_study(run.dataset, annotators=[owner]), comparison=comparison)


def addresses(preferences, sets):
    for each in preferences:
        yield f"/preferences/{each.pk}/"
    for each in sets:
        yield f"/preference-sets/{each.pk}/"


@pytest.mark.parametrize("study", [with_repeats, to_be_answered])
def test_what_rests_on_a_withheld_pair_is_not_there_until_the_study_is_closed(
    client, run, owner, study
):
    pair = Preference.objects.filter(kind="PAIR", control="NONE").order_by("scenario", "pk")[0]
    edited = edit_preference(pair, text="Mine.", editor=owner)
    same = Preference.objects.filter(scenario=pair.scenario).exclude(pk__in=[pair.pk, edited.pk])
    aggregates = same.filter(kind__in=[PreferenceKind.AGGREGATE, PreferenceKind.STACK])
    gone = [pair, edited, *aggregates, *same.filter(source_comparison=pair.source_comparison)]
    kept = Preference.objects.filter(run=run).exclude(pk__in=[each.pk for each in gone])
    lost = PreferenceSet.objects.filter(scenario=pair.scenario)
    left = PreferenceSet.objects.exclude(scenario=pair.scenario)
    assert len(lost) == len(left)
    assert SENTENCE not in text(client.get("/preferences/"))
    study(run, owner, pair.source_comparison)
    for address in addresses(gone, lost):
        assert client.get(address).status_code == 404, address
    for change in ("edit/", "switch/"):
        assert client.post(f"/preferences/{edited.pk}/{change}").status_code == 404
    for address in addresses(kept, left):
        page = client.get(address)
        assert page.status_code == 200, address
        assert all(f"/preference-sets/{each.pk}/" not in text(page) for each in lost)
    for address in ("/preferences/", f"/runs/{run.pk}/preferences/"):
        page = text(client.get(address))
        assert SENTENCE in page
        assert OWN in page
        assert "Mine." not in page
        assert f"/preference-sets/{lost.get(control='NONE').pk}/" not in page
    client.force_login(make_user(role="VIEWER"))
    assert {client.get(each).status_code for each in addresses(gone, lost)} == {200}
    client.force_login(owner)
    Study.objects.update(status="CLOSED")
    assert {client.get(each).status_code for each in addresses(gone, lost)} == {200}
    assert "Mine." in text(client.get("/preferences/"))


def test_what_was_distilled_without_a_pair_rests_on_all_others(client, run, owner):
    pair, other = Preference.objects.filter(kind="PAIR", control="NONE").order_by("scenario", "pk")[
        :2
    ]
    row = make_preference(
        kind="HELD_OUT",
        run=run,
        scenario=pair.scenario,
        annotator=owner,
        source_comparison=pair.source_comparison,
        source_verdict=pair.source_verdict,
    )
    page = text(client.get(f"/preferences/{row.pk}/"))
    assert "All dev comparisons but one." in page
    assert "Chosen" not in page
    to_be_answered(run, owner, pair.source_comparison)
    assert client.get(f"/preferences/{row.pk}/").status_code == 200
    to_be_answered(run, owner, other.source_comparison)
    assert client.get(f"/preferences/{row.pk}/").status_code == 404


def test_what_is_withheld_costs_two_queries_however_much_it_is(
    client, run, owner, django_assert_max_num_queries
):
    with django_assert_max_num_queries(10):
        client.get("/preferences/")
    with_repeats(run, owner, PairwiseLabel.objects.first().comparison)
    with django_assert_max_num_queries(10):
        client.get("/preferences/")


@pytest.fixture
def memory(client):
    """A memory written from two rated responses."""
    owner = make_user()
    client.force_login(owner)
    memory = make_memory(user=owner)
    ratings = [
        make_rating(make_response(original=True), annotator=owner, score=score) for score in (5, 4)
    ]
    memory.texts["scoring_style"] = {"text": "Strict.", "turn_ids": [str(ratings[0].response_id)]}
    memory.evidence = {"by_score": {str(each.score): [str(each.response_id)] for each in ratings}}
    memory.save()
    return memory


def rated_with_repeats(owner, session):
    study = make_study(session.dataset, kind="SATISFACTION", annotators=[owner], repeat_rate=0.1)
    make_claim(make_item(study, session=session), owner, state="DONE")
    SatisfactionLabel.objects.filter(response__turn__session=session).update(study=study)


def to_be_rated(owner, session):
    study = make_study(session.dataset, kind="SATISFACTION", annotators=[owner])
    make_item(study, session=session)


@pytest.mark.parametrize("study", [rated_with_repeats, to_be_rated])
def test_a_memory_of_a_withheld_turn_is_not_there_until_the_study_is_closed(client, memory, study):
    own = [f"/memories/{memory.pk}/{page}" for page in ("", "turns/", "edit/")]
    assert {client.get(each).status_code for each in own} == {200}
    study(memory.user, SatisfactionLabel.objects.first().response.turn.session)
    assert {client.get(each).status_code for each in own} == {404}
    assert client.post(own[-1]).status_code == 404
    listed = client.get("/memories/")
    assert listed.context["rows"] == ()
    assert SENTENCE in text(listed)
    client.force_login(make_user(role="VIEWER"))
    assert {client.get(each).status_code for each in own[:2]} == {200}
    client.force_login(memory.user)
    Study.objects.update(status="CLOSED")
    assert {client.get(each).status_code for each in own} == {200}
    assert len(client.get("/memories/").context["rows"]) == 1


def test_ratings_that_are_withheld_are_not_counted_as_new(client, memory):
    Study.objects.all().delete()
    history = SatisfactionLabel.objects.first().response.turn.session
    type(memory.run.dataset).objects.filter(pk=memory.run.dataset_id).update(name="D")
    study = make_study(memory.run.dataset, kind="SATISFACTION", repeat_rate=0.1)
    scenario = memory.run.dataset.scenarios.create(name="elsewhere")
    type(history).objects.update(dataset=memory.run.dataset, scenario=scenario)
    assert client.get(f"/memories/{memory.pk}/").context["page"].change is None
    new = make_response(history.turns.first(), original=False)
    make_rating(new, annotator=memory.user, score=5, study=study)
    assert client.get(f"/memories/{memory.pk}/").context["page"].change is None
    assert client.get("/memories/").context["rows"][0].change is None
    Study.objects.update(status="CLOSED")
    assert client.get(f"/memories/{memory.pk}/").context["page"].change.added == 1
