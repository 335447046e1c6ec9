from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.assignment import Progress, free_slot, lease_end, renewal_seconds, study_order


def test_a_lease_runs_for_the_study_s_minutes():
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    assert lease_end(now, 15) == datetime(2026, 11, 21, 12, 15, tzinfo=UTC)


@pytest.mark.parametrize(("minutes", "seconds"), [(1, 20), (9, 180), (15, 300), (600, 300)])
def test_a_lease_is_renewed_well_before_it_ends(minutes, seconds):
    assert renewal_seconds(minutes) == seconds


@pytest.mark.parametrize(
    ("taken", "overlap", "slot"),
    [((), 1, 0), ((0,), 1, None), ((0,), 2, 1), ((1,), 2, 0), ((0, 2), 3, 1), ((0, 1, 2), 3, None)],
)
def test_the_lowest_free_slot_is_given(taken, overlap, slot):
    assert free_slot(taken, overlap) == slot


def test_progress_counts_what_is_done_and_what_is_left():
    assert Progress(done=3, skipped=2, left=5).total == 10


@given(st.lists(st.integers(), unique=True), st.integers(min_value=0))
def test_a_study_gives_out_every_target_once_in_an_order_of_its_seed(targets, seed):
    order = study_order(targets, seed=seed)
    assert sorted(order) == sorted(targets)
    assert study_order(targets, seed=seed) == order


def test_two_seeds_give_two_orders():
    assert study_order(range(50), seed=1) != study_order(range(50), seed=2)
