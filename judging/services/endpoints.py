"""From an endpoint's row, or from the LLM_* settings, to what a client needs."""

from __future__ import annotations

from django.conf import settings

from judging.core.chat import Sampling
from judging.core.endpoints import Endpoint
from judging.core.money import Prices
from judging.models import ModelEndpoint


def endpoint_of(row: ModelEndpoint) -> Endpoint:
    """The endpoint that a row describes.

    Raises:
        Refused: its base URL cannot be used; its further fields cannot be sent; its key's variable
            may not be sent anywhere.
    """
    return Endpoint(
        name=row.name,
        base_url=row.base_url,
        model=row.model,
        key_variable=row.key_variable,
        sampling=Sampling(row.temperature, row.max_tokens, row.extra_sampling),
        context_tokens=row.context_tokens,
        timeout_seconds=row.timeout_seconds,
        concurrency=row.concurrency,
        requests_per_minute=row.requests_per_minute,
        tokens_per_minute=row.tokens_per_minute,
        has_logprobs=row.has_logprobs,
        has_json_schema=row.has_json_schema,
        has_system_role=row.has_system_role,
        has_scores=row.has_scores,
        prices=prices_of(row),
        listed_variables=settings.LLM_KEY_VARIABLES,
    )


def prices_of(row: ModelEndpoint) -> Prices:
    """What calls of an endpoint cost."""
    return Prices(
        input=row.input_price,
        cached_input=row.cached_input_price,
        output=row.output_price,
        batch_share=row.batch_price_share,
    )


def endpoint_row_from_settings() -> ModelEndpoint | None:
    """The row that LLM_* describe, made or brought up to date; None where LLM_BASE_URL is empty.

    Its name is `llm`. Prices and abilities that somebody set on the row stay.
    """
    if not settings.LLM_BASE_URL:
        return None
    row, _ = ModelEndpoint.objects.update_or_create(
        name="llm",
        defaults={
            "base_url": settings.LLM_BASE_URL,
            "model": settings.LLM_MODEL,
            "key_variable": settings.LLM_KEY_VARIABLE,
            "concurrency": settings.LLM_CONCURRENCY,
            "timeout_seconds": settings.LLM_TIMEOUT_SECONDS,
        },
    )
    return row
