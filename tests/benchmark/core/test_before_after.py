from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from benchmark.core.before_after import leans, people_lean
from benchmark.core.bias import consistency, human_position_bias, judge_position_bias
from benchmark.core.judges import lean_records, people_record
from benchmark.core.length_bias import Sized, length_bias
from benchmark.core.response_bias import ResponsePair
from benchmark.core.self_preference import Rivals, self_preference
from benchmark.core.trust import BASE, SELECTED, HumanLabel, JudgedComparison

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORDERS = (Order.ORIGINAL, Order.SWAPPED)


def case(key, base, selected=None, human=A, annotator=0):
    voices = {BASE: base, SELECTED: selected}
    return JudgedComparison(
        key,
        "s",
        human,
        {
            voice: dict(zip(ORDERS, won, strict=True))
            for voice, won in voices.items()
            if won is not None
        },
        annotator,
    )


def pair(model_a="gpt-4", model_b="claude-2", length_a=200, length_b=100):
    return ResponsePair(model_a, model_b, length_a, length_b)


def found(cases, pairs=None, judge="gpt-4", seed=1):
    return leans(cases, pairs or {}, judge=judge, seed=seed)


def test_a_judge_that_always_names_the_first_shown_loses_its_bias_by_preferences():
    told = found([case(key, (A, B), (A, A)) for key in range(10)])
    position = told.position
    assert (position.base.value, position.selected.value, position.change.value) == (0.5, 0.0, -0.5)
    assert (position.base.n, position.change.n) == (20, 20)
    assert told.gaps == (20, 0)
    alike = told.consistency
    assert (alike.base.value, alike.selected.value) == (0.0, 1.0)
    assert (alike.change.value, alike.change.n) == (1.0, 10)
    assert (position.change.interval.low, position.change.interval.high) == (-0.5, -0.5)


def test_ties_and_unreadable_replies_name_nobody_first():
    told = found([case(1, (TIE, TIE)), case(2, (A, None)), case(3, (A, TIE))])
    assert (told.position.base.value, told.position.base.n) == (0.5, 2)
    # Two with a reading in both orders, of which none has one winner.
    assert (told.consistency.base.value, told.consistency.base.n) == (0.0, 2)
    assert told.position.selected.n == told.position.change.n == 0


def test_the_change_is_measured_where_both_have_the_figure():
    cases = [case(1, (A, A), (B, B)), case(2, (A, A)), case(3, (B, B), (None, None))]
    told = found(cases, {key: pair() for key in (1, 2, 3)})
    longer = told.longer
    assert (longer.base.value, longer.base.n) == (pytest.approx(4 / 6), 6)
    assert (longer.selected.value, longer.selected.n) == (0.0, 2)
    assert (longer.change.value, longer.change.n) == (-1.0, 2)


def test_intervals_draw_sessions_whoever_labelled_them():
    shown = ((A, B), (B, A), (A, A))
    once = [case(key, shown[key % 2 * (key % 3)], (A, A)) for key in range(30)]
    thrice = [
        JudgedComparison(one.comparison, "s", A, one.decisions, who)
        for who in (1, 2, 3)
        for one in once
    ]
    alone, pooled = found(once), found(thrice)
    same(pooled.position.base.interval, alone.position.base.interval)
    assert pooled.consistency.change.interval == alone.consistency.change.interval
    assert pooled.position.base.n == 3 * alone.position.base.n


