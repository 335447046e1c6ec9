"""The admin console: who enters, and what a manager cannot do."""

from __future__ import annotations

import pytest
from django.contrib.admin import site
from django.forms import JSONField

from annotation.admin import ReadOnlyAdmin
from annotation.core.stored_json import StorableDecoder
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
    fields["key_variable"] = "LLM_LOCAL_KEY"
    plain = {**fields, "base_url": "http://api.openai.com/v1"}
    refused = client.post("/admin/judging/modelendpoint/add/", plain).content.decode()
    assert "Begin the address with https://" in refused
    assert not ModelEndpoint.objects.exists()
    client.post("/admin/judging/modelendpoint/add/", fields)
    made = ModelEndpoint.objects.get()
    assert (made.key_variable, made.extra_sampling) == ("LLM_LOCAL_KEY", {})


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
            "completion_answers": "1",
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


@pytest.mark.parametrize("value", ["9" * 5000, "NaN", "1e999", '{"a": -Infinity}', "{"])
def test_what_is_no_json_everywhere_is_a_fault_of_its_field(client, value):
    client.force_login(factory.make_user(role="ADMIN"))
    answer = client.post("/admin/annotation/dataset/add/", {"slug": "new", "extra": value})
    assert answer.status_code == 200
    assert "Enter a valid JSON." in answer.content.decode()


def test_an_annotator_that_none_can_be_is_a_fault_of_its_field(client):
    client.force_login(factory.make_user(role="ADMIN"))
    study = factory.make_study()
    total = {f"participations-{name}_FORMS": "0" for name in ("INITIAL", "MIN_NUM", "MAX_NUM")}
    sent = {**total, "participations-TOTAL_FORMS": "1", "participations-0-annotator": "1\x00"}
    answer = client.post(f"/admin/annotation/study/{study.pk}/change/", sent)
    assert answer.status_code == 200
    assert "Please correct the error" in answer.content.decode()


def test_every_form_of_json_reads_it_so(rf):
    request = rf.get("/")
    request.user = factory.make_user(role="ADMIN")
    forms = (
        each.get_form(request)
        for each in site._registry.values()
        if type(each).has_change_permission is not ReadOnlyAdmin.has_change_permission
    )
    fields = [field for form in forms for field in form.base_fields.values()]
    of_json = [field for field in fields if isinstance(field, JSONField)]
    assert of_json
    assert {field.decoder for field in of_json} == {StorableDecoder}
