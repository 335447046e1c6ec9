from __future__ import annotations

import pytest
from django.db import OperationalError

from judging.core.questions import Outcome, PairAnswer
from judging.models import JudgeRun, Judgment, PreferenceSet
from judging.services import run_control, runs
from judging.services.batches import IdRange
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint
from tests.judging.study import (
    FakeJudge,
    dispatched,
    going,
    make_study,
    opener_of,
    start_distillation,
    start_test_run,
)

pytestmark = pytest.mark.django_db


def started(**study):
    dataset, rater = make_study(**study)
    return start_distillation(dataset=dataset, annotator=rater, judge="lexical")


def test_a_run_goes_through_its_stages_batch_by_batch():
    run, opener = started(), opener_of(FakeJudge())
    first = dispatched(run)
    assert (first.generation, len(first.batches)) == (1, 1)
    run.refresh_from_db()
    assert (run.status, run.stage) == ("RUNNING", "distil")
    assert run.started_at is not None
    second = going(runs.run_batch(run.pk, 1, first.batches[0], opener=opener))
    run.refresh_from_db()
    assert run.stage == "judge"
    third = going(runs.run_batch(run.pk, 1, second.batches[0], opener=opener))
    run.refresh_from_db()
    assert (run.stage, PreferenceSet.objects.count()) == ("select", 0)
    assert runs.run_batch(run.pk, 1, third.batches[0], opener=opener) is None
    run.refresh_from_db()
    assert (run.status, run.error_code, PreferenceSet.objects.count()) == ("DONE", "", 11)
    assert run.finished_at is not None


def test_a_stage_ends_with_its_last_batch_whichever_that_is():
    dataset, rater = make_study(comparisons=50)
    endpoint = make_endpoint()  # runs that call have smaller batches
    run = start_distillation(dataset=dataset, annotator=rater, judge=endpoint.name)
    opener = opener_of(FakeJudge())
    distil = dispatched(run)
    judge = going(runs.run_batch(run.pk, 1, distil.batches[0], opener=opener))
    # 10 dev comparisons under 23 columns in two orders.
    assert len(judge.batches) == 2
    assert runs.run_batch(run.pk, 1, judge.batches[1], opener=opener) is None
    assert runs.run_batch(run.pk, 1, judge.batches[0], opener=opener) is not None
    run.refresh_from_db()
    assert run.stage == "select"


def test_batches_are_ranges_of_pending_rows_in_planned_order():
    dataset, rater = make_study(comparisons=50)
    run = start_test_run(
        dataset=dataset, annotator=rater, with_sets=False, judge=make_endpoint().name
    )
    ids = list(run.judgments.order_by("pk").values_list("pk", flat=True))
    Judgment.objects.filter(pk=ids[0]).update(status="FAILED", error_code="x")
    assert len(ids) == 100
    assert dispatched(run).batches == (IdRange(ids[1], ids[-1]),)


def test_a_batch_of_an_older_generation_drops_itself():
    run, judge = started(), FakeJudge()
    old = dispatched(run)
    new = dispatched(run)
    assert (old.generation, new.generation) == (1, 2)
    assert old.batches == new.batches
    assert runs.run_batch(run.pk, 1, old.batches[0], opener=opener_of(judge)) is None
    assert run.preferences.filter(status="DONE").count() == 0
    assert runs.dispatch(run.pk, generation=1) is None
    assert going(runs.dispatch(run.pk, generation=2)).generation == 3


def test_a_batch_that_is_delivered_twice_asks_once():
    dataset, rater = make_study(comparisons=190)
    run = start_test_run(
        dataset=dataset, annotator=rater, with_sets=False, judge=make_endpoint().name
    )
    judge = FakeJudge()
    first, second = dispatched(run).batches
    for ids in (first, first):
        assert runs.run_batch(run.pk, 1, ids, opener=opener_of(judge)) is None
    assert len(judge.asked) == runs.BATCH_ROWS
    for ids in (second, second, first):
        runs.run_batch(run.pk, 1, ids, opener=opener_of(judge))
    assert len(judge.asked) == run.judgments.count() == 380


def test_a_finished_run_is_not_dispatched():
    run = started()
    run_to_end(run.pk, opener=opener_of(FakeJudge()))
    assert runs.dispatch(run.pk) is None
    run_control.cancel(run.pk)
    run.refresh_from_db()
    assert run.status == "DONE"


def test_a_run_without_rows_is_done_at_once():
    run = started()
    Judgment.objects.all().delete()
    run.preferences.all().delete()
    taken = dispatched(run)
    assert taken.batches == (IdRange(0, 0),)
    run_control.put_down(run.pk, generation=taken.generation)
    run_to_end(run.pk, opener=opener_of(FakeJudge()))
    run.refresh_from_db()
    assert run.status == "DONE"


def test_a_run_fails_where_a_stage_has_no_answer_at_all():
    def refuse(_pair, _preference):
        return PairAnswer(None, error_code="llm:refused-key")

    run = started(comparisons=4)
    run_to_end(run.pk, opener=opener_of(FakeJudge(answer=refuse)))
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("FAILED", "llm:refused-key")


def test_a_run_is_done_where_only_some_answers_failed():
    def refuse(pair, preference):
        return None if preference else PairAnswer(None, error_code="llm:timeout")

    run = started(comparisons=4)
    run_to_end(run.pk, opener=opener_of(FakeJudge(answer=refuse)))
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("DONE", "")
    assert run.judgments.filter(status="FAILED").count() == 2 * 2


def test_an_error_that_nobody_foresaw_stops_the_run_and_says_so():
    def crash(_pair, preference):
        if preference:
            raise ZeroDivisionError("by nothing")

    run, judge = started(comparisons=4), FakeJudge(answer=crash)
    distil = dispatched(run)
    following = going(runs.run_batch(run.pk, 1, distil.batches[0], opener=opener_of(judge)))
    with pytest.raises(ZeroDivisionError):
        runs.run_batch(run.pk, 1, following.batches[0], opener=opener_of(judge, concurrency=1))
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("FAILED", "run:crashed")
    assert run.error_detail == "ZeroDivisionError: by nothing"
    # What was answered before the crash is stored, and the rest can go on.
    assert run.judgments.filter(status="DONE").count() == 1
    assert run_control.reset_failed(run.pk) == run.judgments.count() - 1
    run_to_end(run.pk, opener=opener_of(FakeJudge()))
    run.refresh_from_db()
    assert (run.status, run.error_code, run.error_detail) == ("DONE", "", "")


def test_a_database_that_went_away_leaves_the_run_to_be_taken_up():
    def lost(_pair, _preference):
        raise OperationalError("gone")

    run = started(comparisons=4)
    distil = dispatched(run)
    judge = FakeJudge(answer=lost)
    following = going(runs.run_batch(run.pk, 1, distil.batches[0], opener=opener_of(judge)))
    with pytest.raises(OperationalError):
        runs.run_batch(run.pk, 1, following.batches[0], opener=opener_of(judge))
    assert JudgeRun.objects.get(pk=run.pk).status == "RUNNING"


def test_a_preference_that_cannot_be_distilled_does_not_stop_the_rest():
    def empty(_pairs):
        return Outcome(None, error_code="preference:empty")

    run = started(comparisons=4)
    run_to_end(run.pk, opener=opener_of(FakeJudge(distilled=empty)))
    run.refresh_from_db()
    # Not one preference: the run failed, but the base judge's verdicts are there.
    assert (run.status, run.error_code) == ("FAILED", "preference:empty")
    assert run.judgments.filter(status="DONE").count() == 2 * 2
