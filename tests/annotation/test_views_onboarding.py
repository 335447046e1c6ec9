from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.core.guidelines import digest, from_records
from annotation.models import (
    AnnotatorProfile,
    Claim,
    GuidelinesVersion,
    PairwiseLabel,
    Participation,
    Study,
)
from annotation.services.participants import text_digest
from tests.annotation.entry import (
    CONSENT,
    GUIDELINES,
    PROFILE,
    QUIZ,
    do,
    make_asking_study,
    part_of,
)
from tests.annotation.labelling import make_session_study
from tests.annotation.pages import answered, next_url, rated, show, url
from tests.factory import make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db
STEPS = ["consent", "profile", "guidelines", "quiz"]
DIGEST = digest(from_records(QUIZ))
SENT = {
    "consent": {"text": text_digest(CONSENT), "agree": "on"},
    "profile": PROFILE,
    "guidelines": {"version": "1"},
    "quiz": {"quiz": DIGEST, "q1": "1", "q2": "0"},
}


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


@pytest.fixture
def study(annotator):
    return make_asking_study([annotator], name="Pilot")


def page_of(study, step):
    return reverse(f"annotation:{step}", args=[study.slug])


def test_the_pages_lead_one_after_another_to_the_first_pair(client, study, annotator):
    for step in STEPS:
        response = show(client, study)
        assert (response.status_code, response.url) == (302, page_of(study, step))
        page = client.get(page_of(study, step))
        assert page.status_code == 200
        assert "no-store" in page["Cache-Control"]
        response = client.post(page_of(study, step), SENT[step])
        assert (response.status_code, response.url) == (302, next_url(study))
    assert show(client, study).status_code == 200
    part = part_of(study, annotator)
    assert part.consented_at
    assert part.quiz_passed_at
    assert (part.guidelines_read, part.quiz_attempts) == (1, 1)


@pytest.mark.parametrize("step", STEPS)
def test_a_page_that_is_not_open_leads_to_the_one_that_is(client, study, annotator, step):
    for done in range(4):
        if STEPS[done] != step:
            response = client.get(page_of(study, step))
            assert response.url == page_of(study, STEPS[done])
            response = client.post(page_of(study, step), SENT[step])
            assert response.url == page_of(study, STEPS[done])
        do(study, annotator, STEPS[done])
    assert client.get(page_of(study, step)).url == next_url(study)


@pytest.mark.parametrize("step", STEPS)
def test_the_pages_are_for_participants_alone(client, study, step):
    client.force_login(make_user())
    assert client.get(page_of(study, step)).status_code == 404
    assert client.post(page_of(study, step), SENT[step]).status_code == 404
    client.logout()
    assert client.get(page_of(study, step)).url.startswith("/sign-in/")
    assert client.post(page_of(study, step), SENT[step]).url.startswith("/sign-in/")


@pytest.mark.parametrize("step", STEPS)
def test_other_methods_are_refused(client, study, step):
    assert client.put(page_of(study, step)).status_code == 405


@pytest.mark.parametrize("status", ["DRAFT", "CLOSED"])
def test_a_study_that_is_not_on_has_no_such_pages(client, study, status):
    Study.objects.update(status=status)
    assert client.get(page_of(study, "consent")).status_code == 404


class TestLabelsBefore:
    def test_an_answer_is_refused_with_a_code_and_the_way(self, client, study, annotator):
        do(study, annotator, *STEPS)
        show(client, study)
        Participation.objects.update(consented_at=None)
        response = client.post(url("answer", study), answered())
        assert response.status_code == 409
        assert "Complete the step before the next item" in response.content.decode()
        script = client.post(url("lease", study), HTTP_ACCEPT="*/*;q=0.1, text/plain")
        assert script.status_code == 409
        for name in ("item", "ahead"):
            assert client.get(url(name, study)).url == page_of(study, "consent")
        skipped = client.post(url("skip", study), {"reason": "UNSURE"})
        assert skipped.status_code in {409, 422}
        assert not PairwiseLabel.objects.exists()
        assert Claim.objects.get().state == "ACTIVE"

    def test_ratings_are_refused_too(self, client, annotator):
        study = make_session_study([annotator], guidelines=GUIDELINES)
        assert show(client, study).url == page_of(study, "guidelines")
        response = client.post(url("ratings", study), rated((5, ""), (5, ""), (5, "")))
        assert response.status_code == 409

    def test_a_paused_study_asks_for_nothing(self, client, study):
        Study.objects.update(status="PAUSED")
        assert "This study is paused" in show(client, study).content.decode()


