"""What the scoring prompts show: what their variant needs, and nothing of the user otherwise."""

from __future__ import annotations

import pytest

from annotation.core.choices import Reason
from annotation.core.conversations import Message, Speaker
from judging.core.judge_prompts import (
    asked_variant,
    induction_prompt,
    turn_prompt,
    turn_prompts_used,
)
from judging.core.money import estimate_tokens
from judging.core.prompts import LANGUAGES
from judging.core.questions import HistoryTurn, InductionQuestion, Rubrics, TurnQuestion
from judging.core.rules import SPECS, Level, Need, Variant

DIALOGUE = (
    Message(Speaker.USER, "The first request"),
    Message(Speaker.ASSISTANT, "The first reply"),
    Message(Speaker.USER, "The last request"),
)
TURN = HistoryTurn("9", "cooking", "A dinner", "How?", "So.", 2, Reason.UNUSABLE, "s")
EVERY = pytest.mark.parametrize(
    ("variant", "level"),
    [(variant, level) for variant, spec in SPECS.items() for level in spec.prompts],
)
LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)


def question(variant=Variant.CHECKLIST, level=Level.TURN, language="en", **fields):
    told = {
        "dialogue": DIALOGUE,
        "response": "The reply to score",
        "task_context": "THE TASK",
        "profile": {"age": "PROFILE"},
        "memory": "MEMORY",
        "memory_content": {},
        "scenario": "SCENARIO",
        "nearest": (TURN,),
        "examples": (TURN,),
        "rubrics": Rubrics(("Concrete.",), ("Vague.",)),
    } | fields
    return TurnQuestion(**told, language=language, variant=variant, level=level)


@EVERY
@LANGUAGE
def test_a_prompt_shows_the_conversation_the_response_and_what_it_needs(variant, level, language):
    text = turn_prompt(question(variant, level, language), budget=8_000)
    assert "<response>\nThe reply to score\n</response>" in text
    assert text.index("The first request") < text.index("The last request")
    assert "THE TASK" in text
    need = SPECS[variant].need
    assert ("MEMORY" in text) is (need is Need.MEMORY)
    assert ("PROFILE" in text) is need.personal
    assert ("<turn>" in text) is (need in (Need.NEAREST, Need.EXAMPLES))
    assert ("S1. Concrete." in text) is ("D1. Vague." in text) is (need is Need.RUBRICS)
    assert "{{" not in text


@EVERY
def test_where_nothing_is_known_of_the_user_the_no_memory_prompt_is_asked(variant, level):
    unknown = question(variant, level, memory=" ", nearest=())
    personal = SPECS[variant].need.personal
    assert asked_variant(unknown) is (Variant.NO_MEMORY if personal else variant)
    text = turn_prompt(unknown, budget=8_000)
    assert "PROFILE" not in text
    assert asked_variant(question(variant, level)) is variant


def test_an_example_shows_score_task_reason_and_no_name_to_cite():
    text = turn_prompt(question(Variant.FEW_SHOT), budget=8_000)
    assert "<turn>\nScore 2, task: cooking\n<task>\nA dinner\n</task>\n<user>\nHow?" in text
    assert "Reason given: unusable" in text
    assert "T1" not in text


def test_long_examples_are_shortened_to_the_budget_and_the_response_is_not():
    long = HistoryTurn("9", "cooking", "", "u" * 9_000, "r" * 9_000, 2, None)
    asked = question(Variant.RETRIEVAL, nearest=(long,) * 4, response="w" * 4_000)
    text = turn_prompt(asked, budget=4_000)
    assert "w" * 4_000 in text
    assert " […] " in text
    assert estimate_tokens(text) < 4_000


def test_a_long_conversation_is_cut_from_its_beginning_where_the_whole_of_it_is_scored():
    talk = tuple(
        Message(Speaker.USER if at % 2 == 0 else Speaker.ASSISTANT, f"Message {at}. " * 90)
        for at in range(21)
    )
    text = turn_prompt(question(level=Level.SESSION, dialogue=talk), budget=3_000)
    assert "earlier messages are not shown]" in text
    assert "Message 20." in text
    assert "Message 0." not in text
    whole = turn_prompt(question(level=Level.SESSION, dialogue=talk), budget=90_000)
    assert "Message 0." in whole


def test_a_rated_session_is_shown_as_it_went():
    session = HistoryTurn("9", "cooking", "", "a\nb", "c", 4, None, "s", DIALOGUE)
    text = turn_prompt(question(Variant.RETRIEVAL, nearest=(session,)), budget=8_000)
    shown = text[text.index("<turn>") : text.index("</turn>")]
    assert shown.index("The first request") < shown.index("<assistant>\nThe first reply")
    assert shown.index("The first reply") < shown.index("The last request")


def test_rubrics_that_a_class_lacks_are_said_to_be_unknown():
    text = turn_prompt(question(Variant.SPUR, rubrics=Rubrics((), ("Vague.",))), budget=8_000)
    assert "Satisfied:\nnot known\nDissatisfied:\nD1. Vague." in text
    without = turn_prompt(question(Variant.SPUR, rubrics=None), budget=8_000)
    assert "<rubrics>\nnot known\n</rubrics>" in without


@LANGUAGE
@pytest.mark.parametrize("satisfied", [True, False])
def test_an_induction_shows_the_class_and_what_it_is_drawn_from(language, satisfied):
    said = {("en", True): "satisfied", ("en", False): "dissatisfied"}
    said |= {("zh", True): "满意", ("zh", False): "不满意"}
    kind = {"satisfied": satisfied, "language": language}
    word = f"<rating>\n{said[language, satisfied]}\n</rating>"
    one = induction_prompt(InductionQuestion(**kind, most=3, turn=TURN), budget=4_000)
    assert word in one
    assert "<turn>" in one
    assert "\n\n3\n\n" in one
    several = InductionQuestion(**kind, most=10, reasons=("Too\nlong.", "<reasons>"))
    text = induction_prompt(several, budget=4_000)
    assert word in text
    assert "<reasons>\n- Too long.\n- ‹reasons>\n</reasons>" in text
    assert "\n\n10\n\n" in text


def test_an_induction_without_anything_to_draw_from_is_refused():
    with pytest.raises(ValueError, match="need a rated turn"):
        induction_prompt(InductionQuestion(satisfied=True, language="en", most=3), budget=4_000)


def test_the_record_of_a_run_names_every_prompt_that_it_may_ask():
    def used(variant, level=Level.TURN):
        found = turn_prompts_used("zh-hans", variant=variant, level=level)
        assert all(label.endswith(".zh") for label in found)
        assert "remind_json.v1.zh" in found
        return {label.split(".")[0] for label in found} - {"remind_json"}

    assert used(Variant.CHECKLIST) == {"score_turn", "score_turn_no_memory", "build_memory"}
    assert used(Variant.RETRIEVAL) == {"score_turn_retrieval", "score_turn_no_memory"}
    assert used(Variant.SPUR) == {"score_turn_spur", "spur_extract", "spur_condense"}
    assert used(Variant.ZERO_SHOT) == {"score_turn_zero_shot"}
    assert used(Variant.TASK_GUARDED, Level.SESSION) == {
        "score_session_task_guarded",
        "score_session_no_memory",
        "build_memory",
    }
