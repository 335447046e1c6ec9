from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from judging.models import JudgeRun, RunStatus
from judging.services import run_control, runs
from judging.services.foreground import run_to_end
from tests.judging.study import FakeJudge, dispatched, make_study, opener_of, start_test_run

pytestmark = pytest.mark.django_db


def started():
    dataset, rater = make_study(comparisons=4)
    return start_test_run(dataset=dataset, annotator=rater, with_sets=False)


def never(_seconds):
    raise AssertionError("nothing to wait for")


def test_a_run_is_worked_off_without_a_broker():
    run = started()
    answers: list[int] = []
    done = run_to_end(run.pk, opener=opener_of(FakeJudge()), observer=answers.append, sleep=never)
    assert (done.status, sum(answers)) == ("DONE", 8)


def test_a_finished_run_is_given_back():
    run = started()
    run_to_end(run.pk, opener=opener_of(FakeJudge()), sleep=never)
    judge = FakeJudge()
    assert run_to_end(run.pk, opener=opener_of(judge), sleep=never).status == "DONE"
    assert judge.asked == []


def test_a_run_that_somebody_took_over_is_waited_for():
    run, waits = started(), []

    def taken_over():
        # A server that starts meanwhile dispatches every unfinished run.
        JudgeRun.objects.filter(pk=run.pk, generation=1).update(generation=2)

    def other_worker(_seconds):
        waits.append(1)
        for ids in dispatched(run).batches:
            runs.run_batch(run.pk, 3, ids, opener=opener_of(FakeJudge()))

    done = run_to_end(
        run.pk, opener=opener_of(FakeJudge(), meanwhile=taken_over), sleep=other_worker
    )
    assert (done.status, done.generation, len(waits)) == ("DONE", 3, 1)


def test_a_run_whose_new_worker_fell_silent_is_taken_back():
    run = started()

    def taken_over():
        JudgeRun.objects.filter(pk=run.pk, generation=1).update(generation=2)

    def died(_seconds):
        long_ago = timezone.now() - timedelta(hours=1)
        JudgeRun.objects.filter(pk=run.pk).update(heartbeat_at=long_ago)

    done = run_to_end(run.pk, opener=opener_of(FakeJudge(), meanwhile=taken_over), sleep=died)
    assert (done.status, done.generation) == ("DONE", 3)


def test_a_run_that_is_cancelled_meanwhile_ends():
    run = started()

    def cancel():
        run_control.cancel(run.pk)

    done = run_to_end(run.pk, opener=opener_of(FakeJudge(), meanwhile=cancel), sleep=never)
    assert done.status == RunStatus.CANCELLED


def test_a_run_that_waits_without_a_sign_of_life_is_taken_up():
    run = started()
    JudgeRun.objects.filter(pk=run.pk).update(status="RUNNING", heartbeat_at=None, stage="judge")
    assert run_to_end(run.pk, opener=opener_of(FakeJudge()), sleep=never).status == "DONE"


def test_a_run_that_somebody_is_at_work_on_is_waited_for_and_its_calls_are_not_asked_again():
    run, waits, judge = started(), [], FakeJudge()
    elsewhere = dispatched(run)

    def other_worker(_seconds):
        for ids in elsewhere.batches:
            runs.run_batch(run.pk, elsewhere.generation, ids, opener=opener_of(FakeJudge()))

    done = run_to_end(
        run.pk,
        opener=opener_of(judge),
        on_wait=lambda which: waits.append(which.pk),
        sleep=other_worker,
    )
    assert (done.status, done.generation) == ("DONE", elsewhere.generation)
    assert (judge.asked, waits) == ([], [run.pk])


def test_an_interrupted_run_is_left_to_whoever_comes_next():
    run = started()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_to_end(run.pk, opener=opener_of(FakeJudge(), meanwhile=interrupt), sleep=never)
    assert JudgeRun.objects.get().status == RunStatus.PENDING
    assert run_to_end(run.pk, opener=opener_of(FakeJudge()), sleep=never).status == "DONE"
