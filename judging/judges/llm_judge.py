"""The judge that the papers describe: prompts, an OpenAI-compatible endpoint, parsers.

A reply that cannot be read is followed by a reminder of its form, up to a stated number of times;
then the answer says so and keeps the raw text. A call that failed is told apart from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from judging.core.categories import SORTING, SortedDialogue
from judging.core.chat import Reply
from judging.core.echoes import (
    decided,
    memory_said,
    phrases_said,
    preference_said,
    sorted_said,
    turn_said,
)
from judging.core.generation import generation_messages, generation_prompts_used
from judging.core.judge_prompts import (
    MEMORY,
    asked_variant,
    distil_name,
    distil_prompt,
    induction_name,
    induction_prompt,
    memory_prompt,
    memory_schema,
    pair_prompt,
    phrases_schema,
    prompts_used,
    sort_prompt,
    sort_prompts_used,
    sort_schema,
    turn_aliases,
    turn_name,
    turn_prompt,
    turn_prompts_used,
    turn_schema,
)
from judging.core.money import estimate_tokens
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import (
    REMIND_GRADE,
    REMIND_JSON,
    REMIND_MARK,
    REMIND_TEXT,
    REMIND_VERDICT,
    prompt_language,
)
from judging.core.questions import (
    GenerationQuestion,
    GradeQuestion,
    InductionQuestion,
    LabelledPair,
    MemoryQuestion,
    Outcome,
    PairAnswer,
    ShownPair,
    SortAnswer,
    SortQuestion,
    TurnAnswer,
    TurnQuestion,
)
from judging.core.repetition import rephrase_prompt, rephrased
from judging.core.rubrics import grade_prompt, reference_prompt, rubric_pair_prompt
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
from judging.core.score_api import (
    expected_score,
    expected_side,
    letter_odds,
    parse_score,
    scored_messages,
)
from judging.core.structured import ReplyForm, TurnReply, parse_grade, stated
from judging.core.verdicts import (
    UNPARSEABLE,
    VerdictRule,
    parse_paper,
    verdict_of_log_odds,
)
from judging.judges.asking import answer_text, ask
from judging.llm.client import ChatClient
from judging.llm.errors import LlmCode, LlmError

LETTER_ALTERNATIVES: Final = 20
SCORE_ALTERNATIVES: Final = 10
NO_HISTORY: Final = "memory:no-history"
_PART_OF_A_CHARACTER: Final = "\ufffd"
"""What llama.cpp says, without log-probabilities, where the likeliest token is half a character."""

_Verdict = tuple[Verdict, float | None]
"""As shown, with log P(A)/P(B) where one letter was asked for."""


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
    So does `context` for one that answers turns, and `sorts` for one that sorts dialogues.
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
    sorts: bool = False


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
        if settings.sorts:
            return sort_prompts_used(language, book=settings.book)
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

    async def distil(self, pairs: tuple[LabelledPair, ...], *, language: str) -> Outcome[str]:
        """One preference: from one pair, or the aggregate of several."""
        name, reminder = distil_name(pairs, self._settings.distil_prompt), REMIND_TEXT
        task = "\n".join(self._text(each, language) for each in (name, reminder))
        return await ask(
            self._client,
            distil_prompt(
                pairs,
                language=language,
                window=self._settings.window,
                budget=self._budget,
                style=self._settings.distil_prompt,
                book=self._settings.book,
            ),
            read=lambda reply: preference_said(answer_text(reply), asked=task),
            whole=True,
            retries=self._settings.unparseable_retries,
            reminder=self._text(reminder, language),
        )

    async def judge_pair(self, pair: ShownPair, *, preference: str, language: str) -> PairAnswer:
        """Which shown response is better under a preference ("" is the base judge)."""
        if self._settings.prompt is JudgePrompt.OWN_REFERENCE and not pair.reference:
            own = await self.write_reference(pair, language=language)
            if own.value is None:
                return PairAnswer(
                    None,
                    error_code=own.error_code,
                    unparseable=own.unparseable,
                    call=own.call,
                )
            pair = replace(pair, reference=own.value)
        prompt = self._pair_prompt(pair, preference=preference, language=language)
        if self._asks_letter:
            outcome = await self._ask_letter(prompt)
        else:
            by_marks = self._settings.prompt is not JudgePrompt.PERSONAL
            outcome = await ask(
                self._client,
                prompt,
                read=self._read_verdict,
                retries=self._settings.unparseable_retries,
                reminder=self._text(REMIND_MARK if by_marks else REMIND_VERDICT, language),
            )
        if outcome.value is None:
            return PairAnswer(
                None,
                error_code=outcome.error_code,
                unparseable=outcome.unparseable,
                call=outcome.call,
            )
        verdict, log_odds = outcome.value
        return PairAnswer(verdict, log_odds, call=outcome.call)

    async def write_reference(self, pair: ShownPair, *, language: str) -> Outcome[str]:
        """What the judge would answer itself; one call, whatever the order of the responses."""
        return await ask(
            self._client,
            reference_prompt(
                pair,
                language=language,
                window=self._settings.window,
                budget=self._budget,
                book=self._settings.book,
            ),
            read=answer_text,
            whole=True,
            retries=self._settings.unparseable_retries,
            reminder=self._text(REMIND_TEXT, language),
        )

    async def rephrase_list(self, text: str, *, language: str) -> Outcome[str]:
        """A list in other words, of as many items."""
        return await ask(
            self._client,
            rephrase_prompt(text, language=language, book=self._settings.book),
            read=lambda reply: rephrased(answer_text(reply), like=text),
            whole=True,
            retries=self._settings.unparseable_retries,
            reminder=self._text(REMIND_TEXT, language),
        )

    async def generate(self, question: GenerationQuestion) -> Outcome[str]:
        """The reply to a turn, whole as it came."""
        return await ask(
            self._client,
            generation_messages(question, book=self._settings.book),
            read=answer_text,
            whole=True,
            retries=self._settings.unparseable_retries,
            sample=question.sample,
        )

    async def sort_dialogue(self, question: SortQuestion) -> SortAnswer:
        """Whether a dialogue is of use in a benchmark, and its category."""
        asked = self._text(SORTING, question.language)

        def read(reply: Reply) -> SortedDialogue:
            return sorted_said(answer_text(reply), asked=asked)

        outcome = await ask(
            self._client,
            sort_prompt(question, budget=self._budget, book=self._settings.book),
            read=read,
            retries=self._settings.unparseable_retries,
            schema=sort_schema(),
            reminder=self._text(REMIND_JSON, question.language),
        )
        return SortAnswer(outcome.value, outcome.error_code, outcome.unparseable, outcome.call)

    async def grade(self, question: GradeQuestion) -> Outcome[float]:
        """How good one response is by itself, from 1 to 10; or a reward model's score of it."""
        if self._client.endpoint.has_scores:
            return await self._score(question)
        return await ask(
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
            reminder=self._text(REMIND_GRADE, question.language),
        )

    async def _score(self, question: GradeQuestion) -> Outcome[float]:
        budget = self._budget - estimate_tokens(question.response)
        shown = excerpt(question.dialogue, window=self._settings.window, budget=budget)
        return await ask(
            self._client,
            scored_messages(shown.messages, question.response),
            read=_read_score,
            retries=0,
        )

    async def build_memory(self, question: MemoryQuestion) -> Outcome[dict[str, object]]:
        """The texts of a user memory from a labelled history."""
        if not question.history:
            return Outcome(None, NO_HISTORY)
        aliases, asked = turn_aliases(question), self._text(MEMORY, question.language)
        return await ask(
            self._client,
            memory_prompt(question, budget=self._budget, book=self._settings.book),
            read=lambda reply: memory_said(answer_text(reply), aliases=aliases, asked=asked),
            retries=self._settings.unparseable_retries,
            schema=memory_schema(),
            reminder=self._text(REMIND_JSON, question.language),
        )

    async def score_turn(self, question: TurnQuestion) -> TurnAnswer:
        """The satisfaction that this user would state for this response, or conversation."""
        form = SPECS[asked_variant(question)].form
        asked = self._text(turn_name(question), question.language)
        judged = "\n".join([*(each.text for each in question.dialogue), question.response])
        outcome = await ask(
            self._client,
            turn_prompt(question, budget=self._budget, book=self._settings.book),
            read=lambda reply: _read_turn(reply, form, asked, judged),
            retries=self._settings.unparseable_retries,
            schema=turn_schema(prompt_language(question.language), form),
            top_logprobs=SCORE_ALTERNATIVES,
            reminder=self._text(REMIND_JSON, question.language),
        )
        if outcome.value is None:
            return TurnAnswer(
                None,
                error_code=outcome.error_code,
                unparseable=outcome.unparseable,
                call=outcome.call,
            )
        turn, expected = outcome.value
        return TurnAnswer(turn.score, turn.reason, turn.analysis, expected, call=outcome.call)

    async def induce(self, question: InductionQuestion) -> Outcome[tuple[str, ...]]:
        """What satisfied or dissatisfied users, in a few sentences."""
        asked = self._text(induction_name(question), question.language)
        return await ask(
            self._client,
            induction_prompt(question, budget=self._budget, book=self._settings.book),
            read=lambda reply: phrases_said(answer_text(reply), most=question.most, asked=asked),
            retries=self._settings.unparseable_retries,
            schema=phrases_schema(),
            reminder=self._text(REMIND_JSON, question.language),
        )

    def _text(self, name: str, language: str) -> str:
        """A prompt's text, its places unfilled."""
        return self._settings.book.load(name, language=language).text

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

    async def _ask_letter(self, prompt: str) -> Outcome[_Verdict]:
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

    def _read_verdict(self, reply: Reply) -> _Verdict:
        text, by_marks = answer_text(reply), self._settings.prompt is not JudgePrompt.PERSONAL
        if by_marks or self._settings.rule is not VerdictRule.PAPER:
            return decided(text, by_marks=by_marks), None
        verdict = parse_paper(text)
        if verdict is None:
            raise Refused(UNPARSEABLE, "the reply states no verdict")
        return verdict, None


def _read_letter(reply: Reply) -> _Verdict:
    if reply.steps is None and _PART_OF_A_CHARACTER not in reply.text:
        raise LlmError(LlmCode.NO_LOGPROBS)
    log_odds = letter_odds(reply.steps)
    if log_odds is None:
        raise Refused(UNPARSEABLE, "neither letter is among the likely tokens")
    return verdict_of_log_odds(log_odds), log_odds


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


def _read_turn(
    reply: Reply, form: ReplyForm, asked: str, judged: str
) -> tuple[TurnReply, float | None]:
    """The score, and the expected one if the digit's alternatives are known."""
    turn = turn_said(answer_text(reply), form=form, asked=asked, judged=judged)
    expected = expected_side if form.binary else expected_score
    text = stated(reply.text, key=form.anchor, judged=judged)
    return turn, expected(text, reply.steps)
