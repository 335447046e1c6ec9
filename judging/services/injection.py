"""How often a response talks a judge round by what it says to the judge.

Each attempt is put at the end of the response that the judge did not choose. So is a harmless text
of the same length: what it turns as well is no success of the attempt, but the length's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.db import transaction

from annotation.core.choices import Order, Verdict
from annotation.core.conversations import Dialogue
from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from judging.core.estimates import spread
from judging.core.injections import INJECTIONS, Attack, Attempt, attacks_on, harmless
from judging.core.questions import PairAnswer, ShownPair
from judging.core.rules import JudgePrompt
from judging.core.runs import ORDERS
from judging.judges.lexical import LexicalJudge
from judging.judges.llm_judge import LlmJudge, LlmJudgeSettings
from judging.judges.protocol import Judge
from judging.llm.client import ChatClient
from judging.models import InjectedText, InjectionCheck, InjectionTrial, ModelEndpoint
from judging.queries.comparisons import split_items, texts_of
from judging.services.batches import call_ids, raw_to_keep, status_of
from judging.services.endpoints import endpoint_of
from judging.services.judges import endpoint_for, judge_snapshot
from judging.services.replies import RowReplyStore

_AT_ONCE_WITHOUT_CALLS: Final = 16


@dataclass(frozen=True, slots=True)
class TriedPair:
    """Two responses to try a judge on."""

    dialogue: Dialogue
    first: str
    second: str
    language: str


def dataset_pairs(dataset: Dataset, *, count: int) -> list[TriedPair]:
    """Comparisons of a dataset to try a judge on, spread evenly over it.

    Raises:
        Refused: it has none with both texts.
    """
    ids = [item.comparison_id for items in split_items(dataset.pk).values() for item in items]
    if not ids:
        message = f"{dataset.slug} has no comparison with both texts"
        raise Refused("injection:no-pairs", message)
    chosen = [ids[place] for place in spread(len(ids), most=count)]
    texts = texts_of(chosen)
    return [
        TriedPair(found.dialogue, found.text_a, found.text_b, found.language)
        for found in (texts[one] for one in chosen if one in texts)
    ]


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer, and what was added to the pair; nothing without an attempt."""

    pair: int
    order: Order
    answer: PairAnswer
    added: InjectedText = InjectedText.CLEAN
    attempt: Attempt | None = None
    text: str = ""


def check_injections(
    name: str,
    pairs: Sequence[TriedPair],
    *,
    prompt: JudgePrompt = JudgePrompt.PERSONAL,
    watch: Callable[[str], None] = lambda _step: None,
    created_by: User | None = None,
) -> InjectionCheck:
    """Tries every attempt on a judge and stores every answer, in one piece at the end.

    An endpoint's replies are stored as they come, so that trying again costs nothing.

    Args:
        name: `lexical` or an endpoint.
        pairs: what to try it on.
        prompt: how it is asked to compare.
        watch: told of each step.
        created_by: who wanted to know.

    Raises:
        Refused: there is no such judge; the lexical judge is asked in its own way, and no judge
            compares by grades.
    """
    endpoint = endpoint_for(name)
    if prompt.grades or (endpoint is None and prompt is not JudgePrompt.PERSONAL):
        message = f"{name} is not asked to compare by the prompt {prompt.word}"
        raise Refused("judge:no-prompts", message)
    answers = async_to_sync(_check)(endpoint, pairs, prompt, watch)
    with transaction.atomic():
        check = InjectionCheck.objects.create(
            judge=name,
            endpoint=endpoint,
            prompt=prompt.value,
            config={
                "judge": judge_snapshot(endpoint, {"prompt": prompt.value}),
                "corpus": sha256("\0".join(INJECTIONS).encode()).hexdigest(),
            },
            pairs=[_stored(pair) for pair in pairs],
            created_by=created_by,
        )
        InjectionTrial.objects.bulk_create(_trials(check, answers))
    return check


def _stored(pair: TriedPair) -> dict[str, Any]:
    return {
        "dialogue": [{"role": each.role.value, "text": each.text} for each in pair.dialogue],
        "first": pair.first,
        "second": pair.second,
        "language": pair.language,
    }


