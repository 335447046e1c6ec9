"""Endpoints on the pages: who may add, change, test and switch them, and what is never kept."""

from __future__ import annotations

import logging

import pytest

from annotation.models import AuditEvent
from judging.models import ModelEndpoint
from tests.factory import make_dataset, make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.llm_manners import manner_of

pytestmark = pytest.mark.django_db

PLACE = "/runs/endpoints/"
KEY = "sk-proj-AbCd1234EfGh5678"
HEX = "0123456789abcdef0123456789abcdef"
LIMITS = {
    "temperature": "0",
    "max_tokens": "1024",
    "context_tokens": "8192",
    "timeout_seconds": "120",
    "concurrency": "16",
    "extra_sampling": "{}",
    "input_price": "0",
    "output_price": "0",
    "batch_price_share": "1",
    "has_logprobs": "unknown",
    "has_json_schema": "unknown",
    "has_system_role": "unknown",
}
ONE = LIMITS | {"name": "mini", "base_url": "https://api.openai.com/v1", "model": "gpt-mini"}


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def test_a_manager_adds_one_and_runs_offer_it(manager, monkeypatch):
    monkeypatch.delenv("LLM_TEST_KEY", raising=False)
    answer = manager.post(f"{PLACE}new/", ONE | {"key_variable": "LLM_TEST_KEY"}, follow=True)
    row = ModelEndpoint.objects.get()
    assert (row.name, row.key_variable, row.enabled) == ("mini", "LLM_TEST_KEY", True)
    text = answer.content.decode()
    assert "the variable LLM_TEST_KEY is not set on this server" in text
    assert "not tested" in text
    event = AuditEvent.objects.get()
    assert (event.action, event.target_id, event.detail["name"]) == (
        "endpoint.added",
        row.pk,
        "mini",
    )


@pytest.mark.parametrize(
    ("field", "secret"),
    [
        ("key_variable", KEY),
        ("key_variable", "9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c"),
        ("key_variable", "AKIAIOSFODNN7EXAMPLE1"),
        ("name", KEY),
        ("model", KEY),
        ("model", HEX),
        ("extra_sampling", f'{{"api_key": "{HEX}"}}'),
        ("base_url", f"https://llm.example/v1?api-key={HEX}"),
        ("base_url", f"https://api.openai.com/v1/{KEY}"),
        ("extra_sampling", f'{{"headers": "Bearer {KEY}"}}'),
        ("base_url", "https://me:hunter2secret@api.openai.com/v1"),
    ],
)
def test_a_key_is_neither_kept_nor_shown_nor_logged(manager, caplog, field, secret):
    with caplog.at_level(logging.DEBUG):
        answer = manager.post(f"{PLACE}new/", ONE | {field: secret})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert "This looks like the API key itself, so it was not saved." in text
    assert "This field is required" not in text
    assert secret not in text
    assert "hunter2secret" not in text
    assert KEY not in text
    assert HEX not in text
    assert secret not in caplog.text
    assert not ModelEndpoint.objects.exists()


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("key_variable", "LLM_KEY"),
        ("key_variable", "LLM_OPENAI_PROD_2"),
        ("key_variable", "LLM_KEY_FOR_GPT4O_MINI"),
        ("base_url", "https://router.huggingface.co/hf-inference/v1"),
        ("base_url", f"https://api.openai.com/accounts/{HEX}/ai/v1"),
        ("name", "xai-grok-4-fast"),
        ("model", "pplx-70b-online"),
        ("model", "hf-llama-3-70b-instruct-awq"),
        ("model", "sk-risk-model"),
        ("model", f"/models/snapshots/{HEX}"),
        ("model", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B-20250120"),
    ],
)
def test_names_are_no_keys(manager, field, name):
    assert manager.post(f"{PLACE}new/", ONE | {field: name}).status_code == 302


def test_an_address_with_a_query_is_neither_kept_nor_shown(manager):
    answer = manager.post(f"{PLACE}new/", ONE | {"base_url": "https://api.openai.com/v1?pw=abc9"})
    assert answer.status_code == 422
    assert "Leave out the part of the address after the question mark." in answer.content.decode()
    assert "abc9" not in answer.content.decode()


