"""How passwords are hashed: with little memory, and two at a time in a process.

Who comes while two are inside waits. In a rush, when there were such for RUSH_SECONDS, the next
ones are refused at once: so a class gets in, and a flood of sign-ins leaves threads for everybody
else. Hashing waits for nothing, so turns pass on, whatever locks are held by those who wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

from sensejudge_site.sign_in import BusyError

HASHES: Final = 2
RUSH_SECONDS: Final = 2.0

T = TypeVar("T")


class HashQueue:
    """Those of one process who have a password hashed, with all that a sign-in does besides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Threads of their own: each keeps the memory of a hash, and the server may have many more.
        self._threads = ThreadPoolExecutor(HASHES, thread_name_prefix="hashing")
        self._mine = threading.local()
        self._inside = 0
        self._rush_began = self._last_waited = -RUSH_SECONDS

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place; who has one needs no second.

        Raises:
            BusyError: this is a rush.
        """
        if getattr(self._mine, "place", False):
            yield
            return
        with self._lock:
            if self._inside >= HASHES:
                self._check_rush(time.monotonic())
            self._inside += 1
        self._mine.place = True
        try:
            yield
        finally:
            self._mine.place = False
            with self._lock:
                self._inside -= 1

    def hashed(self, hash_one: Callable[[], T]) -> T:
        """What a function returns that hashes, called in its turn.

        Raises:
            BusyError: this is a rush.
        """
        if getattr(self._mine, "turn", False):  # one method of a hasher may call another
            return hash_one()
        with self.place():
            return self._threads.submit(self._in_turn, hash_one).result()

    def _in_turn(self, hash_one: Callable[[], T]) -> T:
        self._mine.turn = True  # for good: this thread does nothing else
        return hash_one()

    def _check_rush(self, now: float) -> None:
        if now - self._last_waited >= RUSH_SECONDS:
            self._rush_began = now
        self._last_waited = now
        if now - self._rush_began >= RUSH_SECONDS:
            raise BusyError


QUEUE: Final = HashQueue()


class _InTurn:
    """A hasher that waits its turn."""

    def encode(self, *arguments: Any, **named: Any) -> str:
        encode: Callable[..., str] = super().encode  # type: ignore[misc]
        return QUEUE.hashed(lambda: encode(*arguments, **named))

    def verify(self, *arguments: Any, **named: Any) -> bool:
        verify: Callable[..., bool] = super().verify  # type: ignore[misc]
        return QUEUE.hashed(lambda: verify(*arguments, **named))


class Argon2(_InTurn, Argon2PasswordHasher):
    """Argon2id with the parameters that OWASP recommends; Django's take 100 MiB a password."""

    memory_cost = 19 * 1024  # KiB
    time_cost = 2
    parallelism = 1


class PBKDF2(_InTurn, PBKDF2PasswordHasher):
    """For passwords that were hashed elsewhere."""
