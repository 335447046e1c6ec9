from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.intervals import MIN_UNITS, bootstrap_mean
from annotation.core.significance import sign_flip_p
from benchmark.core.replay import (
    Grouping,
    Paired,
    Replayed,
    ReplayScale,
    ScoredAnswer,
    compare,
    difference,
    intervals,
    on_scale,
    paper_user_interval,
    summarise,
    user_interval,
)
from judging.core.calibration import Calibrated, Fallback
from tests.paths import paper_vectors


@pytest.fixture(scope="module")
def vectors():
    return paper_vectors()


def answers(rows):
    return [Replayed(str(at), *row) for at, row in enumerate(rows)]


def test_the_papers_summary(vectors):
    case = vectors["ptb_static_replay_summary"]
    rows, expected = answers(case["records"]), case["result"]
    found = summarise(rows)
    assert found.micro == pytest.approx(expected["micro_mean"], abs=1e-12)
    for by, mean, count in (
        (Grouping.USER, "user_macro_mean", "n_users"),
        (Grouping.SCENARIO, "task_macro_mean", "n_tasks"),
        (Grouping.BLOCK, "user_task_macro_mean", "n_blocks"),
    ):
        assert found.macro[by] == pytest.approx(expected[mean], abs=1e-12)
        assert found.groups[by] == expected[count]
    assert found.scenarios == pytest.approx(expected["task_means"], abs=1e-12)
    assert found.satisfied == pytest.approx(expected["sat_rate"], abs=1e-12)
    assert 1 - found.satisfied == pytest.approx(expected["dsat_rate"], abs=1e-12)
    assert found.counts == tuple(
        expected["score_distribution"][str(score)] for score in range(1, 6)
    )
    assert sum(found.counts) == expected["n_samples"]
    interval = paper_user_interval(rows)
    assert {"low": interval.low, "high": interval.high} == expected["user_bootstrap_ci"]


def test_the_papers_comparison(vectors):
    """The vector names no reference scores, but its figures leave one choice.

    The candidate is that of the summary. With d the summed differences of a block: u2 ties alone
    (user_macro: two ties, one loss of 1/3), scenario b ties and a loses 1, so d(u3 b) = -d(u1 b)
    and d(u3 a) = -1 - d(u1 a); the block means sum to -2, which gives d(u1 a) = 1, d(u1 b) = -1,
    d(u3 b) = 1, d(u3 a) = -2. With two wins in all each 1 is one record's.
    """
    expected = vectors["ptb_pairwise"]
    candidate = answers(vectors["ptb_static_replay_summary"]["records"])
    reference = [
        replace(one, score=one.score - delta)
        for one, delta in zip(candidate, (1, 0, -1, 0, 1, 0, -2), strict=True)
    ]
    found = compare(candidate, reference, margin=expected["tie_margin"])
    assert len(candidate) - found.only_candidate == expected["n_common"]
    assert found.only_candidate == expected["n_candidate_only"]
    assert found.only_reference == expected["n_reference_only"]
    assert summarise(reference).micro == pytest.approx(expected["micro"]["reference_mean"])
    for paired, case in (
        (found.micro, expected["micro"]),
        (found.macro[Grouping.USER], expected["user_macro"]),
        (found.macro[Grouping.SCENARIO], expected["task_macro"]),
        (found.macro[Grouping.BLOCK], expected["block_macro"]),
    ):
        assert (paired.n, paired.wins, paired.ties, paired.losses) == tuple(
            case[name] for name in ("n", "wins", "ties", "losses")
        )
        assert paired.wins / paired.n == pytest.approx(case["win_rate"], abs=1e-12)
        assert paired.ties / paired.n == pytest.approx(case["tie_rate"], abs=1e-12)
        assert paired.losses / paired.n == pytest.approx(case["lose_rate"], abs=1e-12)
        assert paired.decided_win_rate == case["non_tie_win_rate"]
        assert paired.mean_delta == pytest.approx(case["mean_delta"], abs=1e-12)


