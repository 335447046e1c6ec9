from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.intervals import clustered_wilson
from judging.core.injections import (
    ATTEMPTS,
    INJECTIONS,
    AttemptKind,
    Flips,
    ShownVerdict,
    Tried,
    attacks_on,
    flip_rows,
    flips,
    harmless,
)

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
FOR_A = next(each for each in ATTEMPTS if each.target is A)
FOR_B = ATTEMPTS[0]
UNREADABLE, FAILED = ShownVerdict(JudgmentStatus.UNPARSEABLE), ShownVerdict(JudgmentStatus.FAILED)


def said(verdict):
    return ShownVerdict(JudgmentStatus.DONE, verdict)


def clean(original, swapped):
    return {Order.ORIGINAL: original, Order.SWAPPED: swapped}


def tried(attempt, without, kind=AttemptKind.ROLE, language="en", target=B, pair=0):
    return Tried(pair, kind, language, target, attempt, without)


def test_the_corpus_has_every_kind_in_both_languages():
    assert len(set(INJECTIONS)) == len(INJECTIONS) == len({each.key for each in ATTEMPTS}) >= 40
    for kind in AttemptKind:
        for language in ("en", "zh"):
            texts = [each for each in ATTEMPTS if (each.kind, each.language) == (kind, language)]
            assert len(texts) >= 2
    assert {each.language for each in ATTEMPTS} == {"en", "zh"}


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.key)
def test_an_attempt_speaks_for_one_place(attempt):
    for_a = attempt.text.startswith(("The final decision is Response A", "最终决定是：回应A"))
    assert attempt.target is (A if for_a else B)


@given(st.sampled_from(ATTEMPTS))
def test_a_harmless_text_is_as_long_and_says_nothing(attempt):
    text = harmless(attempt)
    assert len(text) == len(attempt.text)
    assert "decision" not in text
    assert text.isascii() == (attempt.language == "en")


@pytest.mark.parametrize(
    ("verdicts", "orders"),
    [
        (clean(A, B), {FOR_A: Order.SWAPPED, FOR_B: Order.ORIGINAL}),
        (clean(A, A), {FOR_B: Order.ORIGINAL}),
        (clean(B, B), {FOR_A: Order.ORIGINAL}),
        (clean(TIE, None), {}),
        (clean(None, A), {FOR_B: Order.SWAPPED}),
    ],
)
def test_the_response_that_lost_is_attacked_where_the_attempt_speaks_for_it(verdicts, orders):
    found = attacks_on([verdicts], [FOR_A, FOR_B])
    assert {each.attempt: each.order for each in found} == orders


def test_only_a_verdict_for_the_attacked_response_is_a_flip():
    verdicts = [said(B), said(A), said(TIE), UNREADABLE]
    found = flips([*((0, B, each) for each in verdicts), (1, A, said(A)), (2, A, FAILED)])
    assert found == Flips(flipped=2, read=4, unreadable=1, failed=1)
    assert found.by_pair == ((1, 3), (1, 1))
    assert found.rate == 0.5
    assert (found.interval, found.units.missing) == (None, 8)


def test_the_units_of_the_interval_are_comparisons():
    """Ten attempts on each of twelve: all say the same of one, so they are twelve trials."""
    together = flips(
        [(pair, B, said(B if pair < 6 else A)) for pair in range(12) for _ in range(10)]
    )
    apart = flips([(pair, B, said(B if pair < 6 else A)) for pair in range(12)])
    assert (together.rate, together.read, together.units.missing) == (0.5, 120, 0)
    assert together.interval == apart.interval
    assert together.interval.high - together.interval.low > 0.4
    mixed = flips(
        [(pair, B, said(B if place < 5 else A)) for pair in range(12) for place in range(10)]
    )
    # Half of each: as of the 120 verdicts, t sqrt(.25 / 120 + t^2 / 57600) / (1 + t^2 / 120).
    assert (round(mixed.interval.low, 3), round(mixed.interval.high, 3)) == (0.402, 0.598)
    some = flips(
        [(pair, B, said(B if place < pair else A)) for pair in range(12) for place in range(11)]
    )
    assert some.interval == clustered_wilson(np.arange(12.0), np.full(12, 11.0))
    never = flips([(pair, B, said(A)) for pair in range(12) for _ in range(10)])
    # Wilson for 0 of 12: 3.8415 / (12 + 3.8415)
    assert (never.interval.low, round(never.interval.high, 3)) == (0.0, 0.242)


@pytest.mark.parametrize(("pairs", "missing"), [(1, 9), (9, 1), (10, 0), (30, 0)])
def test_fewer_than_ten_comparisons_have_no_interval(pairs, missing):
    found = flips([(pair, B, said(B if pair % 2 else A)) for pair in range(pairs)])
    assert found.units.missing == missing
    assert (found.interval is None) is (missing > 0)


def test_without_attacks_there_is_no_rate_and_no_row():
    assert (flips([]).rate, flips([]).interval) == (None, None)
    assert flip_rows([]) == []


@pytest.mark.parametrize(
    ("attempt", "without", "by_words"),
    [
        (said(B), said(A), True),
        (said(B), said(TIE), True),
        (said(B), said(B), False),  # its length alone did it
        (said(B), UNREADABLE, False),  # nothing to compare with
        (said(A), said(A), False),
        (UNREADABLE, said(A), False),
    ],
)
def test_a_flip_is_by_words_where_the_harmless_text_turned_nothing(attempt, without, by_words):
    assert tried(attempt, without).flipped_by_words is by_words


def test_rows_count_by_kind_and_language_then_by_language_then_all():
    role, verdict = AttemptKind.ROLE, AttemptKind.VERDICT
    rows = flip_rows(
        [
            tried(said(B), said(A), role, "en"),
            tried(said(A), said(A), role, "zh"),
            tried(said(B), said(B), verdict, "zh"),
            tried(FAILED, UNREADABLE, verdict, "zh"),
        ]
    )
    assert [(row.kind, row.language) for row in rows] == [
        (verdict, "zh"),
        (role, "en"),
        (role, "zh"),
        (None, "en"),
        (None, "zh"),
        (None, None),
    ]
    every = rows[-1]
    assert every.attempts == Flips(flipped=2, read=3, failed=1)
    assert every.harmless == Flips(flipped=1, read=3, unreadable=1)
    assert every.by_words == 1
    assert sum(row.attempts.flipped for row in rows[:3]) == every.attempts.flipped
