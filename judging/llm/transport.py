"""One try of one call over HTTP. It imports openai (as `library` does) only once it is needed.

The product is built on the openai library, over aiohttp: no client of our own takes its place.
Calls go out raw, for the library's typed resources cost more CPU a call than everything else. It
retries nothing here, follows no redirect (which could carry the key elsewhere), takes no key,
organisation or project from its own environment variables, and says nothing about this machine.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from judging.core.chat import CompletionPieces
from judging.core.endpoints import Endpoint
from judging.core.score_api import score_as_completion, score_body
from judging.llm.answer_size import bounded_to, most_bytes
from judging.llm.errors import LlmCode, LlmError, Refusal, error_of

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from openai import APIStatusError, AsyncOpenAI
    from openai._models import FinalRequestOptions
    from openai._types import RequestOptions


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
            if options.method.upper() != "POST":
                return super()._build_request(options, **more)
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


class BudgetHold(Protocol):
    """Holds what calls under way may cost. A reply that is stored settles its call."""

    async def take(self, key: str, most: Decimal) -> None:
        """Hold the money for a call; waits while calls under way may leave some over.

        Raises:
            LlmError: with `budget:spent`, where the call could pass the budget.
        """
        ...

    def give_back(self, key: str) -> None:
        """The call was not sent, or was refused: it cost nothing."""
        ...

    def write_off(self, key: str) -> None:
        """Nobody knows whether the call will be billed: its money stays held."""
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried and how long between tries.

    Waits double from `first_wait` up to `longest_wait` seconds, each drawn between half and whole
    so that calls that failed together do not come back together. A `Retry-After` is honoured up
    to `longest_retry_after`; an endpoint that asks for more is given up on for now. A try that
    fails `last_start` seconds after the first began is the last one.
    """

    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0
    longest_retry_after: float = 90.0
    last_start: float = math.inf

    def wait(self, failures: int, *, retry_after: float | None, rng: random.Random) -> float | None:
        """Seconds until the next try after so many failures (1 or more); None: no more tries."""
        if failures >= self.tries:
            return None
        if retry_after is not None:
            # A little later than asked, and not all at once.
            return (
                retry_after + rng.uniform(0, self.first_wait)
                if retry_after <= self.longest_retry_after
                else None
            )
        whole: float = min(self.longest_wait, self.first_wait * 2 ** (failures - 1))
        return rng.uniform(whole / 2, whole)


