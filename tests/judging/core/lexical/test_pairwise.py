import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.lexical.pairwise import judge_pair
from judging.core.questions import ShownPair

ASKED = (Message(Speaker.USER, "How do I boil an egg?"),)
SHORT = "Seven minutes."
LONG = "Boil the egg for seven minutes in salted water, then cool it under the tap."
LISTED = "To boil an egg:\n- heat the water\n- wait seven minutes\n- cool it"


def judge(first, second, preference="", dialogue=ASKED):
    return judge_pair(ShownPair(dialogue, first, second), preference=preference)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (LONG, SHORT),
        (LONG, ""),
        (LONG, "先把水烧开，再把鸡蛋放进去煮七分钟，然后捞出来过凉水就可以吃了。"),
        (LONG, "Boil the egg. " * 12),
        (LONG, "How do I boil an egg? How do I boil an egg?"),
        (LONG, LONG[:-20]),
    ],
)
def test_the_base_judge_prefers_what_most_people_would(better, worse):
    answer = judge(better, worse)
    assert answer.verdict is Verdict.A
    assert answer.log_odds is not None
    assert answer.log_odds > 0
    assert answer.error_code is None


@pytest.mark.parametrize(
    ("preference", "verdict"),
    [
        ("Strongly prefers short answers.", Verdict.B),
        ("强烈偏好简短的回答。", Verdict.B),
        ("Prefers detailed answers.", Verdict.A),
        ("Says nothing that is known.", Verdict.A),
        ("No clear preference.", Verdict.A),
    ],
)
def test_a_stated_preference_overrules_the_prior(preference, verdict):
    assert judge(LONG, SHORT, preference).verdict is verdict


def test_an_unknown_text_judges_exactly_as_the_base_judge():
    assert judge(LONG, SHORT, "Be nice.").log_odds == judge(LONG, SHORT).log_odds


def test_the_prior_stays_whole_beside_a_preference_that_goes_along_with_it():
    # Neither has emoji, so that the sentence adds nothing to what most people want.
    base = judge(LONG, SHORT).log_odds
    assert judge(LONG, SHORT, "Likes emoji.").log_odds == base
    plain, strong = (
        judge(LONG, SHORT, f"{word} long answers.").log_odds
        for word in ("Prefers", "Strongly likes")
    )
    assert strong - plain == pytest.approx((plain - base) / 0.3)  # weights 0.7, 1 and 2


def test_three_tenths_of_the_prior_stay_beside_one_that_goes_against_it():
    # Without the contrast of length, what most people want of the two is closeness alone.
    closeness = judge(LONG, SHORT).log_odds - 0.7 * length_contrast()
    against = judge(LONG, SHORT, "Prefers short answers.").log_odds
    assert against == pytest.approx(0.3 * closeness - length_contrast())


def length_contrast():
    """Of LONG to SHORT, from what doubling the weight adds."""
    return (
        judge(LONG, SHORT, "Strongly prefers long answers.").log_odds
        - judge(LONG, SHORT, "Prefers long answers.").log_odds
    )


def test_the_preference_decides_by_its_own_feature():
    assert judge(LONG, LISTED, "Strongly prefers lists.").verdict is Verdict.B
    assert judge(LONG, LISTED, "Strongly dislikes lists.").verdict is Verdict.A


def test_equal_responses_are_a_tie():
    answer = judge(SHORT, SHORT, "Strongly prefers short answers.")
    assert (answer.verdict, answer.log_odds) == (Verdict.TIE, 0)
    assert answer.call.raw == "no difference: log-odds +0.00"


def test_the_raw_text_names_what_decided():
    # length: 2 and 15 words; LONG also takes up the words "boil" and "egg"
    raw = judge(SHORT, LONG, "Strongly prefers short answers.").call.raw
    assert raw.startswith("length +")
    assert "closeness -" in raw


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.sampled_from(
        ["", "Prefers short answers.", "强烈偏好列表。", "Dislikes emoji. Likes code."]
    ),
)
def test_swapping_mirrors_the_judgment_exactly(first, second, preference):
    shown, swapped = judge(first, second, preference), judge(second, first, preference)
    assert shown.verdict is not None
    assert swapped.verdict is shown.verdict.flipped()
    assert shown.log_odds is not None
    assert swapped.log_odds == -shown.log_odds
    assert math.isfinite(shown.log_odds)


def test_many_preferences_over_the_same_pairs_are_fast():
    """10,000 shown pairs of 1 KB: 400 comparisons, 12 preferences, both orders."""
    texts = [
        f"Answer {n}. " + "Boil the water and wait for it to settle. " * 24 for n in range(800)
    ]
    preferences = ["", *(f"Prefers {word}." for word in ("code", "lists", "tables", "emoji"))]
    start = time.process_time()
    for place in range(400):
        for preference in preferences * 3:
            judge(texts[2 * place], texts[2 * place + 1], preference)
            judge(texts[2 * place + 1], texts[2 * place], preference)
    assert time.process_time() - start < 30.0  # about 1.5 s on two quiet cores
