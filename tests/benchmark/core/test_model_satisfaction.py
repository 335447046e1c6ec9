from __future__ import annotations

from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtr

from annotation.core.intervals import student_quantile
from annotation.core.significance import holm
from benchmark.core.corrected import Obstacle
from benchmark.core.model_satisfaction import (
    AnsweredQuestion,
    AnswerOfModel,
    by_model,
    corrected_by_model,
    corrected_differences,
    differences,
    mean_cells,
    question_answers,
    questions_of,
)


def rated(user, model, score, *, target=0, scenario="Trip", predicted=None, reason="", made_up=""):
    return AnswerOfModel(user, target, user, model, scenario, score, predicted, reason, made_up)


def talks(users, *, models=("x", "y"), seed=1, shift=0.7):
    """Each user rates both models three times; y is better, and an evaluator is too kind to x."""
    rng = np.random.default_rng(seed)
    found = []
    for user in range(users):
        own = rng.normal(3.4, 0.5)
        for place, model in enumerate(models * 3):
            score = int(np.clip(round(own + shift * (model == "y") + rng.normal(0, 0.8)), 1, 5))
            kind = int(np.clip(score + (model == "x") + rng.integers(-1, 2), 1, 5))
            found.append(rated(user, model, score, target=user * 9 + place, predicted=kind))
    return found


def test_the_figures_of_a_model():
    answers = [
        *(rated(user, "x", 5, made_up="NO") for user in range(6)),
        *(
            rated(user, "x", 2, reason="UNUSABLE", made_up="YES", scenario="Food")
            for user in (6, 7)
        ),
        rated(8, "x", 3, reason="OTHER"),
        rated(
            9, "x", 4, reason="OTHER", made_up="UNSURE"
        ),  # no reason of a satisfied answer counts
        rated(0, "y", 1),
        rated(0, "y", None, predicted=5),
    ]
    x, y = by_model(answers, stated=True)
    assert (x.model, x.mean.value, x.mean.rows, x.mean.units.number) == ("x", 4.1, 10, 10)
    assert (x.satisfied.value, x.dissatisfied.value) == pytest.approx((0.7, 0.3))
    assert dict(x.reasons) == {"UNUSABLE": 2, "OTHER": 1}
    assert (x.made_up.value, x.made_up.rows) == (pytest.approx(2 / 9), 9)
    assert {name: each.rows for name, each in x.scenarios.items()} == {"Trip": 8, "Food": 2}
    assert (y.mean.value, y.mean.interval, y.made_up) == (1.0, None, None)
    record = x.record()
    assert (record["answers"], record["asked_made_up"], record["reason_unusable"]) == (10, 9, 2)
    assert record["mean_low"] == x.mean.interval.low
    assert y.record()["made_up"] is None
    assert mean_cells(None, "mean") == {"mean": None, "mean_low": None, "mean_high": None}


def test_an_evaluator_says_nothing_of_made_up_facts():
    answers = [rated(0, "x", 1, predicted=4, made_up="YES"), rated(1, "x", 1)]
    [x] = by_model(answers, stated=False)
    assert (x.mean.value, x.mean.rows, x.made_up, x.dissatisfied.value) == (4.0, 1, None, 0.0)


def test_users_are_the_units_of_a_mean():
    one = by_model(talks(20, models=("x",)), stated=True)[0].mean
    by_user = [list(range(user * 3, user * 3 + 3)) for user in range(20)]
    scores = np.array([each.stated for each in talks(20, models=("x",))], float)
    sums = np.array([(scores[own] - scores.mean()).sum() / 60 for own in by_user])
    half = student_quantile(19) * sqrt(20 / 19 * float(sums @ sums))
    assert one.interval.low == pytest.approx(scores.mean() - half)
    assert one.interval.high == pytest.approx(scores.mean() + half)


def test_where_the_same_users_rate_both_it_is_the_paired_t_test():
    rng = np.random.default_rng(2)
    first, second = rng.integers(1, 6, size=(2, 30))
    answers = [
        rated(user, model, int(score))
        for model, scores in (("x", first), ("y", second))
        for user, score in enumerate(scores)
    ]
    [found] = differences(answers, stated=True)
    gaps = (first - second).astype(float)
    sign = 1 if gaps.mean() > 0 or found.first == "x" else -1
    t = gaps.mean() / (gaps.std(ddof=1) / sqrt(30))
    assert found.value == pytest.approx(sign * gaps.mean())
    assert found.p == pytest.approx(2 * stdtr(29, -abs(t)))
    half = student_quantile(29) * gaps.std(ddof=1) / sqrt(30)
    assert found.interval.high - found.value == pytest.approx(half)
    assert (found.users, found.both) == (30, 30)


