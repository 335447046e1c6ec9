import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.lexical.features import FEATURES, Feature
from judging.core.lexical.phrases import POLES
from judging.core.lexical.vocabulary import ParsedSentence, Strength, parse, speakable, write

STATEMENTS = [
    ParsedSentence(pole.feature, pole.sign, strength)
    for pole, strength in itertools.product(POLES, Strength)
]


def weights(text):
    return dict(parse(text).weights)


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_every_sentence_reads_back_as_it_was_meant(language):
    for statement in STATEMENTS:
        preference = parse(write([statement], language))
        assert preference.unknown == (), statement
        weight = statement.sign * statement.strength.value
        assert dict(preference.weights) == {statement.feature: weight}, statement


@given(st.permutations(FEATURES), st.integers(0, 6), st.sampled_from(["en", "zh"]))
def test_texts_of_several_sentences_read_back(features, count, language):
    poles = {pole.feature: pole for pole in POLES}
    chosen = [ParsedSentence(f, poles[f].sign, Strength.PLAIN) for f in features[:count]]
    preference = parse(write(chosen, language))
    assert preference.unknown == ()
    assert dict(preference.weights) == {item.feature: item.sign for item in chosen}


def test_every_phrase_names_one_pole():
    phrases = [phrase for pole in POLES for phrase in (*pole.en, *pole.zh)]
    assert len(phrases) == len(set(phrases))


def test_the_sentences_are_readable():
    statements = [
        ParsedSentence(Feature.LENGTH, -1, Strength.STRONG),
        ParsedSentence(Feature.EMOJI, 1, Strength.SLIGHT),
        ParsedSentence(Feature.CODE, 1, Strength.PLAIN),
    ]
    assert write(statements, "en") == (
        "Strongly prefers short answers. Slightly prefers emoji. Prefers answers with code."
    )
    assert write(statements, "zh") == "强烈偏好简短的回答。略微偏好表情符号。偏好带代码的回答。"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("The annotator strongly prefers concise answers!", {Feature.LENGTH: -2.0}),
        ("- Dislikes emoji\n- Likes lists", {Feature.EMOJI: -1.0, Feature.LISTS: 1.0}),
        ("1. Prefers tables", {Feature.TABLES: 1.0}),
        ("Prefers short answers and bullet points", {Feature.LENGTH: -1.0, Feature.LISTS: 1.0}),
        ("Prefers code, tables, and emoji.",
         {Feature.CODE: 1.0, Feature.TABLES: 1.0, Feature.EMOJI: 1.0}),
        ("Doesn’t like long answers", {Feature.LENGTH: -1.0}),
        ("prefers slightly short answers", {Feature.LENGTH: -0.5}),
        ("用户非常喜欢表格和代码；不喜欢表情",
         {Feature.TABLES: 2.0, Feature.CODE: 2.0, Feature.EMOJI: -1.0}),
        ("Prefers short answers. Strongly prefers brevity.", {Feature.LENGTH: -2.0}),
        ("Prefers short answers. Prefers long answers.", {Feature.LENGTH: 0.0}),
        ("No clear preference.", {}),
        ("没有明显偏好。", {}),
    ],
)  # fmt: skip
def test_edited_text_is_understood(text, expected):
    assert weights(text) == expected
    assert parse(text).unknown == ()


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        ("Be nice. Prefers tables.", {Feature.TABLES: 1.0}, ("Be nice",)),
        ("Prefers jokes", {}, ("Prefers jokes",)),
        ("Prefers tables and jokes", {Feature.TABLES: 1.0}, ("jokes",)),
        ("Preferstables", {}, ("Preferstables",)),
        ("喜欢笑话", {}, ("喜欢笑话",)),
    ],
)
def test_what_is_not_understood_is_reported_and_changes_nothing(text, expected, unknown):
    assert weights(text) == expected
    assert parse(text).unknown == unknown


def test_nothing_to_say_is_said():
    assert write([], "en") == "No clear preference."
    assert write([], "zh-Hans") == "没有明显偏好。"


def test_nobody_is_said_to_want_repetition():
    assert not speakable(Feature.REPETITION, 1)
    assert speakable(Feature.REPETITION, -1)


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text):
    preference = parse(text)
    assert all(-2 <= weight <= 2 for weight in preference.weights.values())
