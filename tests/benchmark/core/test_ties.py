from __future__ import annotations

from dataclasses import replace
from math import tanh

import pytest

from benchmark.core.ties import ScoredPrompt, ties_score


def question(name, tied, single):
    """Both prompts of a question: scores of right answers, then of wrong ones."""
    return [ScoredPrompt(name, True, *tied), ScoredPrompt(name, False, *single)]  # noqa: FBT003


@pytest.mark.parametrize(
    ("tied", "single", "expected"),
    [
        # Right answers 9 and 8, wrong ones up to 3: margins of 5 and 6 against a spread of 1.
        (((9, 8), (3, 1)), ((9,), (3, 1)), 1 + 0.01 * tanh(5 / 1 - 1)),
        # The spread of 6 is above the margin of 1, though all right answers are on top.
        (((9, 3), (2, 1)), ((9,), (2, 1)), 0.6 + 0.01 * tanh(1 / 6 - 1)),
        # The tied prompt is well apart, the single one is not: margins of 5 and 1, a spread of 2.
        (((9, 7), (2, 1)), ((3,), (2, 1)), 0.8 + 0.01 * tanh(1 / 2 - 1)),
        # A wrong answer is on top in both.
        (((4, 3), (8, 1)), ((4,), (8, 1)), 0.01 * tanh(-5 / 1 - 1)),
        # A score as high as the worst right answer is not below it.
        (((4, 3), (3, 1)), ((4,), (4, 1)), 0.01 * tanh(-1)),
        # One score for all right answers: the limits of the last part.
        (((4, 4), (3, 1)), ((4,), (3, 1)), 1.01),
        (((4, 4), (4, 1)), ((4,), (3, 1)), 0.3),
    ],
)
def test_one_question_by_hand(tied, single, expected):
    found = ties_score(question("0", tied, single), seed=1)
    assert found is not None
    assert found.value == pytest.approx(expected)
    assert found.interval is None  # of one question
    ten = [each for name in "0123456789" for each in question(name, tied, single)]
    interval = ties_score(ten, seed=1).interval
    assert (interval.low, interval.high) == pytest.approx((expected, expected))


def test_questions_with_both_prompts_are_averaged():
    right = question("0", ((9, 8), (3,)), ((9,), (3,)))
    wrong = question("1", ((1, 2), (9,)), ((1,), (9,)))
    found = ties_score([*right, *wrong, *question("2", ((9, 8), (3,)), ((9,), (3,)))[:1]], seed=1)
    assert found is not None
    assert found.questions == 2
    alone = [ties_score(each, seed=1).value for each in (right, wrong)]
    assert found.value == pytest.approx(sum(alone) / 2)
    half = [
        replace(each, question=f"{each.question}{n}") for n in range(5) for each in right + wrong
    ]
    several = ties_score(half, seed=1)
    assert several.interval.low < several.value < several.interval.high
    assert ties_score(right[:1], seed=1) is None
    assert ties_score([], seed=1) is None