def test_where_others_rate_the_other_they_are_two_groups():
    rng = np.random.default_rng(3)
    first, second = rng.integers(1, 6, size=20), rng.integers(1, 6, size=30)
    answers = [rated(user, "x", int(score)) for user, score in enumerate(first)]
    answers += [rated(100 + user, "y", int(score)) for user, score in enumerate(second)]
    [found] = differences(answers, stated=True)
    error = sqrt(first.var() / 19 + second.var() / 29)
    assert abs(found.value) == pytest.approx(abs(first.mean() - second.mean()))
    assert found.p == pytest.approx(2 * stdtr(19, -abs(found.value) / error))
    assert (found.users, found.both) == (50, 0)


def test_p_is_holm_s_over_all_pairs():
    answers = [
        each._replace(model=f"{each.model}{each.target % 2}") for each in talks(30, shift=0.3)
    ]
    found = differences(answers, stated=True)
    models = {each.model for each in answers}
    assert len(found) == len(models) * (len(models) - 1) / 2
    single = [
        differences(
            [each for each in answers if each.model in (pair.first, pair.second)], stated=True
        )[0].p
        for pair in found
    ]
    assert [each.p for each in found] == pytest.approx(holm(single))


def test_the_better_one_stands_first_and_a_share_of_dissatisfied_is_better_low():
    answers = talks(30)
    mean, low = (differences(answers, stated=True, lows=lows)[0] for lows in (False, True))
    assert (mean.first, low.first) == ("y", "y")
    assert mean.value > 0 > low.value
    assert max(mean.p, low.p) < 0.02
    turned = mean.turned
    assert (turned.first, turned.value) == ("x", -mean.value)
    assert (turned.interval.low, turned.interval.high) == (-mean.interval.high, -mean.interval.low)
    assert turned.turned == mean
    assert mean.record("mean")["users_of_both"] == 30


def test_few_users_of_either_have_no_interval():
    answers = [*talks(30), *(rated(user, "z", 4) for user in range(9))]
    told = {(each.first, each.second): each for each in differences(answers, stated=True)}
    with_z = [each for pair, each in told.items() if "z" in pair]
    assert [(each.interval, each.p, each.both) for each in with_z] == [(None, None, 9)] * 2
    assert with_z[0].turned.interval is None


@pytest.mark.parametrize("other", [4, 5])
def test_scores_without_any_spread_have_no_interval(other):
    answers = [rated(user, "x", 4) for user in range(12)]
    answers += [rated(user, "y", other) for user in range(12)]
    found = differences(answers, stated=True)[0]
    assert (found.value, found.interval, found.p) == (other - 4, None, None)
    assert [row.mean.interval for row in by_model(answers, stated=True)] == [None, None]


@pytest.mark.parametrize(
    ("x", "y", "low", "high", "is_known"),
    [
        # Wilson's interval of 0 of 12 with Student's 2.201 is [0, t^2 / (12 + t^2)] = [0, .2876].
        ("S" * 12, "S" * 12, -0.2876, 0.2876, False),
        ("S" * 12, "D" * 12, -1.0, -0.5933, True),  # -1 + sqrt(2) .2876
        # Of shares that vary: 11 trials and Student's 2.201; 1 of 12 is in [.0117, .4097].
        ("S" * 12, "S" * 11 + "D", -0.4097, 0.2130, False),
        ("SD" * 6, "SD" * 6, -0.3910, 0.3910, False),  # no user differs; 6 of 12: .5 +- .2765
    ],
)
def test_shares_without_any_spread_take_newcombe_s_interval(x, y, low, high, is_known):
    answers = [
        rated(user, model, 5 if word == "S" else 1)
        for model, words in (("x", x), ("y", y))
        for user, word in enumerate(words)
    ]
    found = differences(answers, stated=True, lows=True)[0]
    found = found if found.first == "x" else found.turned
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=2e-4)
    assert (found.p < 0.05) is is_known
    assert found.p > 0


@settings(max_examples=25)
@given(st.integers(10, 25), st.integers(0, 99))
def test_the_order_of_answers_says_nothing(users, seed):
    answers = talks(users, seed=seed)
    told = differences(answers, stated=True)
    back = differences(answers[::-1], stated=True)
    for one, other in zip(told, back, strict=True):
        assert (one.first, one.second) == (other.first, other.second)
        assert (one.value, one.p) == pytest.approx((other.value, other.p))


