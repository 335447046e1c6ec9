from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEvent, Dataset, Invitation, Participation, User
from annotation.queries.participants import token_of
from annotation.services.participants import invite, remove_annotator, withdraw
from tests.annotation.entry import make_asking_study, make_manager
from tests.factory import PASSWORD, make_study, make_user

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}
NEWCOMER = {
    "username": "lin",
    "display_name": "Lin",
    "language": "",
    "password": "correct horse battery",
    "password_again": "correct horse battery",
}


@pytest.fixture
def study():
    return make_asking_study([], name="Pilot")


def link(study, **told):
    ends = {} if told.keys() & {"places", "expires_at"} else {"places": 20}
    made = invite(study=study.slug, by=make_manager(), now=timezone.now(), **ends, **told)
    return reverse("annotation:join", args=[token_of(made)])


def test_a_draft_of_a_deleted_dataset_lets_nobody_in(client):
    study = make_asking_study([], status="DRAFT")
    address = link(study)
    Dataset.with_staged.filter(pk=study.dataset_id).update(archived_at=timezone.now())
    assert client.get(address).status_code == 410
    assert client.post(address, NEWCOMER).status_code == 410
    client.force_login(make_user())
    assert client.post(address).status_code == 410
    assert not User.objects.filter(username="lin").exists()
    assert not Participation.objects.filter(study=study).exists()


PAID = "?PROLIFIC_PID=5f3a&STUDY_ID=s-1&page=2"
WORKER = {"PROLIFIC_PID": "5f3a", "STUDY_ID": "s-1"}


class TestWhoAPlatformSends:
    """What a link says of a worker stays with them until they have joined."""

    def test_joins_with_an_account_after_signing_in(self, client, study):
        user = make_user()
        address = link(study) + PAID
        page = client.get(address).content.decode()
        back = f"/sign-in/?next={quote(address)}"
        assert f'href="{back}"' in page
        sign_in = client.get(back)
        assert sign_in.context["next"] == address
        sent = {"username": user.username, "password": "wrong", "next": address}
        assert client.post("/sign-in/", sent).context["next"] == address
        sent["password"] = PASSWORD
        assert client.post("/sign-in/", sent).url == address
        client.post(address)
        assert Participation.objects.get().worker == WORKER

    def test_joins_with_a_new_account(self, client, study):
        address = link(study) + PAID
        assert client.post(address, {**NEWCOMER, "username": ""}).status_code == 422
        client.post(address, NEWCOMER)
        part = Participation.objects.get()
        assert (part.worker, part.worker_id) == (WORKER, "5f3a")

    def test_is_known_from_then_on_and_stays_who_they_are(self, client, study):
        user = make_user()
        study.annotators.add(user)
        client.force_login(user)
        address = link(study)
        page = client.get(address + PAID)  # asked first: an address alone changes nothing
        assert "Continue" in page.content.decode()
        assert Participation.objects.get().worker == {}
        assert client.post(address + PAID).url == f"/studies/{study.slug}/next/"
        assert client.get(address + "?workerId=A1").url == f"/studies/{study.slug}/next/"
        client.post(address + "?workerId=A1")
        assert Participation.objects.get().worker == WORKER


