"""Intervals draw sessions: comparisons of one session share texts, so they tell less than apart."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import MIN_UNITS
from benchmark.core.accuracy import InvalidPolicy, Judged, accuracy, gain
from benchmark.core.trust import (
    BASE,
    SELECTED,
    HumanLabel,
    JudgedComparison,
    TrustFinding,
    trust_figures,
)
from tests.paths import shared_data

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORDERS = (Order.ORIGINAL, Order.SWAPPED)
replies = st.sampled_from([A, B, TIE, None])
judged = st.lists(st.tuples(st.sampled_from(Verdict), replies, replies), min_size=1, max_size=30)


def rows(cells, sessions=None):
    return [
        Judged(
            key,
            human,
            dict(zip(ORDERS, won, strict=True)),
            session=None if sessions is None else sessions[key],
        )
        for key, (human, *won) in enumerate(cells)
    ]


@given(judged, judged, st.sampled_from(InvalidPolicy), st.integers(0, 1000))
def test_where_each_session_holds_one_comparison_nothing_changes(cells, others, policy, first):
    apart = range(first + len(cells) + len(others), first, -1)
    one, other = ([rows(each), rows(each, apart)] for each in (cells, others))
    for alone, own in (one, other):
        assert accuracy(alone, policy=policy) == accuracy(own, policy=policy)
    assert gain(one[0], other[0], seed=3, policy=policy) == gain(
        one[1], other[1], seed=3, policy=policy
    )


@given(judged, st.integers(2, 4))
def test_copies_of_a_comparison_in_its_session_add_no_evidence(cells, times):
    alone = rows(cells)
    copies = [
        replace(row, key=times * row.key + place, session=row.key)
        for row in alone
        for place in range(times)
    ]
    once, several = (accuracy(each) for each in (alone, copies))
    assert several.comparisons == times * once.comparisons
    assert several.units == pytest.approx(once.units)
    assert (several.interval is None) == (once.interval is None)
    if once.interval is not None:
        # Where sessions hardly differ, as many trials count as there are verdicts: more of copies.
        assert several.interval.low >= once.interval.low - 1e-9
        assert several.interval.high <= once.interval.high + 1e-9


def test_copies_of_verdicts_that_differ_by_session_add_nothing_at_all():
    cells = [(A, *([A if key % 3 else B] * 2)) for key in range(30)]
    alone = [replace(row, session=row.key // 2) for row in rows(cells)]
    copies = [replace(row, key=30 * time + row.key) for row in alone for time in range(4)]
    once, several = (accuracy(each).interval for each in (alone, copies))
    assert (several.low, several.high) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(
    ("sessions", "missing"), [(1, 9), (9, 1), (MIN_UNITS, 0), (MIN_UNITS + 5, 0)]
)
def test_fewer_than_ten_sessions_have_a_value_and_no_interval(sessions, missing):
    cells = [(A, A, B if key % 3 else A) for key in range(60)]
    found = accuracy(rows(cells, [key % sessions for key in range(60)]))
    assert (found.value, found.comparisons, found.sessions) == (40 / 60, 60, sessions)
    assert (found.units.missing, found.interval is None) == (missing, missing > 0)


def test_a_session_that_holds_most_of_the_verdicts_leaves_no_interval():
    # 300 comparisons of one session, 2 of 3 right, and 10 more: 310^2 / (300^2 + 10) = 1.07 units.
    cells = [(A, B if key % 3 == 0 else A, A) for key in range(310)]
    found = accuracy(rows(cells, [0] * 300 + [*range(1, 11)]))
    assert (found.sessions, found.interval) == (11, None)
    assert found.units.one_holds_most
    assert found.units.missing == 51  # 11 * (6 / 1.0677 - 1) = 50.8


def test_a_session_on_which_nothing_is_at_stake_does_not_count():
    cells = [(A, A, A)] * 9 + [(TIE, A, A), (A, None, None)]
    assert accuracy(rows(cells, range(11))).units.missing == 1
    wrong = accuracy(rows(cells, range(11)), policy=InvalidPolicy.WRONG)
    assert (wrong.units.missing, wrong.interval is None) == (0, False)


def test_a_gain_pairs_sessions():
    # Three comparisons a session: the gain is in four sessions, not in twelve comparisons.
    before = rows([(A, B if key < 12 else A, A) for key in range(60)], [k // 3 for k in range(60)])
    after = rows([(A, A, A)] * 60, [key // 3 for key in range(60)])
    found = gain(before, after, seed=1)
    assert (found.value, found.comparisons, found.p) == (pytest.approx(0.1), 60, 2 / 2**4)
    apart = gain(
        [replace(row, session=None) for row in before],
        [replace(row, session=None) for row in after],
        seed=1,
    )
    assert (apart.value, apart.p) == (pytest.approx(0.1), 2 / 2**12)
    assert found.interval.low < apart.interval.low < apart.interval.high < found.interval.high


def test_intervals_over_comparisons_of_like_sessions_cover_too_seldom():
    # 40 sessions of six comparisons; a session's own chance of being right lies widely around .7.
    rng = np.random.default_rng(5)
    covered = {"sessions": 0, "comparisons": 0}
    for _study in range(200):
        chances = rng.beta(0.7, 0.3, size=40)
        right = rng.random((40, 6)) < chances[:, None]
        own = [
            Judged(key, A, {Order.ORIGINAL: A if won else B}, session=key // 6)
            for key, won in enumerate(right.ravel())
        ]
        for name, items in (
            ("sessions", own),
            ("comparisons", [replace(row, session=None) for row in own]),
        ):
            interval = accuracy(items).interval
            covered[name] += interval.low <= 0.7 <= interval.high
    assert covered["sessions"] / 200 > 0.9
    assert covered["comparisons"] / 200 < 0.75


def test_pandalms_turns_hold_six_comparisons_each_and_tell_less_than_they():
    # Whether the first of three annotators names the longer response, over all its comparisons.
    told = json.loads(shared_data("pandalm_testset_dev.json").read_text())
    numbers = {}
    items = [
        Judged(
            key,
            {0: TIE, 1: A, 2: B}[row["annotator1"]],
            {Order.COMBINED: A if len(row["response1"]) > len(row["response2"]) else B},
            session=numbers.setdefault((row["instruction"], row["input"]), len(numbers)),
        )
        for key, row in enumerate(told)
    ]
    found = accuracy(items)
    apart = accuracy([replace(each, session=None) for each in items])
    assert (found.value, found.comparisons, found.sessions) == (apart.value, 603, 110)
    width, narrow = (each.interval.high - each.interval.low for each in (found, apart))
    assert width > 1.2 * narrow


def case(key, base, selected, session):
    decisions = {BASE: dict.fromkeys(ORDERS, base), SELECTED: dict.fromkeys(ORDERS, selected)}
    return JudgedComparison(key, "s", A, decisions, session=session)


@pytest.mark.parametrize(
    ("sessions", "finding", "missing"), [(4, TrustFinding.TOO_FEW, 6), (10, TrustFinding.BETTER, 0)]
)
def test_few_sessions_give_no_finding_but_how_many_more(sessions, finding, missing):
    cases = [case(key, B, A, key % sessions) for key in range(40)]
    figures = trust_figures(cases, [HumanLabel(1, "s", A, None)], seed=1)
    assert figures.finding is finding
    agreement = figures.overall.selected.agreement
    assert (agreement.units.missing, agreement.value, agreement.comparisons) == (missing, 1.0, 40)
    assert (figures.overall.gain.interval is None) == bool(missing)
    assert figures.overall.gain.p == 2 / 2**sessions
    few = (figures.overall.selected.position, figures.overall.selected.consistency)
    assert [each.interval is None for each in few] == [bool(missing)] * 2


def test_of_few_sessions_the_base_judge_alone_is_still_the_base_judge():
    cases = [JudgedComparison(1, "s", A, {BASE: dict.fromkeys(ORDERS, A)}, session=7)]
    assert trust_figures(cases, [], seed=1).finding is TrustFinding.NOT_SELECTED
