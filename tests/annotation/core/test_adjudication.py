from __future__ import annotations

import numpy as np
import pytest

from annotation.core.adjudication import ValueCounts, shown_order, shuffled, tallies
from annotation.core.agreement_report import Answers
from annotation.core.choices import Order
from annotation.core.labelling import AnswerKind, Target, TargetKind

TARGET = Target(TargetKind.COMPARISON, 7)


@pytest.mark.parametrize(
    ("counts", "entropy", "disputed"),
    [
        ((3, 0, 0), 0.0, False),
        ((1, 1, 0), 1.0, True),
        # -(2/3) log2(2/3) - (1/3) log2(1/3)
        ((2, 1, 0), 0.9183, True),
        ((1, 1, 1), 1.585, True),
    ],
)
def test_disagreement_is_entropy(counts, entropy, disputed):
    tally = ValueCounts(TARGET, counts)
    assert tally.entropy == pytest.approx(entropy, abs=1e-4)
    assert str(tally.entropy) != "-0.0"
    assert (tally.disputed, tally.annotators) == (disputed, sum(counts))


def test_items_with_one_annotator_are_not_tallied():
    rows = [(14, 1, 0), (14, 2, 1), (14, 2, 0), (16, 1, 0), (16, 1, 1), (18, 1, 2), (18, 3, 2)]
    item, annotator, value = np.array(rows).T
    answers = Answers(item, annotator, value, item * 0, item * 0, item)
    assert tallies(answers, AnswerKind.VERDICTS, categories=3) == [
        ValueCounts(Target(TargetKind.COMPARISON, 7), (1, 1, 0)),
        ValueCounts(Target(TargetKind.COMPARISON, 9), (0, 0, 2)),
    ]


def test_nothing_answered_is_no_item():
    nothing = np.zeros(0, dtype=np.int64)
    answers = Answers(nothing, nothing, nothing, nothing, nothing, nothing)
    assert tallies(answers, AnswerKind.SCORES, categories=5) == []


def test_an_item_is_always_shown_alike_and_items_differ():
    targets = [Target(TargetKind.COMPARISON, number) for number in range(200)]
    orders = [shown_order(target, seed=1) for target in targets]
    assert orders == [shown_order(target, seed=1) for target in targets]
    assert 70 < orders.count(Order.SWAPPED) < 130
    assert orders != [shown_order(target, seed=2) for target in targets]
    listed = [shuffled("abc", target, seed=1) for target in targets]
    assert listed == [shuffled("abc", target, seed=1) for target in targets]
    assert len({tuple(each) for each in listed}) == 6
