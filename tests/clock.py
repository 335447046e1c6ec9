"""Clocks, sleeps and deadlines that tests move by hand, so that no outcome depends on real time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

PATIENCE = 60.0
"""Seconds after which a condition that should come true counts as never coming true."""
_LOOK_SECONDS = 0.005


@dataclass
class HandClock:
    """A clock that stands still, except for those who sleep by it and by `tick` per reading."""

    now: float = 1000.0
    tick: float = 0.0
    readings: int = 0
    alarms: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        self.readings += 1
        self.now += self.tick
        return self.now

    monotonic = __call__  # in place of the module `time`

    async def sleep(self, seconds: float) -> None:
        """Moves the clock on, in place of `asyncio.sleep`; the first to wake moves it first."""
        due = self.now + seconds
        self.alarms.append(due)
        await asyncio.sleep(0)
        while due > min(self.alarms):
            await asyncio.sleep(0)
        self.alarms.remove(due)
        self.now = max(self.now, due)


def deadline_at(
    is_due: Callable[[], bool], expired: Callable[[float], object] = lambda _seconds: None
) -> Callable[[float], AbstractAsyncContextManager[None]]:
    """A stand-in for `asyncio.timeout` that expires once a condition holds.

    Args:
        is_due: asked every few milliseconds inside the block.
        expired: called with the seconds of each deadline that expires.
    """

    @asynccontextmanager
    async def deadline(seconds: float) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as limit:

            async def watch() -> None:
                while not is_due():
                    await asyncio.sleep(_LOOK_SECONDS)
                expired(seconds)
                limit.reschedule(loop.time())

            watching = asyncio.create_task(watch())
            try:
                yield
            finally:
                watching.cancel()

    return deadline


async def until(holds: Callable[[], bool]) -> None:
    """Returns once a condition holds; fails where it does not come true."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(_LOOK_SECONDS)


def wait_until(holds: Callable[[], bool]) -> None:
    """The same for code without an event loop."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "the condition never came true"
        time.sleep(_LOOK_SECONDS)
