"""When calls are made: their money, their pace, and how long to wait before another try."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol


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
