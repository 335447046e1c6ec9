"""Writing one reply of a live conversation: asked for, told to the row as it comes, finished.

The row says who may write: each step names the generation it was asked for, so a writer that was
taken for dead drops what it has instead of writing over its successor.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, ParamSpec, TypeVar, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import OperationalError, connections
from django.utils import timezone

from annotation.core.reasoning import split_reasoning, visible_answer
from annotation.core.refusals import Refused
from annotation.models import Session
from judging.core.chat import ChatRequest, Reply
from judging.core.conversations import ANSWERED, PENDING, messages_for_model
from judging.core.endpoints import Endpoint
from judging.llm.client import ChatClient
from judging.llm.errors import ENDPOINT_WIDE, LlmError
from judging.llm.pacing import Patience
from judging.llm.stores import Taken
from judging.llm.transport import load_library
from judging.models import (
    ConversationMessage,
    ConversationSetup,
    LlmCall,
    ModelEndpoint,
    ReplyStatus,
)
from judging.queries.conversations import system_prompt_of
from judging.services.abilities import note_manners
from judging.services.endpoints import endpoint_of
from judging.services.replies import RowReplyStore

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE: Final = Patience(
    tries=3, first_wait=0.5, longest_wait=4.0, longest_retry_after=10.0, last_start=15.0
)
"""A person is waiting: after three tries within seconds, or a long one, they are told, and may try
again."""
TELL_SECONDS: Final = 0.2
LOOK_SECONDS: Final = 1.0
_STOPPED: Final = "stopped"


@dataclass(frozen=True, slots=True)
class Ticket:
    """A reply to write: the message, the generation it was asked for, and when (monotonic)."""

    message: int
    generation: int
    asked: float = field(default_factory=time.monotonic, compare=False)

    @property
    def rows(self) -> Any:
        """The message's row while this ticket may write it."""
        return ConversationMessage.objects.filter(
            pk=self.message, generation=self.generation, status=ReplyStatus.WRITING
        )

    def ms(self) -> int:
        """Milliseconds since it was asked for."""
        return round((time.monotonic() - self.asked) * 1000)


class LiveReplyStore(RowReplyStore):
    """A store that commits every reply at once: each is somebody's, and there are few.

    It claims no calls. The message's row is the claim, by its generation, and a person who waits
    is not to wait for the claim of a process that died.
    """

    async def take_many(self, keys: Sequence[str]) -> Taken:
        """See `ReplyStore`."""
        replies = await self.get_many(keys)
        return Taken(replies, claimed=[key for key in keys if key not in replies])

    async def put(self, request: ChatRequest, reply: Reply) -> None:
        """Keep a reply and commit it."""
        self._waiting[reply.key] = (request, reply)
        await self.commit()


@dataclass(slots=True)
class _Line:
    client: ChatClient
    store: LiveReplyStore
    users: int = 0
    retired: bool = False


class Lines:
    """One client an endpoint, shared by all conversations of a process, so that its limits hold."""

    def __init__(self, *, patience: Patience = PATIENCE) -> None:
        self._patience = patience
        self._lines: dict[int, _Line] = {}

    @asynccontextmanager
    async def to(self, row: ModelEndpoint) -> AsyncIterator[_Line]:
        """The client of an endpoint as its row stands now.

        One that met an error of the whole endpoint (a key that was refused) is not used again.

        Raises:
            Refused: its base URL cannot be used; its further fields cannot be sent.
        """
        line = self._line(row)
        line.users += 1
        try:
            yield line
        except LlmError as error:
            if error.code in ENDPOINT_WIDE:
                self._retire(row.pk, line)
            raise
        finally:
            line.users -= 1
            if line.retired and not line.users:
                await line.client.__aexit__(None, None, None)

    @property
    def under_way(self) -> int:
        """How many are using a client now."""
        return sum(line.users for line in self._lines.values())

    async def close(self) -> None:
        """Close every connection."""
        lines, self._lines = self._lines, {}
        for line in lines.values():
            await line.client.__aexit__(None, None, None)

    def _line(self, row: ModelEndpoint) -> _Line:
        endpoint = endpoint_of(row)
        found = self._lines.get(row.pk)
        if found is not None and found.client.endpoint == endpoint:
            return found
        if found is not None:
            self._retire(row.pk, found)
        store = LiveReplyStore(endpoint=row)
        line = _Line(ChatClient(endpoint, store=store, patience=self._patience), store)
        self._lines[row.pk] = line
        return line

    def _retire(self, key: int, line: _Line) -> None:
        line.retired = True
        if self._lines.get(key) is line:
            del self._lines[key]


@dataclass(frozen=True, slots=True)
class _Job:
    endpoint: ModelEndpoint
    request: Callable[[Endpoint], ChatRequest]


class _Heard:
    """What has come of a reply."""

    def __init__(self, ticket: Ticket) -> None:
        self._ticket = ticket
        self._content = ""
        self.first_ms: int | None = None
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def say(self, content: str) -> None:
        """Take all that has come so far."""
        self._content = content
        if self.first_ms is None and self.text:
            self.first_ms = self._ticket.ms()
            self.begun.set_result(None)

    @property
    def text(self) -> str:
        """What of it a participant may see."""
        return visible_answer(self._content)

    @property
    def reasoning(self) -> str:
        """What of it is none of the answer."""
        return split_reasoning(self._content, is_growing=True).reasoning


