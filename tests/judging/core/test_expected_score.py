from __future__ import annotations

import math

import pytest

from judging.core.chat import TokenStep
from judging.core.expected_score import expected_score
from judging.core.verdicts import TokenLogprob

REPLY = '好 {"classification": 4, "reason": "satisfied"}'
PLACE = len('好 {"classification": '.encode())


def step(*probabilities, offset=PLACE, said="4"):
    return TokenStep(
        offset, said, tuple(TokenLogprob(name, math.log(p)) for name, p in probabilities)
    )


def test_the_mean_over_the_digits():
    # (3 * .1 + 4 * .5 + 5 * .2) / .8 = 3.3 / .8
    found = expected_score(REPLY, [step(("4", 0.5), ("5", 0.2), ("3", 0.1), ("{", 0.2))])
    assert found == pytest.approx(4.125)


def test_a_token_may_carry_marks_around_its_digit():
    found = expected_score(REPLY, [step((" 4", 0.5), (' "5', 0.5), offset=PLACE - 1, said=" 4")])
    assert found == pytest.approx(4.5)


def test_scores_out_of_range_and_infinite_ones_do_not_count():
    top = (TokenLogprob("9", -0.1), TokenLogprob("2", -math.inf), TokenLogprob("4", -1.0))
    assert expected_score(REPLY, [TokenStep(PLACE, "4", top)]) == 4.0


def test_the_last_classification_counts():
    text = REPLY + ' {"classification": 2}'
    steps = [step(("4", 1.0)), step(("2", 1.0), offset=len(text.encode()) - 2, said="2")]
    assert expected_score(text, steps) == 2.0


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (REPLY, None),
        (REPLY, []),
        (REPLY, [step(("4", 1.0), offset=0)]),
        (REPLY, [step(("four", 1.0))]),
        ("no score", [step(("4", 1.0))]),
        ('{"classification": 6}', [step(("6", 1.0))]),
    ],
)
def test_unknown_where_the_digit_is_not_known(text, steps):
    assert expected_score(text, steps) is None
