from __future__ import annotations

import pytest

from judging.core.chat import Sampling
from judging.core.endpoints import Endpoint
from judging.models import ModelEndpoint
from judging.services.endpoints import endpoint_of, endpoint_row_from_settings
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def row(**fields):
    return ModelEndpoint(
        **({"name": "qwen", "base_url": "http://127.0.0.1:8001/v1", "model": "qwen3"} | fields)
    )


def test_a_row_says_all_that_a_client_needs():
    described = row(
        key_variable="LLM_MY_KEY",
        temperature=0.3,
        max_tokens=2_000,
        context_tokens=32_000,
        timeout_seconds=60,
        concurrency=8,
        requests_per_minute=100,
        tokens_per_minute=10_000,
        has_logprobs=True,
        has_json_schema=True,
    )
    assert endpoint_of(described) == Endpoint(
        name="qwen",
        base_url="http://127.0.0.1:8001/v1",
        model="qwen3",
        key_variable="LLM_MY_KEY",
        sampling=Sampling(0.3, 2_000),
        context_tokens=32_000,
        timeout_seconds=60,
        concurrency=8,
        requests_per_minute=100,
        tokens_per_minute=10_000,
        has_logprobs=True,
        has_json_schema=True,
    )


def test_a_row_with_a_password_in_its_address_is_refused():
    with refuses("llm:bad-endpoint"):
        endpoint_of(row(base_url="http://me:secret@127.0.0.1/v1"))


def test_without_an_address_the_settings_describe_no_endpoint(settings):
    settings.LLM_BASE_URL = ""
    assert endpoint_row_from_settings() is None
    assert not ModelEndpoint.objects.exists()


def test_the_settings_state_limits_and_log_probabilities(settings):
    settings.LLM_BASE_URL, settings.LLM_MODEL = "http://127.0.0.1:1/v1", "one"
    row = endpoint_row_from_settings()
    assert (row.max_tokens, row.context_tokens, row.can("logprobs")) == (1024, 8192, None)
    settings.LLM_MAX_TOKENS, settings.LLM_CONTEXT_TOKENS, settings.LLM_LOGPROBS = 64, 2048, False
    endpoint_row_from_settings()
    row = ModelEndpoint.objects.get()
    assert (row.max_tokens, row.context_tokens, row.can("logprobs")) == (64, 2048, False)
    settings.LLM_MODEL = "two"
    settings.LLM_MAX_TOKENS = settings.LLM_CONTEXT_TOKENS = None
    endpoint_row_from_settings()
    row = ModelEndpoint.objects.get()
    assert (row.max_tokens, row.context_tokens, row.can("logprobs")) == (64, 2048, False)


def test_the_settings_make_a_row_and_keep_it_up_to_date(settings):
    settings.LLM_BASE_URL, settings.LLM_MODEL = "http://127.0.0.1:1/v1", "one"
    first = endpoint_row_from_settings()
    assert first is not None
    ModelEndpoint.objects.filter(pk=first.pk).update(input_price=3, has_logprobs=True)
    settings.LLM_MODEL = "two"
    second = endpoint_row_from_settings()
    assert second is not None
    second.refresh_from_db()
    assert (second.pk, second.name, second.model) == (first.pk, "llm", "two")
    assert (int(second.input_price), second.has_logprobs) == (3, True)
    assert (second.key_variable, second.concurrency) == ("LLM_API_KEY", settings.LLM_CONCURRENCY)
