"""The front door, the theme switch, and what every answer carries."""

from __future__ import annotations

import re

import pytest

from annotation.models import Claim, ClaimState, Dataset
from tests import factory
from tests.annotation.labelling import make_pair_study

pytestmark = pytest.mark.django_db


class TestHome:
    def test_strangers_sign_in_first(self, client):
        answer = client.get("/")
        assert answer.status_code == 302
        assert answer.url == "/sign-in/?next=/"

    @pytest.mark.parametrize(
        ("role", "target"),
        [("ANNOTATOR", "/studies/"), ("VIEWER", "/trust/"), ("MANAGER", "/start/")],
    )
    def test_each_role_lands_where_its_work_is(self, client, role, target):
        client.force_login(factory.make_user(role=role))
        assert client.get("/").url == target

    def test_who_only_asks_whether_it_is_there_hears_yes(self, client):
        assert client.head("/").status_code == 302

    def test_it_is_only_read(self, client):
        assert client.post("/").status_code == 405


class TestTheFirstMinutes:
    """Three steps, each a link, until a judge has run on one's own data."""

    @pytest.fixture
    def manager(self, client):
        client.force_login(factory.make_user(role="MANAGER"))

    def states(self, client):
        page = client.get("/start/").content.decode()
        steps = page.partition("<ol")[2].partition("</ol>")[0]
        return re.findall(r'<span class="status[^>]*>(\w+)', steps), page

    def test_begin_with_an_import(self, client, manager):
        states, page = self.states(client)
        assert states == ["next", "later", "later"]
        assert 'action="/datasets/import/"' in page
        assert "demo" not in page

    def test_lead_on_by_what_is_there(self, client, manager):
        dataset = factory.make_dataset()
        states, page = self.states(client)
        assert states == ["done", "next", "later"]
        assert "<form" not in page.partition("<main")[2]
        study = factory.make_study(dataset)
        states, page = self.states(client)
        assert states == ["done", "next", "later"]
        assert f'href="/studies/{study.slug}/invitations/"' in page
        study.annotators.add(factory.make_user())
        assert self.states(client)[0] == ["done", "done", "next"]
        factory.make_run(dataset=dataset)
        assert self.states(client)[0] == ["done", "done", "done"]
        assert client.get("/").url == "/trust/"

    def test_show_the_demo_to_all_who_see_results(self, client):
        study = make_pair_study([], name="Demo: which?", slug="demo-pairs")
        Dataset.objects.update(slug="demo")
        client.force_login(factory.make_user(role="VIEWER"))
        assert client.get("/").url == "/start/"
        page = client.get("/start/").content.decode()
        for name in ("/trust/", "/leaderboard/", "/runs/"):
            assert f'href="{name}?dataset=demo"' in page
        assert f'href="/studies/{study.slug}/"' in page
        assert "Import" not in page
        client.force_login(factory.make_user(role="MANAGER"))
        assert self.states(client)[0] == ["next", "later", "later"]

    def test_are_not_for_annotators(self, client):
        assert client.get("/start/").url == "/sign-in/?next=/start/"
        client.force_login(factory.make_user())
        assert client.get("/start/").status_code == 403
        assert client.post("/start/").status_code == 405


class TestSignOut:
    def test_what_one_holds_is_given_back(self, client):
        annotator, other = factory.make_user(), factory.make_user()
        study = factory.make_study(factory.make_dataset())
        for user in (annotator, other):
            factory.make_claim(factory.make_item(study), user)
        client.force_login(annotator)
        assert client.post("/sign-out/").url == "/sign-in/"
        assert "_auth_user_id" not in client.session
        assert Claim.objects.get(annotator=annotator).state == ClaimState.RELEASED
        assert Claim.objects.get(annotator=other).state == ClaimState.ACTIVE

    def test_strangers_may_leave_too(self, client):
        assert client.post("/sign-out/").url == "/sign-in/"

    def test_it_is_only_posted(self, client):
        assert client.get("/sign-out/").status_code == 405


class TestTheme:
    def test_it_is_kept_in_a_cookie_and_rendered(self, client):
        answer = client.post("/theme/", {"theme": "dark", "next": "/sign-in/"})
        assert answer.url == "/sign-in/"
        assert client.cookies["theme"].value == "dark"
        assert client.get("/sign-in/").context["theme"] == "dark"

    def test_anything_else_is_the_systems_theme(self, client):
        client.post("/theme/", {"theme": "dark"})
        client.post("/theme/", {"theme": "plaid"})
        assert client.get("/sign-in/").context["theme"] == ""

    @pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example"])
    def test_it_never_sends_anybody_elsewhere(self, client, target):
        assert client.post("/theme/", {"theme": "dark", "next": target}).url == "/"

    def test_it_is_only_written(self, client):
        assert client.get("/theme/").status_code == 405


class TestHeaders:
    def test_the_content_policy_is_strict(self, client):
        policy = client.get("/sign-in/").headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy

    def test_no_other_site_may_frame_it(self, client):
        assert client.get("/sign-in/").headers["X-Frame-Options"] == "DENY"