class Pacer:
    """Spaces calls to so many requests and estimated tokens a minute; may be told to pause."""

    def __init__(
        self,
        *,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._clock = clock
        self._sleep = sleep
        self._next = -math.inf
        self._resume = -math.inf

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens matter, so that nobody counts them for nothing."""
        return self._per_token > 0

    def pause(self, seconds: float) -> None:
        """Let no call start for so long: the endpoint said that it is asked too much."""
        self._resume = max(self._resume, self._clock() + seconds)

    async def turn(self, tokens: int) -> None:
        """Wait for the turn of a call of about so many tokens."""
        now = self._clock()
        mine = max(now, self._next)
        self._next = mine + max(self._per_request, tokens * self._per_token)
        while (wait := max(mine, self._resume) - self._clock()) > 0:
            await self._sleep(wait)


def deadline(seconds: float) -> AbstractAsyncContextManager[object]:
    """Raises TimeoutError if the block takes longer; tests replace it."""
    return asyncio.timeout(seconds)


def parse_retry_after(value: str | None, *, now: float) -> float | None:
    """Seconds in a `Retry-After` header: a number, or a date against `now` (POSIX seconds)."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


DETAIL_LENGTH: Final = 300
_CONNECT_SECONDS: Final = 15.0
_UNSAID: Final = (
    "OpenAI-Organization",
    "OpenAI-Project",
    "X-Stainless-Arch",
    "X-Stainless-Async",
    "X-Stainless-Lang",
    "X-Stainless-OS",
    "X-Stainless-Package-Version",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Read-Timeout",
    "X-Stainless-Retry-Count",
)


class Transport:
    """An open connection pool to one endpoint. `key` is None where none is set."""

    def __init__(self, endpoint: Endpoint, *, key: str | None) -> None:
        self._endpoint = endpoint
        self._key = key
        self._client: AsyncOpenAI | None = None
        self._options: RequestOptions = {}
        self._limit_name = "max_tokens"

    async def post(self, body: Mapping[str, object]) -> object:
        """The JSON of the endpoint's answer to a chat completion.

        Raises:
            LlmError: the try failed.
        """
        async with self._asked(body) as response:
            answer = self._json(response.content)
        return score_as_completion(answer) if self._endpoint.has_scores else answer

    async def listing(self) -> object:
        """The JSON of the endpoint's list of models, which lies beside its chats.

        Raises:
            LlmError: the try failed.
        """
        from httpx2 import Response

        address = f"{self._endpoint.base_url.rstrip('/')}/models"
        client = self.open()
        asked = client.get(address, cast_to=Response, options=self._options)
        return self._json((await self._answered(asked)).content)

    async def stream(self, body: Mapping[str, object], say: Callable[[str], None]) -> object:
        """The same of a reply that is told while it comes; the time-out is between two pieces.

        Raises:
            LlmError: the try failed, or the reply broke off.
        """
        wanted = {**body, "stream": True, "stream_options": {"include_usage": True}}
        from httpx2 import HTTPError

        async with self._asked(wanted, stream=True) as response:
            try:
                if "event-stream" in response.headers.get("content-type", ""):
                    return await self._pieces(response, say)
                return self._json(await response.aread())  # it does not stream, but it answered
            except TimeoutError as error:
                raise _timed_out(self._endpoint.timeout_seconds) from error
            except HTTPError as error:
                raise _broken_off(_said(_first_cause(error))) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @asynccontextmanager
    async def _asked(
        self, body: Mapping[str, object], *, stream: bool = False
    ) -> AsyncIterator[Response]:
        """The endpoint's answer, for the length of a block in which it may be read."""
        try:
            response = await self._post(body, stream=stream)
        except LlmError as error:
            # Newer OpenAI models know the limit by another name, and say so.
            renamed = "max_completion_tokens"
            if renamed not in error.detail or self._limit_name == renamed:
                raise
            self._limit_name = renamed
            response = await self._post(body, stream=stream)
        try:
            yield response
        finally:
            await response.aclose()

    async def _pieces(self, response: Response, say: Callable[[str], None]) -> object:
        pieces = CompletionPieces()
        lines = response.aiter_lines()
        while True:
            async with deadline(self._endpoint.timeout_seconds):
                line = await anext(lines, None)
            if line is None and not pieces.ended:
                raise _broken_off("its end is missing")
            data = line.removeprefix("data:").strip() if line is not None else "[DONE]"
            if data == "[DONE]":
                return pieces.completion()
            if data and line != data and pieces.add(self._json(data.encode())):
                say(pieces.content)

    async def _post(self, body: Mapping[str, object], *, stream: bool) -> Response:
        from httpx2 import Response

        client = self.open()
        address = f"{self._endpoint.base_url.rstrip('/')}/chat/completions"
        sent = {self._limit_name if name == "max_tokens" else name: body[name] for name in body}
        if self._endpoint.has_scores:
            address, sent = self._endpoint.base_url, score_body(body)
        return await self._answered(
            client.post(address, cast_to=Response, body=sent, options=self._options, stream=stream)
        )

    async def _answered(self, call: Awaitable[Response]) -> Response:
        """The answer to a call, or what its failure means."""
        from openai import APIConnectionError, APIStatusError

        seconds = self._endpoint.timeout_seconds
        try:
            async with deadline(seconds):
                return await call
        except TimeoutError as error:
            raise _timed_out(seconds) from error
        except APIStatusError as error:
            raise self._refused(error) from error
        except APIConnectionError as error:
            # The library calls a refused connection a time-out too; the first cause tells.
            cause = _first_cause(error)
            unreached = _is_unreached(error)
            if isinstance(cause, TimeoutError):
                raise _timed_out(seconds, unreached=unreached) from error
            raise LlmError(
                LlmCode.UNAVAILABLE,
                f"no connection ({_said(cause)})",
                maybe_billed=not unreached,
                unreached=unreached,
            ) from error

    def open(self) -> AsyncOpenAI:
        """The library's client, made on first use: importing it takes more than a second."""
        if self._client is not None:
            return self._client
        from httpx2 import Limits, Timeout
        from openai import DefaultAioHttpClient, Omit

        headers: dict[str, Any] = {name: Omit() for name in _UNSAID}
        if self._key is None:
            headers["Authorization"] = Omit()
        seconds = self._endpoint.timeout_seconds
        limits = Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS), pool=None)
        # The library copies the default of every option that is not given, for each call anew.
        self._options = {
            "headers": headers,
            "params": {},
            "max_retries": 0,
            "timeout": limits,
            "idempotency_key": "",
            "security": {"bearer_auth": True},
        }
        self._client = repeating_client()(
            base_url=self._endpoint.base_url,
            api_key=self._key or "unused",
            max_retries=0,
            default_headers={"User-Agent": "SenseJudge"},
            http_client=DefaultAioHttpClient(
                timeout=limits,
                limits=Limits(max_connections=self._endpoint.concurrency),
                verify=_trusted(self._endpoint),
                follow_redirects=False,
                trust_env=not self._endpoint.is_local,
                event_hooks={"response": [bounded_to(most_bytes(self._endpoint))]},
            ),
        )
        return self._client

    def _json(self, content: bytes) -> object:
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            if content.lstrip().startswith(b"<"):
                raise LlmError(LlmCode.NO_API, "HTTP 200 and a web page") from error
            raise LlmError(
                LlmCode.MALFORMED, "the answer is not JSON", maybe_billed=True
            ) from error
        problem = data.get("error") if isinstance(data, dict) else None
        if isinstance(problem, dict):  # some gateways report a failure with status 200
            status = problem.get("code")
            said = self._clean(_words(problem.get("message")))
            raise error_of(Refusal(status if isinstance(status, int) else 502, said))
        return data

    def _refused(self, error: APIStatusError) -> LlmError:
        body = cast("Mapping[str, object]", error.body) if isinstance(error.body, dict) else {}
        said = _words(body.get("message")) or (error.body if isinstance(error.body, str) else "")
        if "n_ctx" in body:  # llama.cpp tells beside its words how long a request may be
            said = f"{said} (n_ctx {_words(body['n_ctx'])})"
        return error_of(
            Refusal(
                status=error.status_code,
                message=self._clean(said),
                kind=_words(body.get("code") or body.get("type")),
                retry_after=parse_retry_after(
                    error.response.headers.get("retry-after"), now=time.time()
                ),
            )
        )

    def _clean(self, text: str) -> str:
        """What an endpoint said, on one line, shortened, without the key."""
        hidden = text.replace(self._key, "***") if self._key else text
        return " ".join(hidden.split())[:DETAIL_LENGTH]


