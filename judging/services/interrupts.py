"""Ctrl-C and SIGTERM in a command that waits for replies: it ends soon and loses nothing."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

from asgiref.sync import async_to_sync

POLL_SECONDS: Final = 0.05

T = TypeVar("T")


class TerminatedError(KeyboardInterrupt):
    """SIGTERM: the process is to end, but the run may be taken up by another process."""


@contextmanager
def interruptions() -> Iterator[threading.Event | None]:
    """Gives an event that the first signal within the block sets; a second signal ends the block.

    Gives None in workers and other threads, which handle signals themselves.

    Raises:
        KeyboardInterrupt: once the block has ended, if a signal came.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield None
        return
    came: list[int] = []
    interrupted = threading.Event()

    def note(number: int, _frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)
        interrupted.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            raise (TerminatedError if came[0] == signal.SIGTERM else KeyboardInterrupt) from None


async def until(interrupted: threading.Event) -> None:
    """Waits for the event, in an event loop of another thread than the signal's."""
    while not interrupted.is_set():
        await asyncio.sleep(POLL_SECONDS)


def wait_for(work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
    """Returns the result of a coroutine, which a signal cancels.

    Raises:
        KeyboardInterrupt: a signal came.
    """
    with interruptions() as interrupted:
        return async_to_sync(_watched)(interrupted, work(*arguments))


async def _watched(interrupted: threading.Event | None, work: Coroutine[Any, Any, T]) -> T:
    if interrupted is None:
        return await work
    working = asyncio.create_task(work)
    watching = asyncio.create_task(until(interrupted))
    await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
    watching.cancel()
    if not working.done():
        working.cancel()
    try:
        return await working
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
