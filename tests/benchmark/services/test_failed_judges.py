"""Evaluations in which a judge fails, or leaves turns without a score: the rest still comes."""

from decimal import Decimal

import pytest

from annotation.models import SatisfactionLabel
from benchmark.core.metrics import MetricName
from benchmark.queries.satisfaction_report import Unscored, evaluation_of
from benchmark.services.evaluation_runs import EvaluationRequest, plan_evaluation
from benchmark.services.satisfaction_evaluation import rated_turns
from judging.core.rules import Level
from judging.models import RunUnit, SatisfactionJudgment
from judging.queries.satisfaction.turns import missing_turns
from judging.services.endpoints import set_budget
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from judging.services.run_control import reset_failed
from tests.benchmark.evaluations import evaluate_satisfaction, judges_runs
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import (
    make_endpoint,
    make_rater,
    make_rating,
    make_response,
    make_session,
    make_turn,
)
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import start_satisfaction_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def train():
    return make_rated_dataset("train", users=("cid",))


@pytest.fixture
def test_data():
    return make_rated_dataset("test")


REFUSES = Act(text="I would rather not.")


def test_where_no_memory_is_written_the_baselines_figures_still_come(train, test_data):
    """Another judge's figures, too; asked again later, what failed is asked, and nothing else."""
    with FakeLlm() as server:
        server.told["write a memory with which"] = REFUSES
        make_endpoint(name="fake", base_url=server.base_url)
        names = ["fake", "history_mean", "fake:no-memory"]
        wanted = EvaluationRequest(train, test_data, names, draws=0)
        run = run_to_end(start(plan_evaluation(wanted)).pk)
        assert (run.status, run.error_code) == ("DONE", "")
        found = evaluation_of(run.pk)
        assert [row.name for row in found.rows] == ["history_mean", *["fake"] * 4]
        assert {row.turns for row in found.rows} == {24}
        (left_out,) = found.skipped
        failed = RunUnit.objects.get(run=run, plan__scores="fake")
        assert (left_out.evaluator, left_out.code, left_out.run) == (
            "fake",
            "memory:unparseable",
            failed.child_id,
        )
        assert left_out.lacks_memories
        calls = server.stats()["calls"]
        reset_failed(run.pk)
        again = run_to_end(run.pk)
        assert server.stats()["calls"] == calls  # the same question has the same reply
    assert again.status == "DONE"
    assert evaluation_of(run.pk).skipped == found.skipped
    assert RunUnit.objects.filter(run=run, status="DONE").count() == 3


def test_a_judge_whose_run_is_refused_is_left_out_and_measured_once_it_takes_more(train, test_data):
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        make_endpoint(
            name="small", model="small", base_url=server.base_url, found_context_tokens=16
        )
        names = ["fake", "history_mean", "small"]
        run = run_to_end(start(plan_evaluation(EvaluationRequest(train, test_data, names))).pk)
        assert (run.status, run.error_code) == ("DONE", "")
        found = evaluation_of(run.pk)
        (left_out,) = found.skipped
        assert (left_out.evaluator, left_out.code, left_out.run) == ("small", "llm:context", None)
        assert "small takes 16 tokens" in left_out.detail
        assert {row.name for row in found.rows} == {"fake", "history_mean"}
        server.models = [{"id": "fake", "max_model_len": 32768}]
        reset_failed(run.pk)
        run_to_end(run.pk)
    found = evaluation_of(run.pk)
    assert found.skipped == ()
    assert {row.name for row in found.rows} == {"fake", "history_mean", "small"}


@pytest.mark.parametrize("reused", [False, True])
def test_scores_that_failed_are_asked_and_measured_on_a_retry(train, test_data, reused):
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        names = ["fake:no-memory", "history_mean"]
        wanted = EvaluationRequest(train, test_data, names, draws=0)
        run = run_to_end(start(plan_evaluation(wanted)).pk)
        whole = evaluation_of(run.pk).rows
        row = SatisfactionJudgment.objects.filter(part="RATED").first()
        row.status, row.error_code = "FAILED", "llm:timeout"
        row.score = row.expected_score = row.calibrated = row.reason = None
        row.save()
        RunUnit.objects.filter(plan__has_key="scores").update(reused=reused)
        calls = server.stats()["calls"]
        reset_failed(run.pk)
        run_to_end(run.pk)
        assert server.stats()["calls"] == calls  # the reply is stored
    found = evaluation_of(run.pk).rows
    assert [row.metrics for row in found] == [row.metrics for row in whole]
    assert RunUnit.objects.get(run=run, plan__has_key="scores").reused is False


