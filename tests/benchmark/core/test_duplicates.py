"""Duplicates against brute force over every pair of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.duplicates import Duplicate, find_duplicates, folded, word_grams

LONG = "the cat sat on the mat and looked at all of the birds in the old tree by the wall"
WIDE = "请帮我写一份关于秋天去北京旅行五天的详细计划，预算三千元以内，两个人同行"


WIDE_GRAMS = len(word_grams(WIDE))


def brute(texts, percent=80):
    """Every text against every kept one before it."""
    sets = [set(word_grams(folded(text))) for text in texts]
    kept, found, first = [], {}, {}
    for place, own in enumerate(sets):
        earlier = first.setdefault(folded(texts[place]), place)
        if earlier in found:  # its copy repeats what it repeats
            found[place] = found[earlier]._replace(exact=False)
            continue
        alike = []
        for other in kept:
            common, union = len(own & sets[other]), len(own | sets[other])
            if 100 * common >= percent * union:
                alike.append((common / union, -other))
        if alike:
            similarity, of = max(alike)
            exact = folded(texts[-of]) == folded(texts[place])
            found[place] = Duplicate(-of, similarity, exact)
        else:
            kept.append(place)
    return found


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], {}),
        (["one"], {}),
        (["a b", "A  Ｂ", "a c"], {1: Duplicate(0, 1.0, exact=True)}),
        # No word at all: alike only where they are the same.
        (["?!", "...", "?!"], {2: Duplicate(0, 1.0, exact=True)}),
        # Other punctuation: the same words, so the same set, and yet another text.
        ([LONG, LONG + "!"], {1: Duplicate(0, 1.0, exact=False)}),
        # An operator is a word: other tasks of the same letters and digits.
        (["3x + 5 = 20", "3x - 5 = 20", "C++", "C#", "12 > 7", "12 < 7", "a × b", "a ≤ b"], {}),
        # 20 words are 16 grams; one word added at the end adds one: 16 of 17.
        ([LONG, LONG + " again"], {1: Duplicate(0, 16 / 17, exact=False)}),
        # A word in the middle changes five grams: 11 of 21.
        ([LONG, LONG.replace("looked", "stared")], {}),
        # Characters are the words of Chinese.
        ([WIDE, WIDE + "吧"], {1: Duplicate(0, WIDE_GRAMS / (WIDE_GRAMS + 1), exact=False)}),
        # An exact copy of a near duplicate repeats what that one repeats.
        (
            [LONG, LONG + " again", LONG + " AGAIN"],
            {1: Duplicate(0, 16 / 17, exact=False), 2: Duplicate(0, 16 / 17, exact=False)},
        ),
    ],
)
def test_duplicates_by_hand(texts, expected):
    assert find_duplicates(texts) == expected


def test_texts_that_meet_and_are_too_different_are_both_kept():
    # 11 of 21 grams; with a lower threshold they share some of those that are looked up.
    assert find_duplicates([LONG, LONG.replace("looked", "stared")], percent=60) == {}


def test_grams_of_words_and_of_characters():
    assert word_grams("a b c") == [("a", "b", "c")]
    assert word_grams("one two three four five six") == [
        ("one", "two", "three", "four", "five"),
        ("two", "three", "four", "five", "six"),
    ]
    assert word_grams("a---b, C++.") == [("a", "---", "b", "C", "++")]
    assert word_grams("我爱吃苹果派") == [tuple("我爱吃苹果"), tuple("爱吃苹果派")]


def test_a_sign_of_life_is_given():
    beats = []
    find_duplicates([str(number) for number in range(2500)], pulse=lambda: beats.append(1))
    assert len(beats) == 6  # three while reading, three while comparing
    assert find_duplicates([], pulse=lambda: beats.append(1)) == {}


WORDS = st.lists(st.sampled_from(["a", "b", "c", "天", "x1"]), min_size=0, max_size=14)
EDITS = st.lists(st.tuples(st.integers(0, 13), st.sampled_from("ab天?")), max_size=2)


@st.composite
def corpora(draw):
    """Texts and copies of them with a word or two changed."""
    texts = [draw(WORDS) for _ in range(draw(st.integers(1, 6)))]
    for _ in range(draw(st.integers(0, 8))):
        copy = list(draw(st.sampled_from(texts)))
        for place, word in draw(EDITS):
            copy.insert(min(place, len(copy)), word)
        texts.append(copy)
    return [" ".join(words) for words in texts]


@given(corpora(), st.sampled_from([50, 80, 95, 100]))
def test_what_is_found_is_what_brute_force_finds(texts, percent):
    assert find_duplicates(texts, percent=percent) == brute(texts, percent)
