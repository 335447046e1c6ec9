"""Distilling, comparing and building a memory as prompts. Pure: a leak is looked for here.

`budget` is the tokens that a prompt may take (the context window less the reply). Conversations are
cut to it turn by turn; responses under judgment are never cut, examples are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from judging.core.memory import grouped_examples, statistics
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import (
    MARK,
    PairExcerpt,
    Prompt,
    dialogue_block,
    history_block,
    pairs_block,
    profile_text,
    prompt_language,
    statistics_line,
)
from judging.core.questions import LabelledPair, MemoryQuestion, ShownPair
from judging.core.rubrics import rubric_prompts_used
from judging.core.rules import DistilPrompt, JudgePrompt, Window, excerpt
from judging.core.tokens import estimate_tokens, shorten

PREFERENCE_TOKENS: Final = 600
"""Kept free for a preference, whatever its length, so that all share one prompt prefix."""
EXAMPLES_PER_SCORE: Final = 4
LEAST_EXAMPLE_TOKENS: Final = 60
MOST_EXAMPLE_TOKENS: Final = 600
EXAMPLE_FRAME_TOKENS: Final = 40
"""What the tags and the heading of one rated turn take."""


_DISTIL: Final = {
    DistilPrompt.SENTENCES: "distil_preference",
    DistilPrompt.SENTENCE: "distil_sentence",
}


def pair_prompt(
    pair: ShownPair,
    *,
    preference: str,
    language: str,
    letter: bool,
    window: Window,
    budget: int,
    book: PromptBook = FILES,
) -> str:
    """Which of two shown responses is better (seed 001, appendix A.2).

    Dialogue, response A and response B come first and the preference last, so that all prompts of
    one comparison in one order begin alike, the base judge's and the one-letter variant included.
    """
    prompt = book.load(_pair_name(preference, letter=letter), language=language)
    spent = sum(
        map(estimate_tokens, (prompt.text, pair.first, pair.second)), start=PREFERENCE_TOKENS
    )
    shown = excerpt(pair.dialogue, window=window, budget=budget - spent)
    values = {
        "dialogue": dialogue_block(shown, language=prompt.language),
        "response_a": pair.first,
        "response_b": pair.second,
    }
    return prompt.render(values | ({"preference": preference} if preference.strip() else {}))


def distil_prompt(
    pairs: tuple[LabelledPair, ...],
    *,
    language: str,
    window: Window,
    budget: int,
    style: DistilPrompt = DistilPrompt.SENTENCES,
    book: PromptBook = FILES,
) -> str:
    """What one choice, or several together, show of a person (seed 001, appendix A.2)."""
    name = _DISTIL[style] if len(pairs) == 1 else "distil_aggregate"
    prompt = book.load(name, language=language)
    room = max(0, budget - estimate_tokens(prompt.text)) // len(pairs)
    tokens = max(LEAST_EXAMPLE_TOKENS, room // 3)
    shown = [_shown_pair(pair, window=window, tokens=tokens) for pair in pairs]
    if len(pairs) > 1:
        return prompt.render({"pairs": pairs_block(shown, tokens=tokens, language=prompt.language)})
    return prompt.render(
        {
            "dialogue": dialogue_block(shown[0].dialogue, language=prompt.language, tokens=tokens),
            "chosen": shorten(shown[0].chosen, tokens=tokens, mark=MARK),
            "rejected": shorten(shown[0].rejected, tokens=tokens, mark=MARK),
        }
    )


def turn_aliases(question: MemoryQuestion) -> dict[str, str]:
    """A short name for each turn id: T1, T2, ... in history order."""
    ids = dict.fromkeys(turn.turn_id for turn in question.history)
    return {turn_id: f"T{place}" for place, turn_id in enumerate(ids, start=1)}


def memory_prompt(question: MemoryQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """What a labelled history shows of a user (seed 003, appendix H.1).

    Raises:
        ValueError: the history is empty, or holds a turn of the target scenario.
    """
    if not question.history:
        raise ValueError("a memory needs a history")
    if any(turn.scenario == question.target_scenario for turn in question.history):
        raise ValueError("the history holds turns of the target scenario")
    prompt = book.load("build_memory", language=question.language)
    language = prompt.language
    groups = grouped_examples(question.history, per_score=EXAMPLES_PER_SCORE)
    profile = profile_text(question.profile, language=language)
    room = budget - estimate_tokens(prompt.text) - estimate_tokens(profile)
    count = sum(len(group.turns) for group in groups)
    wanted = min(MOST_EXAMPLE_TOKENS, room // count - EXAMPLE_FRAME_TOKENS)
    tokens = max(LEAST_EXAMPLE_TOKENS, wanted)
    return prompt.render(
        {
            "profile": profile,
            "statistics": statistics_line(statistics(question.history), language=language),
            "history": history_block(
                groups, aliases=turn_aliases(question), tokens=tokens, language=language
            ),
        }
    )


def prompts_used(
    language: str,
    *,
    letter: bool,
    mode: JudgePrompt = JudgePrompt.PERSONAL,
    style: DistilPrompt = DistilPrompt.SENTENCES,
    book: PromptBook = FILES,
) -> Mapping[str, str]:
    """The digest of every prompt that a judge uses, by label, for the record of a run."""
    if mode is not JudgePrompt.PERSONAL:
        return rubric_prompts_used(mode, prompt_language(language), book=book)
    names = (
        _DISTIL[style],
        "distil_aggregate",
        _pair_name("some", letter=letter),
        _pair_name("", letter=letter),
    )
    prompts: list[Prompt] = [book.load(name, language=prompt_language(language)) for name in names]
    return {prompt.label: prompt.digest for prompt in prompts}


def _pair_name(preference: str, *, letter: bool) -> str:
    return f"judge_pair{'_letter' if letter else ''}{'' if preference.strip() else '_base'}"


def _shown_pair(pair: LabelledPair, *, window: Window, tokens: int) -> PairExcerpt:
    shown = excerpt(pair.dialogue, window=window, budget=tokens)
    return PairExcerpt(shown, pair.chosen, pair.rejected)