@pytest.mark.parametrize("role", ["MANAGER", "ADMIN"])
@pytest.mark.parametrize(
    "address", ["http://[localhost]/v1", "http://[/v1", "http://localhost:99999/v1", "localhost:80"]
)
def test_an_address_that_is_none_is_refused(client, role, address):
    client.force_login(make_user(role=role))
    answer = client.post(f"{PLACE}new/", ONE | {"base_url": address})
    assert answer.status_code == 422
    assert "base URL is not valid" in answer.content.decode()


@pytest.mark.parametrize("extra", ["[" * 100_000, '{"a": ' * 100_000, '{"top_p": NaN}'])
def test_further_fields_that_cannot_be_stored_are_refused(manager, extra):
    answer = manager.post(f"{PLACE}new/", ONE | {"extra_sampling": extra})
    assert answer.status_code == 422
    assert not ModelEndpoint.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest",
        "https://evil.example/v1",
        "http://127.0.0.1.evil.example/v1",
        "http://10.0.0.7:9000/v1",
        "https://api.openai.com.evil.example/v1",
    ],
)
def test_a_manager_cannot_send_a_key_to_any_host(manager, address):
    make_endpoint(base_url="http://10.0.0.7:8000/v1")
    answer = manager.post(f"{PLACE}new/", ONE | {"base_url": address})
    assert answer.status_code == 422
    assert "Managers cannot add endpoints at" in answer.content.decode()
    assert not ModelEndpoint.objects.filter(name="mini").exists()


def test_a_key_is_sent_to_no_provider_in_the_open(manager, client):
    make_endpoint(base_url="https://intranet.example:8443/v1")
    plain = ONE | {"base_url": "http://intranet.example:8443/v1"}
    assert "Managers cannot add" in manager.post(f"{PLACE}new/", plain).content.decode()
    row = make_endpoint(name="old", base_url="http://api.openai.com/v1")
    assert manager.post(f"{PLACE}{row.pk}/", ONE | {"base_url": row.base_url}).status_code == 302
    for role in ("MANAGER", "ADMIN"):
        client.force_login(make_user(role=role))
        answer = client.post(f"{PLACE}new/", ONE | {"base_url": "http://API.openai.com/v1"})
        assert "Begin the address with https://" in answer.content.decode()


def test_hosts_that_are_used_or_listed_will_do_and_admins_name_any(manager, settings, client):
    make_endpoint(base_url="http://10.0.0.7:8000/v1")
    used = ONE | {"base_url": "http://10.0.0.7:8000/v2"}
    assert manager.post(f"{PLACE}new/", used).status_code == 302
    settings.LLM_HOSTS = frozenset({"gpu.example"})
    listed = ONE | {"name": "gpu", "base_url": "http://gpu.example:1234/v1"}
    assert manager.post(f"{PLACE}new/", listed).status_code == 302
    settings.LLM_HOSTS = frozenset({"*"})
    anywhere = ONE | {"name": "any", "base_url": "http://else.example/v1"}
    assert manager.post(f"{PLACE}new/", anywhere).status_code == 302
    settings.LLM_HOSTS = frozenset()
    client.force_login(make_user(role="ADMIN"))
    mine = ONE | {"name": "mine", "base_url": "https://evil.example/v1"}
    assert client.post(f"{PLACE}new/", mine).status_code == 302


def test_one_is_changed_but_for_its_name_and_a_stated_ability_holds(manager):
    row = make_endpoint(name="old", base_url="https://intranet.example/v1", has_logprobs=None)
    page = manager.get(f"{PLACE}{row.pk}/").content.decode()
    assert "https://intranet.example/v1" in page
    sent = ONE | {"name": "new", "base_url": row.base_url, "has_logprobs": "true"}
    assert manager.post(f"{PLACE}{row.pk}/", sent).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.model, row.can("logprobs")) == ("old", "gpt-mini", True)


