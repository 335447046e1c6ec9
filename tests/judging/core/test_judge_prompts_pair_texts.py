from __future__ import annotations

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.judge_prompts import EarlierTurn, pair_texts


def texts(**changes):
    return pair_texts(
        **{
            "system_prompt": "",
            "earlier": [],
            "user_message": "Second?",
            "text_a": "Long answer.",
            "text_b": "Short.",
            **changes,
        }
    )


def shared(user, reply):
    return EarlierTurn(user, reply, reply, same_reply=True)


def test_a_first_turn_is_the_request_alone():
    found = texts()
    assert found.dialogue == (Message(Speaker.USER, "Second?"),)
    assert (found.text_a, found.text_b, found.language) == ("Long answer.", "Short.", "en")


def test_shared_turns_are_the_conversation():
    found = texts(
        system_prompt="Be kind.", earlier=[shared("First?", "Yes."), shared("Then?", None)]
    )
    assert found.dialogue == (
        Message(Speaker.SYSTEM, "Be kind."),
        Message(Speaker.USER, "First?"),
        Message(Speaker.ASSISTANT, "Yes."),
        Message(Speaker.USER, "Then?"),
        Message(Speaker.USER, "Second?"),
    )
    assert found.text_a == "Long answer."


def test_what_each_line_said_before_belongs_to_its_text():
    # As MT-Bench: each model's second answer follows its own first.
    found = texts(
        earlier=[
            shared("Hello", "Hi."),
            EarlierTurn("First?", "One.", "Two.", same_reply=False),
            EarlierTurn("More?", None, "Three.", same_reply=False),
        ]
    )
    assert found.dialogue == (
        Message(Speaker.USER, "Hello"),
        Message(Speaker.ASSISTANT, "Hi."),
        Message(Speaker.USER, "First?"),
    )
    assert found.text_a == (
        "[Assistant]\nOne.\n\n[User]\nMore?\n\n[Assistant]\n\n\n[User]\nSecond?\n\n"
        "[Assistant]\nLong answer."
    )
    assert found.text_b == (
        "[Assistant]\nTwo.\n\n[User]\nMore?\n\n[Assistant]\nThree.\n\n[User]\nSecond?\n\n"
        "[Assistant]\nShort."
    )
    assert found.following == ("More?", "Second?")
    assert texts(earlier=[shared("Hello", "Hi.")]).following == ()


def test_a_turn_without_a_user_message_adds_no_message():
    found = texts(earlier=[shared(None, "Welcome.")], user_message=None)
    assert found.dialogue == (Message(Speaker.ASSISTANT, "Welcome."),)


@pytest.mark.parametrize(
    ("given", "said", "language"), [("", "你好吗", "zh"), ("fr", "你好吗", "fr"), ("", "Hi", "en")]
)
def test_the_language_is_the_sessions_or_what_the_user_wrote(given, said, language):
    assert texts(user_message=said, language=given).language == language
