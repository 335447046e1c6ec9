from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from judging.core.questions import PairAnswer
from judging.models import JudgeRun, PreferenceSet
from judging.services import run_control, runs
from judging.services.foreground import run_to_end
from judging.services.heartbeats import this_process
from judging.services.run_control import Idle
from tests.factory import make_run
from tests.judging.study import FakeJudge, dispatched, make_study, opener_of, start_distillation

pytestmark = pytest.mark.django_db


def started():
    dataset, rater = make_study(comparisons=8)
    return start_distillation(dataset=dataset, annotator=rater, judge="lexical")


def test_a_cancelled_run_can_go_on():
    run = started()
    batch = dispatched(run).batches[0]
    assert run_control.cancel(run.pk)
    assert not run_control.cancel(run.pk)
    assert runs.run_batch(run.pk, 1, batch, opener=opener_of(FakeJudge())) is None
    assert runs.dispatch(run.pk) is None
    run_control.reset_failed(run.pk)
    assert run_to_end(run.pk, opener=opener_of(FakeJudge())).status == "DONE"


def test_only_what_failed_is_asked_again():
    def flaky(_pair, preference):
        return None if preference else PairAnswer(None, error_code="llm:timeout")

    run = started()
    run_to_end(run.pk, opener=opener_of(FakeJudge(answer=flaky)))
    before = PreferenceSet.objects.get(run=run, control="NONE").matrix
    judge = FakeJudge()
    assert run_control.reset_failed(run.pk) == 4 * 2
    run_to_end(run.pk, opener=opener_of(judge))
    assert [preference for _, preference in judge.asked] == [""] * 8
    after = PreferenceSet.objects.get(run=run, control="NONE").matrix
    assert before != after  # the selection is made again
    assert not run.judgments.filter(status="FAILED").exists()


def test_what_could_not_be_read_stays():
    def unreadable(_pair, preference):
        return None if preference else PairAnswer(None, error_code="v:u", unparseable=True)

    run = started()
    run_to_end(run.pk, opener=opener_of(FakeJudge(answer=unreadable)))
    assert run_control.reset_failed(run.pk) == 0
    assert run.judgments.filter(status="UNPARSEABLE").count() == 8


def test_a_run_under_way_is_not_reset():
    run = started()
    for _ in range(2):
        with pytest.raises(run_control.Refused):
            run_control.reset_failed(run.pk)
        runs.dispatch(run.pk)


def test_silent_runs_are_those_that_are_unfinished_and_gave_no_sign_of_life():
    now = timezone.now()
    old, fresh = now - timedelta(seconds=100), now - timedelta(seconds=5)
    silent = make_run(status="RUNNING", generation=3, heartbeat_at=old)
    make_run(status="RUNNING", heartbeat_at=fresh)
    waiting = make_run(status="PENDING")
    JudgeRun.objects.filter(pk=waiting.pk).update(created_at=old)
    make_run(status="DONE", heartbeat_at=old)
    make_run(status="PENDING")  # just asked for
    assert run_control.silent_runs(for_seconds=60) == (
        run_control.SilentRun(silent.pk, 3, old.isoformat()),
        run_control.SilentRun(waiting.pk, 0, ""),
    )
    assert len(run_control.silent_runs(for_seconds=0)) == 3


def test_what_nobody_is_at_work_on():
    now = timezone.now()
    make_run(status="DONE")
    make_run(status="RUNNING", heartbeat_at=now, worker=this_process())
    make_run(status="RUNNING", heartbeat_at=now, worker="elsewhere 1 2")
    killed = {"heartbeat_at": now, "worker": f"{this_process()}0"}
    hour_ago = now - timedelta(hours=1)
    parent = make_run(kind="ABLATE", status="RUNNING", **killed)
    step = make_run(status="PENDING", stage="judge", heartbeat_at=now)  # between two batches
    parent.units.create(position=0, child=step)
    expected = [
        (parent, Idle.RESUMED),
        (make_run(), Idle.RESUMED),
        (make_run(status="RUNNING"), Idle.RESUMED),
        (make_run(status="RUNNING", **killed), Idle.RESUMED),
        (make_run(status="RUNNING", heartbeat_at=hour_ago, worker="elsewhere 1 2"), Idle.RESUMED),
        (make_run(status="PENDING", stage="judge", heartbeat_at=now), Idle.INTERRUPTED),
    ]
    assert run_control.idle_runs() == expected
    assert len(run_control.silent_runs(for_seconds=0)) == 5
    assert [run.worker for run in run_control.runs_at_work()] == [this_process(), "elsewhere 1 2"]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({}, Idle.REPLACED),
        ({"config": {"dev_size": 5}}, Idle.REPLACED),
        ({"judge": "other"}, Idle.RESUMED),
        ({"kind": "DISTIL"}, Idle.RESUMED),
        ({"config": {"targets": {"kind": "ALL"}}}, Idle.RESUMED),
    ],
)
def test_a_run_is_replaced_by_a_later_one_about_the_same(other, what):
    now = timezone.now()
    left = make_run(status="RUNNING", heartbeat_at=now - timedelta(hours=1))
    make_run(left.dataset, **{"judge": left.judge, "kind": left.kind, **other})
    assert run_control.idle(left) is what
    left.heartbeat_at = timezone.now()  # it was at work beside the other one, and died later
    left.worker = f"{this_process()}0"
    assert run_control.idle(left) is Idle.RESUMED


