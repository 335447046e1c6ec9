from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.labelling import AnswerKind, Target, TargetKind, target_of, written_answer


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (AnswerKind.VERDICTS, Target(TargetKind.COMPARISON, 5)),
        (AnswerKind.SCORES, Target(TargetKind.RESPONSE, 5)),
        (AnswerKind.SCORES, Target(TargetKind.SESSION, 5)),
    ],
)
def test_an_item_s_number_leads_back_to_its_target(kind, target):
    assert target_of(kind, target.item) == target


def test_a_response_and_a_session_of_one_number_are_two_items():
    assert Target(TargetKind.RESPONSE, 5).item != Target(TargetKind.SESSION, 5).item


def test_value_numbers_are_verdicts_or_scores():
    assert [written_answer(AnswerKind.VERDICTS, value) for value in range(3)] == [
        Verdict.A,
        Verdict.B,
        Verdict.TIE,
    ]
    assert [written_answer(AnswerKind.SCORES, value) for value in range(5)] == [1, 2, 3, 4, 5]
