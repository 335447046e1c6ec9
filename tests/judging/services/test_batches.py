from __future__ import annotations

import math
import threading

import pytest
from django.db.models import CharField
from django.db.models.functions import Cast, Concat

from annotation.models import Response
from judging.llm.client import ChatClient
from judging.models import CallClaim, JudgeRun, Judgment, LlmCall
from judging.services import run_control, runs
from judging.services.batches import MOST_WAITING
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.study import FakeJudge, dispatched, make_study, opener_of, start_test_run

pytestmark = pytest.mark.django_db


def one_batch(*, comparisons, judge="lexical"):
    """A run of 2 x comparisons judgments, with its only batch."""
    dataset, rater = make_study(comparisons=comparisons)
    run = start_test_run(dataset=dataset, annotator=rater, judge=judge, with_sets=False)
    return run, dispatched(run).batches[0]


def done(run):
    return Judgment.objects.filter(run=run, status="DONE").count()


def test_as_many_questions_are_under_way_as_the_judge_takes():
    run, ids = one_batch(comparisons=10)
    judge = FakeJudge(wait=0.01)
    runs.run_batch(run.pk, 1, ids, opener=opener_of(judge, concurrency=7))
    assert (judge.most_at_once, done(run)) == (7, 20)


def test_answers_are_committed_though_fewer_than_64_wait():
    run, ids = one_batch(comparisons=40)
    commits: list[int] = []
    # 8 answers a time: the next ones come only once those before them are committed.
    judge = FakeJudge(until=lambda number: sum(commits) >= number // 8 * 8)
    opener = opener_of(judge, concurrency=8)
    runs.run_batch(run.pk, 1, ids, opener=opener, observer=commits.append)
    assert sum(commits) == 80
    assert max(commits) <= 8


def test_a_judge_that_never_waits_is_committed_on_the_way_too():
    run, ids = one_batch(comparisons=200)
    commits: list[int] = []
    runs.run_batch(
        run.pk, 1, ids, opener=opener_of(FakeJudge(), concurrency=1), observer=commits.append
    )
    assert sum(commits) == 400
    assert len(commits) >= 2
    assert max(commits) <= 256


def test_a_batch_notices_between_commits_that_its_run_was_cancelled():
    run, ids = one_batch(comparisons=50)
    cancelled: list[bool] = []
    judge = FakeJudge(until=lambda number: number < 10 or (number < 15 and cancelled))

    def cancel(_count):
        cancelled.append(run_control.cancel(run.pk))

    assert (
        runs.run_batch(run.pk, 1, ids, opener=opener_of(judge, concurrency=5), observer=cancel)
        is None
    )
    # The first commit stays, what came after it was dropped, and no further question was asked.
    assert 0 < done(run) <= 10
    assert len(judge.asked) <= 15 + 5
    assert JudgeRun.objects.get(pk=run.pk).status == "CANCELLED"


def test_where_writing_cannot_keep_up_the_judge_waits():
    run, ids = one_batch(comparisons=300)
    commits: list[int] = []
    opener = opener_of(FakeJudge(), concurrency=2, settling=0.2)
    runs.run_batch(run.pk, 1, ids, opener=opener, observer=commits.append)
    assert sum(commits) == 600
    assert max(commits) <= MOST_WAITING + 2


def test_a_batch_without_any_answer_yet_gives_signs_of_life(settings):
    settings.RUN_STALE_SECONDS = 0.4
    run, ids = one_batch(comparisons=2)

    def taken_over():
        JudgeRun.objects.update(generation=2)

    judge = FakeJudge(until=lambda _number: False)
    assert runs.run_batch(run.pk, 1, ids, opener=opener_of(judge, meanwhile=taken_over)) is None
    # Its first beat told it that the run is not its own: no answer was waited for.
    assert (done(run), judge.given_up) == (0, 4)


def test_calls_under_way_when_a_run_is_stopped_are_not_paid_for_again(monkeypatch, settings):
    settings.RUN_STALE_SECONDS = 2
    with FakeLlm() as server:
        endpoint = make_endpoint(base_url=server.base_url, concurrency=4)
        run, ids = one_batch(comparisons=40, judge=endpoint.name)
        Response.objects.update(text=Concat("text", Cast("pk", CharField())))
        server.most_answers = 20
        land = ChatClient.land

        async def landed(client):
            server.most_answers = math.inf
            await land(client)

        monkeypatch.setattr(ChatClient, "land", landed)
        runs.run_batch(run.pk, 1, ids, observer=lambda _count: run_control.cancel(run.pk))
        sent = server.stats()["calls"]
        assert 4 <= sent <= 20 + 4
        assert (LlmCall.objects.count(), CallClaim.objects.count()) == (sent, 0)
        run_control.reset_failed(run.pk)
        assert run_to_end(run.pk).status == "DONE"
        assert server.stats()["calls"] == server.stats()["distinct"] == 80


def test_every_commit_is_a_sign_of_life():
    run, ids = one_batch(comparisons=2)
    before = JudgeRun.objects.get(pk=run.pk).heartbeat_at
    runs.run_batch(run.pk, 1, ids, opener=opener_of(FakeJudge(wait=0.01)))
    after = JudgeRun.objects.get(pk=run.pk).heartbeat_at
    assert before is not None
    assert after is not None
    assert after > before


def test_database_work_is_done_by_the_thread_that_called():
    run, ids = one_batch(comparisons=2)
    threads = set()
    runs.run_batch(
        run.pk,
        1,
        ids,
        opener=opener_of(FakeJudge()),
        observer=lambda _count: threads.add(threading.current_thread()),
    )
    assert threads == {threading.current_thread()}
