"""From an endpoint's row, or the LLM_* settings, to what a client needs; budgets held for calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.query import QuerySet

from annotation.core.refusals import Refused
from annotation.models import AuditEvent, User
from judging.core.chat import Sampling
from judging.core.endpoints import Endpoint
from judging.core.money import Prices
from judging.llm.errors import LlmCode, LlmError
from judging.models import JudgeRun, ModelEndpoint

STATED: Final = frozenset({"has_logprobs", "has_json_schema", "has_system_role"})
"""Abilities that are found out, or stated by somebody."""


def endpoint_of(row: ModelEndpoint) -> Endpoint:
    """The endpoint that a row describes.

    Raises:
        Refused: its base URL cannot be used; its further fields or headers cannot be sent; a
            variable may not be sent anywhere.
    """
    return Endpoint(
        name=row.name,
        base_url=row.base_url,
        model=row.model,
        key_variable=row.key_variable,
        sampling=Sampling(row.temperature, row.max_tokens, row.extra_sampling),
        context_tokens=row.context_tokens,
        timeout_seconds=row.timeout_seconds,
        concurrency=row.concurrency,
        requests_per_minute=row.requests_per_minute,
        tokens_per_minute=row.tokens_per_minute,
        has_logprobs=row.stated("logprobs") is True,
        has_json_schema=row.stated("json_schema") is True,
        has_system_role=row.stated("system_role") is not False,
        has_scores=row.has_scores,
        prices=prices_of(row),
        manners=row.manners,
        headers=row.extra_headers,
        listed_variables=settings.LLM_KEY_VARIABLES,
    )


def unset_variable(row: ModelEndpoint, *, environ: Mapping[str, str] = os.environ) -> str:
    """The first variable of an endpoint's key and headers that is empty here; "" for none."""
    variables = filter(None, (row.key_variable, *row.extra_headers.values()))
    return next((name for name in variables if not environ.get(name, "").strip()), "")


