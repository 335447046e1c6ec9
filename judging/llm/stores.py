"""Where replies are kept, so that no reply is paid for twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from judging.core.chat import ChatRequest, Reply


class ReplyStore(Protocol):
    """Replies by key. A client looks before it asks and hands over what it got."""

    async def get_many(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are there; keys without one are left out."""
        ...

    async def put(self, request: ChatRequest, reply: Reply) -> None:
        """Keep a reply; a key that is there already stays as it is."""
        ...


class MemoryReplyStore:
    """Replies for the length of a process: for checks of an endpoint, which leave no rows."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}

    async def get_many(self, keys: Sequence[str]) -> dict[str, Reply]:
        """See `ReplyStore`."""
        return {key: self.replies[key] for key in keys if key in self.replies}

    async def put(self, request: ChatRequest, reply: Reply) -> None:  # noqa: ARG002
        """See `ReplyStore`."""
        self.replies.setdefault(reply.key, reply)
