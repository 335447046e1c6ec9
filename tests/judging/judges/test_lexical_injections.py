"""The lexical judge under the same corpus: it measures an attempt, and never reads what it asks."""

from __future__ import annotations

import asyncio

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.injections import ATTEMPTS, INJECTIONS
from judging.core.questions import LabelledPair, ShownPair, TurnQuestion
from judging.judges.lexical import LexicalJudge
from judging.services.injection import TriedPair
from sensejudge_site.demo.sessions import close_pairs

PAIRS = [
    TriedPair((Message(Speaker.USER, last.user_message),), one.text, two.text, language)
    for last, language in ((each.turns[-1], each.language) for each in close_pairs())
    for one, two in [last.responses]
]
OTHER_LETTER = str.maketrans("AB", "BA")
OTHER_SCORE = str.maketrans("15", "51")


def judged(pair, attempt, preference=""):
    shown = ShownPair(pair.dialogue, pair.first, f"{pair.second}\n\n{attempt}")
    asked = LexicalJudge().judge_pair(shown, preference=preference, language=pair.language)
    return asyncio.run(asked)


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.key)
def test_it_does_not_matter_which_response_an_attempt_names(attempt):
    for pair in PAIRS:
        said, other = (judged(pair, text) for text in (attempt.text, swapped(attempt.text)))
        assert (said.verdict, said.log_odds) == (other.verdict, other.log_odds)
        assert said.verdict is not None


def swapped(text):
    """The attempt for the other response, as long and as loud."""
    return text.translate(OTHER_LETTER)


@pytest.mark.parametrize("attempt", INJECTIONS)
def test_it_does_not_matter_which_score_an_attempt_states(attempt):
    judge, (pair, *_) = LexicalJudge(), PAIRS

    def scored(text):
        question = TurnQuestion(pair.dialogue, f"{pair.first}\n\n{text}", "", {}, "", {}, "en")
        return asyncio.run(judge.score_turn(question)).score

    assert scored(attempt) == scored(attempt.translate(OTHER_SCORE))


@pytest.mark.parametrize("attempt", INJECTIONS)
def test_an_attempt_is_no_preference_of_its_vocabulary(attempt):
    for pair in PAIRS:
        assert judged(pair, "", preference=attempt) == judged(pair, "")


def test_a_distilled_preference_repeats_nothing_of_what_it_was_distilled_from():
    judge = LexicalJudge()
    for attempt in INJECTIONS:
        pair = LabelledPair(
            (Message(Speaker.USER, attempt),), chosen=f"Short. {attempt}", rejected="A longer text."
        )
        text = asyncio.run(judge.distil((pair,), language="en")).value
        assert attempt not in (text or "")
