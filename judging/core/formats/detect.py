"""Every format that can be imported: those of data, and those with verdicts of recorded judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.formats.detect import FORMATS, Format
from judging.core.formats import alpaca_eval, llmbar, mtbench

RECORDED: Final[Mapping[str, Format]] = {
    each.name: each
    for each in (
        Format(llmbar.NAME, llmbar.looks_like, llmbar.parse),
        Format(mtbench.VOTES, mtbench.looks_like_votes, mtbench.parse_vote),
        Format(mtbench.PAIRS, mtbench.looks_like_pairs, mtbench.parse_pair),
        Format(alpaca_eval.NAME, alpaca_eval.looks_like, alpaca_eval.parse),
    )
}

ALL_FORMATS: Final[Mapping[str, Format]] = {**FORMATS, **RECORDED}
