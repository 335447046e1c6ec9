"""Trying a run out: its questions are put to a client that sends nothing, stage by stage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.db.models import Avg

from annotation.core.refusals import Refused
from judging.core.chat import ChatRequest
from judging.core.estimates import (
    RunEstimate,
    StageEstimate,
    TightRequest,
    WriterRates,
    spread,
    stage_estimate,
)
from judging.core.money import Prices, fewest_input_tokens, likely_input_tokens
from judging.core.questions import HistoryTurn, Rubrics
from judging.core.rubrics import REASONS_A_TURN, RUBRICS_A_CLASS, TURNS_A_CHUNK
from judging.core.rules import SatisfactionSettings
from judging.core.runs import ORDERS, StageName
from judging.judges.protocol import Judge
from judging.llm.client import NotStoredError
from judging.models import InducedRubric, JudgeRun, LlmCall, ModelEndpoint, RubricStep
from judging.queries.satisfaction.labels import turns_of_labels
from judging.services.abilities import list_context_again
from judging.services.endpoints import prices_of
from judging.services.injection import (
    TrialQuestion,
    ask_list,
    ask_trial,
    list_question,
    repeated_pair,
    tried_pairs,
)
from judging.services.judges import planned_rubrics, stored_judge
from judging.services.rubrics import (
    CONDENSE_STAGE,
    EXTRACT_STAGE,
    RUBRICS_STAGE,
    RubricTask,
    ask_rubric,
    question_of,
)

_AT_ONCE: Final = 250
_RECENT: Final = 1000


@dataclass(slots=True)
class StageEstimates:
    """The stages of a run that was asked for, as they are tried out."""

    run: JudgeRun
    most: int
    prices: Prices
    stages: list[StageEstimate] = field(default_factory=list)
    sampled: bool = False

    def try_out(
        self,
        stage: StageName,
        count: int,
        make: Callable[[Sequence[int]], Sequence[Any]],
        ask: Callable[[Judge, Any], Awaitable[Any]],
    ) -> dict[int, Any]:
        """The answers that are there, by the place of their question.

        Args:
            stage: which.
            count: how many questions it has.
            make: the questions at some places.
            ask: puts one.
        """
        asked = self.run.endpoint_at(stage)
        if asked is None:  # the lexical judge answers for nothing
            self.stages.append(StageEstimate(stage, count, 0, 0, 0, 0, 0, Decimal(0), Decimal(0)))
            return {}
        places = spread(count, most=self.most)
        self.sampled = self.sampled or len(places) < count
        outcomes = async_to_sync(_outcomes)(self.run, stage, make(places), ask)
        requests = [one for one in outcomes if isinstance(one, ChatRequest)]
        if (tight := check_fits(asked, requests)) is not None:
            self.run.tight = (*self.run.tight, tight)
        answers = {
            place: one
            for place, one in zip(places, outcomes, strict=True)
            if not isinstance(one, ChatRequest)
        }
        self.stages.append(
            stage_estimate(
                stage,
                questions=count,
                looked_at=len(places),
                requests=requests,
                unasked=sum(one.answer.call.call_key is None for one in answers.values()),
                prices=prices_of(asked),
            )
        )
        return answers

    def total(self) -> RunEstimate:
        """The whole run."""
        return RunEstimate(
            annotator="" if self.run.annotator is None else str(self.run.annotator),
            judge=self.run.judge,
            stages=tuple(stage for stage in self.stages if stage.questions),
            prices=self.prices,
            mean_output=_mean_output(self.run.endpoint),
            sampled=self.sampled,
            writer=self._writer(),
        )

    def _writer(self) -> WriterRates | None:
        writes = self.run.writer_endpoint
        if writes is None:
            return None
        return WriterRates(self.run.writer, prices_of(writes), _mean_output(writes))


def check_fits(asked: ModelEndpoint, requests: Sequence[ChatRequest]) -> TightRequest | None:
    """Returns the longest request if it may exceed the model's context window.

    Nobody knows the endpoint's tokenizer: what one may refuse is told, and so are a few requests
    that all would refuse; most of them are refused here. Before that the endpoint is asked whether
    its context is longer by now.

    Raises:
        Refused: most do not fit by any tokenizer, not even with a reply of one token.
    """
    if asked.told_context is None:
        return None
    most = max((likely_input_tokens(one) + one.sampling.max_tokens for one in requests), default=0)
    if most <= asked.told_context:
        return None
    lengths = [fewest_input_tokens(one) + 1 for one in requests]
    fewest = max(lengths)
    if fewest > asked.told_context:
        list_context_again(asked)
    context = asked.told_context
    beyond = sum(length > context for length in lengths)
    if beyond > len(lengths) / 2:
        message = (
            f"{asked.name} takes {context:,} tokens, and {beyond:,} of {len(lengths):,} requests "
            f"looked at have more, the longest at least {fewest:,} with its reply: lower "
            "LLM_CONTEXT_TOKENS (on the endpoint's page its context window, now "
            f"{asked.context_tokens:,}), so that conversations are shortened; "
            "if the server takes more by now, test the endpoint under Runs, Model endpoints"
        )
        raise Refused("llm:context", message)
    return TightRequest(asked.name, context, fewest, most) if most > context else None


def tight_requests(runs: Iterable[JudgeRun]) -> tuple[TightRequest, ...]:
    """The longest request of each endpoint that may not take it, of runs that were estimated."""
    found: dict[str, TightRequest] = {}
    for each in (one for run in runs for one in run.tight):
        found[each.judge] = max(each, found.get(each.judge, each), key=lambda one: one.most)
    return tuple(found.values())


async def _outcomes(
    run: JudgeRun,
    stage: StageName,
    questions: Sequence[Any],
    ask: Callable[[Judge, Any], Awaitable[Any]],
) -> list[Any]:
    """For each question its answer, or the request that would get it."""

    async def one(judge: Judge, question: Any) -> Any:
        try:
            return await ask(judge, question)
        except NotStoredError as missing:
            return missing.request

    outcomes: list[Any] = []
    async with stored_judge(run, stage=stage) as judge:
        for start in range(0, len(questions), _AT_ONCE):
            some = questions[start : start + _AT_ONCE]
            outcomes += await asyncio.gather(*(one(judge, question) for question in some))
    return outcomes


def tally_of(run: JudgeRun, *, most: int) -> StageEstimates:
    """An empty one: of a run that would be started, writing so many prompts at most a stage."""
    run.tight = ()
    prices = Prices() if run.endpoint is None else prices_of(run.endpoint)
    return StageEstimates(run, most, prices)


def _mean_output(endpoint: ModelEndpoint | None) -> float | None:
    """The mean length of an endpoint's newest replies in tokens, but letters, which are known."""
    if endpoint is None:
        return None
    newest = LlmCall.objects.filter(endpoint=endpoint, output_tokens__gt=1)
    keys = newest.order_by("-pk").values("pk")[:_RECENT]
    mean = LlmCall.objects.filter(pk__in=list(keys.values_list("pk", flat=True))).aggregate(
        mean=Avg("output_tokens")
    )["mean"]
    return None if mean is None else float(mean)


