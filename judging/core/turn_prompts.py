"""Scoring satisfaction, and inducing rubrics, as prompts (seed 003, appendix H).

A prompt takes what its file names: `_values` can write every part, and no other is asked for.
`budget` is the tokens that a prompt may take. The response under judgment is never cut; at SESSION
level earlier turns of a conversation are left out where it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import (
    Prompt,
    dialogue_block,
    profile_text,
    prompt_language,
    rating_word,
    reasons_block,
    rubrics_block,
    text_or_unknown,
    turns_block,
)
from judging.core.questions import HistoryTurn, InductionQuestion, TurnQuestion
from judging.core.rules import SPECS, Excerpt, Level, Need, Variant, Window, excerpt
from judging.core.tokens import estimate_tokens

INDUCTION: Final = ("spur_extract", "spur_condense")
LEAST_EXAMPLE_TOKENS: Final = 60
MOST_EXAMPLE_TOKENS: Final = 900


def asked_variant(question: TurnQuestion) -> Variant:
    """The variant that is really asked: NO_MEMORY where nothing is known of the user.

    So a user without history is scored by every variant that shows a memory or their own turns,
    and nothing personal is shown, the profile included.
    """
    need = SPECS[question.variant].need
    known = {Need.MEMORY: bool(question.memory.strip()), Need.NEAREST: bool(question.nearest)}
    return question.variant if known.get(need, True) else Variant.NO_MEMORY


def turn_prompt(question: TurnQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """How satisfied a user would be with a response, or with a conversation."""
    name = SPECS[asked_variant(question)].prompts[question.level]
    prompt = book.load(name, language=question.language)
    spent = estimate_tokens(prompt.text) + estimate_tokens(question.response)
    room = budget - spent - sum(map(estimate_tokens, (question.memory, question.task_context)))
    return _rendered(prompt, _values(question, prompt.language, room=room))


def induction_prompt(question: InductionQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """What one rated turn shows, or several reasons as fewer rubrics.

    Raises:
        ValueError: there is neither a turn nor a reason.
    """
    if question.turn is None and not question.reasons:
        raise ValueError("rubrics need a rated turn, or reasons")
    prompt = book.load(INDUCTION[question.turn is None], language=question.language)
    language = prompt.language
    turns = () if question.turn is None else (question.turn,)
    return _rendered(
        prompt,
        {
            "rating": lambda: rating_word(satisfied=question.satisfied, language=language),
            "examples": lambda: turns_block(turns, tokens=budget // 2, language=language),
            "reasons": lambda: reasons_block(question.reasons),
            "most": lambda: str(question.most),
        },
    )


def turn_prompts_used(
    language: str, *, variant: Variant, level: Level, book: PromptBook = FILES
) -> Mapping[str, str]:
    """The digest of every prompt that scoring uses, by label, for the record of a run."""
    spec = SPECS[variant]
    names = [spec.prompts[level]]
    if spec.need.personal:
        names.append(SPECS[Variant.NO_MEMORY].prompts[level])
    if spec.need is Need.MEMORY:
        names.append("build_memory")
    if spec.need is Need.RUBRICS:
        names += INDUCTION
    found = [book.load(name, language=prompt_language(language)) for name in names]
    return {prompt.label: prompt.digest for prompt in found}


def _values(question: TurnQuestion, language: str, *, room: int) -> Mapping[str, Callable[[], str]]:
    def shown() -> Excerpt:
        if question.level is Level.TURN:
            return Excerpt(question.dialogue, 0)
        return excerpt(question.dialogue, window=Window.ALL, budget=room)

    def rated(turns: Sequence[HistoryTurn]) -> str:
        tokens = min(MOST_EXAMPLE_TOKENS, room // (2 * max(1, len(turns))))
        return turns_block(turns, tokens=max(LEAST_EXAMPLE_TOKENS, tokens), language=language)

    return {
        "memory": lambda: question.memory,
        "profile": lambda: profile_text(question.profile, language=language),
        "task": lambda: text_or_unknown(question.task_context, language=language),
        "scenario": lambda: text_or_unknown(question.scenario, language=language),
        "dialogue": lambda: dialogue_block(shown(), language=language),
        "response": lambda: question.response,
        "history": lambda: rated(question.nearest),
        "examples": lambda: rated(question.examples),
        "rubrics": lambda: rubrics_block(question.rubrics, language=language),
    }


def _rendered(prompt: Prompt, values: Mapping[str, Callable[[], str]]) -> str:
    """The prompt with those values that it names, and no others."""
    return prompt.render(
        {name: make() for name, make in values.items() if name in prompt.placeholders}
    )
