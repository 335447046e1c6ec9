from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import JudgmentStatus
from benchmark.core.grades import GradedResponse, GradeMean, model_grades

DONE, UNPARSEABLE, FAILED = (
    JudgmentStatus.DONE,
    JudgmentStatus.UNPARSEABLE,
    JudgmentStatus.FAILED,
)


def graded(model, value, *, session=1, turn=1, scenario="math", status=DONE):
    return GradedResponse(model, scenario, session, turn, status, value)


def test_a_score_is_the_mean_of_all_grades_and_a_reply_without_one_is_left_out():
    """9 and 4 on turn 1, 8 on turn 2: 21 of three grades, not the mean of the two turns."""
    rows = [
        graded("one", 9.0),
        graded("one", 4.0, session=2, scenario="code"),
        graded("one", 8.0, turn=2),
        graded("one", None, session=2, turn=2, scenario="code", status=UNPARSEABLE),
        graded("two", 8.0),
        graded("two", None, session=2, status=FAILED),
        graded("three", None, status=UNPARSEABLE),
    ]
    two, one, three = model_grades(rows)
    assert (one.model, one.score.mean.value, one.score.mean.rows) == ("one", 7.0, 3)
    assert (one.score.mean.units.number, one.score.mean.interval, one.score.unreadable) == (
        2,
        None,
        1,
    )
    assert {turn: found.mean.value for turn, found in one.turns.items()} == {1: 6.5, 2: 8.0}
    assert {name: found.mean.value for name, found in one.scenarios.items()} == {
        "math": 8.5,
        "code": 4.0,
    }
    assert (two.score.mean.value, two.score.unreadable, two.score.failed) == (8.0, 0, 1)
    assert three.score == GradeMean(None, 1, 0)


def test_the_interval_is_by_sessions():
    """Ten questions, five of 5 and 5 and five of 7 and 7: both turns add no information.

    The mean is 6, a session adds +-2/20 to it, so se^2 = 10/9 * 10 * .01 = 1/9, se = 1/3, and
    Student's t with nine degrees of freedom is 2.262.
    """
    rows = [
        graded("one", 5.0 + 2 * (session % 2), session=session, turn=turn)
        for session in range(10)
        for turn in (1, 2)
    ]
    [one] = model_grades(rows)
    interval = one.score.mean.interval
    assert (interval.low, interval.high) == (
        pytest.approx(6 - 2.262 / 3, abs=0.001),
        pytest.approx(6 + 2.262 / 3, abs=0.001),
    )
    assert one.turns[1].mean.interval == pytest.approx(interval)
    [few] = model_grades(rows[:-2])
    assert (few.score.mean.units.number, few.score.mean.interval) == (9, None)


def test_records_say_what_they_are_about():
    [one] = model_grades([graded("one", 9.0), graded("one", 4.0, turn=2)])
    score, first, second, scenario = one.records()
    assert score == {
        "model": "one",
        "turn": None,
        "scenario": None,
        "mean": 6.5,
        "low": None,
        "high": None,
        "grades": 2,
        "sessions": 1,
        "unreadable": 0,
        "failed": 0,
    }
    assert (first["turn"], second["turn"], second["mean"]) == (1, 2, 4.0)
    assert (scenario["scenario"], scenario["turn"], scenario["mean"]) == ("math", None, 6.5)
    assert GradeMean(None, 2, 1).record() == {
        "mean": None,
        "low": None,
        "high": None,
        "grades": 0,
        "sessions": 0,
        "unreadable": 2,
        "failed": 1,
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["one", "two"]),
            st.integers(1, 10),
            st.integers(1, 3),
            st.integers(1, 2),
            st.sampled_from(["math", "code"]),
        ),
        max_size=12,
    )
)
def test_turns_and_scenarios_are_parts_of_the_score(rows):
    found = model_grades(
        graded(model, float(value), session=session, turn=turn, scenario=scenario)
        for model, value, session, turn, scenario in rows
    )
    assert [each.score.mean.value for each in found] == sorted(
        (each.score.mean.value for each in found), reverse=True
    )
    for each in found:
        for parts in (each.turns, each.scenarios):
            means = [part.mean for part in parts.values()]
            assert sum(mean.rows for mean in means) == each.score.mean.rows
            assert sum(mean.rows * mean.value for mean in means) == pytest.approx(
                each.score.mean.rows * each.score.mean.value
            )
