"""The figures of PersTurnBench's Tables 8 and 9, to stand beside ours (seed 003, appendix G).

Both tables replay the same 300 turns of 90 users, scored by the frozen Qwen3-8B evaluator with
memories on the reference-CDF scale. They are other turns, users and scores than those of any
replay here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from judging.core.rules import GenerationContext

_PREFIX: Final = GenerationContext.PREFIX


class PaperReplayRow(NamedTuple):
    """A row as printed, with three decimals; means of scores 1-5, shares of 0-1.

    Table 9 has no interval and no means over tasks and blocks: None.
    """

    model: str
    micro: float
    user: float
    satisfied: float
    dissatisfied: float
    context: GenerationContext = _PREFIX
    low: float | None = None
    high: float | None = None
    task: float | None = None
    block: float | None = None


TABLE_8: Final = (
    PaperReplayRow("kimi-k2.6", 4.737, 4.812, 0.987, 0.013, _PREFIX, 4.737, 4.883, 4.731, 4.785),
    PaperReplayRow("glm-5.1", 4.707, 4.800, 0.973, 0.027, _PREFIX, 4.724, 4.873, 4.697, 4.760),
    PaperReplayRow(
        "deepseek-v4-pro", 4.667, 4.791, 0.973, 0.027, _PREFIX, 4.718, 4.855, 4.655, 4.732
    ),
    PaperReplayRow("gpt-5.5", 4.573, 4.689, 0.943, 0.057, _PREFIX, 4.596, 4.783, 4.564, 4.624),
    PaperReplayRow(
        "claude-opus-4-7", 4.540, 4.636, 0.953, 0.047, _PREFIX, 4.541, 4.727, 4.524, 4.597
    ),
    PaperReplayRow(
        "gemini-3.1-pro", 4.527, 4.628, 0.940, 0.060, _PREFIX, 4.508, 4.741, 4.532, 4.583
    ),
    PaperReplayRow("minimax-m2.7", 4.263, 4.426, 0.863, 0.137, _PREFIX, 4.303, 4.543, 4.252, 4.344),
)
"""Aggregate results of candidates that saw the prefix only."""

TABLE_9: Final = (
    PaperReplayRow("Qwen3-8B", 4.333, 4.465, 0.920, 0.080),
    PaperReplayRow("Qwen3-8B", 4.273, 4.371, 0.903, 0.097, GenerationContext.MEMORY),
    PaperReplayRow("Qwen3-8B", 4.260, 4.383, 0.897, 0.103, GenerationContext.DIVERSE),
    PaperReplayRow("deepseek-v4-flash", 4.320, 4.421, 0.893, 0.107),
    PaperReplayRow("deepseek-v4-flash", 4.250, 4.415, 0.883, 0.117, GenerationContext.MEMORY),
    PaperReplayRow("deepseek-v4-flash", 4.290, 4.414, 0.900, 0.100, GenerationContext.DIVERSE),
    PaperReplayRow("gemini-3.1-flash-lite", 4.203, 4.339, 0.870, 0.130),
    PaperReplayRow("gemini-3.1-flash-lite", 4.177, 4.290, 0.867, 0.133, GenerationContext.MEMORY),
    PaperReplayRow("gemini-3.1-flash-lite", 4.167, 4.310, 0.870, 0.130, GenerationContext.DIVERSE),
)
"""Candidates that saw the prefix only, or replies from the user's other conversations too."""


def stands_beside(row: PaperReplayRow, *, model: str, context: str) -> bool:
    """Whether a candidate of ours is the same model in the same context.

    Args:
        row: of the paper.
        model: what answered; a maker's name before it says nothing.
        context: a GenerationContext, "" for responses that were there.
    """
    return model.rpartition("/")[2].lower() == row.model.lower() and (
        (context or _PREFIX) == row.context
    )