def test_an_evaluator_is_corrected_by_users():
    answers = talks(60)
    part = [each if each.user < 20 else each._replace(stated=None) for each in answers]
    found = {row.model: row for row in corrected_by_model(part, is_random=True)}
    truth = {row.model: row.mean.value for row in by_model(answers, stated=True)}
    x = found["x"].mean
    assert abs(x.judge.value - truth["x"]) > 0.4
    assert x.corrected.interval.low <= truth["x"] <= x.corrected.interval.high
    assert (x.labels, x.targets) == (60, 180)
    assert found["x"].dissatisfied.corrected.value > found["y"].dissatisfied.corrected.value
    # By the evaluator's own word x would be as good.
    own, both = (
        differences(part, stated=False)[0],
        corrected_differences(part, is_random=True)[0],
    )
    assert both.first == "y"
    assert both.value == pytest.approx(found["y"].mean.corrected.value - x.corrected.value)
    assert abs(own.value) < both.value
    assert (both.users, both.both) == (20, 20)
    low = corrected_differences(part, is_random=True, lows=True)[0]
    assert (low.first, low.value < 0) == ("y", True)
    assert [record["figure"] for record in found["x"].records()] == ["mean", "dissatisfied"]


def test_scores_enter_corrected_means_unrounded():
    """Rounded to 4 they would say nothing of ratings of 3 to 5."""
    answers = [
        rated(user, "x", 3 + user % 3 if user < 60 else None, predicted=4)._replace(
            unrounded=3.7 + 0.3 * (user % 3)
        )
        for user in range(120)
    ]
    (found,) = corrected_by_model(answers, is_random=True)
    assert found.mean.judge.value == pytest.approx(4.0)
    assert (found.mean.weight, found.mean.correlation) == pytest.approx((1.0, 1.0))
    rounded = [each._replace(unrounded=None) for each in answers]
    (plain,) = corrected_by_model(rounded, is_random=True)
    assert (plain.mean.weight, plain.mean.correlation) == (0.0, None)
    assert found.dissatisfied == plain.dissatisfied


def test_a_corrected_difference_is_that_of_the_figures_shown():
    """The evaluator is right on the labelled, and finds worse elsewhere: x comes below 1."""
    answers = [rated(user, "x", 1 + (user % 2), predicted=1 + 4 * (user % 2)) for user in range(20)]
    answers += [rated(user, "x", None, predicted=1) for user in range(20, 400)]
    answers += [rated(user, "y", 3 + user % 2, predicted=3) for user in range(40)]
    shown = {
        row.model: row.mean.corrected.value for row in corrected_by_model(answers, is_random=True)
    }
    [found] = corrected_differences(answers, is_random=True)
    assert shown["x"] == 1.0
    assert found.value == pytest.approx(shown["y"] - shown["x"])


def test_with_all_rated_corrected_differences_are_those_of_users():
    answers = talks(20)
    people = differences(answers, stated=True)[0]
    both = corrected_differences(answers, is_random=True)[0]
    assert (both.value, both.p) == pytest.approx((people.value, people.p))


@pytest.mark.parametrize(
    ("labelled", "is_random", "obstacle"),
    [(60, False, Obstacle.NOT_RANDOM), (6, True, Obstacle.FEW_LABELS)],
)
def test_what_cannot_be_corrected_has_no_difference(labelled, is_random, obstacle):
    part = [each if each.user < labelled else each._replace(stated=None) for each in talks(60)]
    rows = corrected_by_model(part, is_random=is_random)
    assert {row.mean.obstacle for row in rows} == {obstacle}
    assert corrected_differences(part, is_random=is_random) == ()


def asked(model, option, question="Detail", user=0):
    return AnsweredQuestion(user, user, model, question, f"{question}?", option)


def test_questions_are_counted_by_model_in_the_order_of_the_page():
    rows = [
        asked("y", "Brief"),
        asked("x", "Detailed"),
        asked("x", "详细"),
        asked("x", "Detailed"),
        asked("x", "Yes", "Memorization"),
        asked("x", "so so", "Mood"),
    ]
    expected = [
        ("Memorization", ("Yes",), (("x", (1,), 1),)),
        ("Detail", ("Detailed", "Brief", "详细"), (("x", (2, 0, 1), 3), ("y", (0, 1, 0), 1))),
        ("Mood", ("so so",), (("x", (1,), 1),)),
    ]
    for some in list(permutations(rows))[::97]:
        found = question_answers(some)
        assert [(each.question, each.options, each.models) for each in found] == expected


def test_an_answer_has_a_short_name_of_its_own():
    names = {asked("x", option, question).name for option in "ab" for question in ("Q", "Q" * 999)}
    assert {len(name) for name in names} == {16}
    assert len(names) == 4


def test_a_questionnaire_of_another_shape_is_left_out():
    stored = [
        {"query": "How varied?", "summary": "Diversity", "option": "Varied"},
        {"query": "How was it?", "option": "Fine"},
        {"summary": "Detail", "option": "Brief"},
        {"summary": "Age", "option": 7},
        {"option": "alone"},
        {"summary": "Detail"},
    ]
    assert [each[3:] for each in questions_of(1, 2, "x", stored)] == [
        ("Diversity", "How varied?", "Varied"),
        ("How was it?", "How was it?", "Fine"),
        ("Detail", "Detail", "Brief"),
    ]
