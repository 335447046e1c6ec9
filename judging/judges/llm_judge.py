"""The judge that the papers describe: prompts, an OpenAI-compatible endpoint, parsers.

A reply that cannot be read is asked for again as the next attempt, up to a stated number of times;
then the answer says so and keeps the raw text. A call that failed is told apart from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.chat import JsonSchema, Reply
from judging.core.generation import generation_messages, generation_prompts_used
from judging.core.judge_prompts import (
    asked_variant,
    distil_prompt,
    induction_prompt,
    memory_prompt,
    memory_schema,
    pair_prompt,
    phrases_schema,
    prompts_used,
    turn_aliases,
    turn_prompt,
    turn_prompts_used,
    turn_schema,
)
from judging.core.memory_parsing import read_memory
from judging.core.money import estimate_tokens
from judging.core.preferences import read_preference
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import prompt_language
from judging.core.questions import (
    Call,
    DistilAnswer,
    GenerationQuestion,
    GradeAnswer,
    GradeQuestion,
    InductionAnswer,
    InductionQuestion,
    LabelledPair,
    MemoryAnswer,
    MemoryQuestion,
    PairAnswer,
    ReferenceAnswer,
    ShownPair,
    TurnAnswer,
    TurnQuestion,
)
from judging.core.rubrics import grade_prompt, read_phrases, reference_prompt, rubric_pair_prompt
from judging.core.rules import (
    SPECS,
    DistilPrompt,
    GenerationContext,
    JudgePrompt,
    Level,
    Variant,
    Window,
    excerpt,
)
from judging.core.score_api import expected_score, expected_side, parse_score, scored_messages
from judging.core.structured import ReplyForm, TurnReply, parse_bracketed, parse_grade, parse_turn
from judging.core.verdicts import (
    VerdictRule,
    letter_log_odds,
    parse_paper,
    parse_strict,
    verdict_of_log_odds,
)
from judging.llm.client import ChatClient
from judging.llm.errors import EndpointDownError, LlmCode, LlmError

NO_ANSWER: Final = "llm:no-answer"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What was read, or the code of why nothing was (exactly one of the two).

    `call.raw` is the reply as it was read, or what the endpoint said of a call that failed.
    """

    value: T | None
    error_code: str | None = None
    unparseable: bool = False
    call: Call = field(default_factory=Call)


async def ask(
    client: ChatClient,
    prompt: str | tuple[Message, ...],
    *,
    read: Callable[[Reply], T],
    retries: int,
    schema: JsonSchema | None = None,
    max_tokens: int | None = None,
    top_logprobs: int = 0,
    sample: int = 0,
) -> Outcome[T]:
    """Ask one question as a user's message and read the reply.

    Args:
        client: whom to ask.
        prompt: the message, or several.
        read: gives the value, or raises `Refused`; an `LlmError` where the reply lacks
            what only the endpoint could have given.
        retries: how many more attempts an unreadable reply gets.
        schema: the form of the reply, for endpoints that can hold to one.
        max_tokens: less than the endpoint's limit, where the reply is known to be short.
        top_logprobs: alternatives of each token, for endpoints that return them.
        sample: the number of the repetition, where several replies are wanted.

    Raises:
        EndpointDownError: nobody is asked any more, where the client stops at such a point.
    """
    messages = (Message(Speaker.USER, prompt),) if isinstance(prompt, str) else prompt
    attempt = 0
    while True:
        request = client.endpoint.request(
            messages,
            max_tokens=max_tokens,
            schema=schema,
            top_logprobs=top_logprobs,
            sample=sample,
            attempt=attempt,
        )
        call = Call()
        try:
            reply = await client.complete(request)
            call = Call(raw=reply.text, call_key=reply.key)
            return Outcome(read(reply), call=call)
        except EndpointDownError:
            raise
        except LlmError as error:
            return Outcome(
                None, error.code.value, call=call if call.call_key else Call(raw=error.detail)
            )
        except Refused as error:
            if attempt == retries:
                return Outcome(None, error.code, unparseable=True, call=call)
        attempt += 1


def answer_text(reply: Reply) -> str:
    """The text of a reply.

    Raises:
        Refused: it is empty.
    """
    if not reply.text:
        raise Refused(NO_ANSWER, "the reply is empty")
    return reply.text


LETTER_ALTERNATIVES: Final = 20
SCORE_ALTERNATIVES: Final = 10
NO_HISTORY: Final = "memory:no-history"
_PART_OF_A_CHARACTER: Final = "\ufffd"
"""What llama.cpp says, without log-probabilities, where the likeliest token is half a character."""


@dataclass(frozen=True, slots=True)
class LlmJudgeSettings:
    """How the judge asks and reads; stored with a run.

    `rule` says how a verdict is read; LOGPROB asks for one letter and needs an endpoint with
    log-probabilities. `unparseable_retries` are further attempts at a reply that cannot be read;
    one letter is never asked for again, since its probabilities would be the same. `prompt` is the
    way of asking; the paper's own alone takes a preference, and of the others those that compare
    follow LOGPROB alone. `distil_prompt` is the one that preferences are distilled by. `book` holds
    the prompts that somebody edited.
    `variant` and `level` say, for the record, which prompts score satisfaction; None where none do.
    So does `context` for one that answers turns.
    """

    rule: VerdictRule = VerdictRule.STRICT
    window: Window = Window.ALL
    unparseable_retries: int = 1
    prompt: JudgePrompt = JudgePrompt.PERSONAL
    distil_prompt: DistilPrompt = DistilPrompt.SENTENCES
    book: PromptBook = FILES
    variant: Variant | None = None
    level: Level = Level.TURN
    context: GenerationContext | None = None