_ASSUMED: Final = "A reason that is not written yet, of the usual length, which is one sentence."
_STAGES: Final = {
    RubricStep.TURN: EXTRACT_STAGE,
    RubricStep.CHUNK: CONDENSE_STAGE,
    RubricStep.FINAL: RUBRICS_STAGE,
}


def try_rubrics(tally: StageEstimates, settings: SatisfactionSettings) -> dict[int, Rubrics | None]:
    """Tries out the stages of an induction; the rubrics of each fold, by their usual length."""
    rows = planned_rubrics(tally.run, settings)
    turns = turns_of_labels({row.label_id for row in rows if row.label_id is not None})
    for step, stage in _STAGES.items():
        own = [row for row in rows if row.step == step]
        tally.try_out(stage.name, len(own), partial(_tasks, own, turns), ask_rubric)
    texts = (_ASSUMED,) * RUBRICS_A_CLASS
    return {row.fold: Rubrics(texts, texts) for row in rows}


def _tasks(
    rows: Sequence[InducedRubric], turns: dict[int, HistoryTurn], places: Sequence[int]
) -> list[RubricTask]:
    return [
        RubricTask(
            0,
            question_of(row, reasons=_reasons(row))
            if row.label_id is None
            else question_of(row, turn=turns[row.label_id]),
        )
        for row in (rows[place] for place in places)
    ]


def _reasons(row: InducedRubric) -> tuple[str, ...]:
    """As many as a chunk has, told apart by the row, for no two rows ask the same."""
    own = f"{_ASSUMED} {row.fold}.{row.position}"
    return (own, *(_ASSUMED,) * (TURNS_A_CHUNK * REASONS_A_TURN - 1))


def try_repetitions(tally: StageEstimates) -> None:
    """Every list once, then every response beside its repetition in both orders.

    A list that is not rephrased yet stands in for what it will be.
    """
    pairs = tried_pairs(tally.run)
    written = tally.try_out(
        StageName.REPHRASE,
        len(pairs),
        lambda places: [list_question(pairs[place]) for place in places],
        ask_list,
    )
    both = [(place, order) for place in range(len(pairs)) for order in ORDERS]

    def repeated_ones(places: Sequence[int]) -> list[TrialQuestion]:
        questions = []
        for pair, order in (both[place] for place in places):
            said = written[pair].answer.value if pair in written else None
            text = said or list_question(pairs[pair]).text
            shown = repeated_pair(pairs[pair], order, text)
            questions.append(TrialQuestion(0, shown, pairs[pair].language))
        return questions

    tally.try_out(StageName.TRY, len(both), repeated_ones, ask_trial)
