"""One try of one call over HTTP. It imports openai (as `library` does) only once it is needed.

The product is built on the openai library, over aiohttp: no client of our own takes its place.
Calls go out raw, for the library's typed resources cost more CPU a call than everything else. It
retries nothing here, follows no redirect (which could carry the key elsewhere), takes no key,
organisation or project from its own environment variables, and says nothing about this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import TYPE_CHECKING, Any, Final

from judging.core.chat import CompletionPieces, event_data, is_stream, lines_of
from judging.core.endpoints import Endpoint
from judging.core.failed_replies import counts_tokens, problem_within
from judging.core.manners import Manners, lesson_in
from judging.core.problems import Problem, read_problem
from judging.core.score_api import score_as_completion, score_body
from judging.core.structured import storable
from judging.llm.answer_size import bounded_to, most_bytes
from judging.llm.errors import LlmCode, LlmError, failed_within, refused
from judging.llm.pacing import parse_retry_after

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


def deadline(seconds: float) -> AbstractAsyncContextManager[object]:
    """Raises TimeoutError if the block takes longer; tests replace it."""
    return asyncio.timeout(seconds)


DETAIL_LENGTH: Final = 300
_CONNECT_SECONDS: Final = 15.0
_MOST_LESSONS: Final = 8
_SHORTEST_SECRET: Final = 6
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

    def __init__(
        self, endpoint: Endpoint, *, key: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._endpoint = endpoint
        self._key = key
        self._headers = headers or {}
        self._client: AsyncOpenAI | None = None
        self._options: RequestOptions = {}
        self.manners = endpoint.manners

    async def ask(
        self, body: Mapping[str, object], say: Callable[[str], None] | None = None
    ) -> object:
        """The JSON of the endpoint's answer to a chat completion.

        Where a refusal names what was sent, it is asked again in the manner that it takes. Once a
        reply came so, all later calls go out in it (`manners`): a refusal may quote a text that
        names a field by chance.

        Args:
            body: as `ChatRequest.body` gives it.
            say: told all of the message so far whenever it grew, with any reasoning in it; the
                time-out is then between two pieces.

        Raises:
            LlmError: the try failed, or the reply broke off.
        """
        tried: list[Manners] = []
        lessons: dict[str, Any] = {}
        while True:
            manners = replace(self.manners, **lessons) if lessons else self.manners
            tried.append(manners)
            sent = manners.wire(body, told=say is not None)
            try:
                answer = await self._exchange(sent, say)
            except LlmError as error:
                lesson = {} if error.problem is None else _lesson(error, sent)
                if not lesson:
                    raise
                lessons |= lesson
                if replace(self.manners, **lessons) in tried or len(tried) > _MOST_LESSONS:
                    raise
            else:
                self.manners = replace(self.manners, **lessons) if lessons else self.manners
                return answer

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

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _exchange(
        self, sent: Mapping[str, object], say: Callable[[str], None] | None
    ) -> object:
        streams = bool(sent.get("stream"))
        response = await self._post(sent, stream=streams)
        try:
            if streams:
                answer = await self._streamed(response, say or _nothing)
            else:
                answer = self._whole(response.content, say or _nothing)
        finally:
            await response.aclose()
        if self._endpoint.has_scores:
            return self._score(answer)
        self._check(answer)
        return answer

    def _score(self, answer: object) -> object:
        score = score_as_completion(answer)
        if not score["choices"]:
            self._check(answer)
        return score

    def _check(self, answer: object) -> None:
        """Refuse an answer that tells of a failure.

        Raises:
            LlmError: it does.
        """
        problem = problem_within(answer)
        if problem is not None:
            detail = self._clean(problem.text)
            raise failed_within(problem, billed=counts_tokens(answer), detail=detail)

    async def _streamed(self, response: Response, say: Callable[[str], None]) -> object:
        from httpx2 import HTTPError

        try:
            if "event-stream" in response.headers.get("content-type", ""):
                return await self._pieces(response, say)
            content = await response.aread()  # it does not stream, but it answered
        except TimeoutError as error:
            raise _timed_out(self._endpoint.timeout_seconds) from error
        except HTTPError as error:
            raise _broken_off(_said(_first_cause(error))) from error
        return self._whole(content, say)

    def _whole(self, content: bytes, say: Callable[[str], None]) -> object:
        """An answer in one piece: JSON or, whatever its type says, the events of a stream."""
        return self._events(content, say) if is_stream(content) else self._json(content)

    async def _pieces(self, response: Response, say: Callable[[str], None]) -> object:
        pieces = CompletionPieces()
        lines = _lines(response)
        while True:
            async with deadline(self._endpoint.timeout_seconds):
                line = await anext(lines, None)
            if line is None or self._is_last(line, pieces, say):
                return _completion(pieces)

    def _events(self, content: bytes, say: Callable[[str], None]) -> object:
        """A stream that came, unasked, in one piece."""
        pieces = CompletionPieces()
        for line in lines_of(content):
            if self._is_last(line, pieces, say):
                break
        return _completion(pieces)

    def _is_last(self, line: bytes, pieces: CompletionPieces, say: Callable[[str], None]) -> bool:
        """Take a line of a stream; whether it says that it was the last.

        Raises:
            LlmError: it tells of a failure.
        """
        data = event_data(line)
        if data == b"[DONE]":
            pieces.ended = True
            return True
        event = self._json(data) if data else None
        if isinstance(event, dict) and (event.get("error") or not event.get("choices")):
            self._check({"error": event["error"]} if event.get("error") else event)
        if pieces.add(event):
            say(pieces.content)
        return False

    async def _post(self, body: Mapping[str, object], *, stream: bool) -> Response:
        from httpx2 import Response

        client = self.open()
        address = f"{self._endpoint.base_url.rstrip('/')}/chat/completions"
        if self._endpoint.has_scores:
            address, body = self._endpoint.base_url, score_body(body)
        return await self._answered(
            client.post(address, cast_to=Response, body=body, options=self._options, stream=stream)
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
                f"{'no connection' if unreached else 'the reply broke off'} ({_said(cause)})",
                maybe_billed=not unreached,
                unreached=unreached,
            ) from error

    def open(self) -> AsyncOpenAI:
        """The library's client, made on first use: importing it takes more than a second.

        Raises:
            LlmError: the key, or the value of a header, cannot be sent.
        """
        if self._client is not None:
            return self._client
        for secret in (self._key or "", *self._headers.values()):
            if not (secret.isascii() and secret.isprintable()):
                said = "the environment variable holds a character that no header can carry"
                raise LlmError(LlmCode.REFUSED_KEY, said)
        from httpx2 import Limits, Timeout
        from openai import DefaultAioHttpClient, Omit

        headers: dict[str, Any] = {name: Omit() for name in _UNSAID}
        if self._key is None:
            headers["Authorization"] = Omit()
        for name, value in self._headers.items():
            headers["Authorization" if name.lower() == "authorization" else name] = value
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
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            if content.lstrip().startswith(b"<"):
                raise LlmError(LlmCode.NO_API, "HTTP 200 and a web page") from error
            with contextlib.suppress(ValueError, RecursionError):
                # No answer is unreadable for a number of thousands of digits or half a character.
                return json.loads(content.decode(errors="replace"), parse_int=float)
            said = self._clean(content[:_LONGEST_PAGE].decode(errors="replace"))
            why = f"the answer is not JSON: {said}" if said else "the answer is empty"
            raise LlmError(LlmCode.MALFORMED, why, maybe_billed=True) from error

    def _refused(self, error: APIStatusError) -> LlmError:
        problem = _problem_of(error.response)
        after = error.response.headers.get("retry-after")
        return refused(
            error.status_code,
            problem,
            retry_after=parse_retry_after(after, now=time.time()),
            detail=self._clean(problem.text),
        )

    def _clean(self, text: str) -> str:
        """What an endpoint said, on one line, shortened, without the key or a header's value."""
        for secret in (self._key or "", *self._headers.values()):
            if len(secret) >= _SHORTEST_SECRET:  # a gateway's "1" would be found everywhere
                text = text.replace(secret, "***")
        return storable(" ".join(text.split()))[:DETAIL_LENGTH]


