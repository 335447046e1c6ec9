from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import MIN_UNITS
from annotation.core.quality import (
    Answered,
    BrokenRule,
    PauseRule,
    QualityMeasure,
    UndefinedFigure,
    Yardstick,
    broken_rules,
    chance_alike,
    figures_of,
    is_right,
    measured,
    qualities,
    quality_of,
)

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
NOTHING_KNOWN = Yardstick(gold={}, fast_seconds=3.0)


def said(target, value, *, annotator=1, repeat=0, **more):
    return Answered(
        label=10 * target + repeat,
        annotator=annotator,
        target=target,
        value=value,
        repeat=repeat,
        **more,
    )


def shares(answers, *, gold=None, verdicts=True, fast=3.0):
    return quality_of(answers, Yardstick(gold or {}, fast), verdicts=verdicts).shares


def test_gold_of_verdicts_is_right_where_the_verdict_is_the_same():
    """9 of 12 right: Wilson 95 % is 0.4677 to 0.9111 (z = 1.959964; centre (0.75 + 0.1601)/1.3201,
    half width 1.959964 * sqrt(0.1875/12 + 0.9604/144)/1.3201)."""
    right = {1: A, 2: B, 3: TIE}
    answers = [said(number, right.get(number, A)) for number in range(1, 14)]
    gold = {number: right.get(number, A) for number in range(1, 10)} | dict.fromkeys(
        (10, 11, 12), B
    )
    share = shares(answers, gold=gold)[QualityMeasure.GOLD]
    assert (share.hits, share.answers, share.value) == (9, 12, 0.75)
    assert share.interval.low == pytest.approx(0.4677, abs=1e-4)
    assert share.interval.high == pytest.approx(0.9111, abs=1e-4)
    assert share.undefined is None


@pytest.mark.parametrize("answers", [9, 10])
def test_a_share_has_an_interval_from_ten_answers_on(answers):
    gold = dict.fromkeys(range(answers), A)
    share = shares([said(number, A) for number in gold], gold=gold)[QualityMeasure.GOLD]
    assert (share.interval is not None) is (answers == 10)


def test_gold_of_scores_is_right_one_off_and_exact_apart():
    answers = [said(1, 4), said(2, 3), said(3, 1)]
    found = shares(answers, gold={1: 4, 2: 4, 3: 4}, verdicts=False)
    assert (found[QualityMeasure.GOLD].hits, found[QualityMeasure.GOLD_EXACT].hits) == (2, 1)


def test_a_repeat_is_compared_with_its_annotators_own_first_answer():
    answers = [
        said(1, A),
        said(1, B, annotator=2),
        said(1, A, repeat=1),
        said(1, A, annotator=2, repeat=1),
        said(1, B, repeat=2),
        said(9, A, repeat=1),  # its first is not among the answers
    ]
    rows = measured(answers, QualityMeasure.REPEATS, NOTHING_KNOWN)
    assert [(row.answer.annotator, row.hit, row.against) for row in rows] == [
        (1, True, A),
        (2, False, B),
        (1, False, A),
    ]


def test_a_repeat_of_a_gold_item_is_no_second_gold_answer():
    answers = [said(1, A), said(1, B, repeat=1)]
    assert shares(answers, gold={1: A})[QualityMeasure.GOLD].answers == 1


def test_repeated_scores_are_alike_one_off_and_exact_apart():
    answers = [said(1, 4), said(1, 5, repeat=1), said(2, 2), said(2, 4, repeat=1)]
    found = shares(answers, verdicts=False)
    assert (found[QualityMeasure.REPEATS].hits, found[QualityMeasure.REPEATS_EXACT].hits) == (1, 0)


def test_position_bias_is_of_first_answers_with_a_winner_and_a_known_order():
    answers = [
        said(1, A, shown=Order.ORIGINAL),  # the first shown won
        said(2, B, shown=Order.SWAPPED),  # the first shown won
        said(3, A, shown=Order.SWAPPED),
        said(4, TIE, shown=Order.ORIGINAL),
        said(5, A),
        said(1, A, shown=Order.SWAPPED, repeat=1),
    ]
    share = shares(answers)[QualityMeasure.POSITION]
    assert (share.hits, share.answers) == (2, 3)
    assert share.bias == pytest.approx(2 / 3 - 0.5)
    assert share.bias_interval is None
    more = [replace(each, target=each.target + ten) for ten in (0, 10, 20, 30) for each in answers]
    share = shares(more)[QualityMeasure.POSITION]
    assert (share.hits, share.answers) == (8, 12)
    assert share.bias_interval.low == pytest.approx(share.interval.low - 0.5)
    assert share.bias_interval.high == pytest.approx(share.interval.high - 0.5)