def _words(value: object) -> str:
    """What an endpoint wrote in a place for a text; "" for a list or an object."""
    return str(value) if isinstance(value, str | int | float) else ""


def _trusted(endpoint: Endpoint) -> SSLContext:
    """Who is believed to be whom: this machine's authorities; nobody where nothing is encrypted."""
    if endpoint.is_local and endpoint.base_url.startswith("http:"):
        return SSLContext(PROTOCOL_TLS_CLIENT)
    return _authorities()


@cache
def _authorities() -> SSLContext:
    """Read once: it takes a sixth of a second."""
    from httpx2 import create_ssl_context

    return create_ssl_context()


def load_library() -> None:
    """Import what the first call needs, before anybody waits for it."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    del AsyncOpenAI, DefaultAioHttpClient


def _timed_out(seconds: float, *, unreached: bool = False) -> LlmError:
    return LlmError(
        LlmCode.TIMEOUT,
        "no connection in time" if unreached else f"no answer within {seconds:g} s",
        maybe_billed=not unreached,
        unreached=unreached,
    )


def _broken_off(why: str) -> LlmError:
    return LlmError(LlmCode.UNAVAILABLE, f"the reply broke off ({why})", maybe_billed=True)


def _is_unreached(error: BaseException) -> bool:
    """Whether a connection could not even be made, so that nothing was sent."""
    from aiohttp import ClientConnectorError, ConnectionTimeoutError

    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ClientConnectorError | ConnectionTimeoutError):
            return True
        link = link.__cause__ or link.__context__
    return False


def _first_cause(error: BaseException) -> BaseException:
    """What lies at the bottom of a chain of errors."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _said(error: BaseException) -> str:
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)  # asyncio says "Connect call failed" and the address
    return getattr(error, "strerror", None) or type(error).__name__
