from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from judging.models import JudgeRun, LlmCall, RunUnit
from judging.queries.run_lists import row_counts
from judging.queries.run_totals import judged_totals, scored_totals
from judging.queries.runs import has_verdicts, run_progress
from tests.factory import make_comparison, make_judgment, make_preference, make_run

pytestmark = pytest.mark.django_db


def make_call(key, **fields):
    return LlmCall.objects.create(key=key, base_url="http://x/v1", model="m", request={}, **fields)


def test_rows_are_counted_by_stage_status_and_error(django_assert_num_queries):
    run = make_run(kind="DISTIL", status="RUNNING", stage="judge")
    make_preference(run=run, kind="AGGREGATE")
    make_preference(run=run, kind="GENERIC")  # not distilled by the run
    failed = {"status": "FAILED", "text": None, "error_code": "llm:timeout"}
    preference = make_preference(run=run, kind="AGGREGATE", **failed)
    for status, code in [
        ("PENDING", ""),
        ("DONE", ""),
        ("UNPARSEABLE", "verdict:unparseable"),
        ("FAILED", "llm:timeout"),
        ("FAILED", "preference:missing"),
        ("FAILED", "comparison:no-text"),  # withdrawn meanwhile: no call failed
    ]:
        raw = "HTTP 504 busy" if code == "llm:timeout" else "what a reply said"
        make_judgment(run, make_comparison(), preference, status=status, error_code=code, raw=raw)
    make_judgment(make_run(), make_comparison(), preference)
    with django_assert_num_queries(8):  # six, and what was said of failed calls of two stages
        progress = run_progress(run.pk)
    distil, judge = progress.stages
    assert (distil.stage, distil.done, distil.failed) == ("distil", 1, 1)
    assert (judge.stage, judge.pending, judge.done, judge.unparseable, judge.failed) == (
        "judge",
        1,
        1,
        1,
        2,
    )
    assert judge.withdrawn == 1
    assert judged_totals(run.pk).failed == 3
    assert row_counts([run.pk], kinds=["DISTIL"])[run.pk].failed == 3
    assert progress.errors == (
        ("llm:timeout", 2),
        ("comparison:no-text", 1),
        ("preference:missing", 1),
        ("verdict:unparseable", 1),
    )
    assert progress.said == {"llm:timeout": "HTTP 504 busy"}
    assert (progress.total, progress.answered, progress.status) == (8, 7, "RUNNING")


def test_only_replies_that_the_run_paid_for_are_counted_each_once():
    run, other = make_run(budget="2.5", held="0.75"), make_run()
    old = make_call("a", input_tokens=100, run=other)
    new = make_call("b", input_tokens=7, cached_tokens=3, output_tokens=2, cost="0.25", run=run)
    make_call("c", input_tokens=1000)  # nobody's
    for call in (old, new, new):
        make_judgment(run, make_comparison(), make_preference(), call=call)
    progress = run_progress(run.pk)
    assert (progress.calls, progress.input_tokens, progress.output_tokens) == (1, 7, 2)
    assert (progress.cached_tokens, progress.cost) == (3, 0.25)
    assert (progress.unpriced, progress.whole_cost) == (0, 0.25)
    assert (progress.budget, progress.held, progress.unsettled) == (2.5, 0.75, 0.5)


def test_calls_that_asked_once_more_are_counted():
    run = make_run()
    for key, attempt in (("a", 0), ("b", 1), ("c", 2)):
        make_call(key, run=run, attempt=attempt)
    assert (run_progress(run.pk).calls, run_progress(run.pk).second_tries) == (3, 2)
    assert judged_totals(run.pk).second_tries == 2
    assert scored_totals([run.pk])["second_tries"] == 2


def test_a_run_without_calls_costs_nothing_known():
    progress = run_progress(make_run().pk)
    assert (progress.calls, progress.input_tokens, progress.cost) == (0, None, None)
    assert progress.stages == ()


def test_the_pace_is_that_of_the_last_minute_while_a_run_is_under_way():
    now = timezone.now()
    run = make_run(status="RUNNING", started_at=now - timedelta(hours=3))
    for key in "abcdef":
        make_call(key, run=run)
    LlmCall.objects.filter(key__startswith="a").update(created_at=now - timedelta(hours=2))
    pace = run_progress(run.pk).pace
    assert pace is not None
    assert round(pace * 60) == 5
    JudgeRun.objects.update(started_at=now - timedelta(seconds=10))
    young = run_progress(run.pk).pace
    assert young is not None
    assert 0.3 < young <= 0.5  # five within ten seconds, and a little more on a busy machine
    JudgeRun.objects.update(status="DONE")
    assert run_progress(run.pk).pace is None


def test_steps_of_another_run_are_no_verdicts_to_read():
    run = make_run(kind="TEST", status="DONE")
    slug = run.dataset.slug
    assert has_verdicts(slug)
    protocol = make_run(run.dataset, kind="ABLATE")
    unit = RunUnit.objects.create(run=protocol, position=0, name="step", plan={}, child=run)
    assert not has_verdicts(slug)
    RunUnit.objects.filter(pk=unit.pk).update(reused=True)
    assert has_verdicts(slug)
