"""A client that sends nothing: it answers from the store, or says what it would have asked."""

from __future__ import annotations

from judging.core.chat import ChatRequest, Reply
from judging.llm.client import ChatClient


class NotStoredError(Exception):
    """The reply is not there; `request` would get it."""

    code = "llm:not-stored"

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request.key())
        self.request = request


class StoredClient(ChatClient):
    """Never asks the endpoint: for plans, estimates and replies that come by another way."""

    async def _ask(self, key: str, request: ChatRequest) -> Reply:
        del key
        raise NotStoredError(request)
