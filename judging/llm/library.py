"""The library's client for one endpoint, which builds the same request again and again.

The library works out a request's address and headers anew for each call, an eighth of all CPU time
of a run. Here it does so for the first call to an address; those after it differ in body alone.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from httpx2 import Request
    from openai import AsyncOpenAI
    from openai._models import FinalRequestOptions


@cache
def repeating_client() -> type[AsyncOpenAI]:
    """The class, made on first use: importing the library takes more than a second.

    Its calls are posts of JSON and carry the same options each time.
    """
    from httpx2 import Headers, Request
    from openai import AsyncOpenAI

    class RepeatingClient(AsyncOpenAI):
        """Takes address and headers from the first request that the library built."""

        _first: tuple[str, Request, Headers] | None = None

        def _build_request(self, options: FinalRequestOptions, **more: Any) -> Request:
            if self._first is None or self._first[0] != options.url:
                built = super()._build_request(options, **more)
                headers = Headers(built.headers)
                del headers["content-length"]
                self._first = (options.url, built, headers)
                return built
            _, first, headers = self._first
            body = json.dumps(
                options.json_data, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            )
            return Request(
                first.method,
                first.url,
                headers=headers,
                content=body.encode(),
                extensions=first.extensions,
            )

    return RepeatingClient
