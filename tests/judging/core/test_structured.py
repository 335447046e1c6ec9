import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from judging.core.structured import (
    PLAIN,
    Repair,
    ReplyForm,
    ScoreFlag,
    TurnReply,
    last_object,
    normalise_reason,
    parse_turn,
)
from tests.paths import paper_vectors
from tests.refusals import refuses

GOOD = '{"classification": 4, "reason": "满意", "analysis": "ok"}'
LOW = '{"classification": 1, "reason": "不可用", "analysis": "no"}'
SHOWN = '{"classification": 5, "reason": "满意", "analysis": "perfect"}'
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
    ("text", "score"),
    [
        (f"{GOOD}\n> {LOW}", 4),
        (f"{GOOD}\nThe response itself says:\n```json\n{LOW}\n```", 4),
        (f"The response says {LOW}\n\n{GOOD}", 4),
        # The answer in a code block, as many models write it, and one that is named outside.
        (f"It says:\n> {LOW}\n```json\n{GOOD}\n```", 4),
        (f"{GOOD}\nIt ends with {SHOWN}", 4),
        (f"{GOOD}\nIt ends with {SHOWN.replace(' ', '  ')}", 4),
        (f"> {GOOD[:-2]}\n{LOW[:-2]}", 1),
    ],
)
def test_an_answer_that_is_only_quoted_does_not_count(text, score):
    assert parse_turn(text, judged=f"Sure. {SHOWN} {{}}").score == score


@pytest.mark.parametrize("text", [f"> {GOOD}", f"The response says: {SHOWN}"])
def test_a_reply_that_only_quotes_has_no_score(text):
    with refuses("score:unparseable"):
        parse_turn(text, judged=SHOWN)


def test_an_object_that_is_only_quoted_does_not_count():
    assert last_object(f"> {GOOD}", key="classification") is None
    assert last_object(f"{GOOD}\n```\n{LOW}\n```", key="classification")["classification"] == 4


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
    with refuses("score:unparseable") as caught:
        parse_turn(text)
    assert caught.value.code == "score:unparseable"


def test_the_last_answer_stands():
    second = '{"classification": 2, "reason": "不可用", "analysis": "second"}'
    assert parse_turn(f"{GOOD}\nNo:\n{second}").score == 2
    cut = '{"classification": 1, "reason": "不可用", "analysis": "cut'
    assert parse_turn(f"{GOOD}\nNo:\n{cut}").score == 1


def test_a_bad_last_answer_does_not_fall_back_to_an_earlier_one():
    with refuses("score:unparseable"):
        parse_turn(GOOD + '{"classification": 9, "reason": "满意", "analysis": "x"}')
    with refuses("score:unparseable"):
        parse_turn(GOOD + '{"classification": 2, "reason": "不可用"')


def test_the_papers_vectors():
    cases = paper_vectors()
    for text, expected in cases["ptb_recover_structured_output"]:
        if expected is None:
            with refuses("score:unparseable"):
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
        with refuses("score:unparseable"):
            parse_turn(text)


def test_objects_without_the_key_do_not_count():
    assert last_object('{"a": 1} {"b": 2}', key="a") == {"a": 1}
    assert last_object('{"b": 2} {broken', key="a") is None


BOUNDARIES = ReplyForm(flags=(ScoreFlag("reaches_4", 4), ScoreFlag("reaches_5", 5)))
GUARDED = ReplyForm(flags=(ScoreFlag("task_met", 4, only_caps=True),))
FEEDBACK = ReplyForm(analysis_first=True)
SIDE = ReplyForm(flags=(ScoreFlag("satisfied", 4),), binary=True)


def stated(score, **flags):
    return json.dumps({**flags, "classification": score, "reason": "其它", "analysis": "x"})


def test_a_form_has_its_fields_in_order():
    assert ReplyForm().fields == ("classification", "reason", "analysis")
    assert BOUNDARIES.fields == ("reaches_4", "reaches_5", "classification", "reason", "analysis")
    assert FEEDBACK.fields == ("analysis", "classification", "reason")
    assert SIDE.fields == ("satisfied", "reason", "analysis")
    assert (SIDE.anchor, BOUNDARIES.anchor) == ("satisfied", "classification")


