"""The store of replies over `LlmCall` rows: what is committed here is never paid for again.

A call is claimed before it is asked; its claim goes in the transaction that stores its reply.

Replies are committed 64 at a time or after half a second, whichever comes first, so that a process
which is killed loses the calls in flight and no more than that.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from judging.core.chat import ChatRequest, Reply, Usage, steps_from_json, steps_to_json
from judging.core.money import Prices
from judging.llm.stores import Taken
from judging.models import CallClaim, LlmCall, ModelEndpoint
from judging.services.endpoints import RunBudgetHold, prices_of
from judging.services.heartbeats import has_died, seconds_between_beats, this_process

log = logging.getLogger(__name__)

KEYS_A_STATEMENT: Final = 500
REFUSED_DATA: Final = (IntegrityError, DataError, ValueError, ArithmeticError)
"""Errors of a database, or of its driver, for values that it cannot hold."""


class CallClaims:
    """The claims of one owner. Called from one thread at a time.

    Args:
        run_id: the run that the owner works on.
    """

    def __init__(self, *, run_id: int | None) -> None:
        self._run_id = run_id
        self._owner = f"{this_process()} {uuid4().hex}"
        self._held: set[str] = set()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._held)

    def __contains__(self, key: str) -> bool:
        """Whether this owner has claimed it."""
        return key in self._held

    def take(self, keys: Sequence[str]) -> list[str]:
        """Claim what nobody else has claimed; those keys."""
        taken: list[str] = []
        for part in _parts(sorted(keys)):  # in one order, or two owners may wait for each other
            taken += self._take(part)
        self._held.update(taken)
        return taken

    def keep(self) -> None:
        """Give a sign of life."""
        for part in _parts(sorted(self._held)):
            CallClaim.objects.filter(key__in=part, owner=self._owner).update(expires_at=_expiry())

    def drop(self, keys: Collection[str]) -> None:
        """Let others ask, or find the reply; keys that are not held are passed over."""
        dropped = self._held.intersection(keys)
        for part in _parts(sorted(dropped)):
            with connection.cursor() as cursor:
                cursor.execute(f"{_DELETE} ({_places(part)})", [self._owner, *part])
        self._held -= dropped

    def drop_all(self) -> None:
        """Leave: without claims, and without those of owners that died long ago."""
        self.drop(self._held)
        CallClaim.objects.filter(expires_at__lt=timezone.now() - _lease()).delete()

    def _take(self, keys: Sequence[str]) -> list[str]:
        now, expiry = map(connection.ops.adapt_datetimefield_value, (timezone.now(), _expiry()))
        values: list[Any] = []
        for key in keys:
            values += (key, self._owner, self._run_id, expiry)
        rows = ", ".join(["(%s, %s, %s, %s)"] * len(keys))
        with connection.cursor() as cursor:
            cursor.execute(f"{_INSERT_CLAIM} {rows} {_UNLESS_CLAIMED}", [*values, now])
            return [key for (key,) in cursor.fetchall()]


def drop_claims_of_the_dead(run_id: int) -> None:
    """Drop a run's claims whose owners are known to have died; the others' may yet be answered."""
    claims = CallClaim.objects.filter(run=run_id)
    owners = claims.order_by().values_list("owner", flat=True).distinct()
    dead = [owner for owner in owners if has_died(owner.rpartition(" ")[0])]
    claims.filter(owner__in=dead).delete()


_INSERT_CLAIM: Final = "INSERT INTO judging_callclaim (key, owner, run_id, expires_at) VALUES"
_UNLESS_CLAIMED: Final = (
    "ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, run_id = excluded.run_id, "
    "expires_at = excluded.expires_at WHERE judging_callclaim.owner = excluded.owner "
    "OR judging_callclaim.expires_at < %s RETURNING key"
)
_DELETE: Final = "DELETE FROM judging_callclaim WHERE owner = %s AND key IN"


def _lease() -> timedelta:
    return timedelta(seconds=settings.RUN_STALE_SECONDS)


def _expiry() -> Any:
    return timezone.now() + _lease()


def _places(keys: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(keys))


def _parts(keys: Sequence[str]) -> list[Sequence[str]]:
    return [
        keys[start : start + KEYS_A_STATEMENT] for start in range(0, len(keys), KEYS_A_STATEMENT)
    ]


COMMIT_EVERY: Final = 64
COMMIT_SECONDS: Final = 0.5
_KEYS_A_QUERY: Final = 500


class RowReplyStore:
    """Implements `llm.stores.ReplyStore`: `async with RowReplyStore(endpoint=row) as store`.

    Leaving the block commits what is left and drops every claim. Reached from `async_to_sync`, rows
    are read and written on the caller's own connection.

    Args:
        endpoint: who replies; its prices say what a reply cost.
        run_id: the run that pays.
        purse: where the money of replies is held until they are stored.
        batch: replies come from a batch file and cost that share of the price.
        sleep: waits for the next commit.
    """

    def __init__(
        self,
        *,
        endpoint: ModelEndpoint | None,
        run_id: int | None = None,
        purse: RunBudgetHold | None = None,
        batch: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._prices = Prices() if endpoint is None else prices_of(endpoint)
        self._run_id = run_id
        self._purse = purse
        self._batch = batch
        self._sleep = sleep
        if purse is not None:
            purse.settle_now = self.commit
        self._waiting: dict[str, tuple[ChatRequest, Reply]] = {}
        self._claims = CallClaims(run_id=run_id)
        self._released: set[str] = set()
        self._timer: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = [task for task in (self._timer, self._keeping) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self.commit()
        finally:  # or who takes the run up waits for claims that nobody is at any more
            if self._keeping is not None:
                await sync_to_async(self._claims.drop_all)()

    async def get_many(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are there, committed or not; keys without one are left out."""
        found = {key: self._waiting[key][1] for key in keys if key in self._waiting}
        missing = [key for key in keys if key not in found]
        if missing:
            found |= await sync_to_async(_stored)(missing)
        return found

    async def take_many(self, keys: Sequence[str]) -> Taken:
        """See `ReplyStore`."""
        found = {key: self._waiting[key][1] for key in keys if key in self._waiting}
        missing = [key for key in keys if key not in found]
        if not missing:
            return Taken(found, claimed=())
        self._released.difference_update(missing)
        taken = await sync_to_async(self._take)(missing)
        if self._keeping is None and taken.claimed:
            self._keeping = asyncio.create_task(self._keep_claims())
        elif self._keeping is not None and self._keeping.done():
            self._keeping.result()  # a sign of life that failed is not passed over in silence
        return Taken({**found, **taken.replies}, taken.claimed)

    def _take(self, keys: Sequence[str]) -> Taken:
        replies = _stored(keys)
        claimed = self._claims.take([key for key in keys if key not in replies])
        # A reply may have been committed, and its claim dropped, since the first look.
        late = _stored(_committed(claimed))
        self._claims.drop(late)
        return Taken({**replies, **late}, {key for key in claimed if key not in late})

    async def _keep_claims(self) -> None:
        while True:
            await asyncio.sleep(seconds_between_beats())
            if self._claims:
                await sync_to_async(self._claims.keep)()

    def release(self, key: str) -> None:
        """See `ReplyStore`; others see it soon."""
        if key in self._claims:
            self._released.add(key)
            self._commit_soon()

    async def put(self, request: ChatRequest, reply: Reply) -> None:
        """Keep a reply; it is committed soon."""
        self._waiting[reply.key] = (request, reply)
        if self._purse is not None:
            self._purse.landed(reply.key)
        if len(self._waiting) >= COMMIT_EVERY:
            await self.commit()
        else:
            self._commit_soon()

    def _commit_soon(self) -> None:
        if self._timer is not None and not self._timer.done():
            return
        if self._timer is not None:
            self._timer.result()  # a commit that failed is not passed over in silence
        self._timer = asyncio.create_task(self._commit_later())

    async def commit(self) -> None:
        """Write every reply that waits, in one statement; a key that is there stays as it is."""
        async with self._writing:
            waiting = list(self._waiting.values())
            settled = self._purse is None or self._purse.is_settled
            if not waiting and not self._released and settled:
                return
            released, self._released = self._released, set()
            await sync_to_async(self._write_all)(waiting, released)
            for _, reply in waiting:
                del self._waiting[reply.key]

    def _write_all(
        self, waiting: Sequence[tuple[ChatRequest, Reply]], released: Collection[str]
    ) -> None:
        try:
            self._write(waiting, released)
        except REFUSED_DATA:
            for one in waiting:  # which of them it was is not said
                self._write_alone(*one)
            self._write((), released)

    def _write_alone(self, request: ChatRequest, reply: Reply) -> None:
        """Writes one reply; one that the database refuses is left out, but was paid for.

        What was read of it stays with its row, so that nobody asks for it again.
        """
        try:
            self._write([(request, reply)], ())
        except REFUSED_DATA as error:
            log.error("The reply %s cannot be stored.", reply.key, exc_info=error)
            with transaction.atomic():
                self._settle({reply.key: self._cost(reply)}, ())

    def _write(
        self, waiting: Sequence[tuple[ChatRequest, Reply]], released: Collection[str]
    ) -> None:
        costs = {reply.key: self._cost(reply) for _, reply in waiting}
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        rows = [self._row(request, reply, costs[reply.key], now) for request, reply in waiting]
        with transaction.atomic():
            if rows:
                with connection.cursor() as cursor:
                    cursor.executemany(_INSERT, rows)
            self._settle(costs, released)

    def _settle(self, costs: Mapping[str, Decimal | None], released: Collection[str]) -> None:
        self._claims.drop({*costs, *released})
        if self._purse is not None:
            self._purse.settle(costs)

    async def _commit_later(self) -> None:
        await self._sleep(COMMIT_SECONDS)
        await self.commit()

    def _cost(self, reply: Reply) -> Decimal | None:
        if self._endpoint is None:
            return None
        return self._prices.cost(reply.usage, batch=self._batch)

    def _row(
        self, request: ChatRequest, reply: Reply, cost: Decimal | None, now: object
    ) -> tuple[Any, ...]:
        """The values of `_COLUMNS`, in their order."""
        steps = steps_to_json(reply.steps)
        return (
            reply.key,
            None if self._endpoint is None else self._endpoint.pk,
            self._run_id,
            request.base_url,
            request.model,
            json.dumps(request.body()),
            reply.text,
            reply.reasoning,
            None if steps is None else json.dumps(steps),
            reply.finish_reason[:40],
            request.sample,
            request.attempt,
            reply.usage.input_tokens,
            reply.usage.cached_tokens,
            reply.usage.output_tokens,
            connection.ops.adapt_decimalfield_value(cost, *_COST_DIGITS),
            reply.latency_ms,
            now,
        )


