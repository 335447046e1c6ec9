from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from judging import tasks
from judging.models import JudgeRun
from judging.submission import (
    resume,
    retry_run,
    submit,
)
from sensejudge_site.celery import app
from tests.factory import make_run
from tests.judging.study import make_study, planned_distillation, planned_test, start_distillation

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent():
    """What was sent to the broker, as (task name, arguments)."""
    app.control.purge()

    def messages():
        found = []
        with app.connection_or_acquire() as connection:
            queue = connection.SimpleQueue("celery")
            while True:
                try:
                    message = queue.get(block=False)
                except queue.Empty:
                    break
                message.ack()
                name = message.headers["task"].rpartition(".")[2]
                found.append((name, message.payload[1]))
            queue.close()
        return found

    yield messages
    app.control.purge()


def started():
    dataset, rater = make_study()
    return start_distillation(dataset=dataset, annotator=rater, judge="lexical")


def test_a_run_is_dispatched_batch_by_batch(sent):
    run = started()
    tasks.dispatch_run(run_id=run.pk)
    (batch,) = sent()
    rows = list(run.preferences.order_by("pk").values_list("pk", flat=True))
    assert batch == (
        "run_batch",
        {"run_id": run.pk, "generation": 1, "first": rows[0], "last": rows[-1]},
    )


def test_batches_lead_to_the_end(sent):
    run = started()
    tasks.dispatch_run(run_id=run.pk)
    done = 0
    while todo := [arguments for name, arguments in sent() if name == "run_batch"]:
        for arguments in todo:
            tasks.run_batch(**arguments)
            done += 1
    run.refresh_from_db()
    assert (run.status, done) == ("DONE", 3)


def test_a_finished_run_enqueues_nothing(sent):
    run = make_run(status="DONE")
    tasks.dispatch_run(run_id=run.pk)
    tasks.look_again(run_id=run.pk, generation=0, last_beat="")
    tasks.run_batch(run_id=run.pk, generation=0, first=1, last=2)
    assert sent() == []


def test_a_silent_run_is_taken_up_where_nothing_of_it_was_waiting_either(sent):
    before = timezone.now() - timedelta(hours=1)
    run = started()
    JudgeRun.objects.update(status="RUNNING", stage="distil", generation=4, heartbeat_at=before)
    make_run(status="RUNNING", heartbeat_at=timezone.now())
    tasks.watch_runs()
    seen = {"run_id": run.pk, "generation": 4, "last_beat": before.isoformat()}
    assert sent() == [("look_again", seen)]
    tasks.look_again(**seen)
    ((name, arguments),) = sent()
    assert (name, arguments["generation"]) == ("run_batch", 5)
    tasks.look_again(**seen)  # the other workers' watchers come too late
    assert sent() == []


def test_a_run_whose_batches_only_waited_their_turn_is_left_alone(sent):
    before = timezone.now() - timedelta(hours=1)
    run = make_run(status="RUNNING", generation=4, heartbeat_at=before)
    JudgeRun.objects.update(heartbeat_at=timezone.now())  # a batch was begun meanwhile
    tasks.look_again(run_id=run.pk, generation=4, last_beat=before.isoformat())
    assert sent() == []


def test_a_run_whose_first_message_was_lost_is_taken_up_too(sent):
    run = started()
    JudgeRun.objects.update(created_at=timezone.now() - timedelta(hours=1))
    tasks.watch_runs()
    tasks.look_again(**sent()[0][1])
    assert sent()[0][0] == "run_batch"
    run.refresh_from_db()
    assert (run.status, run.generation) == ("RUNNING", 1)


def test_asking_for_a_run_tells_the_workers_once_it_is_committed(
    sent, django_capture_on_commit_callbacks
):
    dataset, rater = make_study(comparisons=12)
    with django_capture_on_commit_callbacks() as callbacks:
        (run,) = submit([planned_distillation(dataset=dataset, annotator=rater, judge="lexical")])
    assert sent() == []
    for callback in callbacks:
        callback()
    assert sent() == [("dispatch_run", {"run_id": run.pk, "generation": 0})]
    with django_capture_on_commit_callbacks(execute=True):
        (test_run,) = submit([planned_test(dataset=dataset, annotator=rater, with_sets=False)])
    assert sent() == [("dispatch_run", {"run_id": test_run.pk, "generation": 0})]


def test_asking_again_for_a_run_under_way_disturbs_nobody(sent, django_capture_on_commit_callbacks):
    run = started()
    JudgeRun.objects.update(status="RUNNING")
    with django_capture_on_commit_callbacks(execute=True):
        (again,) = submit(
            [planned_distillation(dataset=run.dataset, annotator=run.annotator, judge="lexical")]
        )
    assert (again.pk, sent()) == (run.pk, [])


def test_retrying_dispatches_what_failed(sent, django_capture_on_commit_callbacks):
    run = started()
    JudgeRun.objects.update(status="CANCELLED")
    with django_capture_on_commit_callbacks(execute=True):
        assert retry_run(run.pk) == run.preferences.count() + run.judgments.count()
    assert sent() == [("dispatch_run", {"run_id": run.pk, "generation": 1})]


def test_a_run_that_is_to_be_resumed_is_looked_at_once_more(sent):
    run = started()
    resume([run])
    JudgeRun.objects.update(heartbeat_at=timezone.now())  # somebody began to work on it
    ((name, arguments),) = sent()
    assert name == "look_again"
    tasks.look_again(**arguments)
    assert sent() == []
    JudgeRun.objects.update(heartbeat_at=None)
    tasks.look_again(**arguments)
    assert [name for name, _arguments in sent()] == ["run_batch"]


def test_a_run_is_taken_up_once_however_many_messages_say_so(
    sent, django_capture_on_commit_callbacks
):
    dataset, rater = make_study()
    for _click in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            (run,) = submit(
                [planned_distillation(dataset=dataset, annotator=rater, judge="lexical")]
            )
    for _name, arguments in sent():
        tasks.dispatch_run(**arguments)
    run.refresh_from_db()
    assert run.generation == 1
    assert [name for name, _arguments in sent()] == ["run_batch"]


@pytest.mark.django_db(transaction=True)
def test_a_run_waits_where_the_broker_is_away(monkeypatch):
    def away(**_arguments):
        raise OperationalError("Error 111 connecting to 127.0.0.1:6379. Connection refused.")

    monkeypatch.setattr(tasks.dispatch_run, "delay", away)
    dataset, rater = make_study()
    (run,) = submit([planned_distillation(dataset=dataset, annotator=rater, judge="lexical")])
    run.refresh_from_db()
    assert run.status == "PENDING"
    JudgeRun.objects.update(status="CANCELLED")
    assert retry_run(run.pk) == run.preferences.count() + run.judgments.count()
    run.refresh_from_db()
    assert run.status == "PENDING"
