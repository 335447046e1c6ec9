from __future__ import annotations

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.endpoints import Endpoint
from judging.core.prompts import load_prompt
from judging.core.questions import LabelledPair
from judging.services.checks import CheckPair, Sending, check_prefixes, preference_first
from tests.fake_llm import Act, FakeLlm


def pair(number, language="en"):
    asked = "How long for egg" if language == "en" else "鸡蛋煮多久"
    return CheckPair(
        LabelledPair(
            (Message(Speaker.USER, f"{asked} {number}?"),), f"Eight {number}. " * 90, "Well. "
        ),
        language,
    )


PAIRS = [pair(1), pair(2), pair(3)]
SOURCES = [pair(4), pair(5, "zh")]


def check(server, pairs=PAIRS, sources=SOURCES, steps=None):
    endpoint = Endpoint(name="x", base_url=server.base_url, model="m")
    watch = [].append if steps is None else steps.append
    return check_prefixes(endpoint, pairs, sources, environ={}, watch=watch)


def test_every_order_asks_the_same_questions_and_calls_together_are_read_once():
    steps = []
    with FakeLlm() as server:
        found = check(server, steps=steps)
    assert [one.sending for one in found] == list(Sending)
    # 3 pairs, 2 orders, the base judge and the two preferences distilled in two languages
    assert [one.calls for one in found] == [18, 18, 18]
    assert [(one.decided, one.failed) for one in found] == [(18, 0)] * 3
    together, shuffled, first = found
    assert together.cached_tokens > 2 * shuffled.cached_tokens
    assert together.cached_tokens > 2 * first.cached_tokens
    assert together.computed_tokens == together.input_tokens - together.cached_tokens
    assert together.computed_tokens < shuffled.computed_tokens
    assert steps == [
        "distilling 2 preferences",
        "18 verdicts, together",
        "18 verdicts, shuffled",
        "18 verdicts, preference first",
    ]


def test_no_pass_finds_what_another_left_in_the_cache():
    with FakeLlm(slots=1000) as server:
        found = check(server, pairs=[pair(1)])
    # The first call of a pass shares the pass's own heading with nothing before it.
    asked = [
        body["messages"][-1]["content"] for body in server.bodies if body.get("max_tokens") == 1
    ]
    assert {text.split("]")[0] for text in asked} == {
        "[TOGETHER", "[SHUFFLED", "[PREFERENCE_FIRST"
    }  # fmt: skip
    assert all(one.cached_tokens < one.input_tokens for one in found)


def test_equal_preferences_are_one():
    with FakeLlm() as server:
        found = check(server, pairs=[pair(1)], sources=[pair(4), pair(4)])
    assert found[0].calls == 4


def test_calls_that_fail_are_told_from_undecided_ones():
    script = [Act(text="Prefers it short.")] + [Act(status=400)] * 2 + [Act(text="Well")] * 2
    with FakeLlm(script=script) as server:
        found = check(server, pairs=[pair(1)], sources=[pair(4)])
    assert (found[0].failed, found[0].decided) == (2, 0)
    assert (found[1].failed, found[1].decided) == (0, 4)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_preference_moves_to_the_head_with_the_line_that_announces_it(language):
    text = load_prompt("judge_pair_letter", language=language).text
    moved = preference_first(text)
    assert moved.index("{{preference}}") < moved.index("{{dialogue}}")
    assert moved.split("\n\n")[1] == "<preference>\n{{preference}}\n</preference>"
    assert sorted(moved.split("\n\n")) == sorted(text.split("\n\n"))


def test_a_prompt_without_a_preference_stays_as_it_is():
    text = load_prompt("judge_pair_letter_base", language="en").text
    assert preference_first(text) == text
