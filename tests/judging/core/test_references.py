from __future__ import annotations

import pytest

from judging.core.references import reference_for
from judging.core.rules import JudgePrompt, prompt_of


@pytest.mark.parametrize(
    ("extras", "position", "reference"),
    [
        ([{"reference": " 42 "}], 0, "42"),
        ([{"reference": "42"}], 3, "42"),
        ([{}, {"reference": "42"}], 0, "42"),
        ([{"reference": "near"}, {"reference": "far"}], 0, "near"),
        ([{"reference": "  "}, {"reference": "far"}], 0, "far"),
        ([{"reference": ["one", "two"]}], 0, "one"),
        ([{"reference": ["one", "two"]}], 1, "[1] one\n\n[2] two"),
        ([{"reference": ["", "two"]}], 1, "[2] two"),
        ([{"reference": ["one"]}], 1, ""),
        ([{"reference": ["one", None]}], 1, ""),
        ([{"reference": "own", "reference:gpt-4": ["one"]}], 0, "one"),
        ([{"reference:m2": ["", "two"], "reference:m1": ["one"]}], 1, "[2] two"),
        ([{"reference": 42}], 0, ""),
        ([{"reference": {"a": 1}}], 0, ""),
        ([], 0, ""),
    ],
)
def test_the_nearest_reference_answer(extras, position, reference):
    assert reference_for(extras, position=position) == reference


@pytest.mark.parametrize("mode", JudgePrompt)
def test_a_prompt_has_one_word(mode):
    assert prompt_of(mode.word) is mode
    assert mode.word == mode.word.lower()


def test_an_unknown_prompt_is_refused():
    with pytest.raises(ValueError, match="NONSENSE"):
        prompt_of("nonsense")
