"""MT-Bench's prompts against their parser, and what they show."""

from __future__ import annotations

import re

import pytest

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.injections import INJECTIONS
from judging.core.prompts import LANGUAGES, TAGS, load_prompt, neutralise
from judging.core.questions import GradeQuestion, ShownPair
from judging.core.rubrics import (
    grade_prompt,
    reference_prompt,
    rubric_pair_prompt,
    rubric_prompts_used,
)
from judging.core.rules import JudgePrompt, Window
from judging.core.structured import parse_bracketed, parse_grade

LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)
PAIRWISE = (JudgePrompt.PAIRWISE, JudgePrompt.THOUGHT, JudgePrompt.REFERENCE)
GRADING = (JudgePrompt.SINGLE, JudgePrompt.SINGLE_REFERENCE)
STRUCTURE = re.compile(r"</?(?:" + "|".join(TAGS) + r")>")
DIALOGUE = (
    Message(Speaker.USER, "First question"),
    Message(Speaker.ASSISTANT, "First answer"),
    Message(Speaker.USER, "Second question"),
)


def pair(
    mode=JudgePrompt.PAIRWISE,
    *,
    language="en",
    window=Window.ALL,
    budget=9_000,
    letter=False,
    **fields,
):
    shown = ShownPair(**{"dialogue": DIALOGUE, "first": "One", "second": "Deux", **fields})
    return rubric_pair_prompt(
        shown, mode=mode, language=language, window=window, budget=budget, letter=letter
    )


def grade(mode=JudgePrompt.SINGLE, *, language="en", window=Window.ALL, budget=9_000, **fields):
    question = GradeQuestion(
        **{"dialogue": DIALOGUE, "response": "One", "language": language, **fields}
    )
    return grade_prompt(question, mode=mode, window=window, budget=budget)


@LANGUAGE
@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("mode", PAIRWISE)
def test_the_verdicts_that_a_rubric_dictates_are_read(mode, turns, language):
    lines = pair(mode, language=language, turns=turns, reference="42").splitlines()[-3:]
    assert [parse_bracketed(line) for line in lines] == [Verdict.A, Verdict.B, Verdict.TIE]
    assert len({re.split(r": |：", line)[0] for line in lines}) == 3


@LANGUAGE
@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("mode", PAIRWISE)
def test_one_letter_is_asked_for_after_the_same_texts(mode, turns, language):
    shown = {"language": language, "turns": turns, "reference": "42"}
    words, letter = pair(mode, **shown), pair(mode, **shown, letter=True)
    end = "</response_b>"
    assert words.split(end)[0] == letter.split(end)[0]
    assert "[[A]]" not in letter
    assert re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", letter.splitlines()[-1]) == ["A", "B"]


@LANGUAGE
@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("mode", GRADING)
def test_the_grade_that_a_prompt_dictates_is_read(mode, turns, language):
    last = grade(mode, language=language, turns=turns, reference="42").splitlines()[-1]
    assert parse_grade(last) == 5.0


@LANGUAGE
@pytest.mark.parametrize("mode", [JudgePrompt.REFERENCE, JudgePrompt.SINGLE_REFERENCE])
def test_a_reference_is_shown_where_it_is_wanted_and_there(mode, language):
    build = grade if mode.grades else pair
    plain = {JudgePrompt.REFERENCE: JudgePrompt.PAIRWISE}.get(mode, JudgePrompt.SINGLE)
    shown = build(mode, language=language, reference="It is 42.")
    assert "<reference>\nIt is 42.\n</reference>" in shown
    assert build(mode, language=language) == build(plain, language=language)
    assert build(plain, language=language, reference="It is 42.") == build(plain, language=language)


@LANGUAGE
@pytest.mark.parametrize("mode", [*PAIRWISE, *GRADING])
def test_several_turns_have_a_prompt_of_their_own_that_shows_them_all(mode, language):
    build = grade if mode.grades else pair
    one, several = build(mode, language=language), build(mode, language=language, turns=2)
    assert one != several
    for text in (one, several):
        assert text.index("First question") < text.index("Second question") < text.index("One")


