"""How often a judge fails where the right answer is known, by the way it is asked.

The failure protocol of the MT-Bench paper (Zheng et al. 2023, section 3.4, Table 4): comparisons
with a gold answer, each judged in both orders by every prompt. A failure is a judgment that names
the wrong response as the better one. Ties and replies that could not be read are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from annotation.core.choices import JudgmentStatus, LabelledEnum, Order, Verdict
from annotation.core.intervals import ends
from annotation.core.refusals import gettext_noop
from benchmark.core.accuracy import Floats, by_unit, gain_of, share_interval
from judging.core.rules import JudgePrompt


class GoldOutcome(LabelledEnum):
    """How one judgment stands to the gold answer, which names a winner."""

    FAILURE = "failure", gettext_noop("names the wrong response")
    RIGHT = "right", gettext_noop("names the right response")
    TIE = "tie", gettext_noop("tie")
    UNREADABLE = "unreadable", gettext_noop("unreadable")
    FAILED = "failed", gettext_noop("failed")

    @property
    def is_read(self) -> bool:
        """Whether the reply named a verdict."""
        return self in (GoldOutcome.FAILURE, GoldOutcome.RIGHT, GoldOutcome.TIE)


def gold_outcome(status: str, verdict: str | None, gold: Verdict) -> GoldOutcome:
    """The outcome of a finished judgment by its status and verdict; `gold` is A or B."""
    if status == JudgmentStatus.UNPARSEABLE:
        return GoldOutcome.UNREADABLE
    if verdict is None:
        return GoldOutcome.FAILED
    if verdict == Verdict.TIE:
        return GoldOutcome.TIE
    return GoldOutcome.RIGHT if verdict == gold else GoldOutcome.FAILURE


class GoldJudgment(NamedTuple):
    """One judgment of a comparison, in one order, against its gold answer."""

    comparison: int
    session: int
    order: Order
    outcome: GoldOutcome


PAPER: Final = {
    JudgePrompt.PAIRWISE: (14, 20),
    JudgePrompt.THOUGHT: (6, 20),
    JudgePrompt.REFERENCE: (3, 20),
    JudgePrompt.OWN_REFERENCE: (3, 20),
}
"""Failures of GPT-4 and its judgments in the paper's Table 4: ten math questions in two orders. Its
reference answers were written by GPT-4 itself, before and apart from the comparison."""


class FailureRow(NamedTuple):
    """A judge asked in one way; `share` is 0..1 of `judgments`, those that could be read.

    `judgments` = failures + right + ties, on `comparisons` of `questions` (sessions), the units of
    `low` and `high`. `difference` is the share less that of the default prompt, -1..1, on the
    judgments of `paired` comparisons and orders that could be read both times: `only_here` of them
    are failures of this prompt alone, `only_default` of the default alone. `p` is two-sided, by
    sign flips over questions. None where there is nothing to compare.
    """

    judge: str
    prompt: str
    run: int
    comparisons: int
    questions: int
    judgments: int
    failures: int
    right: int
    ties: int
    unreadable: int
    failed: int
    share: float | None
    low: float | None
    high: float | None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    paired: int = 0
    only_here: int = 0
    only_default: int = 0

    @property
    def paper(self) -> tuple[int, int]:
        """Failures and judgments of GPT-4 in the paper, asked in this way."""
        return PAPER[JudgePrompt(self.prompt)]

    def record(self) -> dict[str, Any]:
        """As printed, with the paper's share."""
        failures, judgments = self.paper
        return {**self._asdict(), "paper": failures / judgments}


def failure_row(
    judged: Sequence[GoldJudgment],
    *,
    judge: str,
    prompt: JudgePrompt,
    run: int,
    default: Sequence[GoldJudgment] = (),
    seed: int,
) -> FailureRow:
    """The row of a judge that was asked in one way.

    Args:
        judged: its judgments.
        judge: its name.
        prompt: how it was asked.
        run: who asked.
        default: the same comparisons by the default prompt; none where this is it.
        seed: of the difference's interval, and of its p where signs are drawn.
    """
    counts = Counter(each.outcome for each in judged)
    read = [each for each in judged if each.outcome.is_read]
    stakes = _by_question(read, np.array([[_fails(each), 1] for each in read], dtype=np.float64))
    interval = share_interval(stakes) if read else None
    return FailureRow(
        judge=judge,
        prompt=prompt.value,
        run=run,
        comparisons=len({each.comparison for each in judged}),
        questions=len(stakes),
        judgments=len(read),
        failures=counts[GoldOutcome.FAILURE],
        right=counts[GoldOutcome.RIGHT],
        ties=counts[GoldOutcome.TIE],
        unreadable=counts[GoldOutcome.UNREADABLE],
        failed=counts[GoldOutcome.FAILED],
        share=counts[GoldOutcome.FAILURE] / len(read) if read else None,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        **_difference(read, default, seed=seed),
    )


def _difference(
    read: Sequence[GoldJudgment], default: Sequence[GoldJudgment], *, seed: int
) -> dict[str, Any]:
    before = {(each.comparison, each.order): each for each in default if each.outcome.is_read}
    pairs = [
        (before[key], each) for each in read if (key := (each.comparison, each.order)) in before
    ]
    if not pairs:
        return {}
    fails = np.array([[_fails(one), 1, _fails(other), 1] for one, other in pairs], dtype=np.float64)
    found = gain_of(
        _by_question([one for one, _other in pairs], fails), comparisons=len(pairs), seed=seed
    )
    return {
        "difference": found.value,
        **ends(found.interval, "difference_"),
        "p": found.p,
        "paired": len(pairs),
        "only_here": int((fails[:, 2] > fails[:, 0]).sum()),
        "only_default": int((fails[:, 0] > fails[:, 2]).sum()),
    }


def _fails(judgment: GoldJudgment) -> bool:
    return judgment.outcome is GoldOutcome.FAILURE


def _by_question(judgments: Sequence[GoldJudgment], rows: Floats) -> Floats:
    """The rows of judgments summed over each question, for its two orders depend on each other."""
    return by_unit(np.array([each.session for each in judgments], dtype=np.int64), rows)
