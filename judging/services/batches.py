"""Asking a batch of questions at once, and committing answers as they come.

Answers are committed within half a second, or 64 of them; so are the replies behind them, before
the rows that refer to them. A process that is killed loses the calls in flight and nothing else.
Each commit first checks that nobody took the run over: then this batch drops itself, once the calls
under way have ended, whose replies are kept for whoever goes on. Questions are loaded some hundreds
at a time, ahead of their turn, so that a batch may be of any length.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db import transaction
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus
from judging.core.questions import Call
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.llm.client import NotStoredError
from judging.llm.errors import EndpointDownError
from judging.models import JudgeRun, LlmCall, RunUnit
from judging.queries.runs import unit_rows
from judging.services.heartbeats import beat, seconds_between_beats
from judging.services.interrupts import interruptions, until
from judging.services.judges import JudgeOpener, OpenJudge
from judging.services.replies import REFUSED_DATA

log = logging.getLogger(__name__)

NOT_STORABLE: Final = "answer:not-storable"
"""The database refused an answer for what it holds; asking again is for `retry`."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class IdRange:
    """Rows from one id to another, both included; their pending ones are one batch."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RowAnswer(Generic[Answer]):
    """What the judge answered to one row."""

    row_id: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class AskingStage(Generic[Question, Answer]):
    """A stage whose rows each take an answer from the judge.

    Args:
        name: as stored in `JudgeRun.stage`.
        rows: by run id, the rows of the stage; they have `status` and `error_code`, and their ids
            ascend in the order in which they should be asked.
        load: the questions of a range's pending rows, in id order.
        ask: puts one question; never raises for an anticipated failure.
        store: writes answers, each only over a pending row. It is called inside a transaction. An
            answer names its row as `row_id`.
    """

    name: StageName
    rows: Callable[[int], QuerySet[Any]]
    load: Callable[[JudgeRun, IdRange], Sequence[Question]]
    ask: Callable[[Judge, Question], Awaitable[Answer]]
    store: Callable[[JudgeRun, Sequence[Answer]], None]


@dataclass(frozen=True, slots=True)
class ComputingStage:
    """A stage that computes from the rows before it; doing it twice gives the same rows.

    Its `compute` raises `Refused` where the run has to end there, and is true where more is to be
    computed: that has its turn after the batches of other runs. A run that does not need the stage
    passes it over.
    """

    name: StageName
    compute: Callable[[JudgeRun], bool | None]
    is_needed: Callable[[JudgeRun], bool] = lambda _run: True


Observer = Callable[[int], None]
"""Told how many answers each commit wrote; 0 where there were none, and the run is alive."""


class BatchWork(NamedTuple):
    """How the batches of a run's children are worked off: who opens their judges, who is told."""

    opener: JudgeOpener
    observer: Observer


class UnitStage(NamedTuple):
    """A stage whose rows are the run's units, worked off one at a time.

    `work` goes on with a pending unit for about as long as a batch takes. It stores what came of
    it; a unit that it leaves PENDING has its next turn after the batches of other runs. It may be
    cut short and done again, and raises `Refused` where the run has to end there.
    """

    name: StageName
    work: Callable[[JudgeRun, RunUnit, BatchWork], None]

    def rows(self, run_id: int) -> QuerySet[RunUnit]:
        """The units of a run."""
        return unit_rows(run_id)


Stage = AskingStage[Any, Any] | UnitStage | ComputingStage


COMMIT_EVERY: Final = 64
COMMIT_SECONDS: Final = 0.5
LANDING_SECONDS: Final = 0.5
MOST_WAITING: Final = 4 * COMMIT_EVERY
LOADED_ROWS: Final = 512
LOADED_ROWS_WITHOUT_CALLS: Final = 2048