def test_a_run_that_was_left_can_be_told_to_go_on():
    run = started()
    assert not run_control.can_be_resumed(run)
    dispatched(run)
    run.refresh_from_db()
    assert not run_control.can_be_resumed(run)
    run_control.put_down(run.pk, generation=run.generation)
    run.refresh_from_db()
    assert run_control.idle(run) is Idle.INTERRUPTED
    run_control.reset_failed(run.pk)
    run.refresh_from_db()
    assert run_control.idle(run) is Idle.RESUMED
    assert not run_control.can_be_resumed(run)  # a worker was told of it
    JudgeRun.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    run.refresh_from_db()
    assert run_control.can_be_resumed(run)


@pytest.mark.parametrize(
    ("left", "other_beat", "can_be_resumed"),
    [
        ({}, 5, False),  # queued: the embedded worker takes one at a time
        ({}, 100, True),
        ({}, None, True),
        ({"status": "RUNNING", "heartbeat": 100}, 5, False),  # behind a batch of the other one
        ({"status": "RUNNING", "heartbeat": 100}, 100, True),
        ({"status": "RUNNING", "heartbeat": 5, "worker": "died"}, 5, True),
        ({"stage": "judge", "heartbeat": 5}, 5, True),  # interrupted
    ],
)
def test_beside_a_run_that_goes_on_another_waits_its_turn(left, other_beat, can_be_resumed):
    def ago(seconds):
        return seconds and timezone.now() - timedelta(seconds=seconds)

    make_run(status="RUNNING", heartbeat_at=ago(other_beat))
    make_run(status="DONE", heartbeat_at=ago(5))
    run = make_run(
        status=left.get("status", "PENDING"),
        stage=left.get("stage", ""),
        heartbeat_at=ago(left.get("heartbeat")),
        worker=f"{this_process()}0" if "worker" in left else "",
    )
    JudgeRun.objects.filter(pk=run.pk).update(created_at=ago(100))
    run.refresh_from_db()
    assert run_control.can_be_resumed(run) is can_be_resumed


def test_a_run_is_still_silent_where_it_is_as_it_was_seen():
    now = timezone.now()
    run = make_run(status="RUNNING", generation=3, heartbeat_at=now)
    waiting = make_run(status="PENDING")
    seen = now.isoformat()
    assert run_control.still_silent(run.pk, generation=3, last_beat=seen)
    assert not run_control.still_silent(run.pk, generation=3, last_beat="")
    assert not run_control.still_silent(run.pk, generation=2, last_beat=seen)
    assert run_control.still_silent(waiting.pk, generation=0, last_beat="")
    JudgeRun.objects.update(status="CANCELLED")
    assert not run_control.still_silent(run.pk, generation=3, last_beat=seen)


@pytest.fixture
def shared():
    """Two runs that wait for one child, which the first has started."""
    child = make_run(status="PENDING")
    waiting = [make_run(child.dataset, kind="ABLATE", status="RUNNING") for _ in range(2)]
    for run in waiting:
        run.units.create(position=0, child=child, reused=run != waiting[0])
    return child, waiting


@pytest.mark.parametrize("first", [0, 1])
def test_a_child_ends_with_the_last_run_that_waits_for_it(shared, first):
    child, waiting = shared
    for run, status in ((waiting[first], "PENDING"), (waiting[1 - first], "CANCELLED")):
        assert run_control.cancel(run.pk)
        child.refresh_from_db()
        assert child.status == status


@pytest.mark.django_db(transaction=True)
def test_a_child_ends_where_all_that_wait_for_it_are_cancelled_at_the_same_moment(shared):
    child, (first, second) = shared

    def cancel_second():
        try:
            return run_control.cancel(second.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            run_control.cancel(first.pk)
            other = threads.submit(cancel_second)
            wait([other], timeout=1)
        assert other.result(timeout=20)
    child.refresh_from_db()
    assert child.status == "CANCELLED"


def test_a_child_is_not_kept_by_a_step_that_is_done_nor_ended_where_a_person_started_it(shared):
    child, (own, other) = shared
    other.units.update(status="DONE")
    run_control.cancel(own.pk)
    child.refresh_from_db()
    assert child.status == "CANCELLED"
    by_hand = make_run(status="PENDING")
    other.units.create(position=1, child=by_hand, reused=True)
    run_control.cancel(other.pk)
    by_hand.refresh_from_db()
    assert by_hand.status == "PENDING"
