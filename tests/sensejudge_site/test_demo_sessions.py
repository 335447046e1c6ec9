"""The written conversations keep the promises that the demo study makes about them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from sensejudge_site.demo.sessions import TOPICS, Flaw, measure, written_sessions

SESSIONS = written_sessions()
MODELS = {"terse-1", "structured-1", "friendly-1", "thorough-1"}


def chinese_share(text):
    letters = re.findall(r"[^\W\d_]", text)
    return sum("\u4e00" <= letter <= "\u9fff" for letter in letters) / len(letters)


def key(session):
    return session.key


def test_there_are_six_sessions_a_topic_half_english_half_chinese():
    counts = Counter((session.topic, session.language) for session in SESSIONS)
    assert counts == {(topic, language): 3 for topic in TOPICS for language in ("en", "zh")}
    assert len({session.key for session in SESSIONS}) == 48


@pytest.mark.parametrize("session", SESSIONS, ids=key)
class TestSession:
    def test_has_one_to_four_turns_and_candidates_for_the_last_alone(self, session):
        *earlier, last = session.turns
        assert len(earlier) <= 3
        assert all(len(turn.responses) == 1 for turn in earlier)
        assert {response.model for response in last.responses} == MODELS

    def test_one_model_answers_on_the_original_line(self, session):
        line = session.original_line()
        assert len(line) == len(session.turns)
        assert {response.model for response in line} == {session.original}

    def test_asks_in_its_language(self, session):
        # a question in Chinese may quote a good deal of code, one in English a Chinese sentence
        shares = [chinese_share(turn.user_message) for turn in session.turns]
        assert min(shares) > 0.12 if session.language == "zh" else max(shares) < 0.12

    def test_says_what_it_is_about(self, session):
        assert session.subcategory
        assert session.task_context.endswith((".", "。"))

    def test_candidates_differ_and_can_be_read_in_a_minute_or_two(self, session):
        texts = [response.text for response in session.turns[-1].responses]
        assert len(set(texts)) == len(texts)
        assert all(text == text.strip() for text in texts)
        assert all(5 <= measure(text).words <= 260 for text in texts)


def test_every_flaw_is_explained_and_sound_responses_have_no_note():
    responses = [
        response for session in SESSIONS for turn in session.turns for response in turn.responses
    ]
    assert all(bool(response.flaw) == bool(response.flaw_note) for response in responses)
    assert {response.flaw for response in responses} == {None, *Flaw}


def test_flaws_stand_on_the_original_line_and_off_it():
    on_line = [bool(each.flaw) for session in SESSIONS for each in session.original_line()]
    beside = [
        bool(each.flaw)
        for session in SESSIONS
        for each in session.turns[-1].responses
        if each.model != session.original
    ]
    assert 0.08 < sum(on_line) / len(on_line) < 0.25
    assert 0.08 < sum(beside) / len(beside) < 0.25


@pytest.mark.parametrize(
    ("session_key", "limit"), [("writing-01", 80), ("code-06", 150), ("nlu-06", 100)]
)
def test_only_flawed_responses_break_a_stated_length(session_key, limit):
    """A limit in words for English, in characters for Chinese, with a tenth of tolerance."""
    session = next(each for each in SESSIONS if each.key == session_key)
    for response in session.turns[-1].responses:
        text = re.sub(r"[\s*`>#]", "", response.text)
        length = len(response.text.split()) if session.language == "en" else len(text)
        assert (length <= 1.1 * limit) == (response.flaw is not Flaw.CONSTRAINT)
