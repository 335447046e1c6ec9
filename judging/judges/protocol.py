"""The things a judge does; who does them is a row's business (`lexical` or an endpoint)."""

from __future__ import annotations

from typing import Protocol

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


class Judge(Protocol):
    """Distils preferences, judges comparisons, grades, answers, builds memories, scores turns.

    Methods never raise for an anticipated failure: the answer carries its error code.
    """

    @property
    def name(self) -> str:
        """`lexical`, or the endpoint's name; shown wherever a result is shown."""
        ...

    async def distil(self, pairs: tuple[LabelledPair, ...], *, language: str) -> Outcome[str]:
        """One preference: from one pair, or the aggregate of several."""
        ...

    async def judge_pair(self, pair: ShownPair, *, preference: str, language: str) -> PairAnswer:
        """Which shown response is better under a preference ("" is the base judge)."""
        ...

    async def write_reference(self, pair: ShownPair, *, language: str) -> Outcome[str]:
        """What the judge would answer itself to what the responses answer."""
        ...

    async def rephrase_list(self, text: str, *, language: str) -> Outcome[str]:
        """A list in other words, without anything new."""
        ...

    async def generate(self, question: GenerationQuestion) -> Outcome[str]:
        """The reply to a turn, as a candidate."""
        ...

    async def grade(self, question: GradeQuestion) -> Outcome[float]:
        """How good one response is by itself, on the scale that was asked for."""
        ...

    async def sort_dialogue(self, question: SortQuestion) -> SortAnswer:
        """Whether a dialogue is of use in a benchmark, and its category."""
        ...

    async def build_memory(self, question: MemoryQuestion) -> Outcome[dict[str, object]]:
        """The texts of a user memory from a labelled history, by core.memory.TEXT_FIELDS."""
        ...

    async def score_turn(self, question: TurnQuestion) -> TurnAnswer:
        """The satisfaction that this user would state for this response."""
        ...

    async def induce(self, question: InductionQuestion) -> Outcome[tuple[str, ...]]:
        """What satisfied or dissatisfied users, in a few sentences."""
        ...
