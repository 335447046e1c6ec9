"""What an endpoint can do, as admins ask for it and state it in the console."""

from __future__ import annotations

import pytest
from django.contrib.messages import get_messages

from judging.models import JudgeRun, ModelEndpoint
from tests.factory import make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.services.test_abilities import UNKNOWN, known, unknown

pytestmark = pytest.mark.django_db


def admin_of(client):
    client.force_login(make_user(role="ADMIN"))
    return client


def test_the_admin_console_asks_on_demand_and_says_what_was_found(client):
    with FakeLlm() as server:
        row = unknown(server, name="mine")
        bad = make_endpoint(name="bad", base_url="ftp://127.0.0.1/v1", **UNKNOWN)
        answer = admin_of(client).post(
            "/admin/judging/modelendpoint/",
            {"action": "check_capabilities", "_selected_action": [row.pk, bad.pk]},
        )
    said = [str(each) for each in get_messages(answer.wsgi_request)]
    assert known(row) == (True, False, True)
    assert any(
        each.startswith("mine: returns log-probabilities: yes, supports JSON schema: no")
        for each in said
    )
    assert any(each.startswith("bad: The endpoint's base URL is not valid.") for each in said)


def test_the_admin_console_says_why_an_endpoint_did_not_answer(client):
    keyless = {"error": {"message": "API key not valid."}}
    with FakeLlm(script=[Act(status=400, body=keyless)]) as server:
        row = unknown(server, name="mine")
        answer = admin_of(client).post(
            "/admin/judging/modelendpoint/",
            {"action": "check_capabilities", "_selected_action": [row.pk]},
        )
    (said,) = map(str, get_messages(answer.wsgi_request))
    assert said == (
        "mine: The endpoint rejected the API key. Check the environment variable set for this "
        "endpoint. The endpoint said: HTTP 400 API key not valid."
    )


def test_what_somebody_states_stands_until_the_model_changes(client):
    row = make_endpoint(name="mine", **UNKNOWN)
    ModelEndpoint.objects.filter(pk=row.pk).update(
        probe_address="elsewhere m", has_json_schema=True
    )
    address = f"/admin/judging/modelendpoint/{row.pk}/change/"
    page = admin_of(client).get(address)
    assert "elsewhere m" in page.content.decode()
    fields = {
        name: value
        for name, value in page.context["adminform"].form.initial.items()
        if value is not None
    }
    fields |= {"extra_sampling": "{}", "enabled": "on", "has_logprobs": "true"}
    fields |= {"has_json_schema": "true", "has_system_role": "unknown"}
    fields.pop("has_scores")
    answer = client.post(address, fields)
    assert answer.status_code == 302
    assert known(row) == (True, None, None)  # of what was found elsewhere nothing is left
    client.post(address, fields | {"model": "another", "has_json_schema": "unknown"})
    assert known(row) == (None, None, None)
    assert JudgeRun.objects.count() == 0
