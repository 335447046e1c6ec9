"""Trying an endpoint out: what it can do, and the whole method on a handful of pairs.

Leaves no row: replies are kept for the length of the check, in which the second run of the same
questions shows that nothing is asked twice.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.chat import ChatRequest, Reply
from judging.core.endpoints import Endpoint
from judging.core.judge_prompts import turn_schema
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import Prompt
from judging.core.questions import LabelledPair, PairAnswer, ShownPair
from judging.core.score_api import letter_odds
from judging.core.verdicts import VerdictRule
from judging.judges.asking import NO_ANSWER
from judging.judges.llm_judge import LlmJudge, LlmJudgeSettings
from judging.llm.client import ChatClient, ClientCounts
from judging.llm.errors import LlmError
from judging.llm.stores import MemoryReplyStore
from judging.services.interrupts import wait_for

_EXCERPT: Final = 200
_MOST_PREFERENCES: Final = 2


@dataclass(frozen=True, slots=True)
class CheckPair:
    """A comparison whose better response is known by a stated rule."""

    pair: LabelledPair
    language: str


@dataclass(frozen=True, slots=True)
class Ability:
    """Whether an endpoint can do something, and what it said or which call failed."""

    works: bool
    said: str
    latency_ms: int = 0
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class VerdictTally:
    """How pairs were judged in one way, over both orders and every preference."""

    asked: int
    decided: int
    unparseable: int
    failed: int
    agreed: int
    first_won: int
    error_codes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """What was seen; `error_code` is None where every call that had to work did."""

    chat: Ability
    log_probabilities: Ability
    json_schema: Ability
    preferences: tuple[str, ...]
    strict: VerdictTally | None
    letter: VerdictTally | None
    calls_of_second_run: int
    counts: ClientCounts
    seconds: float
    error_code: str | None

    @property
    def cached_share(self) -> float:
        """Share of prompt tokens that the server took from its cache; 0 where it does not say."""
        return self.counts.cached_tokens / max(1, self.counts.input_tokens)


Watch = Callable[[str], None]
"""Told what begins."""


def check_endpoint(
    endpoint: Endpoint, pairs: Sequence[CheckPair], *, environ: Mapping[str, str], watch: Watch
) -> EndpointCheck:
    """Chat, log-probabilities, JSON schema; then distil, judge in both orders, and judge again.

    Args:
        endpoint: whom to try; its stated abilities do not matter, they are found out.
        pairs: one preference is distilled from each; each is judged under none and under two.
        environ: where the key's variable is looked up.
        watch: told of each step, since a small machine takes minutes.
    """
    return wait_for(_check, endpoint, pairs, environ, watch)


async def _check(
    endpoint: Endpoint, pairs: Sequence[CheckPair], environ: Mapping[str, str], watch: Watch
) -> EndpointCheck:
    started = time.monotonic()
    able = replace(endpoint, has_logprobs=True, has_json_schema=True)
    async with ChatClient(able, store=MemoryReplyStore(), environ=environ) as client:
        watch("chat, log-probabilities, JSON schema")
        chat, log_probabilities, json_schema = await _abilities(client)
        preferences: list[str] = []
        strict = letter = None
        repeated = 0
        failure = chat.error_code
        if chat.works:
            judge = LlmJudge(client, settings=LlmJudgeSettings(unparseable_retries=0))
            watch(f"distilling {len(pairs)} preferences")
            preferences = await _distil(judge, pairs)
            used = preferences[:_MOST_PREFERENCES]
            watch("judging in words")
            strict = await _judge(judge, pairs, used)
            if log_probabilities.works:
                watch("judging by one letter")
                rule = LlmJudgeSettings(rule=VerdictRule.LOGPROB)
                letter = await _judge(LlmJudge(client, settings=rule), pairs, used)
            before = client.counts.calls
            await _judge(judge, pairs, used)
            repeated = client.counts.calls - before
            codes = [*strict.error_codes, *(letter.error_codes if letter else ())]
            failure = next((code for code in codes if code.startswith("llm:")), None)
        return EndpointCheck(
            chat=chat,
            log_probabilities=log_probabilities,
            json_schema=json_schema,
            preferences=tuple(preferences),
            strict=strict,
            letter=letter,
            calls_of_second_run=repeated,
            counts=client.counts,
            seconds=time.monotonic() - started,
            error_code=failure,
        )


async def _abilities(client: ChatClient) -> tuple[Ability, Ability, Ability]:
    where = client.endpoint
    hello = (Message(Speaker.USER, "Say hello in one short sentence."),)
    letter = (Message(Speaker.USER, "Answer with one letter and nothing else: A or B."),)
    score = (Message(Speaker.USER, "Rate this reply from 1 to 5 as JSON: 'Hello, how are you?'"),)
    chat = await _try(client, where.request(hello, max_tokens=40))
    if not chat.works:
        return chat, Ability(works=False, said="not tried"), Ability(works=False, said="not tried")
    return (
        chat,
        await _try(client, where.request(letter, max_tokens=1, top_logprobs=5), steps=True),
        await _try(
            client, where.request(score, max_tokens=200, schema=turn_schema("en")), form=True
        ),
    )


async def _try(
    client: ChatClient, request: ChatRequest, *, steps: bool = False, form: bool = False
) -> Ability:
    try:
        reply = await client.complete(request)
    except LlmError as error:
        return Ability(works=False, said=error.detail, error_code=error.code.value)
    if steps:
        return _log_probabilities(reply)
    if not reply.text:
        return Ability(
            works=False, said="an empty reply", latency_ms=reply.latency_ms, error_code=NO_ANSWER
        )
    works = _has_form(reply.text) if form else True
    return Ability(works, reply.text[:_EXCERPT], reply.latency_ms)


def _log_probabilities(reply: Reply) -> Ability:
    if not reply.steps:
        return Ability(works=False, said="the reply has none", latency_ms=reply.latency_ms)
    top = ", ".join(f"{entry.token!r} {entry.logprob:.2f}" for entry in reply.steps[0].top)
    is_readable = letter_odds(reply.steps) is not None
    return Ability(works=is_readable, said=top, latency_ms=reply.latency_ms)


def _has_form(text: str) -> bool:
    """Whether a reply is just the object that the schema asks for."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and set(found) == {"classification", "reason", "analysis"}


