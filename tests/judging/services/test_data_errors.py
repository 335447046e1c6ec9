"""What a database refuses fails its row; a run that fails again and again at one place stops."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from annotation.core.choices import Verdict
from judging import tasks
from judging.core import chat
from judging.core.questions import Call, PairAnswer
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, LlmCall
from judging.services import runs
from judging.services.foreground import run_to_end
from judging.services.replies import RowReplyStore
from sensejudge_site.celery import app
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import FakeJudge, make_study, opener_of, start_test_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker():
    """Has a worker take up what was left lying, several times, as its timer would."""
    app.control.purge()

    def work():
        with app.connection_or_acquire() as broker:
            queue = broker.SimpleQueue("celery")
            while True:
                try:
                    message = queue.get(block=False)
                except queue.Empty:
                    break
                message.ack()
                name = message.headers["task"].rpartition(".")[2]
                try:
                    # Once, without Celery's own tries, which a run's next take-up repeats.
                    getattr(tasks, name).run(**message.payload[1])
                except Exception as error:  # noqa: BLE001 - as a worker does
                    failures.append(error)
            queue.close()

    def take_up(times):
        for _ in range(times):
            left = timezone.now() - timedelta(hours=1)
            JudgeRun.objects.filter(status="RUNNING").update(heartbeat_at=left)
            JudgeRun.objects.update(created_at=left)
            tasks.watch_runs()
            work()
        return failures

    failures: list[Exception] = []
    yield take_up
    app.control.purge()


def completion(logprob, **usage):
    top = [{"token": "A", "logprob": logprob}, {"token": "B", "logprob": -1.0}]
    choice = {
        "message": {"role": "assistant", "content": "A"},
        "finish_reason": "stop",
        "logprobs": {"content": [{"token": "A", "logprob": logprob, "top_logprobs": top}]},
    }
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def started(server, *, verdict=VerdictRule.STRICT):
    dataset, rater = make_study(comparisons=4)
    endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True, output_price=10_000)
    return start_test_run(
        dataset=dataset, annotator=rater, judge=endpoint.name, with_sets=False, verdict=verdict
    )


@pytest.mark.parametrize(
    "number",
    [float("inf"), float("-inf"), float("nan"), 10**400],
    ids=["inf", "-inf", "nan", "huge"],
)
def test_a_log_probability_that_is_no_number_is_not_available(worker, number):
    with FakeLlm() as server:
        server.told[""] = Act(raw=completion(number, completion_tokens=2**40))
        run = started(server, verdict=VerdictRule.LOGPROB)
        assert worker(3) == []
        calls = server.stats()["calls"]
    run.refresh_from_db()
    assert (run.status, calls) == ("DONE", run.judgments.count())
    # The letter without a probability takes the lowest of the others.
    assert set(run.judgments.values_list("log_odds")) == {(0.0,)}
    assert set(LlmCall.objects.values_list("output_tokens", "cost")) == {(None, None)}


def test_a_reply_that_the_database_refuses_is_paid_for_once(worker, monkeypatch):
    monkeypatch.setattr(chat, "finite_number", lambda value: value)  # what nobody foresaw
    monkeypatch.setattr(chat, "_LOGPROBS", (float("-inf"), float("inf")))
    with FakeLlm() as server:
        run = started(server, verdict=VerdictRule.LOGPROB)
        server.script.append(Act(raw=completion(float("inf"))))
        assert worker(3) == []
        calls = server.stats()["calls"]
    run.refresh_from_db()
    assert (run.status, calls) == ("DONE", run.judgments.count())
    assert LlmCall.objects.count() == calls - 1
    assert not run.call_claims.exists()


def test_an_answer_that_the_database_refuses_fails_its_row_alone():
    def odd(pair, _preference):
        is_first = next(numbers) == 0
        return PairAnswer(Verdict.A, call=Call(raw="\ud800" if is_first else "fine"))

    numbers = iter(range(100))
    dataset, rater = make_study(comparisons=4)
    run = start_test_run(dataset=dataset, annotator=rater, judge="lexical", with_sets=False)
    run = run_to_end(run.pk, opener=opener_of(FakeJudge(answer=odd)))
    assert run.status == "DONE"
    failed = run.judgments.exclude(status="DONE")
    assert list(failed.values_list("status", "error_code")) == [("FAILED", "answer:not-storable")]


def test_a_run_that_fails_twice_at_one_place_stops(worker, monkeypatch):
    def broken(*_anything):
        raise OperationalError("too many SQL variables")

    monkeypatch.setattr(RowReplyStore, "_write", broken)
    with FakeLlm() as server:
        run = started(server)
        failures = worker(6)
        calls = server.stats()["calls"]
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("FAILED", "run:crashed")
    assert run.error_detail == "OperationalError: too many SQL variables"
    assert len(failures) == 2
    assert calls <= 2 * run.judgments.count()


def test_a_database_that_is_away_stops_no_run(worker, monkeypatch):
    def away(*_anything):
        raise OperationalError("the connection is closed")

    with FakeLlm() as server, monkeypatch.context() as patch:
        run = started(server)
        patch.setattr(runs, "beat", away)
        patch.setattr(runs, "_pending", away)
        assert len(worker(4)) == 4
        assert server.stats()["calls"] == 0
    run.refresh_from_db()
    assert run.status == "RUNNING"
    assert connection.is_usable()


def test_a_run_that_got_further_between_two_failures_goes_on(worker, monkeypatch):
    write, failing = RowReplyStore._write, iter([True, False, True, False])

    def flaky(store, *what):
        if next(failing, False):
            raise OperationalError("database is locked")
        write(store, *what)

    monkeypatch.setattr(RowReplyStore, "_write", flaky)
    with FakeLlm() as server:
        run = started(server)
        worker(4)
    run.refresh_from_db()
    assert run.status == "DONE"