def test_a_summary_weighs_answers_or_users_or_scenarios_or_blocks_alike():
    found = summarise(answers([("u", "a", 5), ("u", "a", 3), ("u", "b", 1), ("v", "a", 4)]))
    assert (found.micro, found.satisfied, found.counts) == (13 / 4, 2 / 4, (1, 0, 1, 1, 1))
    # Users 3 and 4; scenarios 4 and 1; blocks 4, 1 and 4.
    assert found.macro == {Grouping.USER: 3.5, Grouping.SCENARIO: 2.5, Grouping.BLOCK: 3.0}
    assert found.groups == {Grouping.USER: 2, Grouping.SCENARIO: 2, Grouping.BLOCK: 3}
    assert found.scenarios == {"a": 4.0, "b": 1.0}


def test_the_interval_draws_users_in_whatever_order_they_come():
    rows = answers([(f"u{at:02}", "a", 5 if at % 2 else 1) for at in range(MIN_UNITS)])
    found = user_interval(rows, seed=3)
    assert 1 < found.low < 3 < found.high < 5
    assert user_interval(rows[::-1], seed=3) == found
    # More answers of a user move nothing, as long as their mean stays.
    assert user_interval([*rows, *rows], seed=3) == found
    assert user_interval(rows[1:], seed=3) is None


def test_the_papers_interval_is_of_two_users_too():
    """Draws of two users with 1 and 5 have the means 1, 3 and 5 with chances 1/4, 1/2, 1/4."""
    found = paper_user_interval(answers([("u", "a", 1), ("v", "a", 5)]))
    assert (found.low, found.high) == (1.0, 5.0)


def test_ties_are_compared_but_not_decided():
    found = Paired(3, 5, 1, 0.0)
    assert (found.n, found.decided_win_rate) == (9, 3 / 4)


def test_items_that_only_one_answered_are_counted_apart():
    candidate = answers([("u", "a", 5), ("u", "a", 2), ("v", "b", 4)])
    found = compare(candidate, [*candidate[1:], Replayed("9", "v", "b", 1)])
    assert (found.only_candidate, found.only_reference) == (1, 1)
    assert found.micro == Paired(0, 2, 0, 0.0)
    assert found.micro.decided_win_rate is None  # where nothing is decided there is no rate


def test_a_margin_makes_small_differences_ties():
    candidate = answers([("u", "a", 5), ("u", "a", 2)])
    reference = answers([("u", "a", 4), ("u", "a", 4)])
    assert compare(candidate, reference).micro == Paired(1, 0, 1, -0.5)
    assert compare(candidate, reference, margin=1).micro == Paired(0, 1, 1, -0.5)


def test_nothing_has_no_figures():
    with pytest.raises(ValueError, match="no answers"):
        summarise([])
    with pytest.raises(ValueError, match="no answers"):
        paper_user_interval([])
    with pytest.raises(ValueError, match="nothing in common"):
        compare([], [])


def test_an_item_is_answered_once():
    twice = [Replayed("0", "u", "a", 5)] * 2
    with pytest.raises(ValueError, match="twice"):
        compare(twice, twice)


ROWS = st.lists(
    st.tuples(st.sampled_from("uvw"), st.sampled_from("ab"), st.integers(1, 5), st.integers(1, 5)),
    min_size=1,
    max_size=20,
)


@given(rows=ROWS)
def test_the_other_side_sees_the_mirror_image(rows):
    candidate = answers([(user, scenario, first) for user, scenario, first, _second in rows])
    reference = answers([(user, scenario, second) for user, scenario, _first, second in rows])
    there, back = compare(candidate, reference), compare(reference, candidate)
    pairs = [(there.micro, back.micro)] + [(there.macro[by], back.macro[by]) for by in Grouping]
    for one, other in pairs:
        assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
        assert one.mean_delta == pytest.approx(-other.mean_delta, abs=1e-12)


@given(rows=ROWS)
def test_one_answer_a_block_makes_all_means_those_of_blocks(rows):
    single = answers([(f"u{at}", f"s{at}", row[2]) for at, row in enumerate(rows)])
    found = summarise(single)
    assert all(mean == pytest.approx(found.micro, abs=1e-12) for mean in found.macro.values())