async def write_reply(ticket: Ticket, lines: Lines) -> None:
    """Write one reply to its end, or say in its row why not; drop it where others took it over."""
    job = await _on_rows(_take)(ticket)
    if job is None:
        return
    heard = _Heard(ticket)
    try:
        async with lines.to(job.endpoint) as line:
            request = job.request(line.client.endpoint)
            # Many replies are told less often, so that telling does not slow their pages down.
            every = max(TELL_SECONDS, 0.02 * lines.under_way)
            reply = await _listen(ticket, heard, line, request, every)
            if line.client.manners != job.endpoint.manners:
                await _on_rows(note_manners)(job.endpoint, line.client.manners)
    except LlmError as error:
        await _on_rows(_fail)(ticket, error.code.value, error.detail)
    except Refused as error:
        await _on_rows(_fail)(ticket, error.code, str(error))
    else:
        if reply is not None:
            await _on_rows(_finish)(ticket, reply, heard.first_ms)


async def fail_reply(ticket: Ticket, code: str) -> None:
    """Say in its row that a reply will not come."""
    await _on_rows(_fail)(ticket, code, "")


async def _listen(
    ticket: Ticket, heard: _Heard, line: _Line, request: ChatRequest, every: float
) -> Reply | None:
    """The reply, or what had come of it when it was stopped; None where others took it over."""
    asking = asyncio.create_task(line.client.stream(request, heard.say))
    try:
        wanted = await _tell_until_done(ticket, heard, asking, every)
    finally:
        if not asking.done():
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
    if asking.done() and not asking.cancelled():
        return asking.result()
    if not wanted:
        return None
    reply = Reply(
        request.key(),
        heard.text,
        heard.reasoning,
        finish_reason=_STOPPED,
        latency_ms=ticket.ms(),
    )
    if reply.text:
        await line.store.put(request, reply)
    return reply


async def _tell_until_done(
    ticket: Ticket, heard: _Heard, asking: asyncio.Task[Reply], every: float
) -> bool:
    """Write down what has come, `every` few seconds, until all has; whether it is to be kept.

    What cannot be written now is written with the next.
    """
    told, looked = "", time.monotonic()
    while True:
        news: set[asyncio.Future[Any]] = {asking}
        if not heard.begun.done():
            news.add(heard.begun)  # the first words are told at once
        await asyncio.wait(news, timeout=every, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            return True
        text = heard.text
        if text == told and time.monotonic() - looked < LOOK_SECONDS:
            continue
        with contextlib.suppress(OperationalError):
            stop_wanted = await _on_rows(_tell)(ticket, text)
            if stop_wanted is None or stop_wanted:
                return stop_wanted is True
            told, looked = text, time.monotonic()


def drop_stale_connections() -> None:
    """Close connections of this thread that broke or grew old, as a request does when it begins."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def _on_rows(function: Callable[P, T]) -> Callable[P, Any]:
    """A function over rows for use in an event loop; connections that went stale are dropped."""

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        drop_stale_connections()
        return function(*args, **kwargs)

    return sync_to_async(run)


def _take(ticket: Ticket) -> _Job | None:
    """Begin a reply; None where it is not to be written (any more)."""
    waiting = ConversationMessage.objects.filter(
        pk=ticket.message, generation=ticket.generation, status=ReplyStatus.WAITING
    )
    if not waiting.update(status=ReplyStatus.WRITING, heartbeat_at=timezone.now()):
        return None
    message = ConversationMessage.objects.select_related(
        "conversation__endpoint", "conversation__claim__item__study"
    ).get(pk=ticket.message)
    talk = message.conversation
    item = talk.claim.item
    setup = ConversationSetup.objects.filter(study=item.study).first() or ConversationSetup()
    earlier = [
        (row.text, row.reply if row.status in ANSWERED else None)
        for row in talk.messages.filter(position__lt=message.position).order_by("position")
    ]
    prompt = system_prompt_of(item.study, cast(Session, item.session))
    messages = messages_for_model(prompt, earlier, message.text)

    def request(endpoint: Endpoint) -> ChatRequest:
        asked = endpoint.request(messages, max_tokens=setup.max_tokens, attempt=message.attempt)
        return replace(
            asked,
            sampling=replace(asked.sampling, temperature=setup.temperature),
            occasion=f"conversation {message.submission}",
        )

    return _Job(talk.endpoint, request)


def _tell(ticket: Ticket, text: str) -> bool | None:
    """Write down what has come; whether to stop, None where the row is no longer this ticket's."""
    going_on = ticket.rows.filter(stop_wanted=False)
    if going_on.update(reply=text, heartbeat_at=timezone.now()):
        return False
    return True if ticket.rows.exists() else None


def _finish(ticket: Ticket, reply: Reply, first_ms: int | None) -> None:
    if not reply.text:
        stopped = reply.finish_reason == _STOPPED
        _fail(ticket, "conversation:stopped" if stopped else "llm:no-answer", reply.finish_reason)
        return
    stopped = reply.finish_reason == _STOPPED
    total = ticket.ms()
    ticket.rows.update(
        status=ReplyStatus.STOPPED if stopped else ReplyStatus.DONE,
        reply=reply.text,
        call=LlmCall.objects.filter(key=reply.key).first(),
        finish_reason=reply.finish_reason[:40],
        first_text_ms=total if first_ms is None else first_ms,
        total_ms=total,
        heartbeat_at=timezone.now(),
    )


def _fail(ticket: Ticket, code: str, detail: str) -> None:
    ticket.rows.update(
        status=ReplyStatus.FAILED, reply="", error_code=code, error_detail=detail[:300]
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
