"""The simulated annotators follow their stated rules, err as often as stated, and differ."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from sensejudge_site.demo.annotators import (
    CONCISE,
    PERSONAS,
    STRUCTURED,
    WARM,
    Labeller,
    noise_free_choice,
)
from sensejudge_site.demo.sessions import measure, written_sessions

PAIRS = [
    pair for session in written_sessions() for pair in combinations(session.turns[-1].responses, 2)
]

SHORT = "Yes, by Friday."
LONG = "It depends on the post, but as a rule a letter arrives within two working days or so."
LISTED = "# Answer\n\n- by post\n- by mail\n\n1. Write\n2. Send"
PLAIN = "By post or by mail. First write it and then send it."
FRIENDLY = "Lovely idea! For example, you could write to your friend today. Enjoy!"
DRY = "A letter can be written today and sent to the recipient without delay."


def test_measures_count_what_they_name():
    text = "# Plan\n\nLet's go! For example:\n\n- one\n- two\n\n```\n- code\n```"
    found = measure(text)
    # Plan, Let's, go, For, example, one, two, code; a heading and two bullets; ! and "Let's"
    assert found.words == 8
    assert (found.marks, found.paragraphs, found.friendly, found.examples) == (3, 3, 2, 1)
    assert found.opening_words == 1


def test_three_chinese_characters_are_two_words():
    assert measure("今天下午三点").words == 4
    assert measure("好的。明天见。").opening_words == pytest.approx(4 / 3)


def test_an_empty_text_measures_nothing():
    empty = measure("")
    assert (empty.words, empty.opening_words, empty.marks, empty.paragraphs) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("persona", "better", "worse"),
    [(CONCISE, SHORT, LONG), (STRUCTURED, LISTED, PLAIN), (WARM, FRIENDLY, DRY)],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_persona_prefers_what_its_rule_names(persona, better, worse):
    assert noise_free_choice(persona, better, worse) is Verdict.A
    assert noise_free_choice(persona, worse, better) is Verdict.B


@given(st.sampled_from(PERSONAS), st.text(), st.text())
def test_swapping_the_texts_flips_the_choice(persona, a, b):
    assert noise_free_choice(persona, a, b) is noise_free_choice(persona, b, a).flipped()


def labelled(persona, seed):
    """Every pair of the study with the labels of one pass of a persona."""
    labeller = Labeller(persona, seed=seed)
    return [
        (a, b, labeller.label(a=a.text, b=b.text, model_a=a.model, model_b=b.model))
        for a, b in PAIRS
    ]


@pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.name)
def test_labels_agree_with_the_rule_but_for_the_stated_noise(persona):
    hits = Counter(
        noise_free_choice(persona, a.text, b.text) is given.verdict
        for seed in range(10)
        for a, b, given in labelled(persona, seed)
    )
    # 2,880 labels; ties are not flipped, and the pull of the first place moves the close pairs
    low, high = (0.88, 0.93) if persona.pull == 0 else (0.75, 0.85)
    assert low < hits[True] / hits.total() < high


def first_wins(persona):
    shown_first = {Order.ORIGINAL: Verdict.A, Order.SWAPPED: Verdict.B}
    wins = Counter(
        given.verdict is shown_first[given.shown_order]
        for seed in range(10)
        for _, _, given in labelled(persona, seed)
        if given.verdict is not Verdict.TIE
    )
    return wins[True] / wins.total()


def test_only_the_warm_persona_leans_towards_the_first_place():
    assert first_wins(CONCISE) == pytest.approx(0.5, abs=0.03)
    assert first_wins(STRUCTURED) == pytest.approx(0.5, abs=0.03)
    assert 0.53 < first_wins(WARM) < 0.65


def test_each_two_models_are_shown_first_equally_often():
    first = Counter(
        (a.model, b.model) if given.shown_order is Order.ORIGINAL else (b.model, a.model)
        for a, b, given in labelled(CONCISE, 1)
    )
    assert len(first) == 12
    assert all(abs(count - first[model, other]) <= 1 for (other, model), count in first.items())


def test_personas_disagree_often_enough_to_be_told_apart():
    for one, other in combinations(PERSONAS, 2):
        same = sum(
            noise_free_choice(one, a.text, b.text) is noise_free_choice(other, a.text, b.text)
            for a, b in PAIRS
        )
        assert same / len(PAIRS) < 0.65
