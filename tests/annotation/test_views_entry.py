from __future__ import annotations

import csv
import json
import re
from io import StringIO

import pytest
from django.urls import reverse

from annotation.models import AnnotatorProfile, GuidelinesVersion, Invitation, Participation, Study
from annotation.queries.participants import setting_version
from annotation.services.participants import invite
from tests.annotation.entry import (
    CONSENT,
    GUIDELINES,
    QUIZ,
    do,
    make_asking_study,
    make_manager,
    part_of,
)
from tests.annotation.labelling import NOW
from tests.factory import make_claim, make_label, make_rater, make_user
from tests.markup import one_line, tight

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}
EDITORS = ["edit-guidelines", "edit-consent", "edit-quiz"]


@pytest.fixture
def manager(client):
    manager = make_manager()
    client.force_login(manager)
    return manager


@pytest.fixture
def annotator():
    return make_user()


@pytest.fixture
def study(annotator):
    return make_asking_study([annotator], name="Pilot")


def page_of(study, name):
    return reverse(f"annotation:{name}", args=[study.slug])


@pytest.mark.parametrize("name", EDITORS)
class TestEveryEditor:
    def test_is_for_managers_alone(self, client, study, name):
        for role in ("ANNOTATOR", "VIEWER"):
            client.force_login(make_user(role=role))
            assert client.get(page_of(study, name)).status_code == 403
            assert client.post(page_of(study, name), {"text": "x"}).status_code == 403
        client.logout()
        assert client.get(page_of(study, name)).url.startswith("/sign-in/")

    def test_knows_its_study_and_its_methods(self, client, manager, study, name):
        assert client.get(page_of(study, name)).status_code == 200
        assert client.put(page_of(study, name)).status_code == 405
        assert client.get(reverse(f"annotation:{name}", args=["nowhere"])).status_code == 404


class TestGuidelines:
    def test_are_published_and_stand_in_the_history(self, client, manager, study):
        page = client.get(page_of(study, "edit-guidelines")).content.decode()
        assert "current version: 1" in page
        assert f"\n{GUIDELINES}</textarea>" in page
        assert "Read <em>both</em> responses." in page
        sent = {"text": "Read *one* response.\r\nThen the other.", "since": "1"}
        response = client.post(page_of(study, "edit-guidelines"), sent, follow=True)
        assert response.redirect_chain == [(page_of(study, "guidelines-history"), 302)]
        page = tight(response)
        assert "Published version 2." in page
        assert "<ins>one</ins>" in page
        assert "<del>both</del>" in page
        assert GuidelinesVersion.objects.get(version=2).text == (
            "Read *one* response.\nThen the other."
        )

    @pytest.mark.parametrize(
        ("sent", "error"),
        [
            ({"text": GUIDELINES, "since": "1"}, "Nothing has changed"),
            ({"text": "New.", "since": "3"}, "Someone published a newer version in the meantime."),
            ({"text": "x" * 20_001, "since": "1"}, "at most 20000 characters"),
        ],
    )
    def test_that_are_refused_stay_on_the_page(self, client, manager, study, sent, error):
        response = client.post(page_of(study, "edit-guidelines"), sent)
        assert response.status_code == 422
        assert error in response.content.decode()
        assert sent["text"] in response.content.decode()
        assert not GuidelinesVersion.objects.exists()

    def test_are_previewed_without_a_script_too(self, client, manager, study):
        sent = {"text": "Now **bold**.", "since": "1", "preview": "1"}
        page = client.post(page_of(study, "edit-guidelines"), sent).content.decode()
        assert "Now <strong>bold</strong>." in page
        assert "\nNow **bold**.</textarea>" in page
        assert not GuidelinesVersion.objects.exists()

    def test_history_is_for_those_who_see_everyone(self, client, study, annotator):
        address = page_of(study, "guidelines-history")
        client.force_login(make_user(role="VIEWER"))
        page = client.get(address)
        assert page.status_code == 200
        assert page_of(study, "edit-guidelines") not in page.content.decode()
        assert client.post(address).status_code == 405
        assert client.get("/studies/nowhere/guidelines/history/").status_code == 404
        client.force_login(annotator)
        assert client.get(address).status_code == 403


