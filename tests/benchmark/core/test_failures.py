from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import wilson
from benchmark.core.failures import (
    PAPER,
    FailureRow,
    GoldJudgment,
    GoldOutcome,
    failure_row,
    gold_outcome,
)
from judging.core.rules import JudgePrompt

FAILURE, RIGHT, TIE = GoldOutcome.FAILURE, GoldOutcome.RIGHT, GoldOutcome.TIE


@pytest.mark.parametrize(
    ("status", "verdict", "gold", "outcome"),
    [
        ("DONE", "A", Verdict.A, "right"),
        ("DONE", "B", Verdict.A, "failure"),
        ("DONE", "A", Verdict.B, "failure"),
        ("DONE", "TIE", Verdict.B, "tie"),
        ("UNPARSEABLE", None, Verdict.A, "unreadable"),
        ("FAILED", None, Verdict.A, "failed"),
    ],
)
def test_a_judgment_stands_to_the_gold_answer(status, verdict, gold, outcome):
    assert gold_outcome(status, verdict, gold) == outcome


def judged(*outcomes):
    """Judgments in pairs: both orders of a comparison, each a question of its own."""
    return [
        GoldJudgment(place // 2, place // 2, list(Order)[place % 2], outcome)
        for place, outcome in enumerate(outcomes)
    ]


def row(judgments, default=(), prompt=JudgePrompt.REFERENCE):
    return failure_row(judgments, judge="j", prompt=prompt, run=7, default=default, seed=1)


def test_the_paper_s_own_counts_give_its_shares_and_the_p_of_signs():
    """Failures on the first 14, 6 and 3 of 20: signs of 4 and of 6 questions that differ.

    Of the questions the default fails both orders of 0 to 6, thought of 0 to 2, the reference of 0
    and one of 1. Thought avoids two on each of 3 to 6, so p is 2 of 2^4; the reference one on 1 and
    two on each of 2 to 6, so p is 2 of 2^6.
    """
    default, thought, reference = (
        judged(*[FAILURE] * fails, *[RIGHT] * (20 - fails)) for fails in (14, 6, 3)
    )
    first = row(default, prompt=JudgePrompt.PAIRWISE)
    assert (first.share, first.failures, first.judgments) == (0.7, 14, 20)
    assert (first.comparisons, first.questions) == (10, 10)
    assert (first.difference, first.p, first.paired) == (None, None, 0)
    # Each question is all failures or none: Wilson's own interval of 7 in 10.
    whole = wilson(7, 10)
    assert (first.low, first.high) == (whole.low, whole.high)
    second = row(thought, default, JudgePrompt.THOUGHT)
    assert (second.share, second.difference, second.p) == (0.3, pytest.approx(-0.4), 2 / 2**4)
    assert (second.only_here, second.only_default, second.paired) == (0, 8, 20)
    third = row(reference, default)
    assert (third.share, third.difference, third.p) == (0.15, pytest.approx(-0.55), 2 / 2**6)
    assert third.difference_low < third.difference < third.difference_high < 0
    for each in (first, second, third):
        assert each.paper == (each.failures, each.judgments)
        assert each.record()["paper"] == each.share
    assert FailureRow(**third._asdict()) == third


def test_ties_count_and_what_has_no_verdict_stands_apart():
    found = row(judged(FAILURE, TIE, GoldOutcome.UNREADABLE, RIGHT, GoldOutcome.FAILED, RIGHT))
    assert (found.failures, found.ties, found.right) == (1, 1, 2)
    assert (found.judgments, found.share) == (4, 1 / 4)
    assert (found.unreadable, found.failed) == (1, 1)
    assert (found.low, found.high) == (None, None)  # three questions say too little


def test_judgments_pair_where_both_prompts_were_read():
    default = judged(FAILURE, GoldOutcome.UNREADABLE, RIGHT, RIGHT)
    found = row(judged(RIGHT, FAILURE, FAILURE, GoldOutcome.FAILED), default)
    assert (found.paired, found.only_here, found.only_default) == (2, 1, 1)
    assert found.difference == 0


def test_without_a_readable_reply_there_is_no_share():
    nothing = row(judged(GoldOutcome.UNREADABLE, GoldOutcome.FAILED), judged(RIGHT, RIGHT))
    assert (nothing.share, nothing.low, nothing.difference, nothing.judgments) == (
        None,
        None,
        None,
        0,
    )


def test_the_paper_s_table_has_every_prompt_of_the_protocol():
    assert {prompt.word: counts for prompt, counts in PAPER.items()} == {
        "pairwise": (14, 20),
        "thought": (6, 20),
        "reference": (3, 20),
        "own-reference": (3, 20),
    }
