from __future__ import annotations

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.endpoints import Endpoint
from judging.core.questions import LabelledPair
from judging.services.checks import CheckPair, check_endpoint
from tests.fake_llm import Act, FakeLlm

PAIRS = [
    CheckPair(
        LabelledPair((Message(Speaker.USER, "How long for an egg?"),), "Eight.", "Well, " * 30),
        "en",
    ),
    CheckPair(
        LabelledPair((Message(Speaker.USER, "鸡蛋煮多久？"),), "八分钟。", "这个嘛，" * 30), "zh"
    ),
]


def check(server, pairs=PAIRS, steps=None, **fields):
    steps = [] if steps is None else steps
    endpoint = Endpoint(
        **({"name": "x", "base_url": server.base_url, "model": "m", "concurrency": 1} | fields)
    )
    return check_endpoint(endpoint, pairs, environ={}, watch=steps.append)


def test_a_good_endpoint_is_seen_to_do_it_all():
    steps = []
    with FakeLlm() as server:
        found = check(server, steps=steps)
    assert steps == [
        "chat, log-probabilities, JSON schema",
        "distilling 2 preferences",
        "judging in words",
        "judging by one letter",
    ]
    assert found.error_code is None
    assert (found.chat.works, found.chat.said) == (True, "ok")
    assert found.log_probabilities.works
    assert found.log_probabilities.said.startswith("'A' -0.69, 'B' -0.69")
    assert found.preferences == (
        "This person prefers shorter responses that come to the point.",
        "这位用户喜欢更短、更直接的回复。",
    )
    # 2 pairs, 2 orders, base and 2 preferences; the base judge prefers the longer response.
    for tally in (found.strict, found.letter):
        assert tally is not None
        assert (tally.asked, tally.decided, tally.unparseable, tally.failed) == (12, 12, 0, 0)
        assert (tally.agreed, tally.first_won) == (8, 6)
    assert found.calls_of_second_run == 0
    # hello, letter, score, 2 preferences, 12 verdicts, 12 letters
    assert found.counts.calls == server.stats()["calls"] == 29
    assert found.cached_share > 0.4


def test_a_reply_in_the_form_of_the_schema_is_recognised():
    form = '{"classification": 4, "reason": "satisfied", "analysis": "Fine."}'
    script = [Act(text="Hello."), Act(text="A"), Act(text=form)]
    with FakeLlm(script=script) as server:
        assert check(server, []).json_schema.works
    for said in ["4", f"Sure: {form}", "[]"]:
        with FakeLlm(script=[Act(text="Hello."), Act(text="A"), Act(text=said)]) as server:
            assert not check(server, []).json_schema.works


def test_without_log_probabilities_no_letter_is_asked_for():
    with FakeLlm(logprobs=False) as server:
        found = check(server)
    assert (found.log_probabilities.works, found.log_probabilities.said) == (
        False,
        "the reply has none",
    )
    assert found.letter is None
    assert found.error_code is None


def test_where_chat_fails_nothing_else_is_tried():
    with FakeLlm(script=[Act(status=401)] * 9) as server:
        found = check(server)
    assert found.error_code == "llm:refused-key"
    assert not found.chat.works
    assert found.json_schema.said == "not tried"
    assert (found.strict, found.letter, found.preferences) == (None, None, ())
    assert server.stats()["calls"] == 1


def test_an_empty_reply_is_no_chat():
    with FakeLlm(script=[Act(text="")]) as server:
        found = check(server)
    assert (found.chat.works, found.chat.said) == (False, "an empty reply")
    assert found.error_code == "llm:no-answer"


def test_unreadable_replies_are_counted_and_no_failure():
    script = [Act(text="hm")] * 3 + [Act(text="Likes it.")] * 2 + [Act(text="No idea.")] * 12
    with FakeLlm(script=script) as server:
        found = check(server)
    assert found.strict is not None
    assert (found.strict.decided, found.strict.unparseable) == (0, 12)
    assert found.strict.error_codes == ("verdict:unparseable",)
    assert found.error_code is None


@pytest.mark.parametrize("status", [400, 404])
def test_a_call_that_fails_on_the_way_is_the_result(status):
    script = [Act(text="hm")] * 3 + [Act(text="Likes it.")] * 2 + [Act(status=status)]
    with FakeLlm(script=script) as server:
        found = check(server)
    assert found.strict is not None
    assert found.strict.failed >= 1
    assert found.error_code in {"llm:bad-request", "llm:unknown-model"}
