import numpy as np
import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.lexical.distil import SALIENCE, distil, estimate
from judging.core.lexical.features import FEATURES, Feature
from judging.core.lexical.vocabulary import parse
from judging.core.questions import LabelledPair

ASKED = (Message(Speaker.USER, "How do I boil an egg?"),)
PLAIN = "Boil the egg for seven minutes in salted water, then cool it under the tap."


def text_of(chosen, rejected, language="en"):
    return distil([LabelledPair(ASKED, chosen, rejected)], language=language)


@pytest.mark.parametrize(
    ("chosen", "rejected", "feature", "sign"),
    [
        ("Seven minutes.", PLAIN, Feature.LENGTH, -1),
        (PLAIN, "Seven minutes.", Feature.LENGTH, 1),
        ("# Eggs\n- boil the egg\n- wait for seven minutes\n- cool it under the tap",
         PLAIN, Feature.STRUCTURE, 1),
        (PLAIN + " Good luck, enjoy! 😊🎉", PLAIN, Feature.WARMTH, 1),
        (PLAIN, "```\nboil(egg)\nwait(7)\ncool(egg)\nserve(egg)\n```\n" + PLAIN, Feature.CODE, -1),
    ],
)  # fmt: skip
def test_one_pair_gives_its_most_telling_difference_first(chosen, rejected, feature, sign):
    weights = parse(text_of(chosen, rejected)).weights
    assert next(iter(weights)) is feature
    assert np.sign(weights[feature]) == sign


def test_a_slightly_shorter_answer_was_not_chosen_for_being_short():
    # 15 words to 18: log2(19 / 16) = 0.25 spreads, which move the weight of length by
    # 2.25 x 0.25 = 0.56 down; the prior of 0.7 up outweighs them
    longer = PLAIN + " Serve it warm."
    assert Feature.LENGTH not in parse(text_of(PLAIN, longer)).weights
    assert parse(text_of(longer, PLAIN)).weights[Feature.LENGTH] == 0.5


def test_a_much_shorter_answer_was():
    # 15 words to 45: log2(46 / 16) = 1.52 spreads, bent to 1.21; 2.25 x 1.21 - 0.7 = 2.0: strongly
    longer = PLAIN + (
        " After that peel off every piece of shell, sprinkle some salt and pepper over both halves,"
        " butter two slices of toasted bread, add fresh chives or parsley and eat right away."
    )
    assert parse(text_of(PLAIN, longer)).weights[Feature.LENGTH] == -2


def test_a_text_is_short_and_in_the_language_asked_for():
    rejected = "Sure! Here you go! 😊\n\n# Eggs\n- **Boil** 1\n- **Cool** 2\n\nFor example, mine."
    english, chinese = text_of(PLAIN, rejected), text_of(PLAIN, rejected, "zh-Hans")
    assert english.count(".") == 2
    assert chinese.count("。") == 2
    assert parse(english) == parse(chinese)


def test_one_family_is_named_once():
    listed = "\n".join(f"- **step {n}** of it" for n in range(9))
    weights = parse(text_of("# Plan\n" + listed, "Just one plain step of it.")).weights
    assert len({Feature.STRUCTURE, Feature.LISTS, Feature.BOLD, Feature.STEPS} & set(weights)) == 1


@pytest.mark.parametrize(
    ("language", "text"), [("en", "No clear preference."), ("zh", "没有明显偏好。")]
)
def test_equal_responses_show_no_preference(language, text):
    assert text_of(PLAIN, PLAIN, language) == text


def test_a_direction_that_nobody_would_ask_for_is_not_named():
    weights = parse(text_of("boil the egg in water " * 9, PLAIN)).weights
    assert weights.get(Feature.REPETITION, 0) <= 0


def test_no_pairs_show_no_preference():
    assert distil([], language="en") == "No clear preference."


def test_pairs_that_cancel_out_show_no_strong_preference():
    pair = LabelledPair(ASKED, PLAIN, "Seven minutes.")
    back = LabelledPair(ASKED, "Seven minutes.", PLAIN)
    weights = parse(distil([pair, back] * 5, language="en")).weights
    assert Feature.EMOJI not in weights
    assert weights.get(Feature.LENGTH, 0) >= 0  # what remains is the general prior


def test_the_aggregate_follows_the_majority():
    short = LabelledPair(ASKED, "Seven minutes.", PLAIN)
    noise = LabelledPair(ASKED, PLAIN, "Seven minutes.")
    weights = parse(distil([short] * 9 + [noise], language="en")).weights
    assert weights[Feature.LENGTH] == -2


def test_pairs_without_a_difference_leave_the_general_prior():
    pair = LabelledPair(ASKED, PLAIN, PLAIN)
    assert Feature.LENGTH in parse(distil([pair, pair], language="en")).weights


def test_the_estimate_is_where_the_slope_vanishes():
    seeded = np.random.default_rng(7)
    contrasts = seeded.normal(size=(12, len(FEATURES)))
    weights = estimate(contrasts)
    likely = 1 / (1 + np.exp(-contrasts @ weights))
    spread = 0.5 * np.array([SALIENCE[feature] for feature in FEATURES])
    prior = estimate(np.zeros((1, len(FEATURES))))
    slope = contrasts.T @ (1 - likely) - (weights - prior) / spread**2
    assert np.abs(slope).max() < 1e-6
