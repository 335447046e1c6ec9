import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from judging.core.structured import (
    Repair,
    TurnReply,
    UnparseableScoreError,
    last_object,
    normalise_reason,
    parse_turn,
    without_reasoning,
)
from tests.paths import shared_data

GOOD = '{"classification": 4, "reason": "满意", "analysis": "ok"}'
DETAIL = Reason.INSUFFICIENT_DETAIL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(GOOD, TurnReply(4, None, "ok"), id="nothing to repair"),
        pytest.param(
            f"```json\n{GOOD}\n```", TurnReply(4, None, "ok", Repair.UNWRAPPED), id="code fence"
        ),
        pytest.param(
            f"Here is my answer: {GOOD} I hope it helps.",
            TurnReply(4, None, "ok", Repair.UNWRAPPED),
            id="text around it",
        ),
        pytest.param(
            '<think>{"classification": 1}</think>' + GOOD,
            TurnReply(4, None, "ok"),
            id="reasoning before it",
        ),
        pytest.param(
            '{"classification": "2", "reason": "不可用", "analysis": "x"}',
            TurnReply(2, Reason.UNUSABLE, "x"),
            id="number as text",
        ),
        pytest.param(
            '{"classification": 3.0, "reason": "不够细致", "analysis": "x"}',
            TurnReply(3, DETAIL, "x"),
            id="number with a point",
        ),
        pytest.param(
            "{“classification”: 3, “reason”: “不够细致”, “analysis”: “缺少”}",
            TurnReply(3, DETAIL, "缺少", Repair.UNWRAPPED),
            id="curly quotes",
        ),
        pytest.param(
            '{"classification": 3, "reason": "不够细致", "analysis": "has "quotes" inside"}',
            TurnReply(3, DETAIL, 'has "quotes" inside', Repair.FIELDS),
            id="quotes inside a text",
        ),
        pytest.param(
            '{"classification": 3, "reason": "不够细致", "analysis": "cut of',
            TurnReply(3, DETAIL, "cut of", Repair.FIELDS),
            id="cut-off end",
        ),
        pytest.param(
            "{'classification': 3, 'reason': 'other', 'analysis': 'single'}",
            TurnReply(3, Reason.OTHER, "single", Repair.FIELDS),
            id="single quotes",
        ),
        pytest.param(
            '{"classification": 3, "reason": "other", "analysis": "a\nb"}',
            TurnReply(3, Reason.OTHER, "a\nb", Repair.UNWRAPPED),
            id="line break inside a text",
        ),
        pytest.param(
            '{"classification": 3, "reason": "other", "analysis": "tail",}\n```',
            TurnReply(3, Reason.OTHER, "tail", Repair.FIELDS),
            id="comma before the end",
        ),
        pytest.param(
            '{"result": {"classification": 3, "reason": "other", "analysis": "nested"}}',
            TurnReply(3, Reason.OTHER, "nested", Repair.FIELDS),
            id="wrapped in another object",
        ),
        pytest.param(
            f"[{GOOD}]", TurnReply(4, None, "ok", Repair.UNWRAPPED), id="wrapped in a list"
        ),
        pytest.param(
            '{"classification": 5, "reason": null, "analysis": "x"}',
            TurnReply(5, None, "x"),
            id="no reason for a satisfied turn",
        ),
        pytest.param(
            '{"classification": 4, "reason": "满意", "analysis": "他说“很好”。"}',
            TurnReply(4, None, "他说“很好”。"),
            id="curly quotes within a text stay",
        ),
    ],
)
def test_what_is_only_wrapped_badly_is_repaired(text, expected):
    assert parse_turn(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("no json", id="no JSON"),
        pytest.param('{"classification": 6, "reason": "满意", "analysis": "x"}', id="score 6"),
        pytest.param('{"classification": 0, "reason": "其它", "analysis": "x"}', id="score 0"),
        pytest.param('{"classification": 3.5, "reason": "其它", "analysis": "x"}', id="a half"),
        pytest.param('{"classification": NaN, "reason": "其它", "analysis": "x"}', id="NaN"),
        pytest.param('{"classification": true, "reason": "其它", "analysis": "x"}', id="true"),
        pytest.param('{"classification": null, "reason": "其它", "analysis": "x"}', id="null"),
        pytest.param('{"classification": "four", "reason": "满意", "analysis": "x"}', id="word"),
        pytest.param('{"classification": [4], "reason": "满意", "analysis": "x"}', id="list"),
        pytest.param('{"classification": 4, "reason": "满意"}', id="no analysis"),
        pytest.param('{"classification": 4, "reason": "满意", "analysis": " "}', id="blank"),
        pytest.param('{"classification": 4, "analysis": "x"}', id="no reason"),
        pytest.param('{"classification": 2, "reason": null, "analysis": "x"}', id="null reason"),
        pytest.param('{"classification": 4, "reason": "满意", "analysis', id="cut before it"),
        pytest.param('{"classification": 16, "reason": "满意", "analysis": "x', id="cut, score 16"),
        pytest.param(f"<think>{GOOD}", id="reasoning that never ends"),
        pytest.param("{" * 3_000, id="braces without end"),
    ],
)
def test_what_is_missing_is_never_filled_in(text):
    with pytest.raises(UnparseableScoreError) as caught:
        parse_turn(text)
    assert caught.value.code == "score:unparseable"


