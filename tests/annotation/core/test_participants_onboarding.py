from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.participants import Done, Step, StudySteps, finished, first_open, steps_of

EVERYTHING = StudySteps(consent=True, profile=True, guidelines=2, quiz=True)
NOTHING = StudySteps(consent=False, profile=False, guidelines=None, quiz=False)


@pytest.mark.parametrize(
    ("done", "step"),
    [
        ((False, False, None, False), Step.CONSENT),
        ((False, True, 2, True), Step.CONSENT),
        ((True, False, 2, True), Step.PROFILE),
        ((True, True, None, False), Step.GUIDELINES),
        ((True, True, 1, True), Step.GUIDELINES),  # a newer version was published
        ((True, True, 2, False), Step.QUIZ),
        ((True, True, 2, True), None),
    ],
)
def test_the_pages_come_one_at_a_time_in_their_order(done, step):
    consent, profile, guidelines, quiz = done
    told = Done(consent=consent, profile=profile, guidelines=guidelines, quiz=quiz)
    assert first_open(EVERYTHING, told) is step


def test_what_was_done_stays_done_behind_an_open_step():
    done = Done(consent=True, profile=True, guidelines=1, quiz=True)
    assert finished(EVERYTHING, done) == (Step.CONSENT, Step.PROFILE, Step.QUIZ)


def test_where_nothing_is_asked_nothing_is_open():
    for consent, profile, quiz in product([True, False], repeat=3):
        for guidelines in (None, 1):
            done = Done(consent=consent, profile=profile, guidelines=guidelines, quiz=quiz)
            assert first_open(NOTHING, done) is None
    assert steps_of(NOTHING) == ()


asked = st.builds(
    StudySteps,
    consent=st.booleans(),
    profile=st.booleans(),
    guidelines=st.none() | st.integers(1, 3),
    quiz=st.booleans(),
)
done = st.builds(
    Done,
    consent=st.booleans(),
    profile=st.booleans(),
    guidelines=st.none() | st.integers(1, 3),
    quiz=st.booleans(),
)


@given(asked, done)
def test_an_open_step_is_one_that_the_study_asks_for(asks, did):
    step = first_open(asks, did)
    assert step is None or step in steps_of(asks)


@given(asked)
def test_doing_one_step_after_another_leads_to_the_first_item(asks):
    did = Done(consent=False, profile=False, guidelines=None, quiz=False)
    taken = []
    while (step := first_open(asks, did)) is not None:
        taken.append(step)
        did = Done(
            consent=Step.CONSENT in taken,
            profile=Step.PROFILE in taken,
            guidelines=asks.guidelines if Step.GUIDELINES in taken else None,
            quiz=Step.QUIZ in taken,
        )
    assert tuple(taken) == steps_of(asks)
