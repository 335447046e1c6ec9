from __future__ import annotations

import pytest

from judging.core.error_texts import ERROR_TEXTS, cause_in
from judging.llm.errors import LlmCode


def test_every_failure_of_a_call_has_a_text():
    assert {code.value for code in LlmCode} <= set(ERROR_TEXTS)


@pytest.mark.parametrize("text", ERROR_TEXTS.values())
def test_a_text_is_a_sentence(text):
    assert text[0].isupper()
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("detail", "code"),
    [
        ("llm:timeout: no answer within 120 s", "llm:timeout"),
        ("writer-1: llm:no-api: HTTP 200 and a web page", "llm:no-api"),
        ("KeyError: 'x'", ""),
        ("", ""),
    ],
)
def test_the_failure_that_stopped_a_run_is_read_from_its_detail(detail, code):
    assert cause_in(detail) == code