class TestFollowingALink:
    def test_signed_in_one_joins_with_a_button(self, client, study):
        user = make_user()
        client.force_login(user)
        address = link(study)
        page = client.get(address).content.decode()
        assert "Pilot" in page
        assert "Join study" in page
        assert 'name="password"' not in page
        assert not Participation.objects.exists()
        response = client.post(address)
        assert (response.status_code, response.url) == (302, f"/studies/{study.slug}/next/")
        assert Participation.objects.get().annotator == user

    def test_a_stranger_may_sign_in_and_comes_back(self, client, study):
        address = link(study)
        page = client.get(address)
        assert "no-store" in page["Cache-Control"]
        assert f'href="/sign-in/?next={address}"' in page.content.decode()
        assert "Create account and join" in page.content.decode()

    def test_signing_in_leads_back_to_the_link(self, client, study):
        user = make_user()
        address = link(study)
        sent = {"username": user.username, "password": PASSWORD, "next": address}
        page = client.post(reverse("sign-in"), sent, follow=True)
        assert page.redirect_chain == [(address, 302)]
        assert "Join study" in page.content.decode()

    def test_a_newcomer_makes_an_account_and_joins_in_one_step(self, client, study):
        address = link(study)
        response = client.post(address, NEWCOMER)
        assert (response.status_code, response.url) == (302, f"/studies/{study.slug}/next/")
        user = User.objects.get(username="lin")
        assert (user.role, user.display_name) == ("ANNOTATOR", "Lin")
        assert Participation.objects.get().annotator == user
        assert client.get("/studies/").context["user"] == user
        assert "django_language" not in response.cookies

    def test_a_link_that_made_many_accounts_makes_none_for_a_while(
        self, client, study, monkeypatch
    ):
        monkeypatch.setattr("annotation.queries.participants.NEW_ACCOUNTS", 1)
        address = link(study, expires_at=timezone.now() + timedelta(days=1))
        assert client.post(address, NEWCOMER).status_code == 302
        late = Client().post(address, {**NEWCOMER, "username": "wei", "display_name": "Wei"})
        assert late.status_code == 429
        assert 3590 <= int(late["Retry-After"]) <= 3600
        page = late.content.decode()
        assert "Too many accounts were created with this link in the last hour." in page
        assert "Try again in 60 minutes." in page
        assert 'value="wei"' in page
        assert not User.objects.filter(username="wei").exists()

    def test_a_newcomer_chooses_the_language(self, client, study):
        response = client.post(link(study), {**NEWCOMER, "language": "zh-hans"})
        assert response.cookies["django_language"].value == "zh-hans"

    @pytest.mark.parametrize("role", ["ADMIN", "MANAGER", "VIEWER"])
    def test_nobody_chooses_a_role(self, client, study, role):
        client.post(link(study), {**NEWCOMER, "role": role, "is_active": "", "is_staff": "1"})
        assert User.objects.get(username="lin").role == "ANNOTATOR"

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"username": ""}, "This field is required."),
            ({"username": "taken"}, "This name is taken, or looks like one that is."),
            ({"username": "TAKEN"}, "This name is taken, or looks like one that is."),
            ({"username": "TAKEN", "display_name": "x"}, "This name is taken, or looks"),
            ({"display_name": "taken"}, "This name is taken, or looks like one that is."),
            ({"display_name": "TAKEN"}, "This name is taken, or looks like one that is."),
            ({"username": "lіn"}, "mixes letters of different scripts"),
            ({"display_name": "Lіn"}, "mixes letters of different scripts"),
            ({"display_name": "Lin\u202e"}, "contains invisible characters"),
            ({"username": "data:User_1"}, "Use letters, digits and . @ + - _"),
            ({"username": "<b>"}, "Use letters, digits and . @ + - _"),
            ({"username": "x" * 61}, "at most 60 characters"),
            ({"password": "short", "password_again": "short"}, "too short"),
            ({"password": "12345678", "password_again": "12345678"}, "entirely numeric"),
            ({"password": "linlinlin", "username": "linlinlin"}, "too similar to the user name"),
            ({"password_again": "another one"}, "The two passwords do not match."),
            ({"password_again": ""}, "This field is required."),
            ({"password": ""}, "This field is required."),
            ({"language": "fr"}, "Select a valid choice"),
        ],
    )
    def test_what_makes_no_account_is_said(self, client, study, change, error):
        make_user(username="taken")
        people = User.objects.count()
        address = link(study)
        response = client.post(address, {**NEWCOMER, **change})
        assert response.status_code == 422
        assert error in response.content.decode()
        assert NEWCOMER["password"] not in response.content.decode()
        assert User.objects.count() == people + 1  # the manager of the link
        assert not Participation.objects.exists()

    def test_who_is_in_goes_on_to_the_study(self, client, study):
        user = make_user()
        study.annotators.add(user)
        client.force_login(user)
        address = link(study, expires_at=timezone.now())
        assert client.get(address).url == f"/studies/{study.slug}/next/"

    def test_who_was_taken_out_is_told(self, client, study):
        user = make_user()
        client.force_login(user)
        address = link(study)
        client.post(address)
        remove_annotator(study=study.slug, annotator=user.pk, by=make_manager())
        for response in (client.get(address), client.post(address)):
            assert response.status_code == 403
            assert "A manager removed you from this study." in response.content.decode()
        assert not Participation.objects.exists()

    def test_a_study_that_has_not_begun_says_so(self, client):
        draft = make_study(status="DRAFT", name="Soon")
        client.force_login(make_user())
        page = client.post(link(draft), follow=True)
        assert page.redirect_chain[-1][0] == "/studies/"
        assert "You joined “Soon”. It has not started yet" in page.content.decode()

    def test_other_methods_are_refused(self, client, study):
        assert client.put(link(study)).status_code == 405

    def test_a_form_needs_its_token_against_forgery(self, study):
        assert Client(enforce_csrf_checks=True).post(link(study), NEWCOMER).status_code == 403
        assert not User.objects.filter(username="lin").exists()


