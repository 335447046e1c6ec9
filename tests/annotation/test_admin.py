"""The admin console: who enters, and what a manager cannot do."""

from __future__ import annotations

import pytest

from annotation.models import Study, User
from judging.models import ModelEndpoint
from tests import factory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
def test_others_are_sent_to_sign_in(client, role):
    client.force_login(factory.make_user(role=role))
    assert client.get("/admin/").status_code == 302


def test_an_admin_opens_every_list(client):
    client.force_login(factory.make_user(role="ADMIN"))
    factory.make_claim(factory.make_item(factory.make_study()), factory.make_user())
    factory.make_label()
    factory.make_rating()
    factory.make_run()
    listed = [model for app in client.get("/admin/").context["app_list"] for model in app["models"]]
    assert len(listed) > 10
    for model in listed:
        assert client.get(model["admin_url"]).status_code == 200, model["name"]


def test_a_manager_sees_no_endpoint_and_no_admin(client):
    manager = factory.make_user(role="MANAGER")
    other = factory.make_user(role="ADMIN", username="the-admin")
    endpoint = factory.make_endpoint()
    client.force_login(manager)
    assert client.get("/admin/judging/modelendpoint/").status_code == 403
    assert client.get(f"/admin/judging/modelendpoint/{endpoint.pk}/change/").status_code == 403
    assert b"the-admin" not in client.get("/admin/annotation/user/").content
    assert client.get(f"/admin/annotation/user/{other.pk}/change/").status_code == 302
    assert client.get(f"/admin/annotation/user/{other.pk}/password/").status_code == 404


def test_a_manager_gives_no_role_above_their_reach(client):
    client.force_login(factory.make_user(role="MANAGER"))
    fields = {
        "username": "newcomer",
        "usable_password": "true",
        "password1": "kA8-long-enough",
        "password2": "kA8-long-enough",
        "profile-TOTAL_FORMS": "0",
        "profile-INITIAL_FORMS": "0",
    }
    answer = client.post("/admin/annotation/user/add/", {**fields, "role": "ADMIN"})
    assert answer.status_code == 200
    assert not User.objects.filter(username="newcomer").exists()
    client.post("/admin/annotation/user/add/", {**fields, "role": "VIEWER"})
    assert User.objects.get(username="newcomer").role == "VIEWER"


def test_an_admin_adds_an_endpoint_by_the_name_of_its_key(client):
    client.force_login(factory.make_user(role="ADMIN"))
    fields = {
        "name": "local",
        "enabled": "on",
        "base_url": "http://127.0.0.1:8080/v1",
        "model": "small",
        "key_variable": "sk-not-a-name",
        "temperature": "0",
        "max_tokens": "64",
        "context_tokens": "2048",
        "timeout_seconds": "10",
        "concurrency": "4",
        "input_price": "0",
        "cached_input_price": "0",
        "output_price": "0",
        "batch_price_share": "1",
        "extra_sampling": "",
    }
    assert client.post("/admin/judging/modelendpoint/add/", fields).status_code == 200
    assert not ModelEndpoint.objects.exists()
    client.post("/admin/judging/modelendpoint/add/", {**fields, "key_variable": "LOCAL_KEY"})
    made = ModelEndpoint.objects.get()
    assert (made.key_variable, made.extra_sampling) == ("LOCAL_KEY", {})


def test_a_study_remembers_who_made_it(client):
    manager = factory.make_user(role="MANAGER")
    dataset = factory.make_dataset()
    client.force_login(manager)
    client.post(
        "/admin/annotation/study/add/",
        {
            "slug": "s",
            "name": "S",
            "kind": "PAIRWISE",
            "status": "DRAFT",
            "dataset": dataset.pk,
            "overlap": "1",
            "lease_minutes": "15",
            "gold_rate": "0",
            "repeat_rate": "0",
            "guidelines_version": "1",
            "seed": "42",
            "pause_after": "5",
            "min_turns": "1",
            "quiz": "[]",
            "participations-TOTAL_FORMS": "0",
            "participations-INITIAL_FORMS": "0",
        },
    )
    assert Study.objects.get().created_by == manager


def test_labels_are_read_only_here(client):
    label = factory.make_label()
    client.force_login(factory.make_user(role="ADMIN"))
    page = f"/admin/annotation/pairwiselabel/{label.pk}/change/"
    assert client.get(page).status_code == 200
    assert client.post(page, {"verdict": "B"}).status_code == 403
    assert client.get("/admin/annotation/pairwiselabel/add/").status_code == 403
    assert client.get(f"/admin/annotation/pairwiselabel/{label.pk}/delete/").status_code == 403