def test_what_the_environment_describes_is_listed_unused_and_keeps_its_address(manager, settings):
    settings.LLM_BASE_URL, settings.LLM_MODEL = "http://judge.example/v1", "big"
    taken = manager.post(f"{PLACE}new/", ONE | {"name": "llm"})
    assert "describe the endpoint llm" in taken.content.decode()
    assert "http://judge.example/v1" in manager.get(PLACE).content.decode()
    row = ModelEndpoint.objects.get(name="llm")
    assert manager.post(f"{PLACE}{row.pk}/", ONE | {"output_price": "2"}).status_code == 302
    row.refresh_from_db()
    assert (row.base_url, row.model, row.output_price) == ("http://judge.example/v1", "big", 2)


def said_of(client, row):
    return client.post(f"{PLACE}{row.pk}/test/", follow=True).content.decode()


def test_a_test_says_what_it_can_do_or_why_it_did_not_answer(manager, monkeypatch):
    with FakeLlm() as server:
        row = make_endpoint(base_url=server.base_url, has_logprobs=None, measured_address="")
        assert f"{row} answered." in said_of(manager, row)
    row.refresh_from_db()
    assert row.can("logprobs") is not None
    with FakeLlm(script=[Act(status=401)]) as server:
        refusing = make_endpoint(base_url=server.base_url)
        assert "rejected the API key" in said_of(manager, refusing)
    monkeypatch.delenv("LLM_TEST_KEY", raising=False)
    unset = make_endpoint(key_variable="LLM_TEST_KEY")
    assert "the variable LLM_TEST_KEY is not set" in said_of(manager, unset)


def test_a_reward_model_is_tested_by_a_score(manager):
    with FakeLlm() as server:
        row = make_endpoint(base_url=server.base_url.replace("/v1", "/score"), has_scores=True)
        assert f"{row} answered." in said_of(manager, row)
        wrong = make_endpoint(base_url=f"{server.base_url}/nowhere", has_scores=True)
        assert "answered." not in said_of(manager, wrong)


def test_one_is_saved_and_tested_at_once(manager):
    with FakeLlm() as server:
        fields = ONE | {"base_url": server.base_url, "test": ""}
        page = manager.post(f"{PLACE}new/", fields, follow=True).content.decode()
    assert page.index("Saved.") < page.index("mini answered.")
    assert ModelEndpoint.objects.get().can("logprobs") is not None


@pytest.mark.parametrize(
    ("query", "back"),
    [
        ("?dataset=essays", "/runs/new/?dataset=essays"),
        ("?dataset=essays&generate=", "/datasets/essays/generate/"),
        ("?dataset=nothing", None),
        ("", None),
    ],
)
def test_the_way_back_to_the_dataset_lasts_until_one_is_there(manager, query, back):
    make_dataset(slug="essays", name="Essays")
    for page in ("/runs/new/?dataset=essays", "/datasets/essays/generate/"):
        assert f'href="{PLACE}?' in manager.get(page).content.decode()
    kept = query if back else ""
    text = manager.get(f"{PLACE}{query}").content.decode().replace("&amp;", "&")
    assert f'href="{PLACE}new/{kept}"' in text
    answer = manager.post(f"{PLACE}new/{query}", ONE)
    assert answer.url == f"{PLACE}{kept}"
    text = manager.get(answer.url).content.decode()
    assert (f'href="{back}"' in text) == bool(back)
    assert ("Essays" in text) == bool(back)
    row = ModelEndpoint.objects.get()
    assert manager.post(f"{PLACE}{row.pk}/switch/{query}").url == f"{PLACE}{kept}"
    with FakeLlm() as server:
        ModelEndpoint.objects.update(base_url=server.base_url)
        assert manager.post(f"{PLACE}{row.pk}/test/{query}").url == f"{PLACE}{kept}"


def test_one_is_switched_off_and_on(manager):
    row = make_endpoint()
    for word, enabled in (("off", False), ("on", True)):
        manager.post(f"{PLACE}{row.pk}/switch/", {"enabled": word})
        row.refresh_from_db()
        assert row.enabled is enabled


