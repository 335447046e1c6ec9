from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from judging.core.runs import RunProgress, StageName, StageProgress, sum_of_costs

START = datetime(2026, 1, 1, tzinfo=UTC)


def run(**fields):
    stages = (
        StageProgress(StageName.DISTIL, 0, 5, 0, 2, (("llm:timeout", 2),)),
        StageProgress(StageName.JUDGE, 10, 3, 4, 1, (("a:b", 4), ("llm:timeout", 1))),
    )
    usual = {
        "run_id": 1,
        "kind": "DISTIL",
        "status": "RUNNING",
        "stage": "judge",
        "error_code": "",
        "error_detail": "",
        "stages": stages,
        "calls": 0,
        "input_tokens": None,
        "cached_tokens": None,
        "output_tokens": None,
        "cost": None,
        "can_have_budget": False,
        "budget": None,
        "held": 0.0,
        "started_at": None,
        "heartbeat_at": None,
        "finished_at": None,
    }
    return RunProgress(**(usual | fields))


def test_a_run_adds_its_stages_up():
    progress = run()
    assert (progress.total, progress.answered, progress.done) == (25, 15, 8)
    assert progress.errors == (("a:b", 4), ("llm:timeout", 3))


@pytest.mark.parametrize(
    ("fields", "seconds", "speed"),
    [
        ({}, None, None),
        ({"started_at": START}, None, None),
        ({"started_at": START, "heartbeat_at": START}, 0.0, None),
        ({"started_at": START, "heartbeat_at": START + timedelta(seconds=4), "calls": 8}, 4.0, 2.0),
        ({"started_at": START, "finished_at": START + timedelta(seconds=4)}, 4.0, None),
        (
            {
                "started_at": START,
                "heartbeat_at": START,
                "finished_at": START + timedelta(seconds=2),
                "calls": 1,
            },
            2.0,
            0.5,
        ),
    ],
)
def test_how_fast_a_run_is(fields, seconds, speed):
    assert (run(**fields).seconds, run(**fields).calls_per_second) == (seconds, speed)


def test_what_is_held_beyond_the_cost_is_unsettled():
    assert run(held=0.5, cost=0.125).unsettled == 0.375
    assert run(held=0.5).unsettled == 0.5
    assert run(held=0.1, cost=0.2).unsettled == 0.0


def test_at_the_present_pace_what_waits_takes_so_long():
    assert run(pace=2.0).minutes_left == 10 / 2 / 60  # ten rows wait
    assert run().minutes_left is None
    assert run(pace=0.0).minutes_left is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, None),
        ({"can_have_budget": True}, 0),
        ({"can_have_budget": True, "calls": 2, "cost": 0.5}, 0.5),
        ({"can_have_budget": True, "calls": 2, "cost": 0.5, "unpriced": 1}, None),
    ],
)
def test_without_a_call_nothing_was_paid_where_calls_have_a_price(fields, told):
    assert run(**fields).told_cost == told


@pytest.mark.parametrize(
    ("found", "together"),
    [
        ([], None),
        ([(0, None)], None),
        ([(0, 0.0)], 0),
        ([(0, None), (0, 0.0)], 0),
        ([(2, 0.5), (0, None), (1, 0.25)], 0.75),
        ([(2, 0.5), (1, None)], None),
    ],
)
def test_costs_add_up_where_all_are_known(found, together):
    assert sum_of_costs(found) == together


def test_what_endpoints_said_is_told_by_error_code():
    said = (("llm:quota", "Pay."),)
    stages = (
        StageProgress(StageName.DISTIL, 0, 1, 0, 1, (("llm:quota", 1),), said=said),
        StageProgress(StageName.JUDGE, 3, 0, 0, 0, ()),
    )
    assert run(stages=stages).said == {"llm:quota": "Pay."}