class LlmJudge:
    """Implements `judges.protocol.Judge` over one client."""

    def __init__(self, client: ChatClient, *, settings: LlmJudgeSettings | None = None) -> None:
        self._client = client
        self._settings = settings or LlmJudgeSettings()
        endpoint = client.endpoint
        self._budget = endpoint.context_tokens - endpoint.sampling.max_tokens

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return self._client.endpoint.name

    def snapshot(self, language: str) -> dict[str, object]:
        """Everything that shapes an answer, for a run's stored configuration."""
        endpoint, settings = self._client.endpoint, self._settings
        return {
            "judge": self.name,
            "base_url": endpoint.base_url,
            "model": endpoint.model,
            "temperature": endpoint.sampling.temperature,
            "max_tokens": endpoint.sampling.max_tokens,
            "context_tokens": endpoint.context_tokens,
            "extra_sampling": dict(endpoint.sampling.extra),
            "rule": settings.rule.value,
            "window": settings.window.value,
            "unparseable_retries": settings.unparseable_retries,
            "prompt": settings.prompt.value,
            "prompts": dict(self._prompts_used(language)),
        }

    def _prompts_used(self, language: str) -> Mapping[str, str]:
        settings = self._settings
        if settings.context is not None:
            return generation_prompts_used(language, context=settings.context, book=settings.book)
        if settings.variant is not None:
            return turn_prompts_used(
                language, variant=settings.variant, level=settings.level, book=settings.book
            )
        return prompts_used(
            language,
            letter=self._asks_letter,
            mode=settings.prompt,
            style=settings.distil_prompt,
            book=settings.book,
        )

    async def distil(self, pairs: tuple[LabelledPair, ...], *, language: str) -> DistilAnswer:
        """One preference: from one pair, or the aggregate of several."""
        outcome = await ask(
            self._client,
            distil_prompt(
                pairs,
                language=language,
                window=self._settings.window,
                budget=self._budget,
                style=self._settings.distil_prompt,
                book=self._settings.book,
            ),
            read=lambda reply: read_preference(answer_text(reply)),
            retries=self._settings.unparseable_retries,
        )
        return DistilAnswer(outcome.value, outcome.error_code, outcome.call)

    async def judge_pair(self, pair: ShownPair, *, preference: str, language: str) -> PairAnswer:
        """Which shown response is better under a preference ("" is the base judge)."""
        if self._settings.prompt is JudgePrompt.OWN_REFERENCE and not pair.reference:
            own = await self.write_reference(pair, language=language)
            if own.text is None:
                return PairAnswer(
                    None,
                    error_code=own.error_code,
                    unparseable=own.unparseable,
                    call=own.call,
                )
            pair = replace(pair, reference=own.text)
        prompt = self._pair_prompt(pair, preference=preference, language=language)
        if self._asks_letter:
            outcome = await self._ask_letter(prompt)
        else:
            retries = self._settings.unparseable_retries
            outcome = await ask(self._client, prompt, read=self._read_verdict, retries=retries)
        if outcome.value is None:
            return PairAnswer(
                None,
                error_code=outcome.error_code,
                unparseable=outcome.unparseable,
                call=outcome.call,
            )
        return PairAnswer(outcome.value.verdict, outcome.value.log_odds, call=outcome.call)

    async def write_reference(self, pair: ShownPair, *, language: str) -> ReferenceAnswer:
        """What the judge would answer itself; one call, whatever the order of the responses."""
        outcome = await ask(
            self._client,
            reference_prompt(
                pair,
                language=language,
                window=self._settings.window,
                budget=self._budget,
                book=self._settings.book,
            ),
            read=answer_text,
            retries=self._settings.unparseable_retries,
        )
        return ReferenceAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    async def generate(self, question: GenerationQuestion) -> ReferenceAnswer:
        """The reply to a turn, whole as it came."""
        outcome = await ask(
            self._client,
            generation_messages(question, book=self._settings.book),
            read=answer_text,
            retries=self._settings.unparseable_retries,
            sample=question.sample,
        )
        return ReferenceAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    async def grade(self, question: GradeQuestion) -> GradeAnswer:
        """How good one response is by itself, from 1 to 10; or a reward model's score of it."""
        if self._client.endpoint.has_scores:
            return await self._score(question)
        outcome = await ask(
            self._client,
            grade_prompt(
                question,
                mode=self._settings.prompt,
                window=self._settings.window,
                budget=self._budget,
                book=self._settings.book,
            ),
            read=_read_grade,
            retries=self._settings.unparseable_retries,
        )
        return GradeAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    async def _score(self, question: GradeQuestion) -> GradeAnswer:
        budget = self._budget - estimate_tokens(question.response)
        shown = excerpt(question.dialogue, window=self._settings.window, budget=budget)
        outcome = await ask(
            self._client,
            scored_messages(shown.messages, question.response),
            read=_read_score,
            retries=0,
        )
        return GradeAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    async def build_memory(self, question: MemoryQuestion) -> MemoryAnswer:
        """The texts of a user memory from a labelled history."""
        if not question.history:
            return MemoryAnswer(None, NO_HISTORY)
        aliases = turn_aliases(question)
        outcome = await ask(
            self._client,
            memory_prompt(question, budget=self._budget, book=self._settings.book),
            read=lambda reply: read_memory(answer_text(reply), aliases=aliases),
            retries=self._settings.unparseable_retries,
            schema=memory_schema(),
        )
        return MemoryAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    async def score_turn(self, question: TurnQuestion) -> TurnAnswer:
        """The satisfaction that this user would state for this response, or conversation."""
        form = SPECS[asked_variant(question)].form
        outcome = await ask(
            self._client,
            turn_prompt(question, budget=self._budget, book=self._settings.book),
            read=lambda reply: _read_turn(reply, form),
            retries=self._settings.unparseable_retries,
            schema=turn_schema(prompt_language(question.language), form),
            top_logprobs=SCORE_ALTERNATIVES,
        )
        if outcome.value is None:
            return TurnAnswer(
                None,
                error_code=outcome.error_code,
                unparseable=outcome.unparseable,
                call=outcome.call,
            )
        turn, expected = outcome.value.turn, outcome.value.expected
        return TurnAnswer(turn.score, turn.reason, turn.analysis, expected, call=outcome.call)

    async def induce(self, question: InductionQuestion) -> InductionAnswer:
        """What satisfied or dissatisfied users, in a few sentences."""
        outcome = await ask(
            self._client,
            induction_prompt(question, budget=self._budget, book=self._settings.book),
            read=lambda reply: read_phrases(answer_text(reply), most=question.most),
            retries=self._settings.unparseable_retries,
            schema=phrases_schema(),
        )
        return InductionAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    @property
    def _asks_letter(self) -> bool:
        return self._settings.prompt.compares and self._settings.rule is VerdictRule.LOGPROB

    def _pair_prompt(self, pair: ShownPair, *, preference: str, language: str) -> str:
        settings = self._settings
        if settings.prompt is not JudgePrompt.PERSONAL:
            return rubric_pair_prompt(
                pair,
                mode=settings.prompt,
                language=language,
                window=settings.window,
                budget=self._budget,
                letter=self._asks_letter,
                book=settings.book,
            )
        return pair_prompt(
            pair,
            preference=preference,
            language=language,
            letter=self._asks_letter,
            window=settings.window,
            budget=self._budget,
            book=settings.book,
        )

    async def _ask_letter(self, prompt: str) -> Outcome[_PairReading]:
        if not self._client.endpoint.has_logprobs:
            return Outcome(None, LlmCode.NO_LOGPROBS.value)
        return await ask(
            self._client,
            prompt,
            read=_read_letter,
            retries=0,
            max_tokens=1,
            top_logprobs=LETTER_ALTERNATIVES,
        )

    def _read_verdict(self, reply: Reply) -> _PairReading:
        if self._settings.prompt is not JudgePrompt.PERSONAL:
            parse = parse_bracketed
        else:
            parse = parse_paper if self._settings.rule is VerdictRule.PAPER else parse_strict
        verdict = parse(answer_text(reply))
        if verdict is None:
            raise Refused("verdict:unparseable", "the reply states no verdict")
        return _PairReading(verdict)


