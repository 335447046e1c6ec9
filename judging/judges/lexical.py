"""The embedded judge: no key, no download, no GPU; not an LLM, and it says so in its name."""

from __future__ import annotations

from typing import Final

from annotation.core.conversations import Speaker
from judging.core.lexical import categories, distil, memories, pairwise, satisfaction, stack
from judging.core.questions import (
    Call,
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

NAME: Final = "lexical"
VERSION: Final = 2
"""Raised whenever the same question may be answered differently than before."""

NO_HISTORY: Final = "memory:no-history"
"""The user rated nothing outside the target scenario."""


NO_PROMPTS: Final = "judge:no-prompts"
"""It judges in its own way: there is no prompt to choose, no grade, and no rubric."""


class LexicalJudge:
    """Judges by measurable properties of a response and by sentences a person can edit."""

    name = NAME
    version = VERSION

    async def distil(self, pairs: tuple[LabelledPair, ...], *, language: str) -> Outcome[str]:
        """One preference: from one pair, or the aggregate of several."""
        text = distil.distil(pairs, language=language)
        return Outcome(text, call=Call(raw=text))

    async def judge_pair(self, pair: ShownPair, *, preference: str, language: str) -> PairAnswer:
        """Which shown response is better under a preference ("" is the base judge)."""
        del language  # a preference is understood in either language
        if stack.is_stack(preference):
            return stack.judge_by_stack(pair, text=preference)
        return pairwise.judge_pair(pair, preference=preference)

    async def write_reference(self, pair: ShownPair, *, language: str) -> Outcome[str]:
        """Nothing: it writes no answers."""
        del pair, language
        return Outcome(None, NO_PROMPTS)

    async def rephrase_list(self, text: str, *, language: str) -> Outcome[str]:
        """The list as it is: it writes no words of its own."""
        del language
        return Outcome(text)

    async def generate(self, question: GenerationQuestion) -> Outcome[str]:
        """Nothing: it writes no answers."""
        del question
        return Outcome(None, NO_PROMPTS)

    async def grade(self, question: GradeQuestion) -> Outcome[float]:
        """Nothing: it only compares."""
        del question
        return Outcome(None, NO_PROMPTS)

    async def sort_dialogue(self, question: SortQuestion) -> SortAnswer:
        """The category of a dialogue, by words that requests use."""
        requests = [each.text for each in question.dialogue if each.role is Speaker.USER]
        return SortAnswer(categories.sort_requests(requests))

    async def build_memory(self, question: MemoryQuestion) -> Outcome[dict[str, object]]:
        """The texts of a user memory, from contrasts between the user's score groups."""
        if not question.history:
            return Outcome(None, error_code=NO_HISTORY)
        texts = memories.write_texts(question.history, language=question.language)
        return Outcome(texts)

    async def score_turn(self, question: TurnQuestion) -> TurnAnswer:
        """The score that this user would state, with the reason where it is 3 or less."""
        return satisfaction.score_turn(question)

    async def induce(self, question: InductionQuestion) -> Outcome[tuple[str, ...]]:
        """Nothing: it goes by properties of a response, not by rubrics."""
        del question
        return Outcome(None, NO_PROMPTS)
