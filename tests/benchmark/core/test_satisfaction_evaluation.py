import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.metrics import MetricName, UndefinedMetric
from benchmark.core.satisfaction_evaluation import (
    EXPECTED,
    GoldBlock,
    JudgedTurn,
    JudgeSetting,
    baseline_predictions,
    counts_of,
    figures,
    judge_predictions,
)
from judging.core.calibration import Calibration, calibrate
from judging.core.satisfaction_baselines import Baseline, Prediction

KNOWN = GoldBlock(1, "travel", ("a", "b", "c"), (5, 4, 3), (0, 1, 1, 2, 2))
"""History 2 3 4 4 5 5, mean 23/6."""
STRANGER = GoldBlock(2, "gifts", ("a",), (5,), (0, 0, 0, 0, 0))
TRAIN = (0, 0, 2, 1, 2)
"""3 3 4 5 5: mean and median 4, majority 3."""


@pytest.mark.parametrize(
    ("baseline", "known", "stranger"),
    [
        (Baseline.GLOBAL_MEAN, (4, 4.0), (4, 4.0)),
        (Baseline.GLOBAL_MEDIAN, (4, 4.0), (4, 4.0)),
        (Baseline.GLOBAL_MAJORITY, (3, 3.0), (3, 3.0)),
        (Baseline.HISTORY_MEAN, (4, 23 / 6), (4, 4.0)),
        (Baseline.HISTORY_MEDIAN, (4, 4.0), (4, 4.0)),
    ],
)
def test_baselines_that_say_one_thing_of_a_block(baseline, known, stranger):
    first, second = baseline_predictions(baseline, [KNOWN, STRANGER], train=TRAIN)
    assert list(first) == [Prediction(*known)] * 3
    assert list(second) == [Prediction(*stranger)]


def test_the_dealt_history():
    (first, second) = baseline_predictions(Baseline.HISTORY_CDF, [KNOWN, STRANGER], train=TRAIN)
    # q = 1/6, 1/2, 5/6 of 2 3 4 4 5 5: 2, 4, 5, dealt in some order.
    assert sorted(one.score for one in first if one) == [2, 4, 5]
    assert list(second) == [Prediction(4, 4.0)]


def test_without_any_score_a_baseline_is_silent():
    (own,) = baseline_predictions(Baseline.HISTORY_MEAN, [STRANGER], train=(0,) * 5)
    assert list(own) == [None]


JUDGED = [[JudgedTurn(5, 4.6), JudgedTurn(5, 4.9), JudgedTurn(4, 4.0)], [JudgedTurn(2)]]


def predicted(setting):
    return [list(own) for own in judge_predictions(setting, [KNOWN, STRANGER], JUDGED)]


def test_raw_scores_with_the_expected_ones_beside_them():
    assert predicted(JudgeSetting.RAW) == [
        [Prediction(5, 4.6), Prediction(5, 4.9), Prediction(4, 4.0)],
        [Prediction(2, 2.0)],
    ]


def test_mean_shift_moves_both():
    # Block mean 14/3, history mean 23/6: shift -5/6. 5 -> 4.17 -> 4, 4 -> 3.17 -> 3.
    known, stranger = predicted(JudgeSetting.MEAN_SHIFT)
    assert [one.score for one in known] == [4, 4, 3]
    assert [one.expected for one in known] == pytest.approx([4.6 - 5 / 6, 4.9 - 5 / 6, 4 - 5 / 6])
    assert stranger == [Prediction(2, 2.0)]  # no history: the raw score stands


def test_cdf_by_whole_and_by_expected_scores():
    # Whole 5 5 4: q 2/3, 2/3, 1/6 of 2 3 4 4 5 5 -> 4, 4, 2. Expected 4.6 4.9 4.0: 1/2, 5/6, 1/6.
    assert [one.score for one in predicted(JudgeSetting.CDF)[0]] == [4, 4, 2]
    assert [one.score for one in predicted(JudgeSetting.CDF_EXPECTED)[0]] == [4, 5, 2]
    # Unrounded: the fives span 1/3-1 (4 4 5 5: 4.5), the four 0-1/3 (2 3: 2.5).
    assert [one.expected for one in predicted(JudgeSetting.CDF)[0]] == [4.5, 4.5, 2.5]
    assert [one.expected for one in predicted(JudgeSetting.CDF_EXPECTED)[0]] == [4.0, 5.0, 2.5]


@given(scores=st.lists(st.integers(1, 5), min_size=3, max_size=3))
def test_cdf_is_the_calibration_that_a_run_stores(scores):
    judged = [[JudgedTurn(score) for score in scores]]
    (own,) = judge_predictions(JudgeSetting.CDF, [KNOWN], judged)
    stored = calibrate(scores, method=Calibration.CDF, history=KNOWN.history)
    assert [one.score for one in own if one] == [one.score for one in stored]


def test_turns_without_a_score_keep_their_place():
    judged = [[None, JudgedTurn(5), JudgedTurn(4)], [None]]
    first, second = judge_predictions(JudgeSetting.CDF, [KNOWN, STRANGER], judged)
    assert list(first) == [None, Prediction(5, 14 / 3), Prediction(3, 3.0)]
    assert list(second) == [None]
    nothing = judge_predictions(JudgeSetting.MEAN_SHIFT, [KNOWN], [[None, None, None]])
    assert [list(own) for own in nothing] == [[None, None, None]]


def test_figures_count_what_is_missing_and_leave_it_out():
    predictions = [
        [Prediction(5, 4.6), None, Prediction(4, 3.8)],
        [Prediction(5, 5.0)],
    ]
    found = figures("x", "raw", [KNOWN, STRANGER], predictions, seconds=1.5, seed=1, draws=50)
    assert (found.name, found.setting, found.turns, found.missing) == ("x", "raw", 3, 1)
    assert found.seconds == 1.5
    assert found.whole[MetricName.MAE].value == pytest.approx(1 / 3)  # 5-5, 3-4, 5-5
    assert found.expected[MetricName.MAE].value == pytest.approx((0.4 + 0.8 + 0) / 3)
    assert found.whole[MetricName.MAE].interval is None  # of two users
    assert set(found.whole) == set(MetricName)
    assert set(found.expected) == set(EXPECTED)


def test_intervals_can_be_left_out():
    (own,) = baseline_predictions(Baseline.GLOBAL_MEAN, [KNOWN], train=TRAIN)
    found = figures("x", "", [KNOWN], [own], seconds=0, seed=1, draws=0)
    assert found.whole[MetricName.MAE].interval is None
    assert found.whole[MetricName.PEARSON].undefined is UndefinedMetric.CONSTANT_PREDICTION


def test_counts_are_those_of_the_gold():
    assert counts_of([KNOWN, STRANGER]) == (0, 0, 1, 1, 2)
