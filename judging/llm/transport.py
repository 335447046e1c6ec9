"""One try of one call over HTTP. The only module that imports aiohttp, and only once it is needed.

The bytes of a chat completion go out as they are: a client library with typed resources costs more
CPU a call than everything else here. It retries nothing, follows no redirect (which could carry the
key elsewhere), keeps no cookies, reads no netrc, and says nothing about this machine.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from ssl import PROTOCOL_TLS_CLIENT
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judging.core.endpoints import Endpoint
from judging.core.streaming import CompletionPieces
from judging.llm.errors import LlmCode, LlmError, Refusal, error_of
from judging.llm.pacing import parse_retry_after

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientResponse, ClientSession

DETAIL_LENGTH: Final = 300
_CONNECT_SECONDS: Final = 15.0
_FIRST_FAILURE: Final = 300
"""Every status from here on is a refusal: no redirect is followed."""


class Transport:
    """An open connection pool to one endpoint. `key` is None where none is set."""

    def __init__(self, endpoint: Endpoint, *, key: str | None) -> None:
        self._endpoint = endpoint
        self._key = key
        self._session: ClientSession | None = None
        self._url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
        self._proxy = None if endpoint.is_local else _proxy_for(endpoint.base_url)
        self._limit_name = "max_tokens"

    async def post(self, body: Mapping[str, object]) -> object:
        """The JSON of the endpoint's answer to a chat completion.

        Raises:
            LlmError: the try failed.
        """
        seconds = self._endpoint.timeout_seconds
        try:
            async with asyncio.timeout(seconds), await self._begun(body) as response:
                return await self._whole(response)
        except TimeoutError as error:
            raise _timed_out(seconds) from error

    async def stream(self, body: Mapping[str, object], say: Callable[[str], None]) -> object:
        """The same of a reply that is told while it comes; the time-out is between two pieces.

        Raises:
            LlmError: the try failed, or the reply broke off.
        """
        wanted = {**body, "stream": True, "stream_options": {"include_usage": True}}
        from aiohttp import ClientError

        seconds = self._endpoint.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                response = await self._begun(wanted)
            async with response:
                if "event-stream" in response.headers.get("content-type", ""):
                    return await self._pieces(response, say)
                return await self._whole(response)  # it does not stream, but it answered
        except TimeoutError as error:
            raise _timed_out(seconds) from error
        except ClientError as error:
            raise _broken_off(_said(error)) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _begun(self, body: Mapping[str, object]) -> ClientResponse:
        """The endpoint's answer, of which the head has come.

        Raises:
            LlmError: there is no connection, or the endpoint refused.
            TimeoutError: nobody answers there.
        """
        from aiohttp import ClientConnectorError, ClientError

        try:
            return await self._accepted(body)
        except TimeoutError:
            raise  # the library's are connection errors too
        except ClientConnectorError as error:  # nothing was sent
            cause = getattr(error, "os_error", error)
            raise _no_connection(cause, maybe_billed=False) from error
        except (ClientError, OSError) as error:
            raise _no_connection(error, maybe_billed=True) from error

    async def _whole(self, response: ClientResponse) -> object:
        """The JSON of an answer."""
        from aiohttp import ClientError

        try:
            return self._json(await response.read())
        except ClientError as error:
            if isinstance(error, TimeoutError):
                raise
            raise _broken_off(_said(error)) from error

    async def _accepted(self, body: Mapping[str, object]) -> ClientResponse:
        """The answer to a call that the endpoint did not refuse."""
        try:
            return await self._post(body)
        except LlmError as error:
            # Newer OpenAI models know the limit by another name, and say so.
            renamed = "max_completion_tokens"
            if renamed not in error.detail or self._limit_name == renamed:
                raise
            self._limit_name = renamed
            return await self._post(body)

    async def _pieces(self, response: ClientResponse, say: Callable[[str], None]) -> object:
        pieces = CompletionPieces()
        while True:
            async with asyncio.timeout(self._endpoint.timeout_seconds):
                line = (await response.content.readline()).decode(errors="replace")
            if not line and not pieces.ended:
                raise _broken_off("its end is missing")
            data = line.removeprefix("data:").strip() if line else "[DONE]"
            if data == "[DONE]":
                return pieces.completion()
            if data and line.startswith("data:") and pieces.add(self._json(data.encode())):
                say(pieces.content)

    async def _post(self, body: Mapping[str, object]) -> ClientResponse:
        sent = {self._limit_name if name == "max_tokens" else name: body[name] for name in body}
        response = await self.open().post(
            self._url, data=json.dumps(sent).encode(), allow_redirects=False, proxy=self._proxy
        )
        if response.status >= _FIRST_FAILURE:
            async with response:
                raise self._refused(response, await response.read())
        return response

    def open(self) -> ClientSession:
        """The connection pool, made on first use: not every process asks a model."""
        if self._session is not None:
            return self._session
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        headers = {"User-Agent": "SenseJudge", "Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        connect = min(self._endpoint.timeout_seconds, _CONNECT_SECONDS)
        self._session = ClientSession(
            connector=TCPConnector(limit=self._endpoint.concurrency, ssl=self._trust()),
            timeout=ClientTimeout(total=None, sock_connect=connect),
            headers=headers,
            cookie_jar=DummyCookieJar(),
        )
        return self._session

    def _trust(self) -> SSLContext | bool:
        """Whom to believe over https: whoever this machine believes."""
        if not self._url.startswith("https:"):
            return True
        from truststore import SSLContext

        return SSLContext(PROTOCOL_TLS_CLIENT)

    def _json(self, content: bytes) -> object:
        try:
            data = json.loads(content)
        except ValueError as error:
            raise LlmError(
                LlmCode.MALFORMED, "the answer is not JSON", maybe_billed=True
            ) from error
        problem = data.get("error") if isinstance(data, dict) else None
        if isinstance(problem, dict):  # some gateways report a failure with status 200
            status = problem.get("code")
            said = self._clean(str(problem.get("message", "")))
            raise error_of(Refusal(status if isinstance(status, int) else 502, said))
        return data

    def _refused(self, response: ClientResponse, content: bytes) -> LlmError:
        try:
            data = json.loads(content)
        except ValueError:
            data = content.decode(errors="replace")
        problem = data.get("error", data) if isinstance(data, dict) else data
        body = problem if isinstance(problem, dict) else {"message": problem}
        return error_of(
            Refusal(
                status=response.status,
                message=self._clean(str(body.get("message") or "")),
                kind=str(body.get("code") or body.get("type") or ""),
                retry_after=parse_retry_after(response.headers.get("retry-after"), now=time.time()),
            )
        )

    def _clean(self, text: str) -> str:
        """What an endpoint said, on one line, shortened, without the key."""
        hidden = text.replace(self._key, "***") if self._key else text
        return " ".join(hidden.split())[:DETAIL_LENGTH]


def _timed_out(seconds: float) -> LlmError:
    return LlmError(LlmCode.TIMEOUT, f"no answer within {seconds:g} s", maybe_billed=True)


def _broken_off(why: str) -> LlmError:
    return LlmError(LlmCode.UNAVAILABLE, f"the reply broke off ({why})", maybe_billed=True)


def _no_connection(error: BaseException, *, maybe_billed: bool) -> LlmError:
    return LlmError(
        LlmCode.UNAVAILABLE, f"no connection ({_said(error)})", maybe_billed=maybe_billed
    )


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address, where it names one."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _said(error: BaseException) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
