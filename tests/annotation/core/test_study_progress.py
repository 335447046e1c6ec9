from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.study_progress import (
    SILENT_AFTER,
    SLOW_AT_LEAST,
    AnnotatorStatus,
    Facts,
    NoEstimate,
    TimeLeft,
    is_active,
    long_after,
    medians,
    standing_of,
    time_left,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def facts(**changes):
    fields = {
        "member": True,
        "paused": False,
        "joined": NOW - timedelta(hours=2),
        "done": 3,
        "skipped": 0,
        "left": 5,
        "running": 0,
        "lapsed": 0,
        "reserved": 0,
        "since": None,
        "last_answer": NOW - timedelta(minutes=10),
        "last_hour": 0,
        "seconds": None,
    }
    return Facts(**{**fields, **changes})


def ago(**time):
    return NOW - timedelta(**time)


@pytest.mark.parametrize(
    ("changes", "usual", "standing"),
    [
        ({"member": False, "paused": True}, None, AnnotatorStatus.GONE),
        ({"paused": True, "since": ago(minutes=1)}, None, AnnotatorStatus.PAUSED),
        ({"since": ago(minutes=1)}, None, AnnotatorStatus.WORKING),
        # No median: five minutes.
        ({"since": ago(minutes=6), "last_answer": None}, None, AnnotatorStatus.SLOW),
        # Its own median of 200 s: ten minutes.
        (
            {"since": ago(minutes=9), "seconds": 200.0, "last_answer": None},
            1.0,
            AnnotatorStatus.WORKING,
        ),
        (
            {"since": ago(minutes=11), "seconds": 200.0, "last_answer": None},
            1.0,
            AnnotatorStatus.SLOW,
        ),
        # Everybody's median where they have none.
        ({"since": ago(minutes=9), "last_answer": None}, 200.0, AnnotatorStatus.WORKING),
        # A short median does not make one slow within five minutes.
        (
            {"since": ago(minutes=4), "seconds": 2.0, "last_answer": None},
            None,
            AnnotatorStatus.WORKING,
        ),
        # Given to them while they were at another item, which they finished a minute ago.
        ({"since": ago(hours=3), "last_answer": ago(minutes=1)}, None, AnnotatorStatus.WORKING),
        ({"lapsed": 1}, None, AnnotatorStatus.LAPSED),
        ({"left": 0}, None, AnnotatorStatus.FINISHED),
        ({"last_answer": ago(days=2)}, None, AnnotatorStatus.SILENT),
        ({"last_answer": None, "joined": ago(days=2)}, None, AnnotatorStatus.SILENT),
        ({"last_answer": None}, None, AnnotatorStatus.AWAY),
        ({"last_answer": None, "joined": None}, None, AnnotatorStatus.AWAY),
        ({}, None, AnnotatorStatus.AWAY),
    ],
)
def test_standing(changes, usual, standing):
    assert standing_of(facts(**changes), usual=usual, now=NOW) is standing


def test_the_stuck_are_those_that_need_somebody():
    stuck = {each for each in AnnotatorStatus if each.is_stuck}
    assert stuck == {
        AnnotatorStatus.PAUSED,
        AnnotatorStatus.SLOW,
        AnnotatorStatus.LAPSED,
        AnnotatorStatus.SILENT,
    }


def test_exactly_a_day_is_not_yet_silence():
    assert (
        standing_of(facts(last_answer=NOW - SILENT_AFTER), usual=None, now=NOW)
        is AnnotatorStatus.AWAY
    )


def test_what_is_with_somebody_is_counted_whatever_its_lease():
    own = facts(running=1, lapsed=2, reserved=3)
    assert (own.held, own.total) == (6, 8)


@given(st.floats(min_value=0, max_value=1e6))
def test_taking_long_is_never_before_five_minutes(seconds):
    assert long_after(seconds) >= SLOW_AT_LEAST == long_after(None)


@pytest.mark.parametrize(
    ("answers", "seconds", "active", "estimate"),
    [
        (0, None, 0, TimeLeft(0.0)),
        (-1, 5.0, 1, TimeLeft(0.0)),
        (10, None, 2, TimeLeft(None, NoEstimate.NO_TIMES)),
        (10, 30.0, 0, TimeLeft(None, NoEstimate.NOBODY)),
        (10, 30.0, 2, TimeLeft(150.0)),  # 10 answers of 30 s by two people
    ],
)
def test_time_left(answers, seconds, active, estimate):
    assert time_left(answers=answers, seconds=seconds, active=active) == estimate


@pytest.mark.parametrize(
    ("changes", "active"),
    [
        ({}, False),
        ({"last_hour": 1}, True),
        ({"running": 1}, True),
        ({"running": 1, "paused": True}, False),
        ({"last_hour": 1, "member": False}, False),
    ],
)
def test_the_active_have_an_item_open_or_answered_within_the_hour(changes, active):
    assert is_active(facts(**changes)) is active


def test_no_times_have_no_median():
    assert medians([]) == (None, {})


@given(st.lists(st.tuples(st.integers(1, 3), st.floats(0, 1e4)), min_size=1))
def test_medians_are_of_everybody_and_of_each(times):
    usual, own = medians(times)
    assert usual == median(seconds for _who, seconds in times)
    assert own == {
        who: median(seconds for each, seconds in times if each == who) for who, _seconds in times
    }
