"""The embedded judge: no key, no download, no GPU; not an LLM, and it says so in its name."""

from __future__ import annotations

from typing import Final

from judging.core.lexical import distil, pairwise
from judging.core.questions import Call, DistilAnswer, LabelledPair, PairAnswer, ShownPair

NAME: Final = "lexical"
VERSION: Final = 1
"""Raised whenever the same question may be answered differently than before."""


class LexicalJudge:
    """Judges by measurable properties of a response and by sentences a person can edit."""

    name = NAME
    version = VERSION

    async def distil(self, pairs: tuple[LabelledPair, ...], *, language: str) -> DistilAnswer:
        """One preference: from one pair, or the aggregate of several."""
        text = distil.distil(pairs, language=language)
        return DistilAnswer(text=text, call=Call(raw=text))

    async def judge_pair(self, pair: ShownPair, *, preference: str, language: str) -> PairAnswer:
        """Which shown response is better under a preference; texts of both languages are read."""
        del language  # the vocabulary of both languages is understood everywhere
        return pairwise.judge_pair(pair, preference=preference)
