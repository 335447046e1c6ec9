"""Every format that can be imported: those of data, and those with verdicts of recorded judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.formats.detect import FORMATS, Format
from judging.core.formats import alpaca_eval, arena, judgebench, llmbar, mtbench, pairs, paper

RECORDED: Final[Mapping[str, Format]] = {
    each.name: each
    for each in (
        Format(
            paper.LABELS,
            paper.looks_like_labels,
            paper.parse_label,
            read_file=paper.read_labels,
        ),
        Format(
            paper.OUTPUTS,
            paper.looks_like_outputs,
            paper.parse_outputs,
            read_file=paper.read_outputs,
        ),
        Format(pairs.NAME, pairs.looks_like, pairs.parse),
        Format(llmbar.NAME, llmbar.looks_like, llmbar.parse),
        Format(judgebench.NAME, judgebench.looks_like, judgebench.parse),
        Format(arena.BATTLES, arena.looks_like_battles, arena.parse_battle),
        Format(arena.QUESTIONS, arena.looks_like_questions, arena.parse_question),
        Format(arena.ANSWERS, arena.looks_like_answers, arena.parse_answer),
        Format(arena.JUDGMENTS, arena.looks_like_judgments, arena.parse_judgment),
        Format(mtbench.VOTES, mtbench.looks_like_votes, mtbench.parse_vote),
        Format(mtbench.PAIRS, mtbench.looks_like_pairs, mtbench.parse_pair),
        Format(mtbench.SINGLES, mtbench.looks_like_singles, mtbench.parse_single),
        Format(alpaca_eval.NAME, alpaca_eval.looks_like, alpaca_eval.parse),
        Format(alpaca_eval.OUTPUTS, alpaca_eval.looks_like_outputs, alpaca_eval.parse_output),
    )
}

ALL_FORMATS: Final[Mapping[str, Format]] = {**FORMATS, **RECORDED}