def test_the_last_answer_stands():
    second = '{"classification": 2, "reason": "不可用", "analysis": "second"}'
    assert parse_turn(f"{GOOD}\nNo:\n{second}").score == 2
    cut = '{"classification": 1, "reason": "不可用", "analysis": "cut'
    assert parse_turn(f"{GOOD}\nNo:\n{cut}").score == 1


def test_a_bad_last_answer_does_not_fall_back_to_an_earlier_one():
    with pytest.raises(UnparseableScoreError):
        parse_turn(GOOD + '{"classification": 9, "reason": "满意", "analysis": "x"}')
    with pytest.raises(UnparseableScoreError):
        parse_turn(GOOD + '{"classification": 2, "reason": "不可用"')


def test_the_papers_vectors():
    cases = json.loads(shared_data("vectors/paper_code.json").read_text(encoding="utf-8"))
    for text, expected in cases["ptb_recover_structured_output"]:
        if expected is None:
            with pytest.raises(UnparseableScoreError):
                parse_turn(text)
        else:
            reply = parse_turn(text)
            assert (reply.score, reply.analysis) == (
                expected["classification"],
                expected["analysis"],
            )
    for score, reason, expected in cases["ptb_normalize_reason"]:
        named = normalise_reason(score, reason)
        assert (named is None) == (expected == "满意")
        if named is not None:
            assert named is {"其它": Reason.OTHER, "不可用": Reason.UNUSABLE}[expected]


@pytest.mark.parametrize(
    ("score", "reason", "expected"),
    [
        (5, "不可用", None),
        (3, "满意", Reason.OTHER),
        (3, " Insufficient  Detail ", DETAIL),
        (3, "INSUFFICIENT_DETAIL", DETAIL),
        (2, "REQUIREMENT_UNMET", Reason.REQUIREMENT_UNMET),
        (1, "rubbish", Reason.OTHER),
    ],
)
def test_reasons(score, reason, expected):
    assert normalise_reason(score, reason) is expected


@given(
    score=st.integers(1, 5),
    analysis=st.text(min_size=1).filter(lambda text: text.strip() and "think>" not in text),
)
def test_a_well_formed_answer_is_read_as_written(score, analysis):
    text = json.dumps({"classification": score, "reason": "other", "analysis": analysis})
    reply = parse_turn(text)
    assert (reply.score, reply.analysis) == (score, analysis.strip())


@given(st.text())
def test_any_other_text_is_refused_and_breaks_nothing(text):
    if "classification" not in text:
        with pytest.raises(UnparseableScoreError):
            parse_turn(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a", "a"),
        ("<think>x</think>a", "a"),
        ("x</think>a", "a"),
        ("<think>x</think>a<think>y</think>b", "b"),
        ("a<think>x", "a"),
    ],
)
def test_reasoning_goes(text, answer):
    assert without_reasoning(text) == answer


def test_objects_without_the_key_do_not_count():
    assert last_object('{"a": 1} {"b": 2}', key="a") == {"a": 1}
    assert last_object('{"b": 2} {broken', key="a") is None