def test_a_judge_that_was_down_is_measured_once_it_answers(train, test_data):
    with FakeLlm() as server:
        server.told["write a memory with which"] = Act(status=401)
        make_endpoint(name="fake", base_url=server.base_url)
        wanted = EvaluationRequest(train, test_data, ["history_mean", "fake"], draws=0)
        run = run_to_end(start(plan_evaluation(wanted)).pk)
        (left_out,) = evaluation_of(run.pk).skipped
        assert left_out.code == "run:endpoint-down"
        assert "llm:refused-key" in left_out.detail
        assert not left_out.lacks_memories
        server.told.clear()
        reset_failed(run.pk)
        run_to_end(run.pk)
    found = evaluation_of(run.pk)
    assert found.skipped == ()
    assert [row.name for row in found.rows] == ["history_mean", *["fake"] * 4]


def test_turns_without_a_score_are_counted_by_what_stood_in_the_way(train, test_data):
    """Ann's two memories are not written, so that her twelve turns cannot be scored."""
    with FakeLlm() as server:
        server.told["ann xxx"] = REFUSES
        make_endpoint(name="fake", base_url=server.base_url)
        run = run_to_end(start_satisfaction_run(dataset=test_data, judge="fake").pk)
        assert run.status == "DONE"
        late = make_response(
            make_turn(make_session(test_data.scenarios.first())), text="late", original=True
        )
        rater = SatisfactionLabel.objects.filter(annotator__username="test:bob").first().annotator
        judgment = SatisfactionJudgment.objects.filter(run=run, user=rater).first()
        SatisfactionJudgment.objects.filter(pk=judgment.pk).update(
            status="FAILED", score=None, calibrated=None, error_code="llm:timeout"
        )
        turns = rated_turns(test_data, Level.TURN)
        assert missing_turns(run.pk, turns.stored) == {"llm:timeout": 1, "memory:unparseable": 12}
        make_rating(late, annotator=rater, score=5)
        turns = rated_turns(test_data, Level.TURN)
        assert missing_turns(run.pk, turns.stored) == {
            "score:not-asked": 1,
            "llm:timeout": 1,
            "memory:unparseable": 12,
        }


def test_a_line_says_how_many_turns_of_whom_it_rests_on(train, test_data):
    with FakeLlm() as server:
        server.told["ann xxx"] = REFUSES
        make_endpoint(name="fake", base_url=server.base_url)
        found = evaluate_satisfaction(
            train=train, test=test_data, evaluators=["fake", "history_mean"], draws=50
        )
    raw, *_others, mean = found.rows
    assert (raw.turns, raw.users, raw.missing) == (12, 1, 12)
    assert (mean.turns, mean.users, mean.missing) == (24, 2, 0)
    assert raw.missing_by_code == {"memory:unparseable": 12}
    assert found.unscored == (Unscored("fake", 24, "memory:unparseable", 12),)
    assert [row.units.missing for row in found.few_users] == [9, 9, 9, 9, 8]
    assert raw.metrics[MetricName.MAE].interval is None


def test_users_without_a_history_have_nothing_near(train):
    dataset = make_rated_dataset("once")
    rater = make_rater(dataset, "new")
    turn = make_turn(make_session(dataset.scenarios.first()))
    make_rating(make_response(turn, text="alone", original=True), annotator=rater, score=4)
    found = evaluate_satisfaction(train=train, test=dataset, evaluators=["nearest_3"], draws=0)
    assert found.rows[0].missing_by_code == {"evaluation:no-history": 1}
    assert (found.rows[0].turns, found.rows[0].missing) == (24, 1)


def test_baselines_are_measured_where_the_money_ends(train, test_data):
    with FakeLlm() as server:
        name = make_endpoint(
            name="fake", base_url=server.base_url, input_price=1, output_price=1, max_tokens=20
        ).name
        names = ["history_mean", name, f"{name}:no-memory"]
        wanted = EvaluationRequest(train, test_data, names, draws=0, budget=Decimal("0.005"))
        run = run_to_end(start(plan_evaluation(wanted)).pk)
        assert (run.status, run.error_code) == ("DONE", "budget:spent")
        found = evaluation_of(run.pk)
        assert [row.name for row in found.rows] == ["history_mean"]
        assert {each.code for each in found.skipped} == {"budget:spent"}
        assert judges_runs().count() == 1  # the second judge was not begun
        set_budget(run.pk, Decimal(10))
        reset_failed(run.pk)
        assert run_to_end(run.pk).error_code == ""
        assert server.stats()["distinct"] == server.stats()["calls"] == 52  # each once
    assert len(evaluation_of(run.pk).rows) == 9
