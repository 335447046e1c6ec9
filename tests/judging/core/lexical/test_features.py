import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Message, Speaker
from judging.core.lexical.features import FEATURES, Feature, contrast, last_request, measure

ASKED = (Message(Speaker.USER, "How do I boil an egg?"),)


def difference(feature, more, less, dialogue=ASKED):
    place = FEATURES.index(feature)
    return contrast(measure(more, dialogue), measure(less, dialogue))[place]


@pytest.mark.parametrize(
    ("feature", "more", "less"),
    [
        (Feature.LENGTH, "Boil it for seven minutes in salted water.", "Boil it."),
        (Feature.LENGTH, "煮七分钟，再放进冷水里。", "煮。"),
        (Feature.STRUCTURE, "# Eggs\n- boil\n- cool", "Boil, then cool."),
        (Feature.LISTS, "- boil\n- cool", "Boil, then cool."),
        (Feature.HEADINGS, "# Eggs\nBoil.", "Eggs\nBoil."),
        (Feature.BOLD, "**Boil** it.", "Boil it."),
        (Feature.TABLES, "| a | b |\n| 1 | 2 |", "a 1, b 2"),
        (Feature.STEPS, "First boil, then cool.", "Boil and cool."),
        (Feature.PARAGRAPHS, "Boil.\n\nCool.", "Boil. Cool."),
        (Feature.SENTENCE_LENGTH, "Boil it and cool it.", "Boil it. Cool it."),
        (Feature.CODE, "```\nboil()\n```", "boil"),
        (Feature.EXAMPLES, "For example, boil it.", "Boil it."),
        (Feature.NUMBERS, "Boil for 7 minutes at 100 degrees.", "Boil for some minutes."),
        (Feature.SOURCES, "According to one study, boil it.", "Boil it."),
        (Feature.REASONS, "Boil it, because it sets.", "Boil it."),
        (Feature.OPTIONS, "Boil it. Alternatively, steam it.", "Boil it."),
        (Feature.CAUTIONS, "Be careful: steam burns.", "Steam burns."),
        (Feature.SUMMARY, "In short, boil it.", "Boil it."),
        (Feature.DIRECTNESS, "Boil it.", "Sure! Boil it."),
        (Feature.QUESTIONS, "Boil it. How soft?", "Boil it."),
        (Feature.WARMTH, "Boil it, good luck!", "Boil it."),
        (Feature.EMOJI, "Boil it 😊", "Boil it"),
        (Feature.FORMALITY, "It is therefore boiled.", "Hey, it's boiled!"),
        (Feature.HEDGES, "Perhaps boil it.", "Boil it."),
        (Feature.VARIETY, "Boil some water.", "Boil boil boil."),
        (Feature.CLOSENESS, "To boil an egg, wait.", "Wait."),
        (Feature.LANGUAGE, "Boil it.", "煮。"),
        (Feature.ECHO, "How do I boil an egg", "Put it in hot water"),
        (Feature.REPETITION, "boil it now and " * 5, "boil it now and cool it later."),
        (Feature.REFUSAL, "Sorry, as an AI I cannot.", "Boil it."),
        (Feature.COMPLETENESS, "Boil it.", "boil it for a while, then take it out of the pot and"),
    ],
)  # fmt: skip
def test_each_feature_tells_more_from_less(feature, more, less):
    assert difference(feature, more, less) > 0


def test_fit_follows_the_request():
    asked = (Message(Speaker.USER, "Briefly: why?"),)
    assert difference(Feature.FIT, "Because.", "because of that " * 60, asked) > 0


def test_the_last_user_message_is_the_request():
    dialogue = (
        Message(Speaker.USER, "first"),
        Message(Speaker.ASSISTANT, "answer"),
        Message(Speaker.USER, "second"),
    )
    assert last_request(dialogue) == "second"
    assert last_request((Message(Speaker.SYSTEM, "only"),)) == ""


def test_without_a_request_nothing_is_close_copied_or_foreign():
    assert measure("Any text", ()) == measure("Any text", (Message(Speaker.SYSTEM, "x"),))
    assert difference(Feature.CLOSENESS, "Any", "text", ()) == 0


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=40))
def test_swapping_negates_every_contrast_exactly(first, second, request):
    dialogue = (Message(Speaker.USER, request),)
    one, two = measure(first, dialogue), measure(second, dialogue)
    assert contrast(one, two) == tuple(-value for value in contrast(two, one))


@given(st.text(max_size=80))
def test_a_contrast_is_bounded_and_zero_for_equals(text):
    mine, none = measure(text, ASKED), measure("", ASKED)
    assert all(-2 < value < 2 for value in contrast(mine, none))
    assert not any(contrast(mine, mine))


def test_one_spread_of_length_is_bent_to_0_894():
    # 3 and 7 distinct words: log2(8) - log2(4) = 1 spread; 1 / sqrt(1 + 1/4) = 0.894
    value = difference(Feature.LENGTH, "a b c d e f g", "a b c")
    assert value == pytest.approx(0.894, abs=5e-4)