def test_time_counts_where_it_was_measured():
    answers = [
        said(1, A, seconds=2.0),
        said(2, A, seconds=3.0),
        said(3, A, seconds=9.0),
        said(4, A),
    ]
    found = quality_of(answers, NOTHING_KNOWN, verdicts=True)
    assert (found.seconds, found.measured) == (3.0, 3)
    assert (found.share(QualityMeasure.FAST).hits, found.share(QualityMeasure.FAST).answers) == (
        1,
        3,
    )


def test_flags_are_of_all_answers_and_answers_are_first_ones():
    answers = [said(1, A, flagged=True), said(1, A, repeat=1), said(2, A)]
    found = shares(answers)
    assert (found[QualityMeasure.FLAGS].hits, found[QualityMeasure.FLAGS].answers) == (1, 3)
    assert (found[QualityMeasure.ANSWERS].hits, found[QualityMeasure.ANSWERS].answers) == (2, 2)


def test_what_is_undefined_says_why():
    found = quality_of([], NOTHING_KNOWN, verdicts=True)
    assert found.seconds is None
    assert {figure: share.undefined for figure, share in found.shares.items()} == {
        QualityMeasure.GOLD: UndefinedFigure.NO_GOLD,
        QualityMeasure.REPEATS: UndefinedFigure.NO_REPEATS,
        QualityMeasure.POSITION: UndefinedFigure.NO_WINNER,
        QualityMeasure.FAST: UndefinedFigure.NOT_MEASURED,
        QualityMeasure.FLAGS: UndefinedFigure.NO_ANSWERS,
        QualityMeasure.ANSWERS: UndefinedFigure.NO_ANSWERS,
    }
    for share in found.shares.values():
        assert (share.value, share.bias, share.interval, share.bias_interval) == (None,) * 4
        assert share.chance is None


def test_verdicts_have_a_position_and_scores_an_exact_figure():
    assert QualityMeasure.POSITION in figures_of(verdicts=True)
    assert QualityMeasure.GOLD_EXACT not in figures_of(verdicts=True)
    assert QualityMeasure.POSITION not in figures_of(verdicts=False)
    assert {QualityMeasure.GOLD_EXACT, QualityMeasure.REPEATS_EXACT} <= set(
        figures_of(verdicts=False)
    )


def test_chance_of_two_verdicts_alike():
    """Three A and one B: (3 * 3 + 1 * 1) / 16."""
    assert chance_alike({A: 3, B: 1}, QualityMeasure.REPEATS) == 10 / 16


def test_chance_of_two_scores_near():
    """One 1, two 2, one 5. Near: 1-1, 1-2, 2-1, 2-2, 5-5 = 1 + 2 + 2 + 4 + 1 of 16; alike 6."""
    assert chance_alike({1: 1, 2: 2, 5: 1}, QualityMeasure.REPEATS) == 10 / 16
    assert chance_alike({1: 1, 2: 2, 5: 1}, QualityMeasure.REPEATS_EXACT) == 6 / 16


def test_the_chance_stands_beside_repeats_and_is_of_first_answers():
    answers = [said(1, A), said(2, A), said(3, B), said(1, B, repeat=1)]
    assert shares(answers)[QualityMeasure.REPEATS].chance == pytest.approx(5 / 9)
    assert shares(answers)[QualityMeasure.FAST].chance is None


def test_the_chance_of_several_is_the_mean_of_their_own_by_repeats():
    """Ann says A always (1), bob A and B in turn (1/2) and repeats twice: (1 + 2 * 1/2) / 3.

    Pooled their first answers are three A and one B, of which two are alike by 10/16.
    """
    ann = [said(1, A), said(2, A), said(1, A, repeat=1)]
    bob = [said(1, A), said(2, B), said(1, B, repeat=1), said(2, B, repeat=1)]
    answers = [replace(each, annotator=who) for who, own in ((1, ann), (2, bob)) for each in own]
    assert shares(answers)[QualityMeasure.REPEATS].chance == pytest.approx(2 / 3)