_COST_DIGITS: Final = (14, 8)
_COLUMNS: Final = (
    "key",
    "endpoint_id",
    "run_id",
    "base_url",
    "model",
    "request",
    "reply",
    "reasoning",
    "logprobs",
    "finish_reason",
    "sample_index",
    "attempt",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "cost",
    "latency_ms",
    "created_at",
)
_INSERT: Final = (
    f"INSERT INTO judging_llmcall ({', '.join(_COLUMNS)}) "  # noqa: S608 - names, no values
    f"VALUES ({', '.join(['%s'] * len(_COLUMNS))}) ON CONFLICT (key) DO NOTHING"
)
"""One prepared statement for all replies of a commit: a third of the time of `bulk_create`."""
_SELECT: Final = "SELECT key FROM judging_llmcall WHERE key IN"
_READ: Final = (
    "key",
    "reply",
    "reasoning",
    "logprobs",
    "finish_reason",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "latency_ms",
)


LATELY: Final = timedelta(minutes=1)


def was_answered_lately(run_id: int, endpoint: ModelEndpoint) -> bool:
    """Whether an endpoint, at its present address, gave a run a reply within `LATELY`."""
    calls = LlmCall.objects.filter(
        run=run_id, base_url=endpoint.base_url, created_at__gte=timezone.now() - LATELY
    )
    return calls.exists()