class TestThePreview:
    def test_is_the_text_as_annotators_see_it(self, client, manager):
        text = "# Now\n\n<script>alert(1)</script>"
        page = client.post("/preview/", {"text": text}, **HTMX).content.decode()
        assert "<h3>Now</h3>" in page
        assert "<script>" not in page
        assert "Nothing to preview" in client.post("/preview/", {}).content.decode()

    def test_is_for_managers_alone(self, client, manager):
        assert client.get("/preview/").status_code == 405
        client.force_login(make_user())
        assert client.post("/preview/", {"text": "x"}).status_code == 403


class TestConsent:
    def test_is_stored_with_the_wish_for_a_profile(self, client, manager, study):
        response = client.post(page_of(study, "edit-consent"), {"text": "New\r\nwords."})
        assert response.url == page_of(study, "study")
        study.refresh_from_db()
        assert (study.consent, study.ask_profile) == ("New\nwords.", False)

    @pytest.mark.parametrize("again", [True, False])
    def test_is_asked_again_on_wish(self, client, manager, study, annotator, again):
        do(study, annotator, "consent")
        sent = {"text": CONSENT, "ask_profile": "on", **({"ask_again": "on"} if again else {})}
        client.post(page_of(study, "edit-consent"), sent)
        assert (part_of(study, annotator).consented_at is None) == again

    @pytest.mark.parametrize("more", [{}, {"ask_again": "on"}])
    def test_that_was_replaced_is_not_put_back(self, client, manager, study, annotator, more):
        def since():
            return client.get(page).context["form"]["since"].value()

        page = page_of(study, "edit-consent")
        do(study, annotator, "consent")
        first = {"text": "First.", "since": since()}
        client.post(page, first)
        second = {"text": "Second.", **more, "since": since()}
        assert client.post(page, second).status_code == 302
        for old in (first, {**first, "since": "?"}, {**second, "ask_again": "on"}):
            response = client.post(page, old)
            html = response.content.decode()
            assert response.status_code == 409
            assert "This was changed after you opened the page, so nothing was saved." in html
            assert "Second." in html
            assert "First." not in html
        assert client.post(page, {"text": "Second.", "since": "0"}).status_code == 302
        assert client.post(page, {"text": "First.", "since": since()}).status_code == 302
        study.refresh_from_db()
        assert study.consent == "First."

    def test_is_previewed_and_refused(self, client, manager, study):
        sent = {"text": "Now **bold**.", "preview": "1"}
        page = client.post(page_of(study, "edit-consent"), sent).content.decode()
        assert "Now <strong>bold</strong>." in page
        response = client.post(page_of(study, "edit-consent"), {"text": "x" * 20_001})
        assert response.status_code == 422
        study.refresh_from_db()
        assert study.consent == CONSENT


def quiz_sent(*questions, **more):
    """What the editor sends of questions (question, choices, answer, explanation)."""
    data = {"since": "0", **more}
    for number, (question, choices, answer, explanation) in enumerate(questions):
        data[f"q{number}-question"] = question
        data[f"q{number}-choice"] = choices
        data[f"q{number}-explanation"] = explanation
        if answer is not None:
            data[f"q{number}-answer"] = str(answer)
    return data


TIE = ("When?", ["Always", "Never"], 1, "Because.")


