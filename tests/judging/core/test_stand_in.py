from __future__ import annotations

import pytest

from judging.core.rules import Combine
from judging.core.stand_in import StandInChoice, exceeds

BASE, STACK, SUBSET = Combine.BASE, Combine.STACK, Combine.SUBSET


@pytest.mark.parametrize(
    ("accuracy", "base", "clear"),
    [
        (0.7, 0.5, True),
        (0.9, 0.7, True),  # the difference is below .2 by rounding
        (0.65, 0.5, False),
        (0.5, 0.5, False),
        (0.4, 0.5, False),
        (0.0, None, True),
    ],
)
def test_two_pairs_of_ten_are_the_margin(accuracy, base, clear):
    assert exceeds(accuracy, base) is clear


@pytest.mark.parametrize(
    ("subset", "stack", "choice", "told"),
    [
        (
            0.9,  # a set alone is no rival beside a vote that is not clearly better
            0.6,
            BASE,
            "The base judge stands in: the weighted vote was right on 6 of 10 dev pairs, the base "
            "judge on 5; at least 2 more are required.",
        ),
        (
            0.75,
            0.75,
            STACK,
            "The weighted vote stands in: it was right on 7.5 of 10 dev pairs, the selected "
            "preferences on 7.5, the base judge on 5; at least 2 more than the base judge are "
            "required.",
        ),
        (
            0.8,
            0.75,
            SUBSET,
            "The selected preferences stand in: they were right on 8 of 10 dev pairs, the weighted "
            "vote on 7.5, the base judge on 5; at least 2 more than the base judge are required.",
        ),
        (
            0.55,
            None,
            BASE,
            "The base judge stands in: the selected preferences were right on 5.5 of 10 dev pairs, "
            "the base judge on 5; at least 2 more are required.",
        ),
        (
            0.7,
            None,
            SUBSET,
            "The selected preferences stand in: they were right on 7 of 10 dev pairs, the base "
            "judge on 5; at least 2 more are required.",
        ),
    ],
)
def test_the_choice_says_why(subset, stack, choice, told):
    found = StandInChoice.of(base=0.5, subset=subset, stack=stack, pairs=10)
    assert found.choice is choice
    sentence, values = found.reason
    assert sentence % values == told


def test_where_nothing_was_measured_the_choice_alone_is_told():
    for choice, told in (
        (BASE, "The base judge stands in: on dev pairs nothing else was clearly better."),
        (STACK, "The weighted vote stands in."),
        (SUBSET, "The selected preferences stand in."),
    ):
        sentence, values = StandInChoice(choice).reason
        assert sentence % values == told


def test_what_is_stored_is_read_back():
    for found in (
        StandInChoice(BASE),
        StandInChoice.of(base=0.5, subset=0.6, stack=0.8, pairs=7, optimistic=True),
    ):
        assert StandInChoice.read(found.stored) == found
    assert StandInChoice(BASE).stored["choice"] == "BASE"