@dataclass(frozen=True, slots=True)
class _PairReading:
    """A verdict as shown, with log P(A)/P(B) where one letter was asked for."""

    verdict: Verdict
    log_odds: float | None = None


@dataclass(frozen=True, slots=True)
class _TurnReading:
    """A score, with the expected score where the digit's alternatives are known."""

    turn: TurnReply
    expected: float | None


def _read_letter(reply: Reply) -> _PairReading:
    if reply.steps is None and _PART_OF_A_CHARACTER not in reply.text:
        raise LlmError(LlmCode.NO_LOGPROBS)
    log_odds = letter_log_odds(reply.steps[0].top) if reply.steps else None
    if log_odds is None:
        raise Refused("verdict:unparseable", "neither letter is among the likely tokens")
    return _PairReading(verdict_of_log_odds(log_odds), log_odds)


def _read_grade(reply: Reply) -> float:
    grade = parse_grade(answer_text(reply))
    if grade is None:
        raise Refused("score:unparseable", "the reply states no grade from 1 to 10")
    return grade


def _read_score(reply: Reply) -> float:
    score = parse_score(answer_text(reply))
    if score is None:
        raise Refused("score:unparseable", "the answer holds no number")
    return score


def _read_turn(reply: Reply, form: ReplyForm) -> _TurnReading:
    turn = parse_turn(answer_text(reply), form)
    expected = expected_side if form.binary else expected_score
    return _TurnReading(turn, expected(reply.text, reply.steps))
