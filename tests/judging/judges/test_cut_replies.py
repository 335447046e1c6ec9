"""Replies that end because they reached their longest length."""

from __future__ import annotations

import pytest

from judging.core.chat import Sampling
from judging.core.questions import GenerationQuestion, LabelledPair, ShownPair
from judging.judges.llm_judge import LlmJudgeSettings
from tests.fake_llm import Act, FakeLlm
from tests.judging.judges.test_llm_judge import DIALOGUE, LETTER, LONG, SHORT, judging, verdict

QUESTION = GenerationQuestion("", (("Where to?", None),), "en")
SHORTEST = Sampling(temperature=0.7, max_tokens=160)


def cut(text, reason="length"):
    return Act(text=text, finish_reason=reason)


def limits(server):
    return [body["max_tokens"] for body in server.bodies]


def generated(server, **options):
    return judging(server, lambda judge: judge.generate(QUESTION), sampling=SHORTEST, **options)


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS"])
def test_a_text_that_is_cut_twice_is_none_and_keeps_what_came(reason):
    with FakeLlm(script=[cut("To the"), cut("To the sea and", reason)]) as server:
        answer = generated(server)
    assert (answer.value, answer.error_code, answer.unparseable) == (None, "llm:cut", False)
    assert answer.call.raw == "To the sea and"
    assert limits(server) == [160, 320]


def test_the_second_try_has_room_for_more_and_asks_the_same():
    with FakeLlm(script=[cut("To the"), Act(text="To the sea.")]) as server:
        answer = generated(server)
    assert answer.value == "To the sea."
    assert [len(body["messages"]) for body in server.bodies] == [1, 1]


def test_what_the_context_has_no_room_for_is_not_asked():
    with FakeLlm(script=[cut("To the")]) as server:
        assert generated(server, context_tokens=300).error_code == "llm:cut"
    assert limits(server) == [160]


def test_a_preference_that_is_cut_is_asked_for_again_also_without_a_temperature():
    pair = LabelledPair(DIALOGUE, LONG, SHORT)
    with FakeLlm(script=[cut("Prefers long")]) as server:
        answer = judging(server, lambda judge: judge.distil((pair,), language="en"))
    assert answer.value is not None
    assert limits(server) == [1024, 2048]


def test_a_preference_that_repeats_itself_is_none():
    pair = LabelledPair(DIALOGUE, LONG, SHORT)
    loop = Act(text="Prefers answers that are long. " * 5)
    with FakeLlm(script=[loop, loop]) as server:
        answer = judging(server, lambda judge: judge.distil((pair,), language="en"))
    assert (answer.value, answer.error_code) == (None, "preference:loop")


def test_a_verdict_that_was_stated_before_the_cut_stands():
    with FakeLlm(script=[cut("The final decision is Response A. This is because")]) as server:
        assert verdict(server).verdict == "A"


def test_a_verdict_that_was_not_stated_is_cut_and_not_unreadable():
    settings = LlmJudgeSettings(unparseable_retries=0)
    with FakeLlm(script=[cut("Both have their merits")]) as server:
        answer = verdict(server, settings=settings)
    assert (answer.error_code, answer.unparseable) == ("llm:cut", False)


def test_one_letter_is_always_cut():
    with FakeLlm(script=[cut("A")]) as server:
        answer = judging(
            server,
            lambda judge: judge.judge_pair(
                ShownPair(DIALOGUE, LONG, SHORT), preference="", language="en"
            ),
            settings=LETTER,
            has_logprobs=True,
        )
    assert (answer.error_code, limits(server)) == (None, [1])
