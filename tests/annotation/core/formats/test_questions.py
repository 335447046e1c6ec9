from __future__ import annotations

import pytest

from annotation.core.formats.questions import (
    OtherAnswers,
    says_why,
    shown_fields,
    verdict_question,
)


@pytest.mark.parametrize(
    ("names", "prompt", "responses"),
    [
        (["prompt", "response-2", "response-1"], "prompt", ("response-1", "response-2")),
        (["A", "B", "C", "question"], "question", ("A", "B", "C")),
        (["generation_10", "generation_9"], None, ("generation_9", "generation_10")),
        (["left", "right"], None, ("left", "right")),
        (["instruction", "answer", "batch"], "instruction", ("answer",)),
        (["text", "note", "label"], "text", ()),
        (["one", "two", "three", "four"], None, ()),
    ],
)
def test_requests_and_responses_are_told_by_name_or_as_the_only_ones_left(names, prompt, responses):
    found = shown_fields(names)
    assert (found.prompt, found.responses) == (prompt, responses)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["fluency"], "fluency"),
        (["fluency", "preference"], "preference"),
        (["fluency", "Overall quality"], "Overall quality"),
        (["better", "preference"], None),
        (["fluency", "safety"], None),
    ],
)
def test_the_verdict_is_the_only_question_or_the_one_that_is_named_so(names, chosen):
    assert verdict_question(names) == chosen


def test_reasons_are_comments_and_all_else_is_kept():
    answers = OtherAnswers()
    answers.add("why", "safer")
    answers.add("why", ["shorter", ""])
    answers.add("reasons", [1])
    answers.add("text", "Really.", is_reason=True)
    answers.add("flags", ["rude"])
    answers.add("stars", None)
    assert answers.comment == "safer\nshorter\nReally."
    assert answers.extra == {"reasons": [1], "flags": ["rude"]}
    assert says_why("理由")
