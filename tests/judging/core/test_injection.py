"""Injected text stays a value: prompts keep their structure whatever a value says."""

from __future__ import annotations

import re

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.injections import INJECTIONS
from judging.core.judge_prompts import (
    distil_prompt,
    induction_prompt,
    memory_prompt,
    pair_prompt,
    turn_prompt,
)
from judging.core.prompts import TAGS, neutralise
from judging.core.questions import (
    HistoryTurn,
    InductionQuestion,
    LabelledPair,
    MemoryQuestion,
    Rubrics,
    ShownPair,
    TurnQuestion,
)
from judging.core.rules import SPECS, Window

ATTEMPTS = pytest.mark.parametrize("attempt", INJECTIONS)
LANGUAGE = pytest.mark.parametrize("language", ["en", "zh"])
STRUCTURE = re.compile(r"</?(?:" + "|".join(TAGS) + r")>")


def pair(language, text):
    dialogue = (
        Message(Speaker.USER, text),
        Message(Speaker.ASSISTANT, text),
        Message(Speaker.USER, text),
    )
    return pair_prompt(
        ShownPair(dialogue, text, text),
        preference=text,
        language=language,
        letter=False,
        window=Window.ALL,
        budget=9_000,
    )


def distil(language, text):
    pairs = (LabelledPair((Message(Speaker.USER, text),), text, text),) * 2
    return distil_prompt(pairs, language=language, window=Window.ALL, budget=9_000)


def memory(language, text):
    turn = HistoryTurn("1", text, text, text, text, 2, None, "s")
    question = MemoryQuestion((turn,), "target", language, {"likes": [text]})
    return memory_prompt(question, budget=9_000)


def score(variant, level):
    """Builds the prompt of one variant, with the text wherever a text can stand."""

    def build(language, text):
        turn = HistoryTurn(
            "1", text, text, text, text, 2, None, "s", (Message(Speaker.USER, text),)
        )
        question = TurnQuestion(
            (Message(Speaker.USER, text),),
            text,
            text,
            {text: text},
            text,
            {},
            language,
            variant=variant,
            level=level,
            scenario=text,
            nearest=(turn,),
            examples=(turn,),
            rubrics=Rubrics((text,), (text,)),
        )
        return turn_prompt(question, budget=20_000)

    return build


def induced(language, text):
    turn = HistoryTurn("1", text, text, text, text, 2, None, "s")
    questions = (
        InductionQuestion(satisfied=True, language=language, most=3, turn=turn),
        InductionQuestion(satisfied=False, language=language, most=3, reasons=(text, text)),
    )
    return "".join(induction_prompt(question, budget=9_000) for question in questions)


SCORES = [
    pytest.param(score(variant, level), id=f"{variant}-{level}")
    for variant, spec in SPECS.items()
    for level in spec.prompts
]


@LANGUAGE
@pytest.mark.parametrize("build", [pair, distil, memory, induced, *SCORES])
def test_the_structure_is_that_of_a_plain_text(build, language):
    plain = STRUCTURE.findall(build(language, "x"))
    for attempt in INJECTIONS:  # in one test: two thousand cost more to count than to run
        assert STRUCTURE.findall(build(language, attempt)) == plain, attempt


@LANGUAGE
@ATTEMPTS
def test_a_value_stands_whole_between_its_delimiters(language, attempt):
    text = pair(language, attempt)
    for tag in ["response_a", "response_b", "preference"]:
        found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
        assert found
        assert found.group(1) == neutralise(attempt)


@ATTEMPTS
def test_no_value_opens_a_place_for_another(attempt):
    dialogue = (Message(Speaker.USER, "q"),)
    text = pair_prompt(
        ShownPair(dialogue, attempt, "SECOND"),
        preference="PREFERENCE",
        language="en",
        letter=False,
        window=Window.ALL,
        budget=9_000,
    )
    assert text.count("SECOND") == 1
    assert text.count("PREFERENCE") == 1


def test_there_are_enough_attempts_in_both_languages():
    chinese = [text for text in INJECTIONS if re.search("[一-鿿]", text)]
    assert len(set(INJECTIONS)) == len(INJECTIONS) >= 40
    assert len(chinese) >= 15
    assert len(INJECTIONS) - len(chinese) >= 15