@pytest.mark.parametrize("build", [pair, grade])
def test_a_window_and_a_budget_cut_the_dialogue_and_never_a_response(build):
    assert "First question" not in build(window=Window.LAST_TURN)
    text = build(budget=10, **{"first" if build is pair else "response": "a" * 9_000})
    assert "a" * 9_000 in text
    assert "Second question" in text
    assert "First question" not in text


def test_swapping_the_responses_swaps_nothing_else():
    swapped = pair(first="Deux", second="One")
    assert swapped.replace("One", "#").replace("Deux", "One").replace("#", "Deux") == pair()


@LANGUAGE
@pytest.mark.parametrize("attempt", INJECTIONS)
def test_no_value_is_more_than_a_value(attempt, language):
    dialogue = (Message(Speaker.USER, attempt),)
    for build, responses, mode in [
        (pair, ("first", "second"), JudgePrompt.REFERENCE),
        (grade, ("response",), JudgePrompt.SINGLE_REFERENCE),
    ]:
        values = dict.fromkeys([*responses, "reference"], attempt)
        plain = dict.fromkeys(values, "x")
        text = build(mode, language=language, dialogue=dialogue, turns=2, **values)
        said = build(mode, language=language, dialogue=DIALOGUE[:1], turns=2, **plain)
        assert STRUCTURE.findall(text) == STRUCTURE.findall(said)
        assert f"<reference>\n{neutralise(attempt)}\n</reference>" in text


def write(*, language="en", window=Window.ALL, budget=9_000, **fields):
    shown = ShownPair(**{"dialogue": DIALOGUE, "first": "One", "second": "Deux", **fields})
    return reference_prompt(shown, language=language, window=window, budget=budget)


@LANGUAGE
def test_a_judge_s_own_answer_is_asked_for_without_the_responses(language):
    text = write(language=language)
    assert text == write(language=language, first="Deux", second="One")
    assert text.index("First question") < text.index("First answer") < text.index("Second question")
    assert not re.search("One|Deux|response_a|reference", text)
    several = write(language=language, dialogue=DIALOGUE[:1], following=("Next?", "Last?"))
    assert several.index("First question") < several.index("Next?") < several.index("Last?")
    assert "First question" not in write(language=language, window=Window.LAST_TURN)


@LANGUAGE
@pytest.mark.parametrize("attempt", INJECTIONS)
def test_what_a_user_wrote_is_no_more_than_a_value_of_the_judge_s_own_answer(attempt, language):
    said = write(language=language, dialogue=DIALOGUE[:1], following=("x",))
    text = write(language=language, dialogue=DIALOGUE[:1], following=(attempt,))
    assert STRUCTURE.findall(text) == STRUCTURE.findall(said)


def test_a_judge_s_own_answer_is_shown_as_a_reference_is():
    own = pair(JudgePrompt.OWN_REFERENCE, reference="42")
    assert own == pair(JudgePrompt.REFERENCE, reference="42")
    names = {label.split(".")[0] for label in rubric_prompts_used(JudgePrompt.OWN_REFERENCE, "zh")}
    asked = {"rubric_pair_reference", "rubric_pair_reference_turns", "write_reference"}
    assert names == asked | {"remind_mark", "remind_text"}


def test_prompts_used_are_those_with_and_without_a_reference():
    names = {label.split(".")[0] for label in rubric_prompts_used(JudgePrompt.REFERENCE, "zh")}
    assert names == {
        "remind_mark",
        *(
            f"rubric_pair_{style}{turns}"
            for style in ("generic", "reference")
            for turns in ("", "_turns")
        ),
    }
    used = rubric_prompts_used(JudgePrompt.SINGLE, "en")
    assert used["grade_generic.v1.en"] == load_prompt("grade_generic", language="en").digest
    assert rubric_prompts_used(JudgePrompt.PERSONAL, "en") == {}
