"""Generating responses: the turns that a run answers, and the stage that has a model answer them.

A row is one reply. Where it continues the model's own reply to the turn before, the question asks
for that one first: the call is the same as the earlier row's, so it is made once, whoever comes
first, and nothing is paid for twice after a kill. Own replies always stand before what continues
them, in the order of asking and in the order of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final, NamedTuple

from annotation.core.choices import JudgmentStatus
from annotation.core.conversations import Dialogue
from annotation.core.refusals import Refused
from annotation.services.datasets import NewResponse, add_responses
from judging.core.generation import Snippet, SnippetSpace, retrieval_of
from judging.core.memory import Memory, render
from judging.core.questions import GenerationQuestion, Outcome
from judging.core.retrieval import UserTurn, conversation
from judging.core.rules import GenerationContext, GenerationSettings
from judging.core.runs import TARGETS, StageName
from judging.core.targets import RunTarget
from judging.judges.protocol import Judge
from judging.models import GeneratedResponse, JudgeRun, LlmCall
from judging.queries.configurations import (
    as_json,
    generation_settings,
    stored_targets,
    targets_of,
)
from judging.queries.generation import (
    TurnLine,
    is_known,
    turn_lines,
    turns_to_answer,
    user_memories,
    user_snippets,
)
from judging.queries.runs import generated_rows
from judging.services.batches import AskingStage, IdRange, call_ids, raw_to_keep, status_of
from judging.services.edited_prompts import edited_prompts
from judging.services.judges import (
    BATCH_FILE,
    check_by_batch_file,
    check_chats,
    judge_snapshot,
)
from judging.services.run_requests import RunRequest

NO_PREVIOUS: Final = "generate:no-previous"
"""The reply to the turn before, which this one would continue, did not come."""
NO_HISTORY: Final = "generate:no-history"
"""The conversation names no user with conversations in other scenarios."""
NO_MEMORY: Final = "generate:no-memory"
"""No memory is stored of the user that was written from the other scenarios."""
"""The endpoint stands for another model now: its replies would pass for those of the first."""
_CHUNK: Final = 1000


def plan_generation(request: RunRequest) -> JudgeRun:
    """A run in which one endpoint answers the turns of a dataset; not saved.

    Raises:
        Refused: there is no such endpoint, or it is no chat; there is a budget, but calls have no
            price; there is no turn to answer; nothing is known of any user that the context could
            show.
    """
    dataset, settings = request.dataset, request.generation
    endpoint = None if request.judge is None else request.endpoint(request.judge)
    if endpoint is None:
        message = f"{request.judge or 'no model'} does not generate responses"
        raise Refused("generate:no-endpoint", message)
    check_chats(endpoint)
    if request.batch_file:
        check_by_batch_file(endpoint, endpoint.name)
    asked = turns_to_answer(dataset.pk, request.targets, settings.turns)
    if not asked:
        message = f"no turn of {dataset.slug} is among those to answer"
        raise Refused("generate:no-turns", message)
    rules = as_json(settings)
    edits = edited_prompts(dataset, annotator=None, endpoint=endpoint)
    targets = replace(request.targets, kind=RunTarget.ALL)
    if not is_known(dataset.pk, targets, settings.context):
        raise Refused(NO_HISTORY if settings.context.retrieves else NO_MEMORY)
    return request.run(
        judge=endpoint.name,
        endpoint=endpoint,
        config={
            **rules,
            TARGETS: stored_targets(targets),
            "judge": judge_snapshot(endpoint, {**rules, **edits}, context=settings.context),
            **edits,
            **({BATCH_FILE: True} if request.batch_file else {}),
        },
    )


def write_generation(run: JudgeRun) -> None:
    """A PENDING row for each turn and sample, those that continue own replies after the others."""
    settings = generation_settings(run.config)
    asked = turns_to_answer(run.dataset_id, targets_of(run.config), settings.turns)
    written: dict[tuple[int, int], GeneratedResponse] = {}
    for depth in sorted({one.depth for one in asked}):
        rows = [
            GeneratedResponse(
                run=run,
                turn_id=one.id,
                sample=sample,
                previous=None if one.previous is None else written[one.previous, sample],
            )
            for one in asked
            if one.depth == depth
            for sample in range(settings.samples)
        ]
        for row in GeneratedResponse.objects.bulk_create(rows, batch_size=_CHUNK):
            written[row.turn_id, row.sample] = row


Shown = Callable[[Dialogue], str]
"""What a context shows of a user beside a conversation."""


OwnRow = tuple[int, int, str | None]
"""Turn and row of an own reply, and its text where it is stored."""


class _KnownOfUsers:
    """What a run's context shows of the users of some conversations, by user and scenario.

    What is shown in a scenario comes from the others alone.
    """

    def __init__(self, run: JudgeRun, lines: Collection[TurnLine]) -> None:
        self._context = generation_settings(run.config).context
        self.missing = NO_HISTORY if self._context.retrieves else NO_MEMORY
        self._said: Mapping[int, list[Snippet]] = {}
        self._memories: Mapping[tuple[int, int], Memory] = {}
        blocks = {(one.user, one.scenario) for one in lines if one.user is not None}
        if self._context.retrieves:
            self._said = user_snippets(run.dataset_id, {user for user, _scenario in blocks})
        elif self._context is GenerationContext.COMPRESSED:
            self._memories = user_memories(blocks)
        # Counting a user's n-grams takes long: at the first question about the user, not before.
        self._space = cache(lambda user: SnippetSpace(self._said[user]))
        self._find = cache(self._retrieval)

    def of(self, line: TurnLine) -> Shown | None:
        """How to find what is shown beside a conversation; None where nothing is known."""
        if self._context is GenerationContext.PREFIX:
            return _always("")
        user = line.user
        if user is None:
            return None
        if self._context is GenerationContext.COMPRESSED:
            memory = self._memories.get((user, line.scenario))
            return None if memory is None else _always(render(memory, line.language))
        if all(one.scenario == line.scenario_name for one in self._said.get(user, ())):
            return None
        return partial(self._show, user, line.scenario_name)

    def _show(self, user: int, scenario: str, dialogue: Dialogue) -> str:
        return self._find(user, scenario)(dialogue)

    def _retrieval(self, user: int, scenario: str) -> Shown:
        index = self._space(user).outside(scenario)
        assert index is not None  # noqa: S101 - `of` saw a turn of another scenario
        return retrieval_of(self._context, index)


def _always(text: str) -> Shown:
    return lambda _dialogue: text


class GenerationTask(NamedTuple):
    """One row to answer.

    `line` is the conversation; `own` are places in it of which the model's own replies are asked
    for in this order, each with its row, the row to answer last; `known` are those replies that are
    stored, by place. `memory` gives what the context shows of the user, None where nothing is
    known.
    """

    row_id: int
    line: TurnLine
    own: tuple[tuple[int, int], ...]
    known: Mapping[int, str]
    memory: Shown | None
    missing: str
    settings: GenerationSettings
    sample: int

    def question(self, place: int, replies: Mapping[int, str]) -> GenerationQuestion:
        """What is asked at a place, once the own replies before it are there."""
        turns = tuple(
            (message, replies.get(at, original) if at < place else None)
            for at, (_turn, message, original) in enumerate(self.line.turns[: place + 1])
        )
        said = conversation([UserTurn(message, reply) for message, reply in turns])
        system = self.settings.system
        return GenerationQuestion(
            system=self.line.system if system is None else system,
            turns=turns,
            language=self.line.language,
            context=self.settings.context,
            memory="" if self.memory is None else self.memory(said),
            sample=self.sample,
        )


class GeneratedLine(NamedTuple):
    """What came of one row: its answer, behind the own replies that it continues, by row."""

    row_id: int
    answers: tuple[tuple[int, Outcome[str]], ...]

    @property
    def answer(self) -> Outcome[str]:
        """That of the row itself."""
        return self.answers[-1][1]


def load_generation(run: JudgeRun, ids: IdRange) -> list[GenerationTask]:
    """The pending replies of a range."""
    rows = list(
        generated_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", "turn_id", "sample", "previous_id")
    )
    before = _rows_before(run, {previous for *_, previous in rows if previous is not None})
    lines = turn_lines({turn for _pk, turn, _sample, _previous in rows})
    own = {pk: _own_rows(pk, turn, previous, before) for pk, turn, _sample, previous in rows}
    return generation_tasks(
        run, [(pk, lines[turn], sample, own[pk]) for pk, turn, sample, _previous in rows]
    )


class _RowBefore(NamedTuple):
    """A row that another continues; `reply` is None until it is stored."""

    turn: int
    previous: int | None
    reply: str | None


def _rows_before(run: JudgeRun, ids: set[int]) -> dict[int, _RowBefore]:
    """Every row that some rows continue; a query for each turn back."""
    found: dict[int, _RowBefore] = {}
    while ids:
        rows = generated_rows(run.pk).filter(pk__in=ids)
        for pk, status, turn, previous, text in rows.values_list(
            "pk", "status", "turn_id", "previous_id", "response__text"
        ):
            reply = text if status == JudgmentStatus.DONE else None
            found[pk] = _RowBefore(turn, previous, reply)
        ids = {row.previous for row in found.values() if row.previous is not None} - found.keys()
    return found


def _own_rows(
    pk: int, turn: int, previous: int | None, before: Mapping[int, _RowBefore]
) -> list[OwnRow]:
    """Turn, row and stored text of each own reply from the first to the row's own."""
    own: list[OwnRow] = [(turn, pk, None)]
    while previous is not None:
        row = before[previous]
        own.append((row.turn, previous, row.reply))
        previous = row.previous
    return own[::-1]