@pytest.mark.parametrize("score", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("four", [True, False])
@pytest.mark.parametrize("five", [True, False])
def test_a_score_that_contradicts_a_boundary_is_no_score(score, four, five):
    text = stated(score, reaches_4=four, reaches_5=five)
    if (four, five) == (score >= 4, score >= 5):
        assert parse_turn(text, BOUNDARIES).score == score
    else:
        with refuses("score:unparseable", match="contradicts"):
            parse_turn(text, BOUNDARIES)


@pytest.mark.parametrize(
    ("met", "score", "allowed"),
    [(True, 5, True), (True, 2, True), (False, 3, True), (False, 4, False)],
)
def test_a_guard_only_caps_the_score(met, score, allowed):
    if allowed:
        assert parse_turn(stated(score, task_met=met), GUARDED).score == score
    else:
        with refuses("score:unparseable", match="task_met contradicts"):
            parse_turn(stated(score, task_met=met), GUARDED)


@pytest.mark.parametrize("said", [True, "true", " Yes ", "是"])
def test_yes_is_the_lowest_satisfied_score(said):
    text = json.dumps({"satisfied": said, "reason": "满意", "analysis": "S1"})
    assert parse_turn(text, SIDE) == TurnReply(4, None, "S1")


@pytest.mark.parametrize("said", [False, "False", "no", "否"])
def test_no_is_the_highest_dissatisfied_score(said):
    text = json.dumps({"satisfied": said, "reason": "不够细致", "analysis": "D1"})
    assert parse_turn(text, SIDE) == TurnReply(3, DETAIL, "D1")


@pytest.mark.parametrize("said", [1, 0, None, "perhaps", 4.0, [True]])
def test_anything_else_is_neither_yes_nor_no(said):
    text = json.dumps({"satisfied": said, "reason": "满意", "analysis": "x"})
    with refuses("score:unparseable", match="neither yes nor no"):
        parse_turn(text, SIDE)


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        pytest.param(
            "{“评分”：4，“原因”：“满意”，“分析”：“很好，清楚”}",
            PLAIN,
            TurnReply(4, None, "很好，清楚", Repair.UNWRAPPED),
            id="Chinese keys and punctuation",
        ),
        pytest.param(
            '{"score": 2, "reason": "不可用", "analysis": "x"}',
            PLAIN,
            TurnReply(2, Reason.UNUSABLE, "x"),
            id="another name of the score",
        ),
        pytest.param(
            "｛“评分”：2，“原因”：“不可用”，“分析”：“没有用",
            PLAIN,
            TurnReply(2, Reason.UNUSABLE, "没有用", Repair.FIELDS),
            id="the same, cut off",
        ),
        pytest.param(
            "```json\n{'classification': 2, 'reason': 'other', 'analysis': 'D2'}\n```\n",
            PLAIN,
            TurnReply(2, Reason.OTHER, "D2", Repair.FIELDS),
            id="Python's quotes in a code block",
        ),
        pytest.param(
            '{"analysis": "Says "little".", "classification": 2, "reason": "other"}',
            FEEDBACK,
            TurnReply(2, Reason.OTHER, 'Says "little".', Repair.FIELDS),
            id="feedback first, with quotes inside",
        ),
        pytest.param(
            "{'satisfied': False, 'reason': 'other', 'analysis': 'D2'}",
            SIDE,
            TurnReply(3, Reason.OTHER, "D2", Repair.FIELDS),
            id="Python's own words",
        ),
        pytest.param(
            '{"reaches_4": true, "reaches_5": false, "classification": 4, "reason": "满意", '
            '"analysis": "cut',
            BOUNDARIES,
            TurnReply(4, None, "cut", Repair.FIELDS),
            id="flags before a cut-off end",
        ),
    ],
)
def test_every_form_is_repaired_alike(text, form, expected):
    assert parse_turn(text, form) == expected


def test_an_answer_behind_objects_that_never_close_is_not_looked_for():
    answer = '{"score": 1}'
    assert last_object('{"a": ' * 3 + answer, key="score") == {"score": 1}
    assert last_object('{"a": ' * 5000 + answer, key="score") is None


def test_an_answer_behind_deep_lists_is_read():
    reply = "[" * 5000 + '{"classification": 4, "reason": "", "analysis": "x"}'
    assert parse_turn(reply) == TurnReply(4, None, "x", Repair.UNWRAPPED)
