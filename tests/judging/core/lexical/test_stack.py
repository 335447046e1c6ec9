from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.lexical.distil import distil, estimate
from judging.core.lexical.features import FEATURES
from judging.core.lexical.pairwise import compare, judge_pair, weights_of
from judging.core.lexical.stack import (
    HEADER_EN,
    HEADER_ZH,
    WeightedWays,
    held_out_by_stack,
    is_stack,
    judge_by_stack,
    learned_stack,
    read_stack,
    stack_text,
    told_ways,
)
from judging.core.questions import LabelledPair, ShownPair
from judging.core.rules import StackWay
from judging.core.stack import ways_text

ASKED = (Message(Speaker.USER, "How do I boil an egg?"),)
SHORT = "Boil it for seven minutes."
LONG = SHORT + " Then cool it under the tap, peel it and serve it with a little salt and bread."


def pairs(count, *, shorter=True):
    chosen, rejected = (SHORT, LONG) if shorter else (LONG, SHORT)
    return [
        LabelledPair(ASKED, f"{chosen} Egg {number}.", f"{rejected} Egg {number}.")
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1])
def test_of_fewer_than_two_pairs_the_base_judge_stands(count):
    found = learned_stack(pairs(count), language="en")
    assert found.weights.tolist() == [1.0]
    assert found.features.tolist() == [weights_of("").tolist()]
    text = stack_text(pairs(count), language="en")
    assert text == f"{HEADER_EN}\n1.000 the base judge"
    shown = ShownPair(ASKED, LONG, SHORT)
    assert judge_by_stack(shown, text=text).verdict is judge_pair(shown, preference="").verdict


def test_the_base_judge_weighs_less_the_worse_it_foretells():
    against, along = (
        learned_stack(pairs(8, shorter=shorter), language="en").weights[0]
        for shorter in (True, False)
    )
    assert against < 0.01 < along


def test_weights_are_the_softmax_of_what_each_way_foretells_of_held_out_pairs():
    some = [*pairs(3), *pairs(2, shorter=False)]
    contrasts = np.array(
        [compare(ShownPair(pair.dialogue, pair.chosen, pair.rejected)) for pair in some]
    )
    fits = np.array([2.0, 0.0, 0.0, 0.0])  # the base judge starts with 2
    for out, pair in enumerate(some):
        rest = [other for other in some if other is not pair]
        kept = np.delete(contrasts, out, axis=0)
        ways = [
            weights_of(""),
            weights_of(distil(rest, language="en")),
            estimate(kept, spread=0.5),
            estimate(kept, spread=0.8),
        ]
        fits += [math.log(1 / (1 + math.exp(-way @ contrasts[out]))) for way in ways]
    expected = np.exp(fits) / np.exp(fits).sum()
    assert learned_stack(some, language="en").weights == pytest.approx(expected)


def test_what_is_held_out_was_weighed_without_it_and_by_ways_that_never_saw_it():
    some = [*pairs(3), *pairs(2, shorter=False)]
    contrasts = np.array(
        [compare(ShownPair(pair.dialogue, pair.chosen, pair.rejected)) for pair in some]
    )
    shares = []
    for out in range(len(some)):
        rest = [place for place in range(len(some)) if place != out]
        # The stack of the others: its weights come from leaving out each of them, too.
        stack = learned_stack([some[place] for place in rest], language="en")
        score = stack.score(contrasts[out])
        shares.append(0.5 if score == 0 else float(score > 0))
    assert held_out_by_stack(some, language="en") == tuple(shares)
    assert set(shares) == {0.0, 1.0}
    assert held_out_by_stack([], language="en") == ()


def test_ten_pairs_against_the_general_taste_are_learned():
    text = stack_text(pairs(10), language="en")
    answer = judge_by_stack(ShownPair(ASKED, SHORT + " Now.", LONG + " Now."), text=text)
    assert answer.verdict is Verdict.A
    assert answer.log_odds > 0
    assert "log-odds +" in answer.call.raw


@pytest.mark.parametrize(("language", "header"), [("en", HEADER_EN), ("zh-Hans", HEADER_ZH)])
def test_the_text_says_every_way_and_is_what_judges(language, header):
    text = stack_text(pairs(6), language=language)
    assert is_stack(text)
    assert not is_stack("Prefers short answers.")
    opening, *lines = text.splitlines()
    assert opening == header
    assert len(lines) == 4
    learned, read = learned_stack(pairs(6), language=language), read_stack(text)
    assert read.weights == pytest.approx(learned.weights, abs=0.001)
    assert read.features == pytest.approx(learned.features, abs=0.0501)


SHOWN = st.text(alphabet="ab .\n-*1", max_size=60)


@given(SHOWN, SHOWN)
def test_both_orders_have_one_verdict(first, second):
    text = stack_text(pairs(5), language="en")
    one, two = (
        judge_by_stack(ShownPair(ASKED, *texts), text=text)
        for texts in ((first, second), (second, first))
    )
    assert one.verdict is two.verdict.flipped()
    assert one.log_odds == pytest.approx(-two.log_odds)


def test_equal_responses_are_a_tie():
    stack = WeightedWays(np.array([0.5, 0.5]), np.zeros((2, len(FEATURES))))
    assert stack.score(np.ones(len(FEATURES))) == 0
    text = stack_text(pairs(5), language="en")
    assert judge_by_stack(ShownPair(ASKED, SHORT, SHORT), text=text).verdict is Verdict.TIE


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["0.5x the base judge"],
        ["the base judge"],
        ["0.000 the base judge"],
        ["1.000 weights: length +0.82, nonsense -1.00"],
        ["1.000 weights: length much"],
    ],
)
def test_what_is_not_written_so_is_no_stack(lines):
    assert not is_stack("\n".join([HEADER_EN, *lines]))


def test_a_way_without_weights_is_even():
    text = f"{HEADER_EN}\n1.000 weights: "
    assert is_stack(text)
    assert judge_by_stack(ShownPair(ASKED, LONG, SHORT), text=text).verdict is Verdict.TIE


def test_the_ways_of_a_text_are_told_one_by_one():
    for language in ("en", "zh"):
        text = stack_text(pairs(5), language=language)
        ways = told_ways(text)
        assert [each.way for each in ways] == [StackWay.BASE, StackWay.AGGREGATE, None, None]
        assert sum(each.weight for each in ways) == pytest.approx(1, abs=0.002)
        assert (ways[0].text, bool(ways[1].text), ways[1].measures) == ("", True, ())
        assert dict(ways[2].measures)["length"] == read_stack(text).features[2][0]
    llm = [(StackWay.BASE, 0.25, []), (StackWay.SELECTED, 0.75, ["Short: best.", "Lists."])]
    for language in ("en", "zh"):
        base, selected = told_ways(ways_text(llm, language=language))
        assert (base.weight, base.way, base.text) == (0.25, StackWay.BASE, "")
        assert (selected.way, selected.text) == (StackWay.SELECTED, "Short: best. / Lists.")


@pytest.mark.parametrize("text", ["", "Prefers short answers.", f"{HEADER_EN}\nwhat I like"])
def test_another_text_has_no_ways(text):
    assert told_ways(text) == []