def generation_tasks(
    run: JudgeRun, rows: Sequence[tuple[int, TurnLine, int, Sequence[OwnRow]]]
) -> list[GenerationTask]:
    """What is asked of some rows.

    Args:
        run: whose.
        rows: of each its id, its conversation, its sample, and its own replies.
    """
    settings = generation_settings(run.config)
    known = _KnownOfUsers(run, [line for _pk, line, _sample, _own in rows])
    tasks = []
    for pk, line, sample, turns in rows:
        places = {turn: place for place, (turn, _message, _reply) in enumerate(line.turns)}
        own = tuple((places[turn], row) for turn, row, reply in turns if reply is None)
        replies = {places[turn]: reply for turn, _row, reply in turns if reply is not None}
        shown = known.of(line)
        tasks.append(GenerationTask(pk, line, own, replies, shown, known.missing, settings, sample))
    return tasks


async def ask_generation(judge: Judge, task: GenerationTask) -> GeneratedLine:
    """Asks for one reply, after the own replies that it continues and that are not stored."""
    if task.memory is None:
        return _without(task, task.missing)
    replies = dict(task.known)
    answers = []
    for place, row_id in task.own:
        answer = await judge.generate(task.question(place, replies))
        if answer.value is None and row_id != task.row_id:
            return _without(task, NO_PREVIOUS)
        answers.append((row_id, answer))
        replies[place] = answer.value or ""
    return GeneratedLine(task.row_id, tuple(answers))


