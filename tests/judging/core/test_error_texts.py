from __future__ import annotations

import pytest

from judging.core.error_texts import ERROR_TEXTS
from judging.llm.errors import LlmCode


def test_every_failure_of_a_call_has_a_text():
    assert {code.value for code in LlmCode} <= set(ERROR_TEXTS)


@pytest.mark.parametrize("text", ERROR_TEXTS.values())
def test_a_text_is_a_sentence(text):
    assert text[0].isupper()
    assert text.endswith(".")
