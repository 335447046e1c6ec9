"""The thread of a web process that writes the replies of live conversations.

A reply is written beside the requests, never within one: a page that goes away, or a proxy that
loses patience, loses nothing, no request holds a server thread for longer than a query, and any
process can answer for a reply, since the row is the truth. It does not go through the queue of
runs either: a person waits, and a run may keep a worker busy for minutes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from judging.core.conversations import PENDING
from judging.llm.transport import load_library
from judging.models import ConversationMessage
from judging.services.conversation_replies import (
    Lines,
    Ticket,
    drop_stale_connections,
    fail_reply,
    write_reply,
)

log = logging.getLogger(__name__)

BEAT_SECONDS: Final = 2.0


class ReplyWorker:
    """One thread with an event loop, begun with the first page; a child process begins its own.

    It first loads the library that calls need, which takes seconds on a busy machine: within the
    loop that would stop every reply under way.
    """

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop
        self._tickets: set[Ticket] = set()
        self._places: asyncio.Semaphore
        self._lines: Lines

    def write(self, ticket: Ticket) -> None:
        """Have a reply written, as soon as fewer than the allowed number are under way."""
        self.begin()
        asyncio.run_coroutine_threadsafe(self._write(ticket), self._loop)

    def begin(self) -> None:
        """Begin the thread, where this process has none."""
        with self._starting:
            if self._pid == os.getpid():
                return
            self._loop, self._tickets, self._lines = asyncio.new_event_loop(), set(), Lines()
            self._places = asyncio.Semaphore(settings.CONVERSATION_REPLIES)
            threading.Thread(target=self._run, name="live-replies", daemon=True).start()
            self._pid = os.getpid()

    @property
    def under_way(self) -> int:
        """Replies that this process writes, or has waiting."""
        return len(self._tickets)

    def _run(self) -> None:
        load_library()
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._show_life())

    async def _show_life(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if self._tickets:
                try:
                    await sync_to_async(_beat)([ticket.message for ticket in self._tickets])
                except OperationalError:
                    log.warning("A sign of life of live replies was not written.", exc_info=True)

    async def _write(self, ticket: Ticket) -> None:
        self._tickets.add(ticket)
        try:
            async with self._places:
                await write_reply(ticket, self._lines)
        except Exception:
            log.exception("A live reply was given up.")
            await fail_reply(ticket, "conversation:crashed")
        finally:
            self._tickets.discard(ticket)


def _beat(messages: list[int]) -> None:
    drop_stale_connections()
    ConversationMessage.objects.filter(pk__in=messages, status__in=PENDING).update(
        heartbeat_at=timezone.now()
    )


_worker: Final = ReplyWorker()


def get_ready() -> None:
    """Begin the thread before the first message is sent."""
    _worker.begin()


def replies_under_way() -> int:
    """How many replies this process writes, or has waiting."""
    return _worker.under_way


def write_soon(*, message: int, generation: int) -> None:
    """Have the reply to a message written by this process."""
    _worker.write(Ticket(message, generation))
