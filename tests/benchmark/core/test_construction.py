"""The rules of a construction, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from benchmark.core.construction import (
    LIMIT_LABELS,
    BuildStage,
    DialogueLimits,
    DropReason,
    StagePassage,
    challenge_fault,
    distribution,
    passages,
    privacy_fault,
    quality_fault,
    statistics,
    surplus,
)
from judging.core.categories import SUBCATEGORIES, Category

USER, ASSISTANT = Speaker.USER, Speaker.ASSISTANT
REQUEST = "Please explain in plain words how a steam engine turns heat into work."


def said(*texts):
    """A user and an assistant by turns."""
    return tuple(Message((USER, ASSISTANT)[at % 2], text) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("dialogue", "reason", "measured"),
    [
        (said(REQUEST), None, None),
        ((), DropReason.EMPTY, None),
        (said(REQUEST, "Well."), DropReason.EMPTY, None),
        (said(" \n"), DropReason.EMPTY, None),
        (said("Hello there"), DropReason.SHORT, 4),
        (said("word " * 10_000), DropReason.LONG, None),
        (said(*(REQUEST,) * 41), DropReason.TURNS, 21),
        # 20 of them are as many as there may be; they repeat themselves, though.
        (said(*(REQUEST,) * 39), DropReason.REPEATS, None),
        (said("caf\ufffd " * 9 + REQUEST), DropReason.BROKEN, None),
        (said("a\x00b" + REQUEST), DropReason.BROKEN, 1.4),
        (said("§§§§ %%%% &&&& //// ~~~~ abc"), DropReason.SYMBOLS, 13),
        (said("哈哈哈哈哈哈哈哈" * 10), DropReason.REPEATS, 98.7),
        # As many repetitions, but fewer words than where they begin to count.
        (said("哈哈哈哈哈哈哈哈" * 6), None, None),
    ],
)
def test_length_and_quality(dialogue, reason, measured):
    fault = quality_fault(dialogue, DialogueLimits())
    assert (fault and fault.reason) == reason
    if measured is not None:
        assert fault.details == {"measured": measured}


def test_thresholds_can_be_others():
    assert (
        quality_fault(said(REQUEST), DialogueLimits(fewest_tokens=100)).reason is DropReason.SHORT
    )
    assert LIMIT_LABELS.keys() == set(DialogueLimits._fields)


def test_personal_data_is_looked_for_in_every_message():
    dialogue = said("Who is it?", "Write to ann@corp.com or call 13812345678.", "Thanks, and?")
    assert privacy_fault(dialogue) == (
        DropReason.EMAIL,
        {
            "found": [
                {"kind": "EMAIL", "masked": "an********om"},
                {"kind": "PHONE", "masked": "13*******78"},
            ]
        },
    )
    assert privacy_fault(said(REQUEST)) is None


A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


@pytest.mark.parametrize(
    ("original", "swapped", "expected"),
    [
        (A, A, None),
        (B, B, DropReason.WEAK_WINS),
        (A, B, DropReason.UNCLEAR),
        (A, TIE, DropReason.UNCLEAR),
        (TIE, TIE, DropReason.UNCLEAR),
        (A, None, DropReason.NOT_JUDGED),
        (None, None, DropReason.NOT_JUDGED),
    ],
)
def test_the_strong_model_has_to_win_in_both_orders(original, swapped, expected):
    assert challenge_fault(original, swapped) is expected


KEYS = st.dictionaries(st.text("abc", min_size=1, max_size=4), st.sampled_from("xy"), max_size=30)


@given(KEYS, st.integers(1, 5), st.sets(st.text("abc", min_size=1, max_size=2), max_size=4))
def test_balance_leaves_as_many_as_are_wanted(categories, most, first):
    over = surplus(categories, most=most, first=first, seed=1)
    for category in set(categories.values()):
        own = {key for key, each in categories.items() if each == category}
        assert len(own - over) == min(most, len(own))
        # Nobody's review is dropped for the sake of what nobody looked at.
        assert not (own & first & over and (own - over) - first)
    assert over <= categories.keys()


def test_balance_goes_by_rank_and_by_seed():
    categories = dict.fromkeys(map(str, range(40)), "x")
    draws = [surplus(categories, most=20, first=(), seed=seed) for seed in (1, 2)]
    assert draws[0] != draws[1]
    # What is taken away elsewhere leaves the order of the rest as it is.
    fewer = {key: "x" for key in categories if key not in draws[0]}
    assert surplus(fewer, most=20, first=(), seed=1) == set()
    assert surplus(categories, most=None, first=(), seed=1) == set()


def test_stages_pass_on_what_they_keep():
    counts = {
        ("DUPLICATES", "EXACT"): 2,
        ("DUPLICATES", "NEAR"): 5,
        ("REVIEW", "UNFIT"): 1,
    }
    found = passages(counts, 20)
    assert [each.stage for each in found] == list(BuildStage)
    assert found[0] == StagePassage(
        BuildStage.DUPLICATES, 20, 7, ((DropReason.NEAR, 5), (DropReason.EXACT, 2))
    )
    assert [(each.came, each.kept) for each in found] == [(20, 13)] + [(13, 13)] * 4 + [
        (13, 12),
        (12, 12),
    ]


def test_table_5():
    # 13 letters are 3.7 estimated tokens, each message rounded up: 4, 1 and 4.
    short, long = said("one two three"), said("one two three", "yes", "four five six")
    assert statistics([short, long]) == {
        "count": 2,
        "tokens_mean": 6.5,
        "tokens_most": 9,
        "tokens_fewest": 4,
        "messages_mean": 2.0,
        "messages_most": 3,
        "messages_fewest": 1,
        "turns_mean": 1.5,
        "turns_most": 2,
        "turns_fewest": 1,
    }
    assert statistics([])["tokens_mean"] is None


def test_table_7_has_every_subcategory():
    rows = distribution([("Math", "Advanced mathematics"), ("Math", "Advanced mathematics")])
    assert [row["category"] for row in rows] == [each.value for each in Category]
    math = next(row for row in rows if row["category"] == "Math")
    assert math == {
        "category": "Math",
        "count": 2,
        "subcategories": {
            "Elementary mathematics": 0,
            "Applied mathematics": 0,
            "Advanced mathematics": 2,
        },
    }
    assert sum(map(len, SUBCATEGORIES.values())) == 32  # as in the paper
