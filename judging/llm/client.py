"""The client of one endpoint: bounded, paced, patient, and never paying twice.

A reply that the store has is not asked for, nor one that somebody else has claimed: that one is
waited for. Equal questions that are asked at once share one call; failures that may pass are tried
again here and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from annotation.core.refusals import Refused
from judging.core.chat import ChatRequest, Reply, read_completion
from judging.core.endpoints import Endpoint, context_in_error
from judging.core.manners import Manners
from judging.core.money import estimate_tokens
from judging.llm.errors import Breaker, EndpointDownError, LlmCode, LlmError
from judging.llm.pacing import BudgetHold, Pacer, Patience
from judging.llm.stores import MemoryReplyStore, ReplyStore, Taken
from judging.llm.transport import Transport

CLAIMED_ELSEWHERE_SECONDS: Final = 0.5
"""Between two looks for a reply that somebody else asks for; stores commit about as often."""


@dataclass(slots=True)
class ClientCounts:
    """What a client did so far. `calls` are tries sent; `stored` and `shared` replies cost none."""

    calls: int = 0
    replies: int = 0
    stored: int = 0
    shared: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class _Lookup:
    """Keys that are looked up in the store together."""

    keys: list[str] = field(default_factory=list)
    task: asyncio.Task[Taken] | None = None


class ChatClient:
    """Asks one endpoint. Use it as `async with ChatClient(endpoint, store=store) as client`.

    Args:
        endpoint: whom to ask; its key is read from `environ` when the client is made.
        store: replies that are there already, and where new ones go.
        purse: where the money for calls comes from; without one nobody counts it.
        patience: how failures that may pass are tried again.
        breaker: stops asking an endpoint that fails every call; without one each call is tried.
        environ: where the key's variable is looked up.
        rng: draws the waits.

    Attributes:
        told_context: the tokens that the endpoint last said it can take, refusing a longer request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        store: ReplyStore | None = None,
        purse: BudgetHold | None = None,
        patience: Patience | None = None,
        breaker: Breaker | None = None,
        environ: Mapping[str, str] = os.environ,
        rng: random.Random | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.counts = ClientCounts()
        self._store = MemoryReplyStore() if store is None else store
        self._purse = purse
        self._patience = patience or Patience()
        self._breaker = breaker or Breaker(certain=sys.maxsize, likely=sys.maxsize)
        self._rng = rng or random.Random()
        key = environ.get(endpoint.key_variable, "").strip() if endpoint.key_variable else ""
        headers = {
            name: value
            for name, variable in endpoint.headers.items()
            if (value := environ.get(variable, "").strip())
        }
        self._transport = Transport(endpoint, key=key or None, headers=headers)
        self._places = asyncio.Semaphore(endpoint.concurrency)
        self._pacer = Pacer(
            requests_per_minute=endpoint.requests_per_minute,
            tokens_per_minute=endpoint.tokens_per_minute,
            clock=time.monotonic,
        )
        self._under_way: dict[str, asyncio.Task[Reply]] = {}
        self._sent: set[str] = set()
        self._landing = False
        self._told: dict[str, Callable[[str], None]] = {}
        self.told_context: int | None = None
        self._lookup: _Lookup | None = None
        self._looking = asyncio.Lock()
        self._ready = 0
        self._few_ready = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._transport.aclose()

    async def complete(self, request: ChatRequest) -> Reply:
        """The reply to a request: the stored one, or the endpoint's.

        Raises:
            EndpointDownError: nobody is asked any more.
            LlmError: the call failed for good.
        """
        key = request.key()
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(self._answer(key, request))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._finished(key, done))
        else:
            self.counts.shared += 1
        return await asyncio.shield(task)

    async def stream(self, request: ChatRequest, say: Callable[[str], None]) -> Reply:
        """The reply to a request, told while it is written; cancelling this ends the call.

        Args:
            request: what to ask; nobody else asks the same at the same time (see `occasion`).
            say: told all of the message so far whenever it grew, with any reasoning in it. After a
                failure that may pass, the message begins anew.

        Raises:
            LlmError: the call failed for good.
        """
        key = request.key()
        self._told[key] = say
        try:
            return await self._answer(key, request)
        finally:
            del self._told[key]
            self._sent.discard(key)

    @property
    def manners(self) -> Manners:
        """How the endpoint wants to be asked, as far as replies have proved it."""
        return self._transport.manners

    async def listing(self) -> object:
        """The JSON of the endpoint's list of models.

        Raises:
            LlmError: it could not be read.
        """
        return await self._transport.listing()

    async def land(self) -> None:
        """Send nothing more, and wait for what was sent: it is paid for, so its reply is kept."""
        self._landing = True
        for key, task in self._under_way.items():
            if key not in self._sent:
                task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def _finished(self, key: str, task: asyncio.Task[Reply]) -> None:
        del self._under_way[key]
        self._sent.discard(key)
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have

    async def _answer(self, key: str, request: ChatRequest) -> Reply:
        stored = await self._take(key)
        if stored is not None:
            self.counts.stored += 1
            return stored
        try:
            reply = await self._ask(key, request)
        except BaseException:
            self._store.release(key)
            raise
        await self._store.put(request, reply)
        return reply

    async def _take(self, key: str) -> Reply | None:
        """The stored reply, once whoever asks for it has it; None with the claim to ask.

        Raises:
            EndpointDownError: nobody is asked any more.
        """
        while True:
            taken = await self._look_up(key)
            if key in taken.replies:
                return taken.replies[key]
            if key in taken.claimed:
                return None
            await self._breaker.pause(CLAIMED_ELSEWHERE_SECONDS)

    async def _look_up(self, key: str) -> Taken:
        """What the store says; keys that are wanted before a query begins are looked up with it."""
        lookup = self._lookup
        if lookup is None or lookup.task is None:
            lookup = self._lookup = _Lookup()
            lookup.task = asyncio.create_task(self._fetch(lookup))
        lookup.keys.append(key)
        return await asyncio.shield(lookup.task)

    async def _fetch(self, lookup: _Lookup) -> Taken:
        await asyncio.sleep(0)  # whoever asks in this turn of the loop comes along
        # So does whoever asks while enough others wait for a place: a query for each would cost
        # more than all else that is done for a call.
        while self._ready > self.endpoint.concurrency // 2:
            self._few_ready.clear()
            await self._few_ready.wait()
        async with self._looking:
            self._lookup = None
            return await self._from_store(lookup.keys)

    async def _from_store(self, keys: Sequence[str]) -> Taken:
        """What is stored, and claims on the rest."""
        return await self._store.take_many(keys)

    async def _ask(self, key: str, request: ChatRequest) -> Reply:
        if self._breaker.proved:  # nothing to wait for, and this is done for every call
            return await self._persist(key, request)
        async with self._breaker.one_of_the_first():
            return await self._persist(key, request)

    async def _persist(self, key: str, request: ChatRequest) -> Reply:
        """The reply, after as many tries as it takes or the kind of failure allows."""
        body = request.body()
        tokens = _estimate(request) if self._pacer.counts_tokens else 0
        failures, started = 0, time.monotonic()
        while True:
            try:
                return await self._try(key, request, body, tokens)
            except EndpointDownError:
                raise
            except LlmError as error:
                failures += 1
                self._breaker.failed(error)
                wait = (
                    None
                    if error.permanent
                    or self._landing
                    or time.monotonic() - started > self._patience.last_start
                    else self._patience.wait(failures, retry_after=error.retry_after, rng=self._rng)
                )
                if wait is None:
                    self._breaker.gave_up(error)
                    raise
                if error.retry_after:
                    self._pacer.pause(error.retry_after)
            await self._breaker.pause(wait)

    async def _try(
        self, key: str, request: ChatRequest, body: Mapping[str, object], tokens: int
    ) -> Reply:
        async with self._place():
            self._breaker.check()
            await self._turn(key, request, tokens)
            try:
                reply = await self._send(key, body)
            except LlmError as error:
                self.told_context = context_in_error(error.detail) or self.told_context
                self._sent.discard(key)
                self._failed(key, maybe_billed=error.maybe_billed)
                raise
        self._breaker.answered()
        self._count(reply)
        return reply

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the calls at a time that the endpoint takes."""
        self._ready += 1
        try:
            await self._places.acquire()
        finally:
            self._ready -= 1
            self._few_ready.set()
        try:
            yield
        finally:
            self._places.release()

    async def _turn(self, key: str, request: ChatRequest, tokens: int) -> None:
        """Wait until a call may be sent: for its money, then for the pace."""
        if self._purse is not None:
            await self._purse.take(key, self.endpoint.prices.at_most(request))
        try:
            await self._pacer.turn(tokens)
        except asyncio.CancelledError:
            self._failed(key, maybe_billed=False)
            raise

    def _failed(self, key: str, *, maybe_billed: bool) -> None:
        if self._purse is not None and maybe_billed:
            self._purse.write_off(key)
        elif self._purse is not None:
            self._purse.give_back(key)

    async def _send(self, key: str, body: Mapping[str, object]) -> Reply:
        self._transport.open()
        self._sent.add(key)
        self.counts.calls += 1
        started = time.monotonic()
        data = await self._transport.ask(body, self._told.get(key))
        latency = round((time.monotonic() - started) * 1000)
        try:
            return read_completion(key, data, latency_ms=latency)
        except Refused as error:
            raise LlmError(LlmCode.MALFORMED, str(error), maybe_billed=True) from error

    def _count(self, reply: Reply) -> None:
        self.counts.replies += 1
        self.counts.input_tokens += reply.usage.input_tokens or 0
        self.counts.cached_tokens += reply.usage.cached_tokens or 0
        self.counts.output_tokens += reply.usage.output_tokens or 0


def _estimate(request: ChatRequest) -> int:
    """Tokens that a call may use, for the pace: its messages and its longest reply."""
    asked = sum(estimate_tokens(message.text) for message in request.messages)
    return asked + request.sampling.max_tokens


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
