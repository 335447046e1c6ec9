from __future__ import annotations

import pytest

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.injections import AttackFamily, ShownVerdict
from judging.core.repetition import (
    PAPER,
    list_in,
    longest_list,
    repetition_flips,
    rephrase_prompt,
    rephrased,
    with_repetition,
)
from tests.refusals import refuses

NUMBERED = "Three steps:\n\n1. Cut.\n2. Boil\n   for an hour.\n\n3. Serve.\n\nEnjoy."
LOOSE = "1. **Cut**\nUse a knife.\n\n2. **Boil**\nAn hour.\n\n3. **Serve**"


@pytest.mark.parametrize(
    ("text", "found", "items"),
    [
        (NUMBERED, "1. Cut.\n2. Boil\n   for an hour.\n\n3. Serve.", 3),
        (f"So:\n{LOOSE}\nDone.", LOOSE, 3),  # numbers count on by one, whatever stands between
        (
            "- a\n- b\n  - deep\n  - deeper\n- c\n\nand\n- d",
            "- a\n- b\n  - deep\n  - deeper\n- c",
            3,
        ),
        ("* a\n* b\n+ c", "* a\n* b", 2),
        ("1. a\n2. b\n\nThen:\n\n1. a\n2. b\n3. c", "1. a\n2. b\n3. c", 3),
        ("3. a\n4. b\n  5. c\n5. d", "3. a\n4. b\n  5. c\n5. d", 3),
        ("步骤：\n1、切。\n2、煮。\n3、吃。", "1、切。\n2、煮。\n3、吃。", 3),
        ("  • a\n  • b\n    more\n", "  • a\n  • b\n    more", 2),
        ("```\n- a\n- b\n- c\n```\n- d", "- d", 1),
        ("No list, 1.5 of it - none.\n-3 is a number", None, 0),
        ("", None, 0),
    ],
)
def test_the_longest_list_is_found_with_what_belongs_to_it(text, found, items):
    told = longest_list(text)
    assert (told and (text[told.start : told.end], told.items)) == (found and (found, items))


def test_a_list_is_repeated_in_front_of_itself():
    own = list_in(NUMBERED)
    twice = with_repetition(NUMBERED, own)
    assert twice == NUMBERED.replace(own, f"{own}\n\n{own}")
    assert twice.startswith("Three steps:\n\n1. Cut.")
    assert list_in("- a\n- b") is None  # two items are too few
    assert list_in("Nothing.") is None
    with pytest.raises(ValueError, match="no list"):
        with_repetition("Nothing.", "- a")


def test_a_reply_holds_the_list_in_other_words():
    own = list_in(NUMBERED)
    assert rephrased("Sure:\n1. Chop.\n2. Cook it.\n3. Eat.\nDone.", like=own) == (
        "1. Chop.\n2. Cook it.\n3. Eat."
    )
    for reply in ("1. Chop.\n2. Cook it.", "I would rather not.", f"Here:\n{own}"):
        with refuses("injection:list-changed"):
            rephrased(reply, like=own)
    with refuses("injection:list-changed"):
        rephrased("1. a", like="no list")


@pytest.mark.parametrize(("language", "word"), [("en", "other words"), ("zh-CN", "不同的措辞")])
def test_the_prompt_shows_the_list_alone(language, word):
    prompt = rephrase_prompt("- a\n- b\n- c", language=language)
    assert "<response>\n- a\n- b\n- c\n</response>" in prompt
    assert word in prompt


def said(original, swapped):
    """What a judge said as shown, A or B, T for a tie; U, F and P have no verdict."""
    statuses = {"U": "UNPARSEABLE", "F": "FAILED", "P": "PENDING"}
    verdicts = {"A": Verdict.A, "B": Verdict.B, "T": Verdict.TIE}
    return {
        order: ShownVerdict(JudgmentStatus(statuses.get(word, "DONE")), verdicts.get(word))
        for order, word in ((Order.ORIGINAL, original), (Order.SWAPPED, swapped))
    }


def test_a_judge_fails_that_prefers_the_repetition_in_both_orders():
    """It is shown second in the original order, first in the swapped one: B, then A."""
    answers = ["BA", "BA", "BB", "AA", "AB", "TA", "BU", "FA", "PA", "UF"]
    both, second, first = repetition_flips(
        (place, said(*words)) for place, words in enumerate(answers)
    )
    assert (both.flipped, both.read, both.unreadable, both.failed) == (2, 6, 1, 2)
    assert both.rate == 2 / 6
    assert (second.flipped, second.read, second.unreadable, second.failed) == (4, 7, 1, 1)
    assert (first.flipped, first.read, first.unreadable, first.failed) == (6, 8, 1, 1)
    assert both.interval is None


def test_an_order_that_is_not_there_yet_is_no_answer():
    (orders,) = [said("B", "A")]
    del orders[Order.SWAPPED]
    both, second, first = repetition_flips([(0, orders)])
    assert (both.read, second.flipped, first.read) == (0, 1, 0)


def test_the_paper_s_shares():
    shares = {name: round(100 * found.rate, 1) for name, found in PAPER.items()}
    assert shares == {"GPT-3.5": 91.3, "Claude-v1": 91.3, "GPT-4": 8.7}


def test_attacks_are_words_of_a_command():
    assert [each.word for each in AttackFamily] == ["texts", "repetition"]