def withdrawn(study):
    address = link(study)
    made = Invitation.objects.get()
    withdraw(study=study.slug, invitation=made.pk, by=make_manager(), now=timezone.now())
    return address


def full(study):
    address = link(study, places=1)
    made = Invitation.objects.get()
    Participation.objects.create(study=study, annotator=make_user(), invitation=made)
    return address


def closed(study):
    address = link(study)
    study.status = "CLOSED"
    study.save()
    return address


@pytest.mark.parametrize(
    ("make", "status", "code", "sentence"),
    [
        (withdrawn, 410, "invitation:withdrawn", "This invitation has been withdrawn."),
        (full, 409, "invitation:full", "All places for this invitation are taken."),
        (closed, 410, "invitation:closed", "The study of this invitation is closed."),
        (
            lambda study: link(study, expires_at=timezone.now() - timedelta(seconds=1)),
            410,
            "invitation:expired",
            "This invitation has expired.",
        ),
        (
            lambda _study: reverse("annotation:join", args=["1-2.made-up"]),
            404,
            "invitation:unknown",
            "This invitation link is not valid.",
        ),
    ],
    ids=["withdrawn", "full", "closed", "expired", "forged"],
)
@pytest.mark.parametrize("signed_in", [True, False])
def test_a_link_that_lets_nobody_in_says_why(
    client, study, make, status, code, sentence, signed_in
):
    address = make(study)
    if signed_in:
        client.force_login(make_user())
    before = Participation.objects.count(), User.objects.count()
    for response in (client.get(address), client.post(address, NEWCOMER)):
        assert response.status_code == status
        page = response.content.decode()
        assert sentence in page
        assert code in page
        assert "Pilot" not in page
    assert (Participation.objects.count(), User.objects.count()) == before


