import pytest

from judging.core.lexical.anatomy import read
from judging.core.lexical.features import as_request


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Briefly, what is a cell?", {"brief"}),
        ("请详细说明，并举例", {"detail", "example"}),
        ("Write a python function", {"code"}),
        ("Compare them in a table", {"table"}),
        ("List the rivers", {"list"}),
        ("Hello", set()),
    ],
)
def test_demands_are_read_from_the_words(message, asked):
    assert as_request(message).asked == asked


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("Give me five ideas", 5),
        ("10 good book titles please", 10),
        ("给我三个建议", 3),
        ("两本书", 2),
        ("In 2020 I had ideas", None),
    ],
)
def test_a_number_of_things_is_read(message, count):
    assert as_request(message).count == count


@pytest.mark.parametrize(
    ("message", "answer", "fit"),
    [
        ("Briefly, why?", "Because.", 1),
        ("Briefly, why?", "because " * 100, -1),
        ("Explain in detail", "word " * 150, 1),
        ("Explain in detail", "No.", -1),
        ("Write code", "```\nx = 1\n```", 1),
        ("Write code", "I would rather not.", -1),
        ("Give an example", "For example, a cat.", 1),
        ("Put it in a table", "| a | b |\n| 1 | 2 |", 1),
        ("List them", "- one\n- two", 1),
        ("Give me two tips", "- one\n- two", 2),
        ("Give me two tips", "- one\n- two\n- three", 0),
        ("Hello", "Hi.", 0),
    ],
)
def test_fit_is_demands_met_minus_missed(message, answer, fit):
    assert as_request(message).fit(read(answer)) == fit


@pytest.mark.parametrize(
    ("message", "script"),
    [("What is this?", "latin"), ("这是什么？", "han"), ("翻译成英文：你好", ""), ("2 + 2", "")],
)
def test_the_script_an_answer_should_be_in(message, script):
    assert as_request(message).script == script
