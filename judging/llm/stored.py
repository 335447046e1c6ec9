"""A client that sends nothing: it answers from the store, or says what it would have asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judging.core.chat import ChatRequest, Reply
from judging.core.endpoints import Endpoint
from judging.llm.client import ChatClient
from judging.llm.errors import LlmError
from judging.llm.stores import ReplyStore, Taken


class NotStoredError(Exception):
    """The reply is not there; `request` would get it."""

    code = "llm:not-stored"

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request.key())
        self.request = request


class StoredClient(ChatClient):
    """Never asks the endpoint: for plans, estimates and replies that come by another way.

    `errors` are calls of which it is known that they failed, by key.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        store: ReplyStore | None = None,
        errors: Mapping[str, LlmError] | None = None,
    ) -> None:
        super().__init__(endpoint, store=store)
        self._errors = errors or {}

    async def _from_store(self, keys: Sequence[str]) -> Taken:
        """What is stored; the rest is not claimed, for nobody will ask."""
        replies = await self._store.get_many(keys)
        return Taken(replies, claimed=[key for key in keys if key not in replies])

    async def _ask(self, key: str, request: ChatRequest) -> Reply:
        if key in self._errors:
            raise self._errors[key]
        raise NotStoredError(request)
