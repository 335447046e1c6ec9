from __future__ import annotations

import pytest

from judging.llm.errors import ENDPOINT_WIDE, PASSING, LlmCode, LlmError, Refusal, error_of


@pytest.mark.parametrize(
    ("status", "code", "permanent"),
    [
        (301, "llm:no-api", True),
        (400, "llm:bad-request", True),
        (401, "llm:refused-key", True),
        (402, "llm:quota", True),
        (403, "llm:forbidden", True),
        (404, "llm:unknown-model", True),
        (405, "llm:no-api", True),
        (408, "llm:timeout", False),
        (413, "llm:over-context", True),
        (422, "llm:bad-request", True),
        (425, "llm:unavailable", False),
        (451, "llm:content-filter", True),
        (429, "llm:rate-limited", False),
        (500, "llm:unavailable", False),
        (501, "llm:bad-request", True),
        (502, "llm:unavailable", False),
        (503, "llm:unavailable", False),
        (504, "llm:timeout", False),
        (529, "llm:unavailable", False),
    ],
)
def test_what_a_status_means(status, code, permanent):
    error = error_of(Refusal(status))
    assert (error.code, error.permanent) == (code, permanent)


def test_a_429_that_names_the_quota_is_spent_money():
    error = error_of(Refusal(429, kind="insufficient_quota"))
    assert (error.code, error.permanent) == (LlmCode.QUOTA, True)


def test_an_error_says_what_the_endpoint_said():
    error = error_of(Refusal(429, "slow down", retry_after=3.0))
    assert str(error) == "llm:rate-limited: HTTP 429 slow down"
    assert error.retry_after == 3.0
    assert str(LlmError(LlmCode.TIMEOUT)) == "llm:timeout"


def test_what_concerns_the_endpoint_is_never_tried_again():
    assert not ENDPOINT_WIDE & PASSING