class TestTheManagersPage:
    @pytest.fixture(autouse=True)
    def manager(self, client):
        manager = make_manager()
        client.force_login(manager)
        return manager

    def address(self, study):
        return reverse("annotation:invitations", args=[study.slug])

    def test_a_link_is_made_and_shown_whole(self, client, study, manager):
        sent = {"note": "Course 101", "places": "20", "last_day": "2099-12-31"}
        response = client.post(self.address(study), sent)
        assert (response.status_code, response.url) == (302, self.address(study))
        made = Invitation.objects.get()
        assert (made.note, made.places, made.created_by) == ("Course 101", 20, manager)
        assert made.expires_at.isoformat() == "2100-01-01T00:00:00+00:00"
        page = client.get(self.address(study)).content.decode()
        join = reverse("annotation:join", args=[token_of(made)])
        assert f'value="http://testserver{join}"' in page
        assert "0 of 20 joined" in page
        assert client.get(join).status_code == 200

    def test_the_form_proposes_a_last_day_so_that_one_click_makes_a_link(self, client, study):
        form = client.get(self.address(study)).context["invitation_form"]
        day = timezone.localdate() + timedelta(days=30)
        assert f'value="{day.isoformat()}"' in str(form["last_day"])
        client.post(self.address(study), {"last_day": day.isoformat()})
        assert Invitation.objects.get().places is None

    def test_with_htmx_the_block_alone_comes_back(self, client, study):
        response = client.post(self.address(study), {"note": "one", "places": "1"}, **HTMX)
        assert response.status_code == 200
        page = response.content.decode()
        assert page.lstrip().startswith('<section class="card" id="invitations"')
        assert "one" in page
        number = Invitation.objects.get().pk
        gone = reverse("annotation:withdraw-invitation", args=[study.slug, number])
        assert "withdrawn" in client.post(gone, **HTMX).content.decode()

    @pytest.mark.parametrize("headers", [{}, HTMX])
    @pytest.mark.parametrize(
        ("sent", "error"),
        [
            ({"places": "0"}, "greater than or equal to 1"),
            ({"places": "many"}, "Enter a whole number."),
            ({"last_day": "2001-01-01"}, "This day is in the past. Choose a later one."),
            ({"last_day": "9999-12-31"}, "Choose a day within the next 100 years."),
            ({"last_day": "soon"}, "Enter a valid date."),
            ({"note": "x" * 201, "places": "1"}, "at most 200 characters"),
            ({"completion": "http://pay.org/"}, "a code, or an address that begins with https://"),
            ({"completion": "javascript://x.org/"}, "a code, or an address that begins with"),
            ({"completion": "https://me:pw@pay.org/"}, "an address here has no user name in it"),
            ({"completion": "https://pay.org@evil.org/"}, "no user name in it"),
            ({"completion": "https://pay.org/?{me}"}, "Unknown placeholder {me}. Use {worker}."),
            ({}, "Set a last day or a number of places."),
        ],
    )
    def test_what_makes_no_link_is_said(self, client, study, sent, error, headers):
        response = client.post(self.address(study), sent, **headers)
        assert response.status_code == 422
        assert error in response.content.decode()
        assert not Invitation.objects.exists()

    def test_a_completion_code_comes_with_a_link(self, client, study):
        completion = "https://pay.org/done?w={worker}"
        sent = completion.replace("https", "HTTPS")
        client.post(self.address(study), {"places": "1", "completion": sent})
        made = Invitation.objects.get()
        assert made.completion == completion
        page = client.get(self.address(study)).content.decode()
        assert completion in page
        assert "?PROLIFIC_PID={{%PROLIFIC_PID%}}<" in page
        change = reverse("annotation:invitation-completion", args=[study.slug, made.pk])
        assert client.post(change, {"completion": "C0DE"}).url == self.address(study)
        part = client.post(change, {"completion": "C0DE-2"}, **HTMX)
        assert part.content.decode().lstrip().startswith('<section class="card" id="invitations"')
        for headers in ({}, HTMX):
            refused = client.post(change, {"completion": "http://x.org/"}, **headers)
            assert refused.status_code == 422
            assert "a code, or an address that begins with" in refused.content.decode()
            assert 'value="http://x.org/"' in refused.content.decode()
        made.refresh_from_db()
        assert made.completion == "C0DE-2"
        assert AuditEvent.objects.filter(action="study.completion").count() == 2
        assert client.get(change).status_code == 405
        foreign = reverse("annotation:invitation-completion", args=[make_study().slug, made.pk])
        assert client.post(foreign, {}).status_code == 404
        assert client.post("/studies/nowhere/invitations/1/completion/", {}).status_code == 404

    def test_a_link_is_withdrawn(self, client, study):
        client.post(self.address(study), {"places": "1"})
        number = Invitation.objects.get().pk
        gone = reverse("annotation:withdraw-invitation", args=[study.slug, number])
        assert client.post(gone).url == self.address(study)
        page = client.get(self.address(study)).content.decode()
        assert "withdrawn" in page
        assert "/join/" not in page
        assert client.get(gone).status_code == 405
        other = make_study()
        foreign = reverse("annotation:withdraw-invitation", args=[other.slug, number])
        assert client.post(foreign).status_code == 404

    def test_a_study_that_is_not_there_has_no_page(self, client):
        assert client.get("/studies/nowhere/invitations/").status_code == 404
        assert client.post("/studies/nowhere/invitations/", {}).status_code == 404

    @pytest.mark.parametrize("links", [1, 9])
    def test_it_costs_the_same_for_many_links(
        self, client, study, links, django_assert_max_num_queries
    ):
        for _each in range(links):
            link(study)
        with django_assert_max_num_queries(4):  # the session, the user, the study, its links
            client.get(self.address(study))

    @pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
    def test_it_is_for_managers_alone(self, client, study, role):
        link(study)
        number = Invitation.objects.get().pk
        gone = reverse("annotation:withdraw-invitation", args=[study.slug, number])
        change = reverse("annotation:invitation-completion", args=[study.slug, number])
        client.force_login(make_user(role=role))
        assert client.post(change, {"completion": "C0DE"}).status_code == 403
        assert client.get(self.address(study)).status_code == 403
        assert client.post(self.address(study), {}).status_code == 403
        assert client.post(gone).status_code == 403
        client.logout()
        for response in (client.get(self.address(study)), client.post(gone)):
            assert response.url.startswith("/sign-in/")