def _committed(keys: Sequence[str]) -> list[str]:
    """The keys that have a reply; where hardly any has, a sixth of the time of `_stored`."""
    found: list[str] = []
    for start in range(0, len(keys), _KEYS_A_QUERY):
        part = keys[start : start + _KEYS_A_QUERY]
        places = ", ".join(["%s"] * len(part))
        with connection.cursor() as cursor:
            cursor.execute(f"{_SELECT} ({places})", part)
            found += (key for (key,) in cursor.fetchall())
    return found


def _stored(keys: Sequence[str]) -> dict[str, Reply]:
    """The replies among the rows, by key."""
    found: dict[str, Reply] = {}
    for start in range(0, len(keys), _KEYS_A_QUERY):
        rows = LlmCall.objects.filter(key__in=keys[start : start + _KEYS_A_QUERY]).only(*_READ)
        found |= {row.key: _reply(row) for row in rows}
    return found


def _reply(row: LlmCall) -> Reply:
    return Reply(
        key=row.key,
        text=row.reply,
        reasoning=row.reasoning,
        finish_reason=row.finish_reason,
        usage=Usage(row.input_tokens, row.cached_tokens, row.output_tokens),
        steps=steps_from_json(row.logprobs),
        latency_ms=row.latency_ms or 0,
    )
