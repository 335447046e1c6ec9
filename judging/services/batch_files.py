"""Runs by batch file: their calls are written down, answered elsewhere, and read back.

Such a run has `batch_file` in its configuration: its judge answers from stored replies alone,
whoever works it off, and rows without one stay pending. Between files its status is BATCH, so that
no worker takes it up. A run of several steps takes a file for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from http import HTTPStatus
from typing import Final

from asgiref.sync import async_to_sync
from django.db.models import F
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.core.batch_files import BatchFailure, BatchReplies, read_batch, request_line
from judging.core.causes import cause_of
from judging.core.chat import ChatRequest
from judging.core.money import Prices
from judging.llm.client import NotStoredError
from judging.llm.errors import LlmCode, LlmError, failed_within, refused
from judging.models import JudgeRun, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.abilities import learn_manners
from judging.services.batches import AskingStage, IdRange, Stage
from judging.services.endpoints import RunBudgetHold, prices_of
from judging.services.judges import OpenJudge, check_models, open_stored_judge, stored_judge
from judging.services.kinds import kind_of
from judging.services.replies import RowReplyStore
from judging.services.runs import dispatch, run_batch

_LOADED_ROWS: Final = 512


def batch_lines(runs: Sequence[JudgeRun]) -> Iterator[str]:
    """The calls that runs wait for, each once, as lines of a batch file.

    A run that waits for none, since all replies are stored, first goes on as far as they reach.

    Raises:
        Refused: they could cost more than a run's budget leaves; nothing is given out.
    """
    asked: dict[str, str] = {}
    for run in _fresh(runs):
        wanted = awaited(run) or _after_the_stored(run)
        mine = {key: one for key, one in wanted.items() if key not in asked}
        _check_budget(run, mine.values())
        endpoint = run.endpoint_at(_stage(run).name)
        if mine and endpoint is not None:
            learn_manners(endpoint)
            manners = endpoint.manners
            asked |= {key: request_line(request, manners) for key, request in mine.items()}
    return iter(asked.values())


def _after_the_stored(run: JudgeRun) -> dict[str, ChatRequest]:
    """What a run waits for that waits for nothing in its present step, once it went on."""
    _work_off(run, {})
    run.refresh_from_db(fields=["status", "stage", "held"])
    return awaited(run) if run.status == RunStatus.BATCH else {}


def _fresh(runs: Sequence[JudgeRun]) -> list[JudgeRun]:
    """Runs as their rows are, with their endpoints."""
    rows = JudgeRun.objects.select_related("endpoint", "writer_endpoint").in_bulk(
        [run.pk for run in runs]
    )
    return [rows[run.pk] for run in runs]


def _check_budget(run: JudgeRun, requests: Iterable[ChatRequest]) -> None:
    endpoint = run.endpoint_at(_stage(run).name)
    if run.budget is None or endpoint is None:
        return
    prices: Prices = prices_of(endpoint)
    most = sum(map(prices.at_most, requests), start=Decimal(0)) * prices.batch_share
    if run.held + most > run.budget:
        message = f"the calls of run {run.pk} could cost {most:.4f}: its budget is {run.budget:.4f}"
        raise Refused("budget:spent", message)


def awaited(run: JudgeRun) -> dict[str, ChatRequest]:
    """The calls that the pending rows of a run's present step need, by key, in their order.

    The run comes with its endpoint.

    Raises:
        Refused: its endpoint was given another model.
    """
    stage = _stage(run)
    if not isinstance(stage, AskingStage):
        return {}
    check_models(run)
    pending = list(
        stage.rows(run.pk)
        .filter(status=JudgmentStatus.PENDING)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    found: dict[str, ChatRequest] = {}
    for start in range(0, len(pending), _LOADED_ROWS):
        part = pending[start : start + _LOADED_ROWS]
        questions = stage.load(run, IdRange(part[0], part[-1]))
        for request in async_to_sync(_missing)(run, stage, questions):
            found[request.key()] = request
    return found


def takes_another_file(run: JudgeRun) -> bool:
    """Whether questions of later steps wait until the replies to those of the present one are."""
    stages = kind_of(run.kind).stages
    later = stages[stages.index(_stage(run)) + 1 :]
    return any(
        stage.rows(run.pk).filter(status=JudgmentStatus.PENDING).exists()
        for stage in later
        if isinstance(stage, AskingStage)
    )


def _stage(run: JudgeRun) -> Stage:
    """The step that a run is at; the first one before it is dispatched."""
    stages = kind_of(run.kind).stages
    return next((one for one in stages if one.name == run.stage), stages[0])


async def _missing(
    run: JudgeRun, stage: AskingStage[object, object], questions: Sequence[object]
) -> list[ChatRequest]:
    async with stored_judge(run, stage=stage.name) as judge:
        outcomes = await asyncio.gather(
            *(stage.ask(judge, question) for question in questions), return_exceptions=True
        )
    missing = []
    for outcome in outcomes:
        if isinstance(outcome, NotStoredError):
            missing.append(outcome.request)
        elif isinstance(outcome, BaseException):
            raise outcome
    return missing


def read_in(runs: Sequence[JudgeRun], lines: Iterable[str]) -> tuple[int, int]:
    """Stores the replies of a file and takes each run as far as they reach.

    How many replies were stored, and how many requests had failed.

    Raises:
        Refused: the file has faults; nothing of it was stored.
    """
    runs = _fresh(runs)
    waiting = {run.pk: awaited(run) for run in runs}
    found = read_batch(lines, awaited={key for asked in waiting.values() for key in asked})
    given: set[str] = set()
    for run in runs:
        mine = {key: one for key, one in waiting[run.pk].items() if key not in given}
        async_to_sync(_store)(run, mine, found)
        given |= mine.keys()
    errors = {key: _error(failure) for key, failure in found.failures.items()}
    for run in runs:
        _work_off(run, errors)
    return len(found.replies), len(found.failures)


async def _store(run: JudgeRun, requests: Mapping[str, ChatRequest], found: BatchReplies) -> None:
    asked = run.endpoint_at(_stage(run).name)
    store = RowReplyStore(endpoint=asked, run_id=run.pk, purse=RunBudgetHold(run), batch=True)
    async with store:
        for key, request in requests.items():
            if key in found.replies:
                await store.put(request, found.replies[key])


def _error(failure: BatchFailure) -> LlmError:
    """What a request that the provider did not answer means; an unknown reason may pass."""
    if failure.status == HTTPStatus.OK:
        return failed_within(failure.problem, billed=failure.billed)
    if not failure.status:
        cause = cause_of(failure.problem, 0) or LlmCode.UNAVAILABLE
        return LlmError(LlmCode(cause), failure.problem.text)
    return refused(failure.status, failure.problem)


def _work_off(run: JudgeRun, errors: Mapping[str, LlmError]) -> None:
    """Answers what can be answered, step by step; what is left waits for the next file."""

    def opener(of: JudgeRun) -> AbstractAsyncContextManager[OpenJudge]:
        return open_stored_judge(of, errors=errors)

    JudgeRun.objects.filter(pk=run.pk, status=RunStatus.BATCH).update(status=RunStatus.PENDING)
    following = dispatch(run.pk)
    while following is not None:
        whole = IdRange(following.batches[0].first, following.batches[-1].last)
        following = run_batch(run.pk, following.generation, whole, opener=opener)
    JudgeRun.objects.filter(pk=run.pk, status__in=UNFINISHED).update(
        status=RunStatus.BATCH, generation=F("generation") + 1, heartbeat_at=timezone.now()
    )