def _without(task: GenerationTask, code: str) -> GeneratedLine:
    answer: Outcome[str] = Outcome(None, error_code=code)
    return GeneratedLine(task.row_id, ((task.row_id, answer),))


def store_generation(run: JudgeRun, lines: Sequence[GeneratedLine]) -> None:
    """Writes replies as responses with where they came from; own replies before what follows."""
    answers = [one for line in lines for one in line.answers]
    calls = call_ids(answer.call for _row, answer in answers)
    # Another worker may write the same own replies, for rows that continue them.
    locked = generated_rows(run.pk).select_for_update().order_by("pk")
    rows = {row.pk: row for row in locked.filter(pk__in={row for row, _answer in answers})}
    continued = {row.previous_id for row in rows.values() if row.previous_id is not None}
    rows |= generated_rows(run.pk).in_bulk(continued - rows.keys())
    for step in range(max((len(line.answers) for line in lines), default=0)):
        found = dict(line.answers[step] for line in lines if step < len(line.answers))
        # What failed before may have been answered for a row that continues it.
        came = {pk: one for pk, one in found.items() if rows[pk].status != JudgmentStatus.DONE}
        _store_step(run, {rows[pk]: one for pk, one in came.items()}, rows, calls)


def _store_step(
    run: JudgeRun,
    came: Mapping[GeneratedResponse, Outcome[str]],
    rows: Mapping[int, GeneratedResponse],
    calls: Mapping[str, int],
) -> None:
    answered = [row for row, answer in came.items() if answer.value is not None]
    context = generation_settings(run.config).context
    thoughts = _reasoning([calls.get(came[row].call.call_key or "") for row in answered])
    added = add_responses(
        [
            NewResponse(
                turn=row.turn_id,
                model=run.config["judge"]["model"],
                variant=context.variant,
                text=came[row].value or "",
                continues=None if row.previous_id is None else rows[row.previous_id].response_id,
                reasoning=thoughts.get(calls.get(came[row].call.call_key or ""), ""),
            )
            for row in answered
        ]
    )
    for row, response in zip(answered, added, strict=True):
        row.response_id, row.is_new = response
    for row, answer in came.items():
        row.call_id = calls.get(answer.call.call_key or "")
        row.status = status_of(
            answered=answer.value is not None, unparseable=answer.unparseable
        ).value
        row.raw = raw_to_keep(answer.call, answered=answer.value is not None, call_id=row.call_id)
        row.error_code = answer.error_code or ""
    GeneratedResponse.objects.bulk_update(came, _FIELDS)


def _reasoning(calls: Collection[int | None]) -> dict[int | None, str]:
    """What models thought before their replies, by call; one query."""
    rows = LlmCall.objects.filter(pk__in=filter(None, calls)).exclude(reasoning="")
    return dict(rows.values_list("pk", "reasoning"))


_FIELDS: Final = ("status", "response", "is_new", "call", "raw", "error_code")

GENERATE_STAGE: Final = AskingStage(
    name=StageName.GENERATE,
    rows=generated_rows,
    load=load_generation,
    ask=ask_generation,
    store=store_generation,
)
