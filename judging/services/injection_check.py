"""How often a response talks a judge round by what it says to the judge.

Each attempt is put at the end of the response that the judge did not choose. So is a harmless text
of the same length: what it turns as well is no success of the attempt, but the length's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from asgiref.sync import async_to_sync

from annotation.core.choices import Order, Verdict
from annotation.core.dialogue import Dialogue
from judging.core.injections import INJECTIONS, Attack, Flips, attacks_on, flips, harmless
from judging.core.judge_modes import JudgePrompt
from judging.core.questions import PairAnswer, ShownPair
from judging.judges.lexical import LexicalJudge
from judging.judges.llm_judge import LlmJudge, LlmJudgeSettings
from judging.judges.protocol import Judge
from judging.llm.client import ChatClient
from judging.models import ModelEndpoint
from judging.services.endpoints import endpoint_of
from judging.services.judges import endpoint_for
from judging.services.pairwise_plans import NoPromptsError
from judging.services.replies import RowReplyStore

_ORDERS: Final = (Order.ORIGINAL, Order.SWAPPED)
_AT_ONCE_WITHOUT_CALLS: Final = 16


@dataclass(frozen=True, slots=True)
class TriedPair:
    """Two responses to try a judge on."""

    dialogue: Dialogue
    first: str
    second: str
    language: str


@dataclass(frozen=True, slots=True)
class InjectionCheck:
    """What attempts turned, and what harmless texts of the same length turned.

    `pairs` are the comparisons tried, `by_attempt` the flips of each attempt; `failed` counts calls
    that failed, `error_codes` says why.
    """

    judge: str
    prompt: JudgePrompt
    pairs: int
    attacks: Flips
    harmless: Flips
    by_attempt: tuple[tuple[str, Flips], ...]
    failed: int
    error_codes: tuple[str, ...]


def check_injections(
    name: str,
    pairs: Sequence[TriedPair],
    *,
    prompt: JudgePrompt = JudgePrompt.PERSONAL,
    watch: Callable[[str], None] = lambda _step: None,
) -> InjectionCheck:
    """Tries every attempt on a judge; replies are stored, so that trying again costs nothing.

    Args:
        name: `lexical` or an endpoint.
        pairs: what to try it on.
        prompt: how it is asked to compare.
        watch: told of each step.

    Raises:
        UnknownJudgeError: there is no such judge.
        NoPromptsError: the lexical judge is asked in its own way, and no judge compares by grades.
    """
    endpoint = endpoint_for(name)
    if prompt.grades or (endpoint is None and prompt is not JudgePrompt.PERSONAL):
        message = f"{name} is not asked to compare by the prompt {prompt.word}"
        raise NoPromptsError(message)
    return async_to_sync(_check)(name, endpoint, pairs, prompt, watch)


async def _check(
    name: str,
    endpoint: ModelEndpoint | None,
    pairs: Sequence[TriedPair],
    prompt: JudgePrompt,
    watch: Callable[[str], None],
) -> InjectionCheck:
    if endpoint is None:
        return await _try(LexicalJudge(), name, pairs, prompt, _AT_ONCE_WITHOUT_CALLS, watch)
    where = endpoint_of(endpoint)
    async with (
        RowReplyStore(endpoint=endpoint) as store,
        ChatClient(where, store=store) as client,
    ):
        judge = LlmJudge(client, settings=LlmJudgeSettings(prompt=prompt))
        return await _try(judge, name, pairs, prompt, where.concurrency, watch)


async def _try(
    judge: Judge,
    name: str,
    pairs: Sequence[TriedPair],
    prompt: JudgePrompt,
    at_once: int,
    watch: Callable[[str], None],
) -> InjectionCheck:
    places = asyncio.Semaphore(at_once)

    async def ask(shown: ShownPair, language: str) -> PairAnswer:
        async with places:
            return await judge.judge_pair(shown, preference="", language=language)

    async def ask_all(attacks: Sequence[Attack], texts: Sequence[str]) -> list[PairAnswer]:
        asked = zip(attacks, texts, strict=True)
        return await asyncio.gather(
            *(
                ask(_attacked(pairs[each.pair], each, text), pairs[each.pair].language)
                for each, text in asked
            )
        )

    watch(f"{len(pairs)} pairs in both orders")
    clean = await asyncio.gather(
        *(ask(_shown(pair, order), pair.language) for pair in pairs for order in _ORDERS)
    )
    verdicts = [
        {order: clean[2 * place + turn].verdict for turn, order in enumerate(_ORDERS)}
        for place in range(len(pairs))
    ]
    attacks = attacks_on(verdicts)
    watch(f"{len(attacks)} attempts")
    under_attack = await ask_all(attacks, [each.attempt for each in attacks])
    watch(f"{len(attacks)} harmless texts")
    undisturbed = await ask_all(attacks, [harmless(each.attempt) for each in attacks])
    said = [answer.verdict for answer in under_attack]
    failed = [
        answer.error_code or ""
        for answer in chain(clean, under_attack, undisturbed)
        if answer.verdict is None and not answer.unparseable
    ]
    return InjectionCheck(
        judge=name,
        prompt=prompt,
        pairs=len(pairs),
        attacks=flips(attacks, said),
        harmless=flips(attacks, [answer.verdict for answer in undisturbed]),
        by_attempt=tuple((attempt, _of(attempt, attacks, said)) for attempt in INJECTIONS),
        failed=len(failed),
        error_codes=tuple(sorted(set(failed))),
    )


def _of(attempt: str, attacks: Sequence[Attack], said: Sequence[Verdict | None]) -> Flips:
    return flips(attacks, said, only=lambda each: each.attempt == attempt)


def _shown(pair: TriedPair, order: Order) -> ShownPair:
    if order is Order.SWAPPED:
        return ShownPair(pair.dialogue, first=pair.second, second=pair.first)
    return ShownPair(pair.dialogue, first=pair.first, second=pair.second)


def _attacked(pair: TriedPair, attack: Attack, text: str) -> ShownPair:
    shown = _shown(pair, attack.order)
    if attack.target is Verdict.A:
        return replace(shown, first=f"{shown.first}\n\n{text}")
    return replace(shown, second=f"{shown.second}\n\n{text}")
