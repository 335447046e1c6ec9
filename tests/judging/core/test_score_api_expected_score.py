from __future__ import annotations

import math

import pytest

from judging.core.chat import TokenStep
from judging.core.score_api import expected_score, expected_side, letter_odds
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


SIDE = '{"satisfied": true, "reason": "满意"}'
TRUE_AT = len('{"satisfied": ')


def test_three_and_the_chance_of_satisfied():
    # .6 / (.6 + .2): of the rest nothing is known.
    found = expected_side(SIDE, [step(("true", 0.6), ("false", 0.2), ("1", 0.2), offset=TRUE_AT)])
    assert found == pytest.approx(3.75)


def test_a_word_may_carry_marks_and_capitals():
    top = step((" True", 0.5), ('"false,', 0.5), offset=TRUE_AT - 1, said=" true,")
    assert expected_side(SIDE, [top]) == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (SIDE, None),
        (SIDE, [step(("true", 1.0), offset=0, said="{")]),
        (SIDE, [step(("yes", 1.0), offset=TRUE_AT, said="true")]),
        ('{"satisfied": "perhaps"}', [step(("true", 1.0), offset=TRUE_AT, said="true")]),
    ],
)
def test_without_the_alternatives_of_the_word_nothing_is_known(text, steps):
    assert expected_side(text, steps) is None


def test_an_infinite_alternative_counts_nothing():
    top = (TokenLogprob("true", -math.inf), TokenLogprob("false", -0.5))
    assert expected_side(SIDE, [TokenStep(TRUE_AT, "true", top)]) == 3.0


SURE = (("A", 0.6), ("B", 0.3))
UNSURE = (("A", 0.1), ("B", 0.1), ('"', 0.8))


@pytest.mark.parametrize(
    ("steps", "ratio"),
    [
        ([step(*SURE, said="A")], 2),
        ([step(*UNSURE, said='"'), step(*SURE, said="A")], 2),
        ([step(*UNSURE, said="\n")], 1),
        ([step(*UNSURE, said="The"), step(*SURE, said="A")], 1),
        ([step(*UNSURE, said='"'), step(("C", 1.0), said="C")], 1),
    ],
)
def test_the_letter_is_read_where_it_stands(steps, ratio):
    assert letter_odds(steps) == pytest.approx(math.log(ratio))


def test_without_a_letter_there_are_no_odds():
    assert letter_odds(None) is letter_odds([]) is None
    assert letter_odds([step(("token_id:32", 0.9), said="token_id:32")]) is None
