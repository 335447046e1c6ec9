from __future__ import annotations

import pytest

from annotation.core.dialogue import Message, Role
from judging.core.judge_modes import JudgePrompt
from judging.core.judge_prompts import distil_prompt, pair_prompt, prompts_used
from judging.core.prompt_edits import (
    CLOSING_LINES,
    FILES,
    PromptBook,
    book_of,
    edit_faults,
    prompt_book,
)
from judging.core.prompts import FOLDER, LANGUAGES, PromptError, load_prompt
from judging.core.questions import LabelledPair, ShownPair
from judging.core.windows import Window

DIALOGUE = (Message(Role.USER, "How?"),)


def edited(name="judge_pair_base", language="en", **replaced):
    text = load_prompt(name, language=language).text
    for before, after in replaced.values():
        assert before in text
        text = text.replace(before, after)
    return text


def rendered(book, preference=""):
    return pair_prompt(
        ShownPair(DIALOGUE, "One", "Two"),
        preference=preference,
        language="en",
        letter=False,
        window=Window.ALL,
        budget=5_000,
        book=book,
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CLOSING_LINES)
def test_every_prompt_of_pairs_may_be_edited_and_passes_as_it_is(name, language):
    text = load_prompt(name, language=language).text
    assert edit_faults(name, language, text) == []
    first = text.splitlines()[0]
    assert edit_faults(name, language, text.replace(first, "Judge these.", 1)) == []


def test_only_the_prompts_of_pairs_are_there_to_edit():
    names = {path.name.split(".")[0] for path in FOLDER.glob("*.txt")}
    assert names - set(CLOSING_LINES) == {"build_memory", "score_turn", "score_turn_no_memory"}
    assert edit_faults("score_turn", "en", "x") == ["there is no prompt score_turn in en to edit"]
    assert edit_faults("judge_pair", "fr", "x") == ["there is no prompt judge_pair in fr to edit"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("{{response_b}}", "response b"), "must stand in this order"),
        (("{{dialogue}}", "{{dialogue}} {{dialogue}}"), "must stand in this order"),
        (("</response_a>", "</response>"), "must stand in this order"),
        (("{{dialogue}}", "{{preference}}"), "must stand in this order"),
        (("1. Score each", "1. {{dialogue}} Score each"), "must stand in this order"),
        (("1. Score each", "1. {{a name}} Score each"), "must stand in this order"),
        (("The final decision is Response B.", "I choose B."), "must stay"),
    ],
)
def test_what_the_code_relies_on_must_stay(change, fault):
    (found,) = edit_faults("judge_pair_base", "en", edited(change=change))
    assert fault in found


def test_swapped_places_and_lost_closing_lines_are_both_told():
    text = (
        "<response_b>\n{{response_b}}\n</response_b>\n<response_a>\n{{response_a}}\n</response_a>"
    )
    assert len(edit_faults("judge_pair_base", "en", text)) == 2


def test_an_edited_prompt_is_asked_in_place_of_the_file():
    text = edited(change=("Two assistants answered the same user.", "Be the judge."))
    book = prompt_book([("judge_pair_base", "en", f"{text}\r\n")])
    assert rendered(book).startswith("Be the judge.")
    assert rendered(book, "Likes detail.") == rendered(FILES, "Likes detail.")
    used = prompts_used("en", letter=False, book=book)
    assert "judge_pair_base.edited.en" in used
    assert "judge_pair_base.v1.en" not in used
    assert "judge_pair_base.v1.zh" in prompts_used("zh", letter=False, book=book)


def test_a_distiller_and_a_rubric_can_be_edited_too():
    book = prompt_book(
        [
            (
                "distil_preference",
                "en",
                edited("distil_preference", change=("Write", "Please write")),
            ),
            ("grade_generic", "en", edited("grade_generic", change=("Grade its", "Rate its"))),
        ]
    )
    pair = LabelledPair(DIALOGUE, "One", "Two")
    text = distil_prompt((pair,), language="en", window=Window.ALL, budget=5_000, book=book)
    assert "Please write" in text
    used = prompts_used("en", letter=False, mode=JudgePrompt.SINGLE, book=book)
    assert "grade_generic.edited.en" in used


def test_a_book_survives_a_run_s_configuration():
    text = edited(change=("Two assistants", "Two helpers"))
    book = prompt_book([("judge_pair_base", "en", text)])
    (stored,) = book.to_json()
    assert stored["digest"] == book.load("judge_pair_base", language="en").digest
    assert book_of([stored]) == book
    assert book_of([]) == PromptBook() == FILES


def test_a_broken_edit_is_no_prompt():
    with pytest.raises(PromptError, match="judge_pair_base in en: these must stand"):
        prompt_book([("judge_pair_base", "en", "Choose.")])
