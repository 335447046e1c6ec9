from __future__ import annotations

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.judge_prompts import distil_prompt, memory_prompt, pair_prompt, prompts_used
from judging.core.prompt_edits import (
    FILES,
    MOST_CHARACTERS,
    EditFault,
    PlaceholderPosition,
    PromptBook,
    book_of,
    closing_lines,
    edit_faults,
    places,
    plain_text,
    prompt_book,
    prompt_names,
    requirements,
)
from judging.core.prompts import FOLDER, LANGUAGES, load_prompt
from judging.core.questions import HistoryTurn, LabelledPair, MemoryQuestion, ShownPair
from judging.core.rules import JudgePrompt, Window
from tests.refusals import refuses

DIALOGUE = (Message(Speaker.USER, "How?"),)
TURN = HistoryTurn("1", "travel", "", "Where to?", "To the sea", 4, None, "s")


def edited(name="judge_pair_base", language="en", **replaced):
    text = load_prompt(name, language=language).text
    for before, after in replaced.values():
        assert before in text
        text = text.replace(before, after)
    return text


def codes(name, text, language="en"):
    return [fault.code for fault in edit_faults(name, language, text)]


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
@pytest.mark.parametrize("name", prompt_names())
def test_every_prompt_that_has_a_file_can_be_edited_and_passes_as_it_is(name, language):
    text = load_prompt(name, language=language).text
    assert edit_faults(name, language, text) == ()
    first = text.splitlines()[0]
    assert edit_faults(name, language, text.replace(first, "Do as told.", 1)) == ()
    assert all(each.met for each in requirements(load_prompt(name, language=language), text))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", prompt_names())
def test_no_prompt_may_lose_a_value_or_the_form_of_its_answers(name, language):
    text = load_prompt(name, language=language).text
    for place in places(text):
        assert codes(name, text.replace(place.mark, "", 1), language) == ["prompt:places"]
    closing = closing_lines(text)
    if closing:
        without = "\n".join([*text.splitlines()[: -len(closing)], "As you like."])
        assert "prompt:closing" in codes(name, without, language)


def test_every_file_is_a_prompt_by_its_name():
    assert set(prompt_names()) == {path.name.split(".")[0] for path in FOLDER.iterdir()}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("judge_pair", 2),
        ("judge_pair_letter", 1),
        ("rubric_pair_reference_turns", 3),
        ("grade_generic", 1),
        ("distil_preference", 0),
        ("distil_sentence", 0),
        ("distil_aggregate", 0),
        ("build_memory", 9),
        ("score_turn", 6),
        ("score_turn_no_memory", 6),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_closing_lines_say_how_to_answer(name, count, language):
    closing = closing_lines(load_prompt(name, language=language).text)
    assert len(closing) == count
    assert all(closing)


@pytest.mark.parametrize(
    ("text", "closing"),
    [
        ("Judge.\n\n1. Look.\n2. Say.\nA or B", ("A or B",)),
        ("Judge.\n\n- Say it.", ()),
        ("Judge.\n\nOne letter.", ("One letter.",)),
        ("One line", ("One line",)),
        ("Say\n\nAs JSON:\n[\n1\n]", ("As JSON:", "[", "1", "]")),
        ("{\n}", ("{", "}")),
    ],
)
def test_closing_lines_follow_the_last_step_or_are_the_json_at_the_end(text, closing):
    assert closing_lines(text) == closing


def test_places_tell_a_value_in_its_tags_from_one_alone_and_one_in_a_sentence():
    text = "<task>\n{{task}}\n</task>\n{{statistics}}\nIt is {{one}} of {{two}}."
    assert places(text) == (
        PlaceholderPosition("{{task}}", alone=True, opens="<task>", closes="</task>"),
        PlaceholderPosition("{{statistics}}", alone=True),
        PlaceholderPosition("{{one}}", alone=False),
        PlaceholderPosition("{{two}}", alone=False),
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("{{response_b}}", "response b"), "prompt:places"),
        (("{{dialogue}}", "{{dialogue}} {{dialogue}}"), "prompt:places"),
        (("</response_a>", "</response>"), "prompt:places"),
        (("{{dialogue}}", "{{preference}}"), "prompt:places"),
        (("1. Score each", "1. {{dialogue}} Score each"), "prompt:places"),
        (("1. Score each", "1. {{a name}} Score each"), "prompt:places"),
        (("1. Score each", "1. </response_a> Score each"), "prompt:tags"),
        (("The final decision is Response B.", "I choose B."), "prompt:closing"),
        (("1. Score each", "1." + " x" * MOST_CHARACTERS), "prompt:too-long"),
    ],
)
def test_what_the_code_relies_on_must_stay(change, code):
    assert codes("judge_pair_base", edited(change=change)) == [code]