def test_viewers_read_and_nobody_else_may(client):
    row = make_endpoint()
    changes = [f"{PLACE}new/", *(f"{PLACE}{row.pk}/{each}" for each in ("", "test/", "switch/"))]
    assert client.get(PLACE).status_code == 302
    assert client.post(changes[0], ONE).status_code == 302
    client.force_login(make_user(role="VIEWER"))
    page = client.get(PLACE)
    assert row.name in page.content.decode()
    assert "<button" not in page.content.decode().partition("<main")[2]
    assert [client.post(place, ONE).status_code for place in changes] == [403] * 4
    client.force_login(make_user())
    assert client.get(PLACE).status_code == 403
    client.force_login(make_user(role="MANAGER"))
    assert [client.get(place).status_code for place in changes[2:]] == [405, 405]
    assert client.get(f"{PLACE}999/").status_code == 404


def test_headers_are_kept_by_the_names_of_their_variables(manager, monkeypatch):
    monkeypatch.delenv("LLM_AZURE_KEY", raising=False)
    headers = '{"api-key": "LLM_AZURE_KEY"}'
    answer = manager.post(f"{PLACE}new/", ONE | {"extra_headers": headers}, follow=True)
    row = ModelEndpoint.objects.get()
    assert row.extra_headers == {"api-key": "LLM_AZURE_KEY"}
    assert "the variable LLM_AZURE_KEY is not set on this server" in answer.content.decode()
    manager.post(f"{PLACE}{row.pk}/", ONE | {"extra_headers": ""})
    row.refresh_from_db()
    assert row.extra_headers == {}


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ('{"Host": "LLM_KEY"}', "Headers of the connection"),
        ('{"api-key": "DATABASE_URL"}', "Use a variable that begins with LLM_"),
        ('{"api-key": "my key"}', "Enter a JSON object"),
        ("api-key", "Enter a valid JSON"),
        (f'{{"api-key": "{KEY}"}}', "This looks like the API key itself"),
        (f'{{"api-key": "{HEX}"}}', "This looks like the API key itself"),
        ('{"a": "AKIAIOSFODNN7EXAMPLE1", "b": "LLM_KEY"}', "This looks like the API key itself"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused(manager, headers, said):
    answer = manager.post(f"{PLACE}new/", ONE | {"extra_headers": headers})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert said in text
    assert not any(secret in text for secret in (KEY, HEX, "AKIAIOSFODNN7EXAMPLE1"))
    assert not ModelEndpoint.objects.exists()


def test_what_an_endpoint_taught_is_told_in_words(manager):
    with FakeLlm() as server:
        server.manner = manner_of("reasons")
        row = make_endpoint(base_url=server.base_url, measured_address="", has_logprobs=None)
        answer = manager.post(f"{PLACE}{row.pk}/test/", follow=True)
    lessons = (
        "Max output tokens are sent as max_completion_tokens.",
        "Temperature is not sent; the model uses its own.",
    )
    page = manager.get(f"{PLACE}{row.pk}/").content.decode()
    assert all(lesson in answer.content.decode() and lesson in page for lesson in lessons)
    assert "Testing the endpoint learns it again." in page
    row.refresh_from_db()
    assert (row.can("logprobs"), len(row.lessons)) == (False, 2)
    row.model = "another"
    assert row.lessons == []


def test_every_lesson_has_its_sentence():
    row = make_endpoint()
    row.manners_address = row.address
    row.learned_manners = {
        "limit_name": "max_completion_tokens",
        "least_tokens": 16,
        "most_tokens": 512,
        "warm": True,
        "most_alternatives": 5,
        "json_schema": False,
        "system_role": False,
        "streams": True,
        "stream_options": False,
    }
    assert len(row.lessons) == 9
    row.learned_manners = {"temperature": False, "warm": True, "logprobs": False, "streams": False}
    assert len(row.lessons) == 3