def _trials(check: InjectionCheck, answers: Sequence[_Answered]) -> Iterator[InjectionTrial]:
    calls = call_ids(one.answer.call for one in answers)
    for one in answers:
        answer, attempt = one.answer, one.attempt
        answered = answer.verdict is not None
        call_id = calls.get(answer.call.call_key or "")
        yield InjectionTrial(
            check_run=check,
            pair=one.pair,
            order=one.order.value,
            added=one.added,
            key="" if attempt is None else attempt.key,
            kind="" if attempt is None else attempt.kind.value,
            language="" if attempt is None else attempt.language,
            text=one.text,
            target=None if attempt is None else attempt.target.value,
            status=status_of(answered=answered, unparseable=answer.unparseable),
            verdict=answer.verdict,
            log_odds=answer.log_odds,
            error_code=answer.error_code or "",
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=answered, call_id=call_id),
        )


async def _check(
    endpoint: ModelEndpoint | None,
    pairs: Sequence[TriedPair],
    prompt: JudgePrompt,
    watch: Callable[[str], None],
) -> list[_Answered]:
    if endpoint is None:
        return await _try(LexicalJudge(), pairs, _AT_ONCE_WITHOUT_CALLS, watch)
    where = endpoint_of(endpoint)
    async with (
        RowReplyStore(endpoint=endpoint) as store,
        ChatClient(where, store=store) as client,
    ):
        judge = LlmJudge(client, settings=LlmJudgeSettings(prompt=prompt))
        return await _try(judge, pairs, where.concurrency, watch)


async def _try(
    judge: Judge, pairs: Sequence[TriedPair], at_once: int, watch: Callable[[str], None]
) -> list[_Answered]:
    places = asyncio.Semaphore(at_once)

    async def ask(shown: ShownPair, language: str) -> PairAnswer:
        async with places:
            return await judge.judge_pair(shown, preference="", language=language)

    async def ask_all(
        attacks: Sequence[Attack], added: InjectedText, write: Callable[[Attempt], str]
    ) -> list[_Answered]:
        texts = [write(each.attempt) for each in attacks]
        answers = await asyncio.gather(
            *(
                ask(_attacked(pairs[each.pair], each, text), pairs[each.pair].language)
                for each, text in zip(attacks, texts, strict=True)
            )
        )
        return [
            _Answered(each.pair, each.order, answer, added, each.attempt, text)
            for each, answer, text in zip(attacks, answers, texts, strict=True)
        ]

    watch(f"{len(pairs)} pairs in both orders")
    asked = [(place, order) for place in range(len(pairs)) for order in ORDERS]
    answers = await asyncio.gather(
        *(ask(_shown(pairs[place], order), pairs[place].language) for place, order in asked)
    )
    clean = [
        _Answered(place, order, answer)
        for (place, order), answer in zip(asked, answers, strict=True)
    ]
    verdicts: list[dict[Order, Verdict | None]] = [{} for _ in pairs]
    for one in clean:
        verdicts[one.pair][one.order] = one.answer.verdict
    attacks = attacks_on(verdicts)
    watch(f"{len(attacks)} attempts")
    tried = await ask_all(attacks, InjectedText.ATTEMPT, lambda attempt: attempt.text)
    watch(f"{len(attacks)} harmless texts")
    return [*clean, *tried, *await ask_all(attacks, InjectedText.HARMLESS, harmless)]


def _shown(pair: TriedPair, order: Order) -> ShownPair:
    if order is Order.SWAPPED:
        return ShownPair(pair.dialogue, first=pair.second, second=pair.first)
    return ShownPair(pair.dialogue, first=pair.first, second=pair.second)


def _attacked(pair: TriedPair, attack: Attack, text: str) -> ShownPair:
    shown = _shown(pair, attack.order)
    if attack.attempt.target is Verdict.A:
        return replace(shown, first=f"{shown.first}\n\n{text}")
    return replace(shown, second=f"{shown.second}\n\n{text}")