def test_everybody_has_figures_of_their_own():
    answers = [said(1, A, annotator=1), said(1, B, annotator=2)]
    _together, found = qualities(answers, Yardstick({1: A}, 3.0), verdicts=True)
    assert [found[each].share(QualityMeasure.GOLD).value for each in (1, 2)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("hits", "misses", "broken"),
    [(0, 4, False), (0, 5, True), (2, 3, True), (3, 2, False), (4, 1, False)],
    ids=["too few answers", "none right", "below", "at the bound", "above"],
)
def test_a_rule_pauses_below_its_bound_once_there_are_answers(hits, misses, broken):
    answers = [said(number, A if number < hits else B) for number in range(hits + misses)]
    gold = dict.fromkeys(range(hits + misses), A)
    rows = measured(answers, QualityMeasure.GOLD, Yardstick(gold, 3.0))
    assert PauseRule(below=0.6, after=5).is_broken(rows) is broken


def test_a_share_at_its_bound_is_not_below_it_whatever_floats_make_of_it():
    """0.55 * 20 is 11.000000000000002 in floating point, yet 11 of 20 is 0.55."""
    gold = dict.fromkeys(range(20), A)
    answers = [said(number, A if number < 11 else B) for number in range(20)]
    rows = measured(answers, QualityMeasure.GOLD, Yardstick(gold, 3.0))
    assert not PauseRule(below=0.55, after=5).is_broken(rows)


answers_given = st.lists(
    st.builds(
        Answered,
        label=st.integers(1, 10**6),
        annotator=st.integers(1, 3),
        target=st.integers(1, 8),
        value=st.sampled_from(Verdict),
        repeat=st.integers(0, 2),
        shown=st.sampled_from([Order.ORIGINAL, Order.SWAPPED, None]),
        seconds=st.none() | st.floats(0, 100),
        flagged=st.booleans(),
    )
)


@given(answers_given)
def test_showing_every_pair_the_other_way_round_mirrors_the_bias(answers):
    """The same verdicts under the other order: whoever won as first wins as second."""
    turned = [replace(each, shown=each.shown and each.shown.other()) for each in answers]
    before, after = (shares(each)[QualityMeasure.POSITION] for each in (answers, turned))
    assert before.answers == after.answers
    assert before.hits == after.answers - after.hits


@given(answers_given)
def test_the_parts_make_the_whole(answers):
    yardstick = Yardstick({1: A, 2: B}, 3.0)
    together, apart = qualities(answers, yardstick, verdicts=True)
    for annotator, part in apart.items():
        own = [each for each in answers if each.annotator == annotator]
        assert part == quality_of(own, yardstick, verdicts=True)
    parts = apart.values()
    for figure, share in together.shares.items():
        assert share.hits == sum(part.share(figure).hits for part in parts)
        assert share.answers == sum(part.share(figure).answers for part in parts)
        assert (share.interval is None) is (share.answers < MIN_UNITS)
        assert not share.interval or 0 <= share.interval.low <= share.value <= 1


def test_a_rule_is_broken_by_too_few_right_or_alike_or_too_many_fast():
    gold, repeats, fast = QualityMeasure.GOLD, QualityMeasure.REPEATS, QualityMeasure.FAST
    counts = {gold: (3, 6), repeats: (3, 6), fast: (3, 6)}
    assert broken_rules(counts, {gold: 0.5, repeats: 0.5, fast: 0.5}, after=6) == ()
    limits = {gold: 0.6, repeats: 0.6, fast: 0.4}
    found = broken_rules(counts, limits, after=6)
    assert found == tuple(BrokenRule(each, 3, 6, limit) for each, limit in limits.items())
    assert {each.value for each in found} == {0.5}
    assert broken_rules(counts, limits, after=7) == ()
    assert broken_rules(counts, dict.fromkeys(limits), after=1) == ()
    assert broken_rules({}, limits, after=1) == ()


def test_a_score_near_the_gold_one_is_right():
    assert is_right(4, 5)
    assert not is_right(3, 5)
    assert is_right(A, A)
    assert not is_right(TIE, A)