async def _distil(judge: LlmJudge, pairs: Sequence[CheckPair]) -> list[str]:
    texts = [(await judge.distil((pair.pair,), language=pair.language)).value for pair in pairs]
    return [text for text in texts if text is not None]


async def _judge(
    judge: LlmJudge, pairs: Sequence[CheckPair], preferences: Sequence[str]
) -> VerdictTally:
    """Every pair in both orders under the base judge and each preference, prefixes together."""
    started = time.monotonic()
    answers: list[tuple[Verdict, PairAnswer]] = []
    for item in pairs:
        chosen_first = ShownPair(item.pair.dialogue, item.pair.chosen, item.pair.rejected)
        chosen_second = ShownPair(item.pair.dialogue, item.pair.rejected, item.pair.chosen)
        for shown, right in [(chosen_first, Verdict.A), (chosen_second, Verdict.B)]:
            answers += [
                (
                    right,
                    await judge.judge_pair(shown, preference=text, language=item.language),
                )
                for text in ["", *preferences]
            ]
    codes = [answer.error_code for _, answer in answers if answer.error_code is not None]
    return VerdictTally(
        asked=len(answers),
        decided=sum(answer.verdict is not None for _, answer in answers),
        unparseable=sum(answer.unparseable for _, answer in answers),
        failed=sum(
            answer.error_code is not None and not answer.unparseable for _, answer in answers
        ),
        agreed=sum(answer.verdict is right for right, answer in answers),
        first_won=sum(answer.verdict is Verdict.A for _, answer in answers),
        error_codes=tuple(sorted(set(codes))),
        seconds=time.monotonic() - started,
    )


SEED: Final = 42
_PREFERENCE: Final = "{{preference}}"


class Sending(StrEnum):
    """The order of calls, and where the preference stands in each."""

    TOGETHER = "TOGETHER"  # as a run does: a comparison's calls in a row, the preference last
    SHUFFLED = "SHUFFLED"  # the preference last, the calls in a drawn order
    PREFERENCE_FIRST = "PREFERENCE_FIRST"  # a comparison's calls in a row, the preference first


