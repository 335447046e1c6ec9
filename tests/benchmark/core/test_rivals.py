from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from benchmark.core.rivals import RIVALS, nearest
from judging.core.questions import LabelledPair, ShownPair

ASKED = (Message(Speaker.USER, "How do I boil an egg?"),)
SHORT = "Boil it for seven minutes."
LONG = SHORT + " Then cool it under the tap, peel it and serve it with a little salt and bread."


def pairs(count, *, shorter=True):
    chosen, rejected = (SHORT, LONG) if shorter else (LONG, SHORT)
    return [
        LabelledPair(ASKED, f"{chosen} Egg {number}.", f"{rejected} Egg {number}.")
        for number in range(count)
    ]


@pytest.mark.parametrize("name", RIVALS)
def test_what_was_chosen_is_chosen_again_in_either_order(name):
    shorter, longer = RIVALS[name](pairs(6)), RIVALS[name](pairs(6, shorter=False))
    one, two = ShownPair(ASKED, SHORT, LONG), ShownPair(ASKED, LONG, SHORT)
    assert (shorter(one), shorter(two)) == (Verdict.A, Verdict.B)
    assert (longer(one), longer(two)) == (Verdict.B, Verdict.A)


@pytest.mark.parametrize("name", RIVALS)
def test_without_a_label_or_a_difference_it_is_a_tie(name):
    assert RIVALS[name]([])(ShownPair(ASKED, SHORT, LONG)) is Verdict.TIE
    assert RIVALS[name](pairs(3))(ShownPair(ASKED, SHORT, SHORT)) is Verdict.TIE


def test_the_five_nearest_alone_vote():
    # Six pairs that differ in a list say nothing of it; the five that differ alike outvote them.
    listed = SHORT + "\n- Cool it.\n- Peel it.\n- Serve it."
    others = [LabelledPair(ASKED, f"{listed} {n}", f"{SHORT} {n}") for n in range(20)]
    rule = nearest([*others, *pairs(5)])
    assert rule(ShownPair(ASKED, SHORT, LONG)) is Verdict.A
    assert rule(ShownPair(ASKED, listed, SHORT)) is Verdict.A