class TestConsent:
    def test_shows_the_text_as_markdown(self, client, study):
        page = client.get(page_of(study, "consent")).content.decode()
        assert "You may <strong>leave</strong> at any time." in page
        assert "Contact:" not in page
        Study.objects.update(contact="Ada, room 7")
        page = client.get(page_of(study, "consent")).content.decode()
        assert "Contact: Ada, room 7" in page

    def test_needs_the_tick(self, client, study, annotator):
        response = client.post(page_of(study, "consent"), {"text": text_digest(CONSENT)})
        assert response.status_code == 422
        assert "Tick this box to continue" in response.content.decode()
        assert part_of(study, annotator).consented_at is None

    def test_to_a_text_that_changed_is_asked_anew(self, client, study, annotator):
        sent = {"text": text_digest("another"), "agree": "on"}
        response = client.post(page_of(study, "consent"), sent, follow=True)
        assert (
            "This page has changed. Read it again before you continue." in response.content.decode()
        )
        assert part_of(study, annotator).consented_at is None

    def test_declined_ends_with_a_goodbye(self, client, study):
        response = client.post(page_of(study, "consent"), {"decline": "1"}, follow=True)
        assert response.redirect_chain == [("/goodbye/", 302)]
        assert "You have left the study" in response.content.decode()
        assert not Participation.objects.exists()
        assert show(client, study).status_code == 404
        assert client.post("/goodbye/").status_code == 405
        client.logout()
        assert client.get("/goodbye/").url.startswith("/sign-in/")


class TestTheProfile:
    @pytest.fixture(autouse=True)
    def _agreed(self, study, annotator):
        do(study, annotator, "consent")

    def test_is_stored_in_the_words_of_the_files(self, client, study):
        client.post(page_of(study, "profile"), PROFILE, headers={"accept-language": "zh-hans"})
        profile = AnnotatorProfile.objects.get()
        assert (profile.gender, profile.age, profile.occupation) == ("Female", "31", "")
        assert profile.background == "Natural sciences"
        assert profile.personality == ["Calm", "Humorous"]
        assert (profile.travel_habits, profile.other_aspects) == ([], [])

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"gender": ""}, "Choose an answer."),
            ({"gender": "Robot"}, "Select a valid choice"),
            ({"occupation": ""}, "Choose an answer."),
            ({"age": "5"}, "greater than or equal to 10"),
            ({"age": "old"}, "Enter a whole number."),
            ({"personality": []}, "Choose all that apply, or “None of these”."),
            ({"personality": ["Calm", "-"]}, "Choose either tags or “None of these”, not both."),
            ({"personality": ["Grumpy"]}, "Select a valid choice"),
        ],
    )
    def test_is_whole_or_not_stored(self, client, study, change, error):
        response = client.post(page_of(study, "profile"), {**PROFILE, **change})
        assert response.status_code == 422
        assert error in response.content.decode()
        assert not AnnotatorProfile.objects.exists()

    def test_is_asked_for_once_whatever_the_study(self, client, study, annotator):
        client.post(page_of(study, "profile"), PROFILE)
        other = make_asking_study([annotator], ask_profile=True)
        assert show(client, other).status_code == 200


class TestMyProfile:
    ADDRESS = "/profile/"

    def test_is_in_the_account_menu_and_can_be_changed(self, client, annotator):
        assert f'href="{self.ADDRESS}"' in client.get("/studies/").content.decode()
        for gender in ("Female", "Male"):
            response = client.post(self.ADDRESS, {**PROFILE, "gender": gender}, follow=True)
            assert "Your profile is saved." in response.content.decode()
        profile = AnnotatorProfile.objects.get()
        assert (profile.user, profile.gender) == (annotator, "Male")

    def test_shows_what_was_said_and_what_was_left_unsaid(self, client, annotator):
        client.post(self.ADDRESS, PROFILE)
        form = client.get(self.ADDRESS).context["form"]
        said = {name: form[name].value() for name in PROFILE}
        assert said == {**PROFILE, "age": 31}

    def test_keeps_what_an_imported_profile_holds(self, client, annotator):
        AnnotatorProfile.objects.create(
            user=annotator,
            age="about 30",
            occupation="Lighthouse keeper",
            personality=["乐观", "Stoic"],
            extra={"mbti": "INTJ"},
        )
        form = client.get(self.ADDRESS).context["form"]
        assert form["occupation"].value() == "Lighthouse keeper"
        assert form["personality"].value() == ["Optimistic", "Stoic"]
        assert form["age"].value() is None
        sent = {
            **PROFILE,
            "occupation": "Lighthouse keeper",
            "personality": ["Optimistic", "Stoic"],
        }
        assert client.post(self.ADDRESS, sent).status_code == 302
        profile = AnnotatorProfile.objects.get()
        assert profile.occupation == "Lighthouse keeper"
        assert profile.personality == ["Optimistic", "Stoic"]
        assert profile.extra == {"mbti": "INTJ"}

    def test_is_refused_where_something_is_missing(self, client, annotator):
        assert client.post(self.ADDRESS, {}).status_code == 422
        assert client.put(self.ADDRESS).status_code == 405
        client.logout()
        assert client.get(self.ADDRESS).url.startswith("/sign-in/")


