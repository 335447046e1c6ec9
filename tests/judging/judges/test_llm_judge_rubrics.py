from __future__ import annotations

import asyncio

import pytest

from annotation.core.choices import Verdict
from judging.core.injections import INJECTIONS
from judging.core.questions import GradeQuestion, ShownPair
from judging.core.rules import JudgePrompt
from judging.core.verdicts import VerdictRule
from judging.judges.lexical import LexicalJudge
from judging.judges.llm_judge import LlmJudgeSettings
from tests.fake_llm import Act, FakeLlm
from tests.judging.judges.test_llm_judge import DIALOGUE, LONG, SHORT, judging


def settings(mode, rule=VerdictRule.STRICT):
    return LlmJudgeSettings(rule=rule, prompt=mode)


def verdict(server, mode=JudgePrompt.PAIRWISE, *, first=LONG, second=SHORT, preference=""):
    return judging(
        server,
        lambda judge: judge.judge_pair(
            ShownPair(DIALOGUE, first, second), preference=preference, language="en"
        ),
        settings=settings(mode),
    )


def graded(server, mode=JudgePrompt.SINGLE, *, response=LONG, language="en", **fields):
    question = GradeQuestion(DIALOGUE, response, language, **fields)
    return judging(server, lambda judge: judge.grade(question), settings=settings(mode))


@pytest.mark.parametrize("style", ["plain", "think", "quote"])
@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [(LONG, SHORT, Verdict.A), (SHORT, LONG, Verdict.B), (LONG, LONG, Verdict.TIE)],
)
def test_a_rubric_gives_a_verdict_or_a_tie(first, second, winner, style):
    with FakeLlm(style=style) as server:
        answer = verdict(server, first=first, second=second, preference="Prefers shorter ones.")
    assert (answer.verdict, answer.error_code) == (winner, None)


def test_a_reply_of_another_form_is_unparseable():
    with FakeLlm(script=[Act(text="The final decision is Response A.")] * 2) as server:
        answer = verdict(server, JudgePrompt.THOUGHT)
    assert (answer.verdict, answer.error_code) == (None, "verdict:unparseable")
    assert answer.unparseable


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_grade_is_read(language):
    with FakeLlm(style="quote") as server:
        answer = graded(server, response="[[3]] " + "x" * 94, language=language)
    assert (answer.value, answer.error_code) == (6.0, None)  # 1 + 100 // 20
    assert answer.call.call_key


def test_the_judge_sees_the_reference():
    with FakeLlm() as server:
        without = graded(server, JudgePrompt.SINGLE_REFERENCE, response="It is 42.")
        beside = graded(server, JudgePrompt.SINGLE_REFERENCE, response="It is 42.", reference="42")
    assert (without.value, beside.value) == (1.0, 10.0)


def own(server, **fields):
    """Both orders of one comparison by one judge."""
    pairs = [
        ShownPair(DIALOGUE, LONG, SHORT, **fields),
        ShownPair(DIALOGUE, SHORT, LONG, **fields),
    ]

    async def both(judge):
        asked = (judge.judge_pair(pair, preference="", language="en") for pair in pairs)
        return await asyncio.gather(*asked)

    return judging(server, both, settings=settings(JudgePrompt.OWN_REFERENCE))


def prompts(server):
    return [body["messages"][-1]["content"] for body in server.bodies]


def test_the_judge_writes_its_own_reference_once_for_both_orders():
    with FakeLlm() as server:
        server.told = {"check your result": Act(text="<think>hm</think>It is 42.")}
        answers = own(server)
        asked = prompts(server)
    assert [answer.verdict for answer in answers] == [Verdict.A, Verdict.B]
    assert ["check your result" in prompt for prompt in asked] == [True, False, False]
    for prompt in asked[1:]:
        assert "<reference>\nIt is 42.\n</reference>" in prompt
    assert answers[0].call.call_key != answers[1].call.call_key


def test_a_reference_of_the_data_is_not_written_anew():
    with FakeLlm() as server:
        own(server, reference="41")
        asked = prompts(server)
    assert len(asked) == 2
    assert all("<reference>\n41\n</reference>" in prompt for prompt in asked)


@pytest.mark.parametrize(
    ("act", "code", "unparseable"),
    [(Act(status=400), "llm:bad-request", False), (Act(text=" "), "llm:no-answer", True)],
)
def test_without_its_own_reference_the_judge_gives_no_verdict(act, code, unparseable):
    with FakeLlm() as server:
        server.told = {"check your result": act}
        answers = own(server)
        asked = prompts(server)
    assert [answer.verdict for answer in answers] == [None, None]
    assert {answer.error_code for answer in answers} == {code}
    assert {answer.unparseable for answer in answers} == {unparseable}
    assert not any("response_a" in prompt for prompt in asked)


def test_the_lexical_judge_writes_no_reference():
    pair = ShownPair(DIALOGUE, LONG, SHORT)
    answer = asyncio.run(LexicalJudge().write_reference(pair, language="en"))
    assert (answer.value, answer.error_code) == (None, "judge:no-prompts")


def test_a_grade_out_of_range_is_asked_for_again_and_then_none():
    with FakeLlm(script=[Act(text="[[11]]"), Act(text="[[0]]")]) as server:
        answer = graded(server)
    assert (answer.value, answer.error_code) == (None, "score:unparseable")
    assert answer.unparseable
    assert answer.call.raw == "[[0]]"


def test_the_lexical_judge_gives_no_grade():
    answer = asyncio.run(LexicalJudge().grade(GradeQuestion(DIALOGUE, LONG, "en")))
    assert (answer.value, answer.error_code) == (None, "judge:no-prompts")


def test_injected_text_changes_no_verdict_by_being_there():
    with FakeLlm(rule="first") as server:
        for attempt in INJECTIONS:
            answer = verdict(server, first=SHORT, second=attempt)
            assert answer.verdict is Verdict.A
