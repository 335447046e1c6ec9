"""What a judge must know of the endpoint it asks; the rows are `ModelEndpoint`."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from annotation.core.dialogue import Message
from judging.core.chat import ChatRequest, JsonSchema, Sampling


class InvalidEndpointError(ValueError):
    """An endpoint cannot be used as it is described."""

    code = "llm:bad-endpoint"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint.

    `key_variable` NAMES the environment variable that holds the key ("" where none is needed);
    the key itself is read when a client opens and kept nowhere else. `requests_per_minute` and
    `tokens_per_minute` pace the calls; None leaves them to the endpoint.

    Raises:
        InvalidEndpointError: the base URL is not plain http(s), or carries a user or password.
    """

    name: str
    base_url: str
    model: str
    key_variable: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    context_tokens: int = 8192
    timeout_seconds: float = 120.0
    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    has_logprobs: bool = False
    has_json_schema: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidEndpointError("the base URL must start with http:// or https://")
        if parts.username is not None or parts.password is not None:
            raise InvalidEndpointError("the base URL must not carry a user name or a password")

    @property
    def is_local(self) -> bool:
        """Whether calls stay on this machine, and so never go through a proxy."""
        host = urlsplit(self.base_url).hostname or ""
        return host in {"localhost", "::1"} or host.startswith("127.")

    def request(
        self,
        messages: tuple[Message, ...],
        *,
        max_tokens: int | None = None,
        schema: JsonSchema | None = None,
        top_logprobs: int = 0,
        attempt: int = 0,
    ) -> ChatRequest:
        """A request in this endpoint's manner; what it cannot do is left out."""
        limit = self.sampling.max_tokens
        return ChatRequest(
            base_url=self.base_url,
            model=self.model,
            messages=messages,
            sampling=Sampling(
                self.sampling.temperature, limit if max_tokens is None else min(limit, max_tokens)
            ),
            schema=schema if self.has_json_schema else None,
            top_logprobs=top_logprobs if self.has_logprobs else 0,
            attempt=attempt,
        )