def lacks_key(row: ModelEndpoint, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable that an endpoint's key, or a header, is read from is empty here."""
    return bool(unset_variable(row, environ=environ))


def save_endpoint(row: ModelEndpoint, *, changed: Collection[str], by: User) -> None:
    """Store what somebody entered; what they state of its abilities holds for the address of now.

    Args:
        row: with the new values.
        changed: names of columns.
        by: remembered with the names of what they changed.
    """
    if stated := STATED.intersection(changed):
        row.state({name: getattr(row, name) for name in stated})
    is_new = row.pk is None
    with transaction.atomic():
        row.save()
        AuditEvent.objects.create(
            actor=by,
            action="endpoint.added" if is_new else "endpoint.changed",
            target="endpoint",
            target_id=row.pk,
            detail={"name": row.name, "changed": sorted(changed)},
        )


def prices_of(row: ModelEndpoint) -> Prices:
    """What calls of an endpoint cost."""
    return Prices(
        input=row.input_price,
        cached_input=row.cached_input_price,
        output=row.output_price,
        batch_share=row.batch_price_share,
    )


def endpoint_row_from_settings() -> ModelEndpoint | None:
    """The row that LLM_* describe, made or brought up to date; None where LLM_BASE_URL is empty.

    Its name is `llm`. Prices, and abilities and limits that the settings leave open, stay as
    somebody set them on the row.
    """
    if not settings.LLM_BASE_URL:
        return None
    limits = {"max_tokens": settings.LLM_MAX_TOKENS, "context_tokens": settings.LLM_CONTEXT_TOKENS}
    row, _ = ModelEndpoint.objects.update_or_create(
        name="llm",
        defaults={
            "base_url": settings.LLM_BASE_URL,
            "model": settings.LLM_MODEL,
            "key_variable": settings.LLM_KEY_VARIABLE,
            "concurrency": settings.LLM_CONCURRENCY,
            "timeout_seconds": settings.LLM_TIMEOUT_SECONDS,
            **{name: value for name, value in limits.items() if value is not None},
        },
    )
    if settings.LLM_LOGPROBS not in (None, row.can("logprobs")):
        row.state({"has_logprobs": settings.LLM_LOGPROBS})
        row.save()
    return row


def all_endpoints() -> QuerySet[ModelEndpoint]:
    """Endpoints by name, the one that LLM_* describe among them before anybody used it."""
    rows = ModelEndpoint.objects.order_by("name")
    if settings.LLM_BASE_URL and not rows.filter(name="llm").exists():
        endpoint_row_from_settings()
    return rows


_NOTHING: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class _Ask:
    """A call that waits for its money."""

    key: str
    most: Decimal
    answered: asyncio.Future[None]


class RunBudgetHold:
    """Implements `llm.purses.BudgetHold` for one worker's part of a run."""

    def __init__(self, run: JudgeRun) -> None:
        self._run_id = run.pk
        self._limited = run.budget is not None
        self._under_way: dict[str, Decimal] = {}
        self._landed: set[str] = set()
        self._freed = _NOTHING
        self._asking: list[_Ask] = []
        self._serving: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._refused: Decimal | None = None
        self.settle_now: Callable[[], Awaitable[None]] | None = None

    async def take(self, key: str, most: Decimal) -> None:
        """See `BudgetHold`."""
        if not self._limited:
            return
        if self._refused is not None and most >= self._refused:
            raise _spent()
        ask = _Ask(key, most, asyncio.get_running_loop().create_future())
        self._asking.append(ask)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        await ask.answered

    def give_back(self, key: str) -> None:
        """See `BudgetHold`."""
        self._freed += self._under_way.pop(key, _NOTHING)
        self._changed.set()

    def write_off(self, key: str) -> None:
        """See `BudgetHold`."""
        self._under_way.pop(key, None)
        self._changed.set()

    def landed(self, key: str) -> None:
        """A reply came and waits to be stored."""
        if key in self._under_way:
            self._landed.add(key)
            self._changed.set()

    @property
    def is_settled(self) -> bool:
        """Whether nothing was given back that the run's row does not know of yet."""
        return not self._freed

    def settle(self, costs: Mapping[str, Decimal | None]) -> None:
        """Put what replies cost in the place of what was held for them.

        Called inside the transaction that stores the replies. A reply whose cost is not known
        keeps its dearest price.
        """
        change = -self._freed
        self._freed = _NOTHING
        for key, cost in costs.items():
            held = self._under_way.pop(key, _NOTHING)
            self._landed.discard(key)
            change += _NOTHING if cost is None else cost - held
        if change:
            JudgeRun.objects.filter(pk=self._run_id).update(held=F("held") + change)
        self._changed.set()

    async def _serve(self) -> None:
        """Answer whoever asks; whoever cannot be paid waits for calls under way to cost less."""
        try:
            while self._asking:
                self._changed.clear()
                asks = list(self._asking)
                grants = await sync_to_async(self._grant)([ask.most for ask in asks])
                del self._asking[: len(asks)]
                left = self._tell(asks, grants)
                if left and (self._under_way or self._freed):
                    self._asking = [*left, *self._asking]
                    await self._wait_for_change()
                else:
                    self._refuse(left)
        except BaseException as error:
            for ask in self._asking:
                if not ask.answered.done():
                    ask.answered.set_exception(error)
            raise

    def _grant(self, mosts: Sequence[Decimal]) -> list[bool]:
        """Which of these calls the budget has room for, in their order; their money is held."""
        freed = self._freed
        with transaction.atomic():
            run = JudgeRun.objects.select_for_update().only("budget", "held").get(pk=self._run_id)
            held = run.held - freed
            grants = []
            for most in mosts:
                fits = run.budget is None or held + most <= run.budget
                held += most if fits else _NOTHING
                grants.append(fits)
            if held != run.held:
                JudgeRun.objects.filter(pk=self._run_id).update(held=held)
        self._freed -= freed
        return grants

    def _tell(self, asks: Sequence[_Ask], grants: Sequence[bool]) -> list[_Ask]:
        """Lets the granted calls go; returns the others."""
        for ask, granted in zip(asks, grants, strict=True):
            if granted and ask.answered.cancelled():
                self._freed += ask.most
            elif granted:
                self._under_way[ask.key] = ask.most
                ask.answered.set_result(None)
        return [ask for ask, granted in zip(asks, grants, strict=True) if not granted]

    def _refuse(self, asks: Sequence[_Ask]) -> None:
        for ask in asks:
            self._refused = ask.most if self._refused is None else min(self._refused, ask.most)
            if not ask.answered.done():
                ask.answered.set_exception(_spent())

    async def _wait_for_change(self) -> None:
        if self._freed:
            return
        if self._landed and self.settle_now is not None:
            await self.settle_now()
        else:
            await self._changed.wait()


def _spent() -> LlmError:
    return LlmError(LlmCode.BUDGET_SPENT)


def set_budget(run_id: int, budget: Decimal | None) -> None:
    """Limits what a run may cost in all, what it has cost so far included; None: no limit.

    A run that is under way heeds a limit it was started with at once, a new one from its next
    batch on.

    Raises:
        Refused: it is below 0; the run's calls have no price.
    """
    run = JudgeRun.objects.select_related("endpoint", "writer_endpoint").get(pk=run_id)
    check_budget(budget, run.endpoint, run.writer_endpoint)
    JudgeRun.objects.filter(pk=run_id).update(budget=budget)


def check_budget(budget: Decimal | None, *endpoints: ModelEndpoint | None) -> None:
    """Refuses a budget that could not be kept.

    Args:
        budget: None for no limit.
        endpoints: who is asked; None for a judge that calls nobody.

    Raises:
        Refused: it is below 0; calls have no price.
    """
    if budget is None:
        return
    if budget < 0:
        raise Refused("budget:negative", "a budget is an amount of money, 0 or more")
    called = [row for row in endpoints if row is not None]
    unpriced = next((row for row in called if not prices_of(row).known), None)
    if unpriced is not None or not called:
        name = "the lexical judge" if unpriced is None else f"the endpoint {unpriced.name!r}"
        message = f"{name} has no prices, so a budget cannot be applied"
        raise Refused("budget:no-prices", message)