class TestGuidelines:
    @pytest.fixture(autouse=True)
    def _before(self, study, annotator):
        do(study, annotator, "consent", "profile")

    def newer(self, study, text="Read *both* texts <twice>."):
        GuidelinesVersion.objects.create(study=study, version=1, text=GUIDELINES)
        Study.objects.update(guidelines=text, guidelines_version=2)

    def test_are_shown_with_their_version(self, client, study):
        page = client.get(page_of(study, "guidelines")).content.decode()
        assert "Read <em>both</em> responses." in page
        assert "version 1" in page
        assert "Changes" not in page

    def test_show_what_changed_since_the_version_one_read(self, client, study, annotator):
        do(study, annotator, "guidelines", "quiz")
        self.newer(study)
        assert show(client, study).url == page_of(study, "guidelines")
        page = tight(client.get(page_of(study, "guidelines")))
        assert "<del>responses</del><ins>texts &lt;twice&gt;</ins>" in page
        client.post(page_of(study, "guidelines"), {"version": "2"})
        assert show(client, study).status_code == 200
        assert part_of(study, annotator).guidelines_read == 2

    def test_that_changed_meanwhile_are_read_again(self, client, study, annotator):
        self.newer(study)
        response = client.post(page_of(study, "guidelines"), {"version": "1"}, follow=True)
        assert (
            "This page has changed. Read it again before you continue." in response.content.decode()
        )
        assert part_of(study, annotator).guidelines_read is None

    @pytest.mark.parametrize("sent", [{}, {"version": "x"}, {"version": "0"}])
    def test_need_their_version(self, client, study, annotator, sent):
        assert client.post(page_of(study, "guidelines"), sent).status_code == 422
        assert part_of(study, annotator).guidelines_read is None

    def test_too_long_to_compare_say_so(self, client, study, annotator):
        do(study, annotator, "guidelines")
        self.newer(study, text="word " * 10_000)
        page = client.get(page_of(study, "guidelines")).content.decode()
        assert "The texts are too long to compare here." in page


class TestTheQuiz:
    @pytest.fixture(autouse=True)
    def _before(self, study, annotator):
        do(study, annotator, "consent", "profile", "guidelines")

    def send(self, client, study, **given):
        return client.post(page_of(study, "quiz"), {"quiz": DIGEST, **given})

    def test_hides_answers_and_explanations_before_it_is_sent(self, client, study):
        html = client.get(page_of(study, "quiz")).content.decode()
        assert "Where I have no preference" in html
        for secret in ("A tie is no way out.", "Length is no merit.", "answer&quot;", '"answer"'):
            assert secret not in html
        assert "checked" not in html
        Study.objects.update(quiz=[{**each, "answer": 0} for each in QUIZ])
        other = client.get(page_of(study, "quiz")).content.decode()
        tokens = r"value=\"[A-Za-z0-9]{64}\"|\{\"x-csrftoken\": \"\w+\"\}"
        assert re.sub(tokens, "", html) == re.sub(tokens, "", other)

    def test_explains_what_was_wrong_and_only_that(self, client, study, annotator):
        response = self.send(client, study, q1="0", q2="0")
        assert response.status_code == 422
        page = response.content.decode()
        assert "1 answer is wrong." in page
        assert "A tie is no way out." in page
        assert "Length is no merit." not in page
        part = part_of(study, annotator)
        assert (part.quiz_attempts, part.quiz_passed_at) == (1, None)
        assert show(client, study).url == page_of(study, "quiz")
        assert self.send(client, study, q1="1", q2="0").url == next_url(study)
        part.refresh_from_db()
        assert part.quiz_attempts == 2

    @pytest.mark.parametrize("given", [{}, {"q1": "1"}, {"q1": "1", "q2": "9"}])
    def test_counts_no_attempt_that_is_not_whole(self, client, study, annotator, given):
        response = self.send(client, study, **given)
        assert response.status_code == 422
        assert "Answer every question" in response.content.decode()
        assert part_of(study, annotator).quiz_attempts == 0

    def test_that_changed_meanwhile_is_asked_anew(self, client, study, annotator):
        Study.objects.update(quiz=QUIZ[:1])
        response = client.post(page_of(study, "quiz"), SENT["quiz"], follow=True)
        assert "This page has changed." in response.content.decode()
        assert part_of(study, annotator).quiz_attempts == 0


def test_what_was_done_before_costs_no_query(client, annotator):
    plain = make_asking_study([annotator], guidelines="")
    asking = make_asking_study([annotator])
    do(asking, annotator, *STEPS)
    counts = []
    for study in (plain, asking):
        show(client, study)
        with CaptureQueriesContext(connection) as queries:
            show(client, study)
        counts.append(len(queries))
    assert counts[0] == counts[1]
