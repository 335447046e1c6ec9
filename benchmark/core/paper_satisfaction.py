"""The figures of the satisfaction paper's Tables 2 and 3, to stand beside ours (seed 003).

Table 2 is on its 90 test users (356 blocks, 6,474 turns), LLM rows with Qwen3-8B and CDF scores; it
gives no intervals and no within-user figure. BERT scorers are quoted only: they are not rebuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop


class Differs(LabelledEnum):
    """Where a row of ours departs from the paper's, beyond the users and the model asked."""

    NOT_RUN = (
        "NOT_RUN",
        gettext_noop("quoted only: running it would need a 2 GB dependency for the weakest rows"),
    )
    NEAREST = (
        "NEAREST",
        gettext_noop(
            "word weights come from the training users' texts and are not recomputed in each block"
        ),
    )
    PROMPT = "PROMPT", gettext_noop("our own prompt, based on the paper's description")
    TEACHING = (
        "TEACHING",
        gettext_noop(
            "our own prompt, based on the paper's description; examples for a user come only "
            "from other users"
        ),
    )
    MEMORY = (
        "MEMORY",
        gettext_noop(
            "history mean and distribution are computed, ties get equal scores, and short "
            "histories keep raw scores"
        ),
    )


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One row of Table 2: the evaluator as the paper names it, the four figures, and ours.

    `setting` is what our table calls the same way of scoring ("" where there is none); `name` the
    evaluator there, "" for any judge that was asked so.
    """

    evaluator: str
    pearson: float
    spearman: float
    qwk: float
    f1_dsat: float
    differs: Differs
    setting: str = ""
    name: str = ""


TABLE_2: Final = (
    PaperRow("BERT scorer", 0.0126, 0.0192, 0.0125, 0.2268, Differs.NOT_RUN),
    PaperRow("BERT ordinal scorer", 0.0363, 0.0625, 0.0322, 0.1984, Differs.NOT_RUN),
    PaperRow(
        *("Nearest-history score", 0.3281, 0.3529, 0.2992, 0.2361),
        *(Differs.NEAREST, "history", "nearest_1"),
    ),
    PaperRow(
        "RAG prompted scorer", 0.1360, 0.0776, 0.0282, 0.0214, Differs.PROMPT, "retrieval raw"
    ),
    PaperRow("SPUR-style evaluator", 0.1314, 0.1095, 0.0842, 0.2955, Differs.TEACHING, "spur raw"),
    PaperRow("Zero-shot judge", 0.1865, 0.1274, 0.1753, 0.1732, Differs.PROMPT, "zero-shot raw"),
    PaperRow("Few-shot judge", 0.1924, 0.1578, 0.1867, 0.2680, Differs.TEACHING, "few-shot raw"),
    PaperRow(
        "Task-rubric judge", 0.1600, 0.1210, 0.1511, 0.2559, Differs.PROMPT, "task-rubric raw"
    ),
    PaperRow(
        "Prometheus-rubric judge", 0.2066, 0.1435, 0.2005, 0.2207, Differs.PROMPT, "prometheus raw"
    ),
    PaperRow("User-memory evaluator", 0.3601, 0.3716, 0.3595, 0.3655, Differs.MEMORY, "memory cdf"),
)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of Table 3: the judge's model, what it was given, three figures, and our setting."""

    model: str
    variant: str
    pearson: float
    qwk: float
    f1_dsat: float
    setting: str
    name: str = ""


TABLE_3: Final = (
    PublishedRow("Qwen3-8B", "no memory", 0.139, 0.071, 0.046, "no memory raw"),
    PublishedRow("Qwen3-8B", "memory", 0.300, 0.281, 0.351, "memory raw"),
    PublishedRow("Qwen3-8B", "memory, mean shift", 0.353, 0.339, 0.393, "memory mean_shift"),
    PublishedRow("Qwen3-8B", "memory, CDF", 0.338, 0.337, 0.405, "memory cdf"),
    PublishedRow("Qwen3.6-35B-A3B", "memory, CDF", 0.398, 0.397, 0.412, "memory cdf"),
    PublishedRow("GPT-5.4-mini", "memory, CDF", 0.421, 0.420, 0.416, "memory cdf"),
)
"""The ablation on 20 of the test users."""


class Line(Protocol):
    """A row of our table."""

    @property
    def name(self) -> str:
        """The evaluator."""
        ...

    @property
    def setting(self) -> str:
        """How it was used."""
        ...


Ours = TypeVar("Ours", bound=Line)


def ours_beside(row: PaperRow | PublishedRow, lines: Sequence[Ours]) -> tuple[Ours, ...]:
    """Our rows that stand beside one of the paper's, in their order; none where nothing was run."""
    return tuple(
        line
        for line in lines
        if row.setting and line.setting == row.setting and row.name in ("", line.name)
    )