def test_the_slope_and_its_change_have_clustered_intervals():
    pairs = {key: pair(length_a=100 * (1 + key % 4), length_b=150) for key in range(40)}
    longer = {key: A if each.length_a > each.length_b else B for key, each in pairs.items()}
    cases = [
        case(
            key,
            (longer[key] if key % 5 else longer[key].flipped(),) * 2,
            (A if key // 4 % 2 else B,) * 2,
        )
        for key in pairs
    ]
    slope = found(cases, pairs).slope
    assert slope.base.value > 0
    assert slope.change.value == pytest.approx(slope.selected.value - slope.base.value)
    assert slope.change.interval.low < slope.change.value < slope.change.interval.high < 0
    # The same replies under another annotator's labels change nothing.
    doubled = [JudgedComparison(one.comparison, "s", B, one.decisions, 2) for one in cases]
    again = found([*cases, *doubled], pairs).slope
    assert again.base.value == pytest.approx(slope.base.value)
    assert again.base.interval.low == pytest.approx(slope.base.interval.low)


def test_an_unbounded_slope_has_no_change():
    told = found([case(1, (A, A), (A, B)), case(2, (A, A), (B, A))], {1: pair(), 2: pair()}).slope
    assert (told.base.unbounded, told.base.value, told.base.n) == (True, None, 4)
    assert told.change.value is None
    assert found([case(1, (A, A))]).slope.base.n == 0


def test_lengths_that_are_unknown_or_equal_say_nothing():
    pairs = {1: pair(length_a=None), 2: pair(length_a=100), 3: pair(length_b=None)}
    told = found([case(key, (A, A)) for key in (1, 2, 3, 4)], pairs)
    assert told.longer.base.n == told.slope.base.n == 0


def test_self_preference_is_what_the_judge_adds():
    pairs = {1: pair(), 2: pair(), 3: pair(model_b="gpt-3.5"), 4: pair()}
    told = found(
        [case(1, (A, A), (A, B), human=B), case(2, (A, A)), case(3, (A, A)), case(4, (None, None))],
        pairs,
    )
    assert told.family == "gpt"
    assert (told.own.base.value, told.own.base.n) == (0.5, 2)  # 4 of 4 against 1 of 2
    assert (told.own.selected.value, told.own.change.value) == (0.5, -0.5)
    assert found([case(9, (A, A))], pairs).own.base.n == 0


def test_people_are_measured_on_their_labels():
    labels = [
        (1, HumanLabel(1, "s", A, Order.ORIGINAL)),
        (1, HumanLabel(2, "s", A, Order.SWAPPED)),
        (2, HumanLabel(2, "s", B, Order.SWAPPED)),
        (2, HumanLabel(3, "s", B, None)),
        (2, HumanLabel(4, "s", TIE, Order.ORIGINAL)),
    ]
    told = people_lean(labels, {key: pair() for key in (1, 2, 3)}, seed=1)
    assert (told.position.value, told.position.n) == (pytest.approx(2 / 3 - 0.5), 3)
    assert told.gap == 1
    assert (told.longer.value, told.longer.n) == (0.5, 4)
    assert told.slope.value == pytest.approx(0.0, abs=1e-9)
    assert people_lean([], {}, seed=1).position.value is None
    alone = people_lean(labels[:2], {}, seed=1).position
    expected = human_position_bias(
        (label.verdict, label.shown, label.unit) for _who, label in labels[:2]
    )
    assert alone.value == expected.value
    same(alone.interval, expected.interval)


def same(one, other):
    assert (one is None) == (other is None)
    if one is not None:
        assert (one.low, one.high) == pytest.approx((other.low, other.high))


replies = st.sampled_from([A, B, TIE, None])
rows = st.lists(st.tuples(replies, replies, st.sampled_from([A, B])), min_size=1, max_size=25)


@given(rows)
def test_without_pooling_the_figures_are_those_of_the_single_measures(given_rows):
    cases = [
        case(key, (one, other), human=human) for key, (one, other, human) in enumerate(given_rows)
    ]
    pairs = {
        key: pair(length_a=100 + 30 * (key % 5), length_b=170) for key in range(len(given_rows))
    }
    told = found(cases, pairs)
    bias = judge_position_bias([each.decisions[BASE] for each in cases])
    assert (told.position.base.value, told.position.base.n) == (bias.value, bias.verdicts)
    same(told.position.base.interval, bias.interval)
    assert told.gaps[0] == bias.gap
    alike = consistency([each.decisions[BASE] for each in cases])
    assert (told.consistency.base.value, told.consistency.base.n) == (
        alike.value,
        alike.comparisons,
    )
    same(told.consistency.base.interval, alike.interval)
    length = length_bias(
        [
            Sized(
                pairs[each.comparison].length_a,
                pairs[each.comparison].length_b,
                tuple(each.decisions[BASE].values()),
            )
            for each in cases
        ],
    )
    assert told.longer.base.value == length.value
    same(told.longer.base.interval, length.interval)
    assert told.slope.base.value == length.slope.value
    assert told.slope.base.unbounded == length.slope.unbounded
    own = self_preference(
        [
            Rivals("gpt-4", "claude-2", each.human, tuple(each.decisions[BASE].values()))
            for each in cases
        ],
        judge="gpt-4",
        seed=1,
    )
    assert told.own.base.value == own.value
    same(told.own.base.interval, own.interval)


def test_files_hold_before_after_and_change():
    cases = [case(key, (A, B), (A, A)) for key in range(4)]
    told = found(cases, {key: pair() for key in range(4)})
    base, selected, change = lean_records({"judge": "gpt-4"}, told)
    assert [row["voice"] for row in (base, selected, change)] == ["base", "selected", "change"]
    assert (base["position_bias"], change["position_bias"]) == (0.5, -0.5)
    assert (base["first_second_gap"], selected["first_second_gap"]) == (8, 0)
    assert change["first_second_gap"] is None
    assert list(lean_records({}, found([]))) == []
    assert [row["voice"] for row in lean_records({}, found([case(1, (A, A))]))] == ["base"]
    rows = list(lean_records({}, told, told))
    assert [row["voice"] for row in rows[3:]] == ["own", "own_change"]
    assert rows[3]["first_second_gap"] == selected["first_second_gap"]
    people = people_record({"judge": ""}, people_lean([], {}, seed=1))
    assert (people["voice"], people["position_bias"]) == ("people", None)
    assert set(people) <= set(base)


def test_a_judge_that_is_read_by_l_star_leans_by_what_it_said_in_each_order():
    cases = [
        JudgedComparison(
            key,
            "s",
            A,
            {BASE: dict.fromkeys(ORDERS, A)},
            shown={BASE: dict(zip(ORDERS, (A, B), strict=True))},
        )
        for key in range(4)
    ]
    told = found(cases, {key: pair() for key in range(4)})
    assert (told.position.base.value, told.gaps[0], told.consistency.base.value) == (0.5, 8, 0.0)
    assert told.longer.base.value == 1.0
