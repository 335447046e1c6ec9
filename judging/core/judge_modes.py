"""How a judge is asked: the paper's ways, or one of MT-Bench's (seed 004)."""

from __future__ import annotations

from enum import StrEnum


class JudgePrompt(StrEnum):
    """Which prompt compares or grades; stored with a run.

    PERSONAL is the paper's, with a preference or without. PAIRWISE compares by a generic rubric,
    THOUGHT lets the judge solve the request first, REFERENCE shows it a reference answer,
    OWN_REFERENCE one that it wrote in a call before, where the data has none. SINGLE grades each
    response alone from 1 to 10, SINGLE_REFERENCE beside a reference answer. REWARD is no prompt: a
    reward model scores each response.
    """

    PERSONAL = "PERSONAL"
    PAIRWISE = "PAIRWISE"
    THOUGHT = "THOUGHT"
    REFERENCE = "REFERENCE"
    OWN_REFERENCE = "OWN_REFERENCE"
    SINGLE = "SINGLE"
    SINGLE_REFERENCE = "SINGLE_REFERENCE"
    REWARD = "REWARD"

    @property
    def word(self) -> str:
        """As an argument of a command: single-reference."""
        return self.value.lower().replace("_", "-")

    @property
    def grades(self) -> bool:
        """Whether it looks at one response at a time."""
        return self in (JudgePrompt.SINGLE, JudgePrompt.SINGLE_REFERENCE, JudgePrompt.REWARD)

    @property
    def guided(self) -> bool:
        """Whether it shows a reference answer where there is one."""
        return self in (
            JudgePrompt.REFERENCE,
            JudgePrompt.OWN_REFERENCE,
            JudgePrompt.SINGLE_REFERENCE,
        )


class DistilPrompt(StrEnum):
    """Which prompt distils a preference from one comparison; stored with a run.

    SENTENCES is the paper's, about three of them (seed 001, appendix A.2); SENTENCE asks for one,
    as the released code can.
    """

    SENTENCES = "SENTENCES"
    SENTENCE = "SENTENCE"


def prompt_of(word: str) -> JudgePrompt:
    """The prompt that an argument names.

    Raises:
        ValueError: there is none of that name.
    """
    return JudgePrompt(word.upper().replace("-", "_"))