def test_a_scoring_prompt_keeps_the_reasons_that_the_parser_knows():
    text = edited("score_turn", change=("insufficient diversity", "too uniform"))
    (fault,) = edit_faults("score_turn", "en", text)
    assert fault == EditFault("prompt:reasons", ("insufficient diversity",))
    released = load_prompt("score_turn", language="en")
    found = {each.text: each.met for each in requirements(released, text)}
    assert found["insufficient diversity"] is False
    assert found["{{memory}}"] is True
    assert found["unusable"] is True


def test_swapped_places_and_lost_closing_lines_are_both_told():
    text = (
        "<response_b>\n{{response_b}}\n</response_b>\n<response_a>\n{{response_a}}\n</response_a>"
    )
    assert codes("judge_pair_base", text) == ["prompt:places", "prompt:closing"]
    assert str(edit_faults("judge_pair_base", "en", text)[0]).startswith("prompt:places: {{dial")
    assert str(EditFault("prompt:tags")) == "prompt:tags"


@pytest.mark.parametrize(("name", "language"), [("judge_pair", "fr"), ("nothing", "en")])
def test_there_is_nothing_to_edit_without_a_file(name, language):
    assert codes(name, "x", language) == ["prompt:unknown"]


def test_a_text_is_stored_without_what_a_browser_adds():
    assert plain_text("One\r\n\r\nTwo\r\n\n") == "One\n\nTwo"


def test_an_edited_prompt_is_asked_in_place_of_the_file():
    text = edited(change=("Two assistants answered the same user.", "Be the judge."))
    book = prompt_book([("judge_pair_base", "en", f"{text}\r\n")])
    assert rendered(book).startswith("Be the judge.")
    assert rendered(book, "Likes detail.") == rendered(FILES, "Likes detail.")
    used = prompts_used("en", letter=False, book=book)
    assert "judge_pair_base.edited.en" in used
    assert "judge_pair_base.v1.en" not in used
    assert "judge_pair_base.v1.zh" in prompts_used("zh", letter=False, book=book)


def test_a_distiller_a_rubric_and_a_memory_can_be_edited_too():
    book = prompt_book(
        [
            (
                "distil_preference",
                "en",
                edited("distil_preference", change=("Write", "Please write")),
            ),
            ("grade_generic", "en", edited("grade_generic", change=("Grade its", "Rate its"))),
            ("build_memory", "en", edited("build_memory", change=("You analyse", "Analyse"))),
        ]
    )
    pair = LabelledPair(DIALOGUE, "One", "Two")
    text = distil_prompt((pair,), language="en", window=Window.ALL, budget=5_000, book=book)
    assert "Please write" in text
    used = prompts_used("en", letter=False, mode=JudgePrompt.SINGLE, book=book)
    assert "grade_generic.edited.en" in used
    question = MemoryQuestion((TURN,), "food", "en")
    assert memory_prompt(question, budget=5_000, book=book).startswith("Analyse how")


def test_a_book_survives_a_run_s_configuration():
    text = edited(change=("Two assistants", "Two helpers"))
    book = prompt_book([("judge_pair_base", "en", text)])
    (stored,) = book.to_json()
    assert stored["digest"] == book.load("judge_pair_base", language="en").digest
    assert book_of([stored]) == book
    assert book_of([]) == PromptBook() == FILES


def test_what_was_stored_is_asked_as_it_was_or_not_at_all():
    (stored,) = prompt_book([("judge_pair_base", "en", edited())]).to_json()
    with refuses("prompt:broken", match="not the one that was asked"):
        book_of([{**stored, "text": "Choose."}])


def test_a_broken_edit_is_no_prompt():
    with refuses("prompt:broken", match="judge_pair_base in en cannot be used: prompt:places"):
        prompt_book([("judge_pair_base", "en", "Choose.")])
