"""The figures of the satisfaction paper's Tables 2 and 3, to stand beside ours (seed 003).

Table 2 is on its 90 test users (356 blocks, 6,474 turns), LLM rows with Qwen3-8B and CDF scores; it
gives no intervals and no within-user figure. BERT scorers are quoted only: they are not rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One row: the evaluator as the paper names it, and the four figures."""

    evaluator: str
    pearson: float
    spearman: float
    qwk: float
    f1_dsat: float


TABLE_2: Final = (
    PaperRow("BERT scorer", 0.0126, 0.0192, 0.0125, 0.2268),
    PaperRow("BERT ordinal scorer", 0.0363, 0.0625, 0.0322, 0.1984),
    PaperRow("Nearest-history score", 0.3281, 0.3529, 0.2992, 0.2361),
    PaperRow("RAG prompted scorer", 0.1360, 0.0776, 0.0282, 0.0214),
    PaperRow("SPUR-style evaluator", 0.1314, 0.1095, 0.0842, 0.2955),
    PaperRow("Zero-shot judge", 0.1865, 0.1274, 0.1753, 0.1732),
    PaperRow("Few-shot judge", 0.1924, 0.1578, 0.1867, 0.2680),
    PaperRow("Task-rubric judge", 0.1600, 0.1210, 0.1511, 0.2559),
    PaperRow("Prometheus-rubric judge", 0.2066, 0.1435, 0.2005, 0.2207),
    PaperRow("User-memory evaluator", 0.3601, 0.3716, 0.3595, 0.3655),
)


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One row of Table 3: the judge's model, what it was given, and three figures."""

    model: str
    variant: str
    pearson: float
    qwk: float
    f1_dsat: float


TABLE_3: Final = (
    AblationRow("Qwen3-8B", "no memory", 0.139, 0.071, 0.046),
    AblationRow("Qwen3-8B", "memory", 0.300, 0.281, 0.351),
    AblationRow("Qwen3-8B", "memory, mean shift", 0.353, 0.339, 0.393),
    AblationRow("Qwen3-8B", "memory, CDF", 0.338, 0.337, 0.405),
    AblationRow("Qwen3.6-35B-A3B", "memory, CDF", 0.398, 0.397, 0.412),
    AblationRow("GPT-5.4-mini", "memory, CDF", 0.421, 0.420, 0.416),
)
"""The ablation on 20 of the test users."""
