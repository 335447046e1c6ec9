"""The questions about a whole session: the page, what is stored, what is refused."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils import translation

from annotation.core.labelling import Rating
from annotation.core.profiles import QUESTIONS, to_records
from annotation.core.refusals import Refused
from annotation.forms.participants import WORDS
from annotation.models import AuditEvent, SatisfactionLabel, SessionQuestionnaire
from annotation.services.claims import RefusalCode, next_task
from annotation.services.labels import rate_session
from tests.annotation.core.test_profiles_questionnaire import ANSWERS
from tests.annotation.labelling import NOW, give_repeat, make_session_study
from tests.annotation.pages import rated, show, url
from tests.factory import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

SENT = {f"session-{summary}": option for summary, option in ANSWERS.items()}


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


def rate_item(study, annotator, item, questionnaire, submission=None):
    rate_session(
        study=study.slug,
        item=item,
        annotator=annotator,
        ratings={1: Rating(5)},
        submission=submission or uuid4(),
        now=NOW,
        questionnaire=questionnaire,
    )


def rate(study, annotator, questionnaire):
    task = next_task(study=study.slug, annotator=annotator, now=NOW)
    rate_item(study, annotator, task.place.item, questionnaire)


def test_the_page_says_in_english_what_is_stored():
    with translation.override("en"):
        for question in QUESTIONS:
            assert str(WORDS[question.summary]) == question.query
            assert [str(WORDS[option]) for option in question.options] == list(question.options)


def test_it_is_asked_stored_with_the_ratings_and_chosen_when_one_comes_back(client, annotator):
    study = make_session_study([annotator], turns=1, ask_questionnaire=True)
    assert "About the whole conversation" in show(client, study).content.decode()
    assert client.post(url("ratings", study), {**rated((5, "")), **SENT}).status_code == 302
    row = SessionQuestionnaire.objects.get()
    assert (row.annotator, row.study, row.answers) == (annotator, study, to_records(ANSWERS))
    assert SatisfactionLabel.objects.count() == 1
    html = one_line(client.get(url("item", study)))
    assert 'name="session-Diversity" value="Monotonous" required checked' in html


@pytest.mark.parametrize("change", [{"session-Detail": ""}, {"session-Detail": "Varied"}])
def test_without_it_nothing_is_stored_and_the_page_says_what_is_missing(client, annotator, change):
    study = make_session_study([annotator], turns=1, ask_questionnaire=True)
    show(client, study)
    response = client.post(url("ratings", study), {**rated((5, "")), **SENT, **change})
    assert response.status_code == 422
    html = response.content.decode()
    assert "the questions about the conversation" in html
    assert 'id="session-Detail-error"' in html
    assert not SatisfactionLabel.objects.exists()
    assert not SessionQuestionnaire.objects.exists()


def test_it_is_not_asked_where_the_study_does_not(client, annotator):
    study = make_session_study([annotator], turns=1)
    assert "About the whole conversation" not in show(client, study).content.decode()
    client.post(url("ratings", study), {**rated((5, "")), **SENT})
    assert SatisfactionLabel.objects.count() == 1
    assert not SessionQuestionnaire.objects.exists()


@pytest.mark.parametrize(
    ("asks", "given"),
    [(True, None), (True, {}), (True, {**ANSWERS, "Detail": "?"}), (False, ANSWERS)],
)
def test_the_service_takes_it_exactly_where_it_is_asked(asks, given):
    annotator = make_user()
    study = make_session_study([annotator], turns=1, ask_questionnaire=asks)
    with pytest.raises(Refused) as refused:
        rate(study, annotator, given)
    assert refused.value.code is RefusalCode.NOT_ALLOWED
    assert not SatisfactionLabel.objects.exists()


def test_a_change_of_mind_about_it_replaces_it_and_leaves_a_trace():
    annotator = make_user()
    study = make_session_study([annotator], turns=1, ask_questionnaire=True)
    item = study.items.get().pk
    rate(study, annotator, ANSWERS)
    changed = {**ANSWERS, "Detail": "Brief"}
    submission = uuid4()
    for _time in range(2):
        rate_item(study, annotator, item, changed, submission)
    assert SessionQuestionnaire.objects.get().answers == to_records(changed)
    told = AuditEvent.objects.get(action="ratings.changed").detail["questionnaire"]
    assert (told["before"]["Detail"], told["after"]["Detail"]) == ("Detailed", "Brief")


def test_a_hidden_repeat_does_not_replace_the_first_answers():
    annotator = make_user()
    study = make_session_study([annotator], turns=1, ask_questionnaire=True)
    rate(study, annotator, ANSWERS)
    give_repeat(study.items.get(), annotator)
    rate(study, annotator, {**ANSWERS, "Detail": "Brief"})
    assert SessionQuestionnaire.objects.get().answers == to_records(ANSWERS)
    last = AuditEvent.objects.order_by("pk").last()
    assert last.detail["questionnaire"]["after"]["Detail"] == "Brief"