def test_a_difference_is_that_of_users():
    """u0 gains 2 and 0, u1 loses 1 once: 1 and -1, whose mean is 0, over the others' 1 each."""
    candidate = answers([("u0", "a", 5), ("u0", "a", 3), ("u1", "a", 2)])
    reference = answers([("u0", "a", 3), ("u0", "a", 3), ("u1", "a", 3)])
    assert difference(candidate, reference, seed=1) == (0.0, None, None)
    more = [(f"v{at}", "a", 4) for at in range(MIN_UNITS)]
    less = [(name, scenario, 3) for name, scenario, _score in more]
    found = difference(answers(more), answers(less), seed=1)
    assert (found.value, found.interval.low, found.interval.high) == (1.0, 1.0, 1.0)
    assert found.p == sign_flip_p([1.0] * MIN_UNITS, seed=1) == 2 / 2**MIN_UNITS
    same = difference(answers(more), answers(more), seed=1)
    assert (same.value, same.interval.low, same.interval.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_intervals_draw_users_with_all_that_they_answered():
    rows = answers(
        [
            (f"u{at:02}", scenario, 1 + (at + len(scenario)) % 5)
            for at in range(12)
            for scenario in ("a", "bb", "bb")
        ]
    )
    found, means = intervals(rows, seed=4), summarise(rows)
    values = {"micro": means.micro, "satisfied": means.satisfied}
    values |= {by.value.lower(): mean for by, mean in means.macro.items()}
    assert found.keys() == values.keys()
    for name, interval in found.items():
        assert interval.low < values[name] < interval.high
    assert found["user"] == user_interval(rows, seed=4)
    # Everybody answered once in a and twice in bb: the scenarios' mean is that of users' own.
    own = [
        (rows[3 * at].score + (rows[3 * at + 1].score + rows[3 * at + 2].score) / 2) / 2
        for at in range(12)
    ]
    exact = bootstrap_mean(own, seed=4)
    assert found["scenario"].low == pytest.approx(exact.low)
    assert found["scenario"].high == pytest.approx(exact.high)
    assert set(intervals(rows[: 3 * (MIN_UNITS - 1)], seed=4).values()) == {None}


def test_a_scenario_of_one_user_has_no_interval():
    """One draw in three lacks that user, and with them the scenario."""
    rows = answers([(f"u{at}", "a" if at else "b", 4) for at in range(MIN_UNITS)])
    assert intervals(rows, seed=4)["scenario"] is None


def test_the_papers_calibration(vectors):
    case = vectors["ptb_reference_cdf"]
    found = on_scale(
        ReplayScale.PAPER,
        [ScoredAnswer(*one) for one in case["target"]],
        originals=[ScoredAnswer(*one) for one in case["reference"]],
        history=case["history_counts"],
    )
    assert [one.score for one in found] == case["calibrated"]


HISTORY = (0, 1, 1, 4, 4)
ORIGINALS = [ScoredAnswer("0", 4, 3.6), ScoredAnswer("1", 4, 4.4), ScoredAnswer("2", 5, 4.6)]


@pytest.mark.parametrize(
    ("scale", "history", "originals", "expected"),
    [
        # 3.6 is tied with the lowest of three: q = 1/6, of ten scores the second: 3.
        (ReplayScale.CALIBRATED, HISTORY, ORIGINALS, [Calibrated(3), Calibrated(5)]),
        (ReplayScale.RAW, HISTORY, ORIGINALS, [Calibrated(4), Calibrated(5)]),
        # Whole scores and their keys: the 4 of key 0 follows the reference's, q = 3/10.
        (ReplayScale.PAPER, HISTORY, ORIGINALS, [Calibrated(4), Calibrated(5)]),
        (
            ReplayScale.CALIBRATED,
            (0, 0, 0, 0, 4),
            ORIGINALS,
            [Calibrated(4, Fallback.SHORT_HISTORY), Calibrated(5, Fallback.SHORT_HISTORY)],
        ),
        (
            ReplayScale.PAPER,
            HISTORY,
            [],
            [Calibrated(4, Fallback.NO_REFERENCE), Calibrated(5, Fallback.NO_REFERENCE)],
        ),
    ],
)
def test_scales(scale, history, originals, expected):
    answered = [ScoredAnswer("0", 4, 3.6), ScoredAnswer("9", 5, 4.9)]
    found = on_scale(scale, answered, originals=originals, history=history)
    assert list(found) == expected


def test_without_unrounded_scores_whole_ones_are_ranked():
    assert ScoredAnswer("0", 4).rank == 4.0