class TestTheQuizEditor:
    def test_shows_what_is_stored(self, client, manager, study):
        page = one_line(client.get(page_of(study, "edit-quiz")))
        for text in ("When is a tie right?", "On Sundays", "A tie is no way out."):
            assert text in page
        assert page.count(" checked>") == len(QUIZ)

    def test_stores_all_of_it(self, client, manager, study, annotator):
        do(study, annotator, "quiz")
        sent = quiz_sent(TIE, (" Two? ", ["a ", "b", "c"], 0, ""))
        response = client.post(page_of(study, "edit-quiz"), sent)
        assert response.url == page_of(study, "study")
        study.refresh_from_db()
        assert study.quiz == [
            {
                "question": "When?",
                "choices": ["Always", "Never"],
                "answer": 1,
                "explanation": "Because.",
            },
            {"question": "Two?", "choices": ["a", "b", "c"], "answer": 0, "explanation": ""},
        ]
        assert part_of(study, annotator).quiz_passed_at is not None
        seen = {"since": str(setting_version(study, "study.quiz"))}
        client.post(page_of(study, "edit-quiz"), {**sent, **seen, "ask_again": "on"})
        assert part_of(study, annotator).quiz_passed_at is None
        history = client.get(page_of(study, "study-history")).content.decode()
        assert "When? · Two?" in history
        assert "choices" not in history

    def test_an_old_page_replaces_nothing_and_loses_nothing(self, client, manager, study):
        old = quiz_sent(TIE)
        client.post(page_of(study, "edit-quiz"), old)
        newer = str(setting_version(study, "study.quiz"))
        client.post(
            page_of(study, "edit-quiz"), quiz_sent(("Two?", ["a", "b"], 0, ""), since=newer)
        )
        response = client.post(page_of(study, "edit-quiz"), old)
        assert response.status_code == 409
        page = response.content.decode()
        assert "Someone else has changed this quiz, so your version was not saved." in page
        assert 'value="When?"' in page
        study.refresh_from_db()
        assert [each["question"] for each in study.quiz] == ["Two?"]
        newest = re.search(r'name="since" value="(\d+)"', page)[1]
        assert client.post(page_of(study, "edit-quiz"), {**old, "since": newest}).status_code == 302
        study.refresh_from_db()
        assert [each["question"] for each in study.quiz] == ["When?"]

    def test_an_edit_of_an_old_page_makes_it_no_newer(self, client, manager, study):
        client.post(page_of(study, "edit-quiz"), quiz_sent(TIE))
        page = client.post(page_of(study, "edit-quiz"), quiz_sent(TIE, do="add-question"))
        assert 'name="since" value="0"' in page.content.decode()

    def test_without_questions_there_is_no_quiz(self, client, manager, study):
        client.post(page_of(study, "edit-quiz"), {"since": "0"})
        study.refresh_from_db()
        assert study.quiz == []
        page = client.get(page_of(study, "edit-quiz")).content.decode()
        assert "This study has no quiz. Add a question to create one." in page

    def test_lists_every_fault_and_stores_nothing(self, client, manager, study):
        sent = quiz_sent(TIE, ("", ["a", "", "a"], None, ""), ("?" * 501, ["a", "b"], 7, ""))
        response = client.post(page_of(study, "edit-quiz"), sent)
        assert response.status_code == 422
        page = response.content.decode()
        for text in (
            "Nothing was saved.",
            "Question 2: The question is empty.",
            "Question 2: A choice is empty",
            "Question 2: Two choices are the same.",
            "Question 2: No choice is marked as correct.",
            "Question 3: No choice is marked as correct.",
            "Question 3: Something is too long: a question has at most 500 characters",
        ):
            assert text in page
        assert "Question 1:" not in page
        study.refresh_from_db()
        assert study.quiz == QUIZ

    def test_says_where_there_are_too_many(self, client, manager, study):
        sent = quiz_sent(*((f"{n}?", ["a", "b"], 0, "") for n in range(21)))
        page = client.post(page_of(study, "edit-quiz"), sent).content.decode()
        assert "Too many questions; the maximum is 20." in page
        assert "add-question" not in page

    @pytest.mark.parametrize("headers", [{}, HTMX])
    @pytest.mark.parametrize(
        ("do_", "questions", "choices", "focus"),
        [
            ("add-question", 3, 2, "q2-question"),
            ("remove-question:0", 1, 2, "add-question"),
            ("add-choice:1", 2, 2, "q1-choice-2"),
            ("remove-choice:0:0", 2, 1, "q0-add"),
            ("move-up:1", 2, 2, "q0-question"),
        ],
    )
    def test_a_button_changes_the_page_and_stores_nothing(
        self, client, manager, study, headers, do_, questions, choices, focus
    ):
        sent = quiz_sent(TIE, ("Two?", ["a", "b"], 0, "kept"), do=do_, ask_again="on")
        response = client.post(page_of(study, "edit-quiz"), sent, **headers)
        assert response.status_code == 200
        draft = response.context["questions"]
        assert len(draft) == questions
        assert len(draft[0].choices) == choices
        page = one_line(response)
        (autofocused,) = [tag for tag in page.split("<") if " autofocus>" in tag]
        assert f'id="{focus}"' in autofocused
        assert ("<html" in page) == (headers == {})
        assert '<input type="checkbox" name="ask_again" checked>' in page
        study.refresh_from_db()
        assert study.quiz == QUIZ

    @pytest.mark.parametrize("do_", ["", "explode:1", "add-choice:x", "remove-choice:1:2:3"])
    def test_a_button_that_is_none_is_taken_for_storing(self, client, manager, study, do_):
        sent = quiz_sent(TIE, do=do_)
        assert client.post(page_of(study, "edit-quiz"), sent).status_code == 302
        study.refresh_from_db()
        assert len(study.quiz) == 1

    def test_writes_anew_what_cannot_be_read(self, client, manager, study):
        Study.objects.update(quiz=["?"])
        page = client.get(page_of(study, "edit-quiz")).content.decode()
        assert "This study has no quiz" in page


