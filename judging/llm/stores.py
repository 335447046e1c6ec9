"""Where replies are kept, and who asks for one, so that no reply is paid for twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from judging.core.chat import ChatRequest, Reply


@dataclass(frozen=True, slots=True)
class Taken:
    """Replies that are there, and the calls that are the client's to make.

    A key that is in neither is being asked by somebody else.
    """

    replies: Mapping[str, Reply]
    claimed: Collection[str]


class ReplyStore(Protocol):
    """Replies by key. A client looks and claims before it asks, and hands over what it got."""

    async def get_many(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are there; keys without one are left out."""
        ...

    async def take_many(self, keys: Sequence[str]) -> Taken:
        """The same, and a claim on every other key that nobody else has claimed.

        A claimed key is put, or released.
        """
        ...

    def release(self, key: str) -> None:
        """No reply came to a claimed key: whoever wants one may ask."""
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

    async def take_many(self, keys: Sequence[str]) -> Taken:
        """See `ReplyStore`; nobody else knows of this store."""
        replies = await self.get_many(keys)
        return Taken(replies, claimed=[key for key in keys if key not in replies])

    def release(self, key: str) -> None:
        """See `ReplyStore`."""

    async def put(self, request: ChatRequest, reply: Reply) -> None:  # noqa: ARG002
        """See `ReplyStore`."""
        self.replies.setdefault(reply.key, reply)
