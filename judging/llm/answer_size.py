"""How long an endpoint's answer may be, as it comes and unpacked; a longer one fails its call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from judging.core.endpoints import Endpoint
from judging.llm.errors import LlmCode, LlmError

if TYPE_CHECKING:
    from httpx2 import Response

_LEAST_BYTES: Final = 4 * 2**20
"""Of any answer: a gateway lists a thousand models in half as many."""
_BYTES_A_TOKEN: Final = 4 * 2**10
"""Twice what a token takes with twenty alternatives, which each have their bytes."""
_MOST_BYTES: Final = 64 * 2**20


def most_bytes(endpoint: Endpoint) -> int:
    """The most bytes of an answer that are read, as they come and unpacked."""
    return min(_LEAST_BYTES + endpoint.sampling.max_tokens * _BYTES_A_TOKEN, _MOST_BYTES)


def bounded_to(most: int) -> Callable[[Response], Awaitable[None]]:
    """A hook of the HTTP client, after which reading a longer response raises an `LlmError`.

    Whoever reads a response, the library of endpoints included, does so by two of its methods.
    One that is packed several times over is refused at once: a little unpacks to any size.
    """
    return partial(_bound, most)


async def _bound(most: int, response: Response) -> None:
    if "," in response.headers.get("content-encoding", ""):
        raise LlmError(LlmCode.TOO_LONG, "packed several times over", maybe_billed=True)
    read: dict[str, Any] = {
        name: partial(_at_most, most, getattr(response, name))
        for name in ("aiter_raw", "aiter_bytes")
    }
    vars(response).update(read)


async def _at_most(
    most: int,
    read: Callable[[int | None], AsyncGenerator[bytes, None]],
    chunk_size: int | None = None,
) -> AsyncGenerator[bytes, None]:
    size = 0
    async with aclosing(read(chunk_size)) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            if size > most:
                raise LlmError(
                    LlmCode.TOO_LONG, f"more than {most / 2**20:.0f} MiB", maybe_billed=True
                )
            yield chunk