class TestTheFileOfParticipants:
    @pytest.fixture
    def study(self, annotator):
        study = make_asking_study([], slug="pilot", name="pilot")
        manager = make_manager()
        made = invite(study="pilot", by=manager, now=NOW, note="=Course", places=9)
        Participation.objects.create(
            study=study, annotator=annotator, invitation=made, joined_at=NOW, quiz_attempts=2
        )
        do(study, annotator, "consent", "guidelines", "profile")
        AnnotatorProfile.objects.update(age="31", personality=["Calm"], extra={"mbti": "INTJ"})
        rater = make_rater(study.dataset, "User_7")
        study.annotators.add(rater)
        make_label(study.items.first().comparison, annotator=rater, study=study)
        return study

    def rows(self, client, study, format_, role="VIEWER"):
        client.force_login(make_user(role=role))
        address = reverse("annotation:participants", args=[study.slug, format_])
        response = client.get(address)
        assert f"pilot-participants.{format_}" in response["Content-Disposition"]
        return b"".join(response.streaming_content).decode()

    def test_holds_one_person_a_line(self, client, study, annotator):
        lines = self.rows(client, study, "jsonl").splitlines()
        first, second = map(json.loads, lines)
        assert first == {
            "study": "pilot",
            "annotator": annotator.username,
            "joined_at": NOW.isoformat(),
            "invitation": "=Course",
            "consented_at": NOW.isoformat(),
            "guidelines_read": 1,
            "quiz_attempts": 2,
            "quiz_passed_at": None,
            "paused_at": None,
            "pause_reason": "",
            "resumed_at": None,
            "answered": 0,
            "active_seconds": None,
            "profile": {
                "gender": "Female",
                "age": "31",
                "personality": ["Calm"],
                "mbti": "INTJ",
            },
        }
        assert (second["annotator"], second["profile"]) == ("User_7", {})

    def test_is_a_table_no_spreadsheet_runs(self, client, study, annotator):
        first, _second = csv.DictReader(StringIO(self.rows(client, study, "csv")))
        assert first["annotator"] == annotator.username
        assert first["invitation"] == "'=Course"
        assert json.loads(first["profile"])["personality"] == ["Calm"]

    def test_tells_managers_alone_who_the_workers_are(self, client, study, annotator):
        worker = {"workerId": "+A1", "assignmentId": "3X"}
        Participation.objects.filter(annotator=annotator).update(worker=worker)
        claim = make_claim(study.items.first(), annotator, state="DONE", finished_at=NOW)
        comparison = claim.item.comparison
        make_label(comparison, annotator=annotator, study=study, active_seconds=12.5)
        first, _second = csv.DictReader(StringIO(self.rows(client, study, "csv", "MANAGER")))
        assert (first["worker_id"], json.loads(first["worker"])) == ("'+A1", worker)
        assert (first["answered"], first["active_seconds"]) == ("1", "12.5")
        assert "A1" not in self.rows(client, study, "jsonl")

    def test_costs_the_same_for_many_people(self, client, study, django_assert_num_queries):
        study.annotators.add(*(make_user() for _each in range(20)))
        client.force_login(make_user(role="VIEWER"))
        address = reverse("annotation:participants", args=[study.slug, "csv"])
        # The session, the user, the study, its dataset, names in it, the people.
        with django_assert_num_queries(6):
            text = b"".join(client.get(address).streaming_content).decode()
        assert len(text.splitlines()) == 23

    def test_is_not_for_annotators(self, client, study, annotator):
        client.force_login(annotator)
        assert client.get("/studies/pilot/participants.csv").status_code == 403
        client.force_login(make_manager())
        assert client.get("/studies/nowhere/participants.csv").status_code == 404
        assert client.post("/studies/pilot/participants.csv").status_code == 405
        assert client.get("/studies/pilot/participants.xml").status_code == 404
        client.logout()
        assert client.get("/studies/pilot/participants.csv").url.startswith("/sign-in/")


def test_what_annotators_read_is_not_changed_in_the_admin_console(client, study):
    client.force_login(make_user(role="ADMIN"))
    page = client.get(reverse("admin:annotation_study_change", args=[study.pk]))
    readonly = page.context["adminform"].readonly_fields
    assert {"guidelines", "guidelines_version", "consent", "quiz"} <= set(readonly)
    assert not Invitation.objects.exists()