async def _lines(response: Response) -> AsyncGenerator[bytes, None]:
    """The lines of a stream."""
    begun: list[bytes] = []
    async with contextlib.aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            *whole, rest = lines_of(chunk)
            for line in whole:
                yield b"".join((*begun, line))
                begun = []
            begun.append(rest)
    yield b"".join(begun)


def _nothing(_text: str) -> None:
    """Nobody reads along."""


def _completion(pieces: CompletionPieces) -> object:
    """The completion that a stream held.

    Raises:
        LlmError: it broke off.
    """
    if not pieces.ended:
        raise _broken_off("its end is missing")
    return pieces.completion()


def _lesson(error: LlmError, sent: Mapping[str, object]) -> dict[str, Any]:
    """What an error teaches; nothing where its cause is certain."""
    if error.problem is None or error.code not in _TEACHING:
        return {}
    return lesson_in(error.problem, sent)


_TEACHING: Final = frozenset(
    {
        LlmCode.BAD_REQUEST,
        LlmCode.FORBIDDEN,
        LlmCode.UNAVAILABLE,
        LlmCode.UNKNOWN_MODEL,
        LlmCode.NO_API,
        LlmCode.CUT,
    }
)
_LONGEST_PAGE: Final = 20_000
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)


def _problem_of(response: Response) -> Problem:
    """What an answer with the status of a failure said; of a web page its title."""
    text = response.content[: 4 * _LONGEST_PAGE].decode(errors="replace")[:_LONGEST_PAGE].strip()
    if text.startswith("<"):
        title = _TITLE.search(text)
        return Problem(title[1].strip() if title else "")
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = text
    return read_problem(body) or Problem()


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