def ask_batch(
    run: JudgeRun,
    stage: AskingStage[Any, Any],
    ids: IdRange,
    *,
    opener: JudgeOpener,
    observer: Observer | None = None,
) -> None:
    """Asks the pending questions of a range and stores the answers.

    Database work is done on the caller's own connection, calls in an event loop beside it.

    Raises:
        SupersededError: somebody else has the run now; what was committed stays.
        EndpointDownError: the endpoint fails every call; what it was not asked stays pending.
        KeyboardInterrupt: a signal came; replies that come within half a second are stored.
    """
    ranges = _ranges(run, stage, ids)
    if ranges:
        with _few_collections(), interruptions() as asked:
            async_to_sync(_ask_all)(run, stage, ranges, opener, observer, asked)


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Lets the garbage collector look at new objects alone: a sixth of the CPU time of a call.

    What the process held before is looked at again afterwards.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _ranges(run: JudgeRun, stage: AskingStage[Any, Any], ids: IdRange) -> list[IdRange]:
    """The pending rows of a range in parts, each of which is loaded at once."""
    calls = run.endpoint_at(stage.name) is not None
    size = LOADED_ROWS if calls else LOADED_ROWS_WITHOUT_CALLS
    pending = list(
        stage.rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    parts = [pending[start : start + size] for start in range(0, len(pending), size)]
    return [IdRange(part[0], part[-1]) for part in parts]


async def _ask_all(
    run: JudgeRun,
    stage: AskingStage[Any, Any],
    ranges: Sequence[IdRange],
    opener: JudgeOpener,
    observer: Observer | None,
    stop: threading.Event | None,
) -> None:
    async with opener(run) as opened:
        committer = _Committer(run, stage, opened, observer)
        writing = asyncio.create_task(committer.write_until_closed())
        asking = asyncio.create_task(_ask(opened, stage, _Source(run, stage, ranges), committer))
        stopping = [] if stop is None else [asyncio.create_task(until(stop))]
        await asyncio.wait({writing, asking, *stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in stopping:
            task.cancel()
        if stop is not None and stop.is_set():
            await _end_soon(opened, asking)
            committer.close()
            await writing
            return
        if writing.done():  # it only ends by itself when it cannot go on
            asking.cancel()
            await asyncio.wait({asking})
            await opened.land()
        else:
            committer.close()
        outcomes = await asyncio.gather(writing, asking, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise _first_of(outcome)


async def _end_soon(opened: OpenJudge, asking: asyncio.Task[None]) -> None:
    """Asks nothing more; calls under way have a moment to be answered, for they are paid for."""
    asking.cancel()
    await asyncio.wait({asking})
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LANDING_SECONDS):
            await opened.land()


def _first_of(error: BaseException) -> BaseException:
    """The error itself where a group of tasks wrapped it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _ask(
    opened: OpenJudge,
    stage: AskingStage[Any, Any],
    source: _Source,
    committer: _Committer,
) -> None:
    """Keeps as many questions under way as the judge takes.

    A question whose reply could only come from the endpoint stays pending where nobody asks it.

    Raises:
        EndpointDownError: nobody is asked any more; calls that were under way have ended.
    """
    down: EndpointDownError | None = None

    async def worker() -> None:
        nonlocal down
        while down is None and (question := await source.next()) is not None:
            try:
                answer = await stage.ask(opened.judge, question)
            except NotStoredError:
                continue
            except EndpointDownError as error:
                down = error
                return
            await committer.add(answer)

    async with asyncio.TaskGroup() as group:
        for _ in range(opened.concurrency):
            group.create_task(worker())
    if down is not None:
        raise down


class _Source:
    """The questions of some ranges in order; the next range is loaded while one is asked."""

    def __init__(
        self, run: JudgeRun, stage: AskingStage[Any, Any], ranges: Sequence[IdRange]
    ) -> None:
        self._run = run
        self._stage = stage
        self._ranges = deque(ranges)
        self._questions: deque[Any] = deque()
        self._loading: asyncio.Task[None] | None = None

    async def next(self) -> Any | None:
        """The next question; None where there are no more."""
        while not self._questions:
            if not self._ahead():
                return None
            assert self._loading is not None  # noqa: S101 - _ahead saw to that
            await asyncio.shield(self._loading)
        question = self._questions.popleft()
        if len(self._questions) < LOADED_ROWS // 2:
            self._ahead()
        return question

    def _ahead(self) -> bool:
        """Sees to it that the next range is being loaded; False where there is none."""
        if self._loading is not None and not self._loading.done():
            return True
        if self._loading is not None:
            self._loading.result()  # a load that failed is not passed over in silence
        if not self._ranges:
            return False
        self._loading = asyncio.create_task(self._load(self._ranges.popleft()))
        return True

    async def _load(self, ids: IdRange) -> None:
        self._questions.extend(await sync_to_async(self._stage.load)(self._run, ids))


class _Committer:
    """Collects answers and writes them. Writing is never cancelled half-way."""

    def __init__(
        self,
        run: JudgeRun,
        stage: AskingStage[Any, Any],
        opened: OpenJudge,
        observer: Observer | None,
    ) -> None:
        self._run = run
        self._stage = stage
        self._opened = opened
        self._observer = observer
        self._waiting: list[Any] = []
        self._oldest = 0.0
        self._beaten = time.monotonic()
        self._between_beats = seconds_between_beats()
        self._closed = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    async def add(self, answer: Any) -> None:
        """Takes an answer; waits where writing cannot keep up."""
        self._waiting.append(answer)
        if len(self._waiting) == 1:
            self._oldest = time.monotonic()
        if len(self._waiting) in (1, COMMIT_EVERY):  # nothing else changes when they come due
            self._news.set()
        # A judge that never waits for anything must let the writer have its turn.
        await asyncio.sleep(0)
        while len(self._waiting) >= MOST_WAITING:
            self._room.clear()
            await self._room.wait()

    def close(self) -> None:
        """No more answers come: write what is there and end."""
        self._closed = True
        self._news.set()

    async def write_until_closed(self) -> None:
        """Writes answers as they come due, and gives a sign of life while none come.

        Raises:
            SupersededError: somebody else has the run now.
        """
        while not (self._closed and not self._waiting):
            await self._until_due()
            answers, self._waiting = self._waiting, []
            self._room.set()
            if answers:
                await self._opened.settle()
            await sync_to_async(self._store)(answers)
            self._beaten = time.monotonic()

    async def _until_due(self) -> None:
        while not self._closed and len(self._waiting) < COMMIT_EVERY:
            due = self._beaten + self._between_beats
            if self._waiting:
                due = min(due, self._oldest + COMMIT_SECONDS)
            left = due - time.monotonic()
            if left <= 0:
                return
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), left)

    def _store(self, answers: list[Any]) -> None:
        try:
            self._write(answers)
        except REFUSED_DATA:
            for answer in answers:  # which of them it was is not said
                self._write_alone(answer)
        if self._observer is not None:
            self._observer(len(answers))

    def _write(self, answers: list[Any]) -> None:
        with transaction.atomic():
            beat(self._run)
            self._stage.store(self._run, answers)

    def _write_alone(self, answer: Any) -> None:
        """Writes one answer; one that the database refuses fails its row."""
        try:
            self._write([answer])
        except REFUSED_DATA as error:
            log.error("Run %d: an answer cannot be stored.", self._run.pk, exc_info=error)
            self._stage.rows(self._run.pk).filter(
                pk=answer.row_id, status=JudgmentStatus.PENDING
            ).update(status=JudgmentStatus.FAILED, error_code=NOT_STORABLE)


def call_ids(calls: Iterable[Call]) -> dict[str, int]:
    """Row ids of stored calls by key; one query, none where nobody was called."""
    keys = {call.call_key for call in calls if call.call_key is not None}
    if not keys:
        return {}
    return dict(LlmCall.objects.filter(key__in=keys).values_list("key", "pk"))


def status_of(*, answered: bool, unparseable: bool) -> JudgmentStatus:
    """The status that an answer gives its row."""
    if answered:
        return JudgmentStatus.DONE
    return JudgmentStatus.UNPARSEABLE if unparseable else JudgmentStatus.FAILED


def raw_to_keep(call: Call, *, answered: bool, call_id: int | None) -> str:
    """The raw text for the row itself: none where the stored call has it and nothing went wrong."""
    return "" if answered and call_id is not None else call.raw