@dataclass(frozen=True, slots=True)
class PrefixPass:
    """One pass over all questions: the server's own count of tokens, and the wall time."""

    sending: Sending
    calls: int
    decided: int
    failed: int
    input_tokens: int
    cached_tokens: int
    seconds: float

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that the server had to read."""
        return self.input_tokens - self.cached_tokens


def check_prefixes(
    endpoint: Endpoint,
    pairs: Sequence[CheckPair],
    sources: Sequence[CheckPair],
    *,
    environ: Mapping[str, str],
    watch: Watch,
) -> tuple[PrefixPass, ...]:
    """Asks for one-letter verdicts in every order of `Sending`, one call at a time.

    Each pass says its own name at the head of its prompts, so that none finds in the server's cache
    what another one left there.

    Args:
        endpoint: whom to ask; it must return log-probabilities.
        pairs: each is shown in both orders, under the base judge and every preference.
        sources: a preference is distilled from each; equal ones are one.
        environ: where the key's variable is looked up.
        watch: told of each pass.
    """
    return wait_for(_check_prefix, endpoint, pairs, sources, environ, watch)


async def _check_prefix(
    endpoint: Endpoint,
    pairs: Sequence[CheckPair],
    sources: Sequence[CheckPair],
    environ: Mapping[str, str],
    watch: Watch,
) -> tuple[PrefixPass, ...]:
    able = replace(endpoint, has_logprobs=True, concurrency=1)
    watch(f"distilling {len(sources)} preferences")
    async with ChatClient(able, store=MemoryReplyStore(), environ=environ) as client:
        preferences = await _distil_prefix(LlmJudge(client), sources)
    found = []
    for sending in Sending:
        watch(f"{len(pairs) * 2 * len(preferences)} verdicts, {sending.lower().replace('_', ' ')}")
        async with ChatClient(able, store=MemoryReplyStore(), environ=environ) as client:
            found.append(await _pass(client, sending, _calls(pairs, preferences, sending)))
    return tuple(found)


async def _distil_prefix(judge: LlmJudge, sources: Sequence[CheckPair]) -> list[str]:
    """The base judge's preference and every different one that was distilled."""
    texts = [(await judge.distil((item.pair,), language=item.language)).value for item in sources]
    return list(dict.fromkeys(["", *(text for text in texts if text)]))


_Question = tuple[ShownPair, str, str]
"""A comparison as shown, the language, the preference."""


def _calls(
    pairs: Sequence[CheckPair], preferences: Sequence[str], sending: Sending
) -> list[_Question]:
    questions = [
        (shown, item.language, preference)
        for item in pairs
        for shown in _both_orders(item.pair)
        for preference in preferences
    ]
    if sending is Sending.SHUFFLED:
        random.Random(SEED).shuffle(questions)
    return questions


def _both_orders(pair: LabelledPair) -> tuple[ShownPair, ShownPair]:
    return (
        ShownPair(pair.dialogue, pair.chosen, pair.rejected),
        ShownPair(pair.dialogue, pair.rejected, pair.chosen),
    )


async def _pass(client: ChatClient, sending: Sending, questions: Sequence[_Question]) -> PrefixPass:
    languages = sorted({language for _, language, _ in questions})
    judge = LlmJudge(
        client,
        settings=LlmJudgeSettings(rule=VerdictRule.LOGPROB, book=_book(sending, languages)),
    )
    started = time.monotonic()
    answers = [
        await judge.judge_pair(pair, preference=preference, language=language)
        for pair, language, preference in questions
    ]
    return PrefixPass(
        sending=sending,
        calls=client.counts.calls,
        decided=sum(answer.verdict is not None for answer in answers),
        failed=sum(answer.error_code is not None and not answer.unparseable for answer in answers),
        input_tokens=client.counts.input_tokens,
        cached_tokens=client.counts.cached_tokens,
        seconds=time.monotonic() - started,
    )


def _book(sending: Sending, languages: Sequence[str]) -> PromptBook:
    """The prompts of a pass: the released ones under a heading of their own."""
    edited: dict[tuple[str, str], Prompt] = {}
    for language in languages:
        for name in ("judge_pair_letter", "judge_pair_letter_base"):
            prompt = FILES.load(name, language=language)
            text = prompt.text
            if sending is Sending.PREFERENCE_FIRST:
                text = preference_first(text)
            text = f"[{sending.value}]\n\n{text}"
            edited[name, prompt.language] = replace(prompt, text=text)
    return PromptBook(edited)


def preference_first(text: str) -> str:
    """A prompt with the paragraph of the preference, and the line that announces it, at its head.

    One without a preference stays as it is.
    """
    paragraphs = text.split("\n\n")
    place = next((at for at, one in enumerate(paragraphs) if _PREFERENCE in one), None)
    if place is None:
        return text
    moved = paragraphs[place - 1 : place + 1]
    return "\n\n".join([*moved, *paragraphs[: place - 1], *paragraphs[place + 1 :]])
