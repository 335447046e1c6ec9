from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Claim, GoldLabel, Invitation, Participation, Study, StudyStatus
from tests.annotation.labelling import NOW, make_pair_study, make_session_study
from tests.factory import (
    make_claim,
    make_comparison,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db

STUDIES = "/studies/"
NEW = "/studies/new/"


@pytest.fixture
def signed_in(client):
    """Sign somebody of a role in."""

    def sign_in(role="ANNOTATOR", **fields):
        user = make_user(role=role, **fields)
        client.force_login(user)
        return user

    return sign_in


def test_annotators_see_their_own_studies_and_how_far_they_are(client, signed_in):
    annotator = signed_in()
    study = make_pair_study([annotator], items=4, name="Pilot")
    make_claim(study.items.first(), annotator, state="DONE")
    make_pair_study([make_user()], name="Somebody else's")
    make_pair_study([annotator], name="Not yet", status=StudyStatus.DRAFT)
    html = client.get(STUDIES).content.decode()
    assert "Pilot" in html
    assert "1 of 4" in html
    assert "Continue" in html
    assert "Somebody else" not in html
    assert "Not yet" not in html


@pytest.mark.parametrize(
    ("status", "rate", "offered"),
    [("OPEN", 0.0, True), ("OPEN", 0.1, False), ("PAUSED", 0.1, False), ("CLOSED", 0.1, True)],
)
def test_own_answers_are_offered_unless_they_would_tell_a_repeat(
    client, signed_in, status, rate, offered
):
    annotator = signed_in()
    study = make_pair_study([annotator], items=2, status=status, repeat_rate=rate)
    make_claim(study.items.first(), annotator, state="DONE")
    page = client.get("/studies/").content.decode()
    assert ("My answers (CSV)" in page) == offered
    assert ("once the study is closed" in page) != offered


def test_what_is_left_stands_first_and_has_the_primary_action(client, signed_in):
    annotator = signed_in()
    make_pair_study([annotator], name="A closed one", status=StudyStatus.CLOSED)
    make_pair_study([annotator], name="B finished", items=0)
    make_session_study([annotator], name="C open")
    begun = make_pair_study([annotator], name="D begun", items=2)
    make_claim(begun.items.first(), annotator, state="DONE")
    page = client.get(STUDIES)
    assert [study.rules.name for study in page.context["mine"]] == [
        "D begun",
        "C open",
        "A closed one",
        "B finished",
    ]
    html = page.content.decode()
    assert html.count("primary") == 1
    assert html.count("study-card now") == 1
    assert ">Closed<" in html
    assert "Finished" in html


def test_without_a_study_the_page_says_what_will_happen(client, signed_in):
    signed_in()
    assert "Nothing to label yet" in client.get(STUDIES).content.decode()


@pytest.mark.parametrize("role", ["VIEWER", "MANAGER", "ADMIN"])
def test_others_see_every_study(client, signed_in, role):
    signed_in(role)
    make_pair_study([make_user()], items=3, overlap=2, name="Pilot")
    html = client.get(STUDIES).content.decode()
    assert "Pilot" in html
    assert "of 6" in html
    assert (NEW in html) == (role != "VIEWER")


def test_managers_who_label_see_both(client, signed_in):
    manager = signed_in("MANAGER")
    make_pair_study([manager])
    assert "Your studies" in client.get(STUDIES).content.decode()


def test_no_study_at_all_says_what_to_do(client, signed_in):
    signed_in("MANAGER")
    assert "No studies yet" in client.get(STUDIES).content.decode()


def test_an_annotator_reads_the_guidelines_of_their_study(client, signed_in):
    study = make_pair_study([signed_in()], guidelines="Read **both**.")
    html = client.get(reverse("annotation:study", args=[study.slug])).content.decode()
    assert "<strong>both</strong>" in html
    assert "Begin" in html


def test_an_annotators_other_studies_cost_nothing(client, signed_in):
    annotator = signed_in()
    path = reverse("annotation:study", args=[make_pair_study([annotator]).slug])

    def cost():
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == 200
        return len(queries)

    alone = cost()
    for _study in range(3):
        make_pair_study([annotator])
    assert cost() == alone


def test_an_annotator_does_not_see_other_studies(client, signed_in):
    signed_in()
    study = make_pair_study([make_user()])
    assert client.get(reverse("annotation:study", args=[study.slug])).status_code == 404


def test_a_viewer_sees_how_far_everybody_is(client, signed_in):
    signed_in("VIEWER")
    busy, finished = make_user(display_name="Busy"), make_user(display_name="Done")
    study = make_pair_study([busy, finished], items=2, overlap=2, allow_tie=True)
    first, second = study.items.order_by("position")
    make_claim(first, finished, state="DONE", slot=0)
    make_claim(second, finished, state="SKIPPED", slot=None)
    make_claim(first, busy, slot=1)
    page = client.get(reverse("annotation:study", args=[study.slug]))
    rows = {row.name: row for row in page.context["live"].annotators}
    assert (rows["Done"].facts.done, rows["Done"].facts.skipped) == (1, 1)
    assert (rows["Done"].facts.left, rows["Done"].standing) == (0, "FINISHED")
    assert (rows["Busy"].facts.running, rows["Busy"].facts.left) == (1, 2)
    claims = [claims for _item, claims in page.context["items"]]
    assert claims == [{"DONE": 1, "ACTIVE": 1}, {"SKIPPED": 1}]
    html = page.content.decode()
    assert "working" in html
    assert "ties allowed" in html
    assert f'<a href="/comparisons/{first.comparison_id}/">' in html
    assert 'name="status"' not in html


def test_a_study_of_sessions_lists_their_keys(client, signed_in):
    signed_in("VIEWER")
    study = make_session_study([])
    page = client.get(reverse("annotation:study", args=[study.slug]))
    session = study.items.get().session
    name = f'<span title="{session.key}">{session.name.words}</span>'
    assert f'<a href="/sessions/{session.pk}/">{name}</a>' in page.content.decode()
    assert "This study has no annotators yet" in page.content.decode()


def test_a_study_that_is_not_there_is_not_found(client, signed_in):
    signed_in("MANAGER")
    assert client.get(reverse("annotation:study", args=["nowhere"])).status_code == 404
    status = reverse("annotation:study-status", args=["nowhere"])
    assert client.post(status, {"status": "OPEN"}).status_code == 404


def test_a_study_page_costs_a_fixed_number_of_queries(client, signed_in, django_assert_num_queries):
    signed_in("VIEWER")
    study = make_pair_study([make_user()], items=60)
    path = reverse("annotation:study", args=[study.slug])
    # Session, user, study; of its state: who is in it, their claims, times, filled items, number of
    # items, fast answers, items held; count of items, a page of them, their claims; skipped items,
    # flags, their number.
    with django_assert_num_queries(16):
        page = client.get(path)
    assert len(page.context["items"]) == 50
    assert "?page=2" in page.content.decode()


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
def test_only_managers_make_and_open_studies(client, signed_in, role):
    signed_in(role)
    study = make_study(status="DRAFT")
    status = reverse("annotation:study-status", args=[study.slug])
    assert client.get(NEW).status_code == 403
    assert client.post(NEW).status_code == 403
    assert client.post(status, {"status": "OPEN"}).status_code == 403
    study.refresh_from_db()
    assert study.status == "DRAFT"


def test_a_status_that_is_none_is_refused(client, signed_in):
    signed_in("MANAGER")
    study = make_study()
    response = client.post(
        reverse("annotation:study-status", args=[study.slug]), {"status": "LOST"}
    )
    assert response.status_code == 400


def test_strangers_are_sent_to_the_sign_in(client):
    study = make_study()
    paths = [STUDIES, NEW, reverse("annotation:study", args=[study.slug])]
    responses = [client.get(path) for path in paths]
    responses.append(client.post(reverse("annotation:study-status", args=[study.slug])))
    for response in responses:
        assert response.status_code == 302
        assert response.url.startswith(reverse("sign-in"))


def test_wrong_methods_are_refused(client, signed_in):
    signed_in("MANAGER")
    study = make_study()
    assert client.post(STUDIES).status_code == 405
    assert client.delete(NEW).status_code == 405
    assert client.post(reverse("annotation:study", args=[study.slug])).status_code == 405
    assert client.get(reverse("annotation:study-status", args=[study.slug])).status_code == 405


def test_a_manager_deletes_a_draft_from_its_page(client, signed_in):
    signed_in("MANAGER")
    draft, opened = make_pair_study([], status="DRAFT", name="Trial"), make_pair_study([])
    address = reverse("annotation:study-delete", args=[draft.slug])
    confirmation = client.get(f"/studies/{draft.slug}/").content.decode()
    assert f'action="{address}"' in confirmation
    assert "worker IDs" in confirmation
    assert client.get(address).status_code == 405
    page = client.post(address, follow=True).content.decode()
    assert "Deleted the draft “Trial”." in page
    assert client.post(address).status_code == 404
    kept = client.post(reverse("annotation:study-delete", args=[opened.slug]), follow=True)
    assert "Only a draft can be deleted." in kept.content.decode()
    assert "study-delete" not in kept.content.decode()


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
def test_nobody_else_deletes_a_draft(client, signed_in, role):
    address = reverse("annotation:study-delete", args=[make_study(status="DRAFT").slug])
    assert client.post(address).status_code == 302
    signed_in(role)
    assert client.post(address).status_code == 403
    assert Study.objects.exists()


def test_progress_says_who_is_missing_and_what_to_do(client, signed_in):
    signed_in("MANAGER")
    able, paused = make_user(), make_user()
    study = make_pair_study([able, paused], items=2, overlap=2)
    page = client.get(f"/studies/{study.slug}/").content.decode()
    assert "needed annotator" not in page
    Participation.objects.filter(annotator=paused).update(paused_at=NOW, pause_reason="MANAGER")
    page = " ".join(client.get(f"/studies/{study.slug}/").content.decode().split())
    assert "Only 1 of 2 needed annotators can work. One is paused." in page
    assert f'href="/studies/{study.slug}/#invitations"' in page
    assert reverse("annotation:study-resume", args=[study.slug, paused.pk]) in page
    assert reverse("annotation:study-people", args=[study.slug]) in page
    Participation.objects.filter(annotator=able).update(paused_at=NOW, pause_reason="MANAGER")
    page = " ".join(client.get(f"/studies/{study.slug}/").content.decode().split())
    assert "No annotator can work; each item needs 2. 2 are paused." in page
    Participation.objects.filter(annotator=able).update(paused_at=None, pause_reason="")
    Study.objects.update(overlap=1)
    for item in study.items.all():
        make_claim(item, able, state="SKIPPED", slot=None)
    page = " ".join(client.get(f"/studies/{study.slug}/").content.decode().split())
    assert "2 answers are missing, but everyone who can work has answered or skipped" in page
    Claim.objects.update(state="DONE", slot=0)
    assert "All answers are in." in client.get(f"/studies/{study.slug}/").content.decode()
    Study.objects.update(status="PAUSED", overlap=2)
    assert "Annotators get no items" in client.get(f"/studies/{study.slug}/").content.decode()


def test_closing_a_study_asks_first_with_what_it_does(client, signed_in):
    signed_in("MANAGER")
    people = [make_user() for _each in range(3)]
    study = make_pair_study(people, items=2, overlap=3, completion_answers=2)
    page = reverse("annotation:study", args=[study.slug])

    def asked():
        details = re.findall(r"(?s)<details[^>]*>.*?</details>", client.get(page).content.decode())
        (found,) = [each for each in details if 'value="CLOSED"' in each]
        return " ".join(re.sub(r"<[^>]*>", " ", found).split())

    assert "3 of 3 annotators have not finished." in asked()
    assert "completion code" not in asked()
    made = Invitation.objects.create(study=study, places=9, completion="C0DE")
    Participation.objects.update(invitation=made)
    for place, item in enumerate(study.items.order_by("position")):
        make_claim(item, people[0], state="DONE", slot=0, finished_at=NOW)
        if not place:
            make_claim(item, people[1], state="DONE", slot=1, finished_at=NOW)
    told = "2 of 3 annotators have not finished. A closed study hands out no items."
    assert f"{told} 1 will see the completion code (answers needed: 2)." in asked()
    everything = client.get(page).content.decode()
    assert everything.count('value="CLOSED"') == 1
    signed_in("VIEWER")
    assert 'value="CLOSED"' not in client.get(page).content.decode()


@pytest.mark.parametrize("status", ["DRAFT", "CLOSED"])
def test_what_is_not_open_is_not_closed(client, signed_in, status):
    signed_in("MANAGER")
    study = make_study(status=status)
    page = client.get(reverse("annotation:study", args=[study.slug])).content.decode()
    assert 'value="CLOSED"' not in page


def test_withdrawing_asks_first(client, signed_in):
    signed_in("MANAGER")
    study = make_study()
    Invitation.objects.create(study=study, places=9)
    page = client.get(reverse("annotation:invitations", args=[study.slug])).content.decode()
    outside = re.sub(r"(?s)<details[^>]*>.*?</details>", "", page)
    assert "/withdraw/" in page
    assert "/withdraw/" not in outside
    assert "The 0 people who did stay in the study." in " ".join(page.split())
    comparison = make_comparison()
    GoldLabel.objects.create(comparison=comparison, verdict="A", source="MANAGER")
    page = client.get(reverse("annotation:gold", args=["comparison", comparison.pk]))
    html = page.content.decode()
    assert 'name="withdraw"' in html
    assert 'name="withdraw"' not in re.sub(r"(?s)<details[^>]*>.*?</details>", "", html)


def test_rules_of_attention_and_completion_are_saved(client, signed_in):
    signed_in("MANAGER")
    study = make_study()
    address = reverse("annotation:study-rules", args=[study.slug])
    form = client.get(address).context["form"]
    assert (form["fast_share"].value(), form["completion_answers"].value()) == ("25", 1)
    sent = {"name": "Pilot", "overlap": 1, "lease_minutes": 15, "pause_after": 5, "since": "0"}
    more = {"fast_share": "40", "fast_seconds": "2.5", "completion_answers": "20"}
    client.post(address, {**sent, **more})
    study.refresh_from_db()
    saved = (study.fast_share, study.fast_seconds, study.completion_answers)
    assert saved == (0.4, 2.5, 20)
    page = client.get(reverse("annotation:study", args=[study.slug])).content.decode()
    assert "of answers in under 2.5 s" in page
