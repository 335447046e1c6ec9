"""Evaluating against a loopback LLM that scores a response 1 + length // 60, at most 5."""

from decimal import Decimal
from unittest.mock import Mock, patch

import pytest

from annotation.models import SatisfactionLabel
from annotation.queries.participants import names_of
from benchmark.core.metrics import MetricName
from benchmark.core.satisfaction_evaluation import EXPECTED, WHOLE
from benchmark.core.satisfaction_groups import BY_SCENARIO, GAINED
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction import evaluation_turns
from benchmark.queries.satisfaction_report import evaluation_of
from benchmark.services import evaluation_runs
from benchmark.services.evaluation_runs import (
    EvaluationRequest,
    estimate_evaluation,
    plan_evaluation,
)
from benchmark.services.satisfaction_evaluation import EvaluationData, measure, rated_turns
from judging.core.rules import Level
from judging.models import JudgeRun, RunUnit, SatisfactionJudgment
from judging.queries.runs import run_progress
from judging.services import runs
from judging.services.child_runs import choose_child
from judging.services.endpoints import set_budget
from judging.services.foreground import run_to_end
from judging.services.heartbeats import SupersededError
from judging.services.kinds import start
from judging.services.run_control import cancel, put_down, reset_failed
from tests.benchmark.evaluations import evaluate_satisfaction, judges_runs
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_rater,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_llm import FakeLlm
from tests.judging.study import dispatched, planned_satisfaction, start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

BASELINES = [
    "global_mean",
    "global_median",
    "global_majority",
    "history_mean",
    "history_median",
    "history_cdf",
]


def make_rated_dataset(slug, *, users=("ann", "bob")):
    """Each user rates six responses in each of two scenarios by their length, 1-5; bob one less."""
    dataset = make_dataset(slug=slug)
    scenarios = [make_scenario(dataset, position=place) for place in range(2)]
    for name in users:
        rater = make_rater(dataset, name)
        for scenario in scenarios:
            session = make_session(scenario)
            for score in (5, 5, 4, 4, 3, 2):
                text = f"{name} " + "x" * (60 * (score - 1))
                response = make_response(make_turn(session), text=text, original=True)
                own = score - (name == "bob")
                make_rating(
                    response, annotator=rater, score=own, reason="OTHER" if own < 4 else None
                )
    return dataset


@pytest.fixture
def train():
    return make_rated_dataset("train", users=("cid",))


@pytest.fixture
def test_data():
    return make_rated_dataset("test")


def by_name(found):
    return {(one.name, one.setting): one for one in found.rows}


def test_baselines_need_no_judge(train, test_data):
    found = evaluate_satisfaction(train=train, test=test_data, evaluators=BASELINES, draws=0)
    assert (found.users, found.turns, found.shared) == (2, 24, ())
    figures = by_name(found)
    assert list(figures) == [
        ("global_mean", "global"),
        ("global_median", "global"),
        ("global_majority", "global"),
        ("history_mean", "history"),
        ("history_median", "history"),
        ("history_cdf", "history"),
    ]
    assert all(one.turns == 24 for one in found.rows)
    # Training scores 5 5 4 4 3 2: mean 23/6 -> 4. |4 - y|: ann 1 1 0 0 1 2, bob 0 0 1 1 2 3.
    assert figures["global_mean", "global"].metrics[MetricName.MAE].value == 24 / 24
    # Ann's mean rounds to 4, bob's 17/6 to 3: 5 and 5 of six turns each.
    assert figures["history_mean", "history"].metrics[MetricName.MAE].value == 20 / 24
    assert not judges_runs().exists()


def test_a_judge_is_run_once_and_read_in_every_setting(train, test_data):
    with FakeLlm() as server:
        endpoint = make_endpoint(name="fake", base_url=server.base_url, has_logprobs=True)
        answers = []
        found = evaluate_satisfaction(
            train=train,
            test=test_data,
            evaluators=[endpoint.name],
            draws=50,
            observer=answers.append,
        )
        calls = server.stats()["calls"]
        again = evaluate_satisfaction(
            train=train, test=test_data, evaluators=[endpoint.name], draws=50
        )
        assert server.stats()["calls"] == calls == 28  # 4 memories, 24 turns
    assert sum(answers) == 28
    assert judges_runs().count() == 1
    assert again.rows == found.rows
    figures = by_name(found)
    assert list(figures) == [
        ("fake", "memory raw"),
        ("fake", "memory mean_shift"),
        ("fake", "memory cdf"),
        ("fake", "memory cdf_expected"),
    ]
    # Raw is ann's own score; bob's is one less throughout.
    raw = figures["fake", "memory raw"]
    assert raw.metrics[MetricName.MAE].value == 0.5
    assert raw.metrics[MetricName.WITHIN_USER_PEARSON].value == pytest.approx(1.0)
    assert raw.seconds > 0
    # The history has the distribution of the block, so CDF calibration gives every gold score.
    cdf = figures["fake", "memory cdf"]
    assert cdf.metrics[MetricName.MAE].value == 0.0
    stored = SatisfactionJudgment.objects.order_by("pk").values_list("calibrated", flat=True)
    assert list(stored) == [5, 5, 4, 4, 3, 2] * 2 + [4, 4, 3, 3, 2, 1] * 2


def test_the_embedded_judge_needs_nothing_else(train, test_data):
    found = evaluate_satisfaction(train=train, test=test_data, evaluators=["lexical"], draws=0)
    assert [one.setting for one in found.rows] == [
        "memory raw",
        "memory mean_shift",
        "memory cdf",
        "memory cdf_expected",
    ]
    assert {(one.name, one.turns, one.missing) for one in found.rows} == {("lexical", 24, 0)}


def test_reasons_and_gains_stand_behind_a_judge(train, test_data):
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        found = evaluate_satisfaction(train=train, test=test_data, evaluators=["fake"], draws=40)
    raw = found.rows[0].details
    # The fake judge gives ann's scores: |error| 0 and 1 for ann and bob. The means of their
    # histories round to 4 and 3 and miss by 20/24 (above).
    assert raw.gains[MetricName.MAE].value == pytest.approx(12 / 24 - 20 / 24)
    assert raw.reasons is not None
    # Dissatisfied with a reason, by scenario: ann 2 turns, bob 4; the judge calls 2 and 2 so.
    assert sum(map(sum, raw.reasons.table)) == 24
    assert raw.reasons.both == 8
    assert [one.users for one in raw.scenarios] == [2, 2]
    assert [one.stated for one in raw.users] == [pytest.approx(23 / 6), pytest.approx(17 / 6)]


def test_the_no_memory_judge_is_an_evaluator_of_its_own(train, test_data):
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        found = evaluate_satisfaction(
            train=train, test=test_data, evaluators=["fake:no-memory"], draws=0
        )
        assert server.stats()["calls"] == 24
    assert {one.setting.rpartition(" ")[0] for one in found.rows} == {"no memory"}


def test_what_was_measured_is_kept(train, test_data):
    found = evaluate_satisfaction(
        train=train, test=test_data, evaluators=["history_mean"], seed=7, draws=20
    )
    report = VerificationReport.objects.get(pk=found.chosen.id)
    assert (report.dataset, report.kind) == (test_data, "satisfaction")
    assert report.settings == {
        "train": "train",
        "test": "test",
        "evaluators": ["history_mean"],
        "level": "TURN",
        "seed": 7,
        "draws": 20,
        "reference": "history_mean",
        "users": 2,
        "turns": 24,
        "shared": [],
        "skipped": [],
        "learned_version": None,
        "training": None,
    }
    (row,) = report.rows
    metric = found.rows[0].metrics[MetricName.MAE]
    assert row["whole"]["mae"] == {
        "value": metric.value,
        "undefined": None,
        "low": None,
        "high": None,
    }
    assert row["whole"]["within_user_pearson"]["undefined"] == "CONSTANT_PREDICTION"
    assert row["gains"]["mae"] == {"value": 0.0, "low": None, "high": None, "p": None}
    assert [(one["name"], one["turns"]) for one in row["users"]] == [("ann", 12), ("bob", 12)]
    assert [one["turns"] for one in row["scenarios"]] == [12, 12]
    assert row["reasons"] is None


def test_users_of_both_datasets_are_named():
    train = make_rated_dataset("one", users=("ann", "cid"))
    test = make_rated_dataset("two", users=("ann",))
    found = evaluate_satisfaction(train=train, test=test, evaluators=["global_mean"], draws=0)
    assert found.shared == ("ann",)


@pytest.mark.parametrize("slug", ["train", "again"])
def test_no_label_of_a_user_who_taught_reaches_a_learned_score_of_theirs(slug):
    """Ann teaches and is tested, under another account or not: all she taught was 1, or 5."""
    train = make_rated_dataset("train", users=("ann", "cid", "dan", "eve", "fay"))
    test = train if slug == "train" else make_rated_dataset(slug, users=("ann", "gil"))
    taught = SatisfactionLabel.objects.filter(
        response__turn__session__dataset=train, annotator__username__endswith="ann"
    )
    targets = taught.filter(response__turn__session__scenario__position=0)
    changed = targets if slug == "train" else taught
    seen = []
    for score, reason in ((1, "UNUSABLE"), (5, None)):
        changed.update(score=score, reason=reason)
        asked = evaluation_turns(test.pk)
        data = EvaluationData(train, test, evaluation_turns(train.pk), asked)
        names = names_of(dataset=test)
        seen.append(
            {
                names[block.user]: own
                for own, block in zip(data.learned.test, asked.gold, strict=True)
                if block.scenario == asked.gold[0].scenario
            }
        )
    assert seen[0]["ann"] == seen[1]["ann"]
    assert seen[0] != seen[1]  # others learn from her


def test_a_name_that_nobody_has(train, test_data):
    with refuses("judge:unknown"):
        evaluate_satisfaction(train=train, test=test_data, evaluators=["nobody"])


@pytest.mark.parametrize("empty", ["train", "test"])
def test_a_dataset_without_ratings(train, empty):
    bare = make_dataset()
    given = {"train": train, "test": train} | {empty: bare}
    with refuses("run:no-ratings", match=bare.slug):
        evaluate_satisfaction(**given, evaluators=["history_mean"])


def test_a_run_that_fails_says_so(train, test_data):
    with FakeLlm(faults={"401": 1.0}) as server:
        make_endpoint(name="fake", base_url=server.base_url)
        with refuses("run:failed", match="llm:refused-key"):
            evaluate_satisfaction(train=train, test=test_data, evaluators=["fake"], draws=0)


def test_nearest_and_learned_need_no_judge(test_data):
    train = make_rated_dataset("four", users=("cid", "dan", "eve", "fay"))
    names = ["nearest_1", "nearest_20", "learned"]
    found = evaluate_satisfaction(train=train, test=test_data, evaluators=names, draws=0)
    assert list(by_name(found)) == [
        ("nearest_1", "history"),
        ("nearest_20", "history"),
        ("learned", "trained"),
    ]
    assert all(one.turns == 24 and one.seconds > 0 for one in found.rows)
    learned = found.rows[-1]
    # Users rate by length alone: what the learned evaluator learns of it orders the turns.
    assert learned.metrics[f"{MetricName.PEARSON}_expected"].value > 0.8
    assert found.skipped == ()
    assert not judges_runs().exists()


def test_what_cannot_be_trained_is_left_out_and_told(train, test_data):
    found = evaluate_satisfaction(
        train=train, test=test_data, evaluators=["learned", "history_mean"], draws=0
    )
    assert [one.name for one in found.rows] == ["history_mean"]
    (left_out,) = found.skipped
    assert (left_out.evaluator, left_out.code) == ("learned", "learned:too-few-ratings")
    assert left_out.detail.startswith("training needs 4 users")
    assert left_out.run is None


def test_what_was_measured_before_a_rating_changed_is_measured_again(train, test_data):
    wanted = EvaluationRequest(train, test_data, ["history_mean", "global_mean"], draws=0)
    run = start(plan_evaluation(wanted))
    following = dispatched(run)
    runs.run_batch(run.pk, following.generation, following.batches[0])
    put_down(run.pk, generation=following.generation)
    first = RunUnit.objects.get(run=run, position=0)
    assert (first.status, first.result["turns"]) == ("DONE", 24)
    rating = SatisfactionLabel.objects.filter(response__turn__session__dataset=test_data).first()
    rating.delete()
    other = RunUnit.objects.get(run=run, position=1)
    RunUnit.objects.filter(pk=other.pk).update(status="DONE", result=first.result)
    with patch.object(evaluation_runs, "rated_turns", wraps=rated_turns) as read:
        run_to_end(run.pk)
    assert read.call_count == 2  # of either dataset, for all evaluators
    found = evaluation_of(run.pk)
    assert (found.turns, [row.turns for row in found.rows]) == (23, [23, 23])


def test_all_judges_share_the_budget_and_more_money_goes_on(train, test_data):
    with FakeLlm() as server:
        name = make_endpoint(
            name="fake", base_url=server.base_url, input_price=1, output_price=1, max_tokens=20
        ).name
        asked = {"train": train, "test": test_data, "evaluators": [name, f"{name}:no-memory"]}
        estimated = estimate_evaluation(EvaluationRequest(**asked, draws=0))
        assert len(estimated) == 2
        run = start(plan_evaluation(EvaluationRequest(**asked, draws=0, budget=Decimal("0.02"))))
        spent = run_to_end(run.pk)
        assert (spent.status, spent.error_code) == ("FAILED", "budget:spent")
        paid = server.stats()["calls"]
        assert 0 < paid < 52
        assert spent.held <= Decimal("0.02")
        assert not VerificationReport.objects.exists()
        set_budget(run.pk, Decimal(10))
        reset_failed(run.pk)
        done = run_to_end(run.pk)
        assert server.stats()["distinct"] == server.stats()["calls"] == 52  # 28 and 24, each once
    assert done.status == "DONE"
    progress = run_progress(run.pk)
    assert (progress.calls, progress.answered, progress.total) == (52, 4, 4)
    assert progress.cost <= sum(one.cost_at_most for one in estimated)
    assert len(evaluation_of(run.pk).rows) == 8


def test_a_judges_run_that_the_money_cut_short_is_not_taken_for_a_finished_one(train, test_data):
    """Neither by its name nor among those that are stored; nor is it taken up by a reset."""
    asked = {"train": train, "test": test_data, "draws": 0}
    with FakeLlm() as server:
        name = make_endpoint(name="fake", base_url=server.base_url).name
        short = start_satisfaction_run(dataset=test_data, judge=name)
        JudgeRun.objects.filter(pk=short.pk).update(status="DONE", error_code="budget:spent")
        found = evaluate_satisfaction(evaluators=["history_mean", "stored"], **asked)
        assert [one.name for one in found.rows] == ["history_mean"]
        evaluate_satisfaction(evaluators=[name], **asked)
    (unit,) = RunUnit.objects.filter(child__isnull=False)
    assert (unit.child == short, unit.child.status, unit.reused) == (False, "DONE", False)


def test_a_reset_leaves_the_runs_that_others_started_as_they_ended(train, test_data):
    run = start(plan_evaluation(EvaluationRequest(train, test_data, ["lexical"], draws=0)))
    theirs = start_satisfaction_run(dataset=test_data, judge="lexical")
    RunUnit.objects.filter(run=run, position=0).update(child=theirs, reused=True)
    JudgeRun.objects.filter(pk__in=[run.pk, theirs.pk]).update(status="CANCELLED")
    reset_failed(run.pk)
    theirs.refresh_from_db()
    unit = RunUnit.objects.get(run=run, position=0)
    assert (theirs.status, unit.child, unit.reused) == ("CANCELLED", None, False)


def test_whoever_lost_a_run_starts_no_child_for_it(train, test_data):
    run = start(plan_evaluation(EvaluationRequest(train, test_data, ["lexical"], draws=0)))
    dispatched(run)
    taken_over = JudgeRun.objects.get(pk=run.pk)
    mine, late = (RunUnit.objects.get(run=run, position=0) for _ in range(2))
    wanted = planned_satisfaction(dataset=test_data, judge="lexical")
    choose_child(taken_over, mine, wanted)
    choose_child(taken_over, late, planned_satisfaction(dataset=test_data, judge="lexical"))
    assert (late.child, late.reused) == (mine.child, False)
    assert cancel(run.pk)
    mine.child.refresh_from_db()
    assert mine.child.status == "CANCELLED"
    RunUnit.objects.filter(pk=mine.pk).update(child=None)
    with pytest.raises(SupersededError):
        choose_child(taken_over, mine, planned_satisfaction(dataset=test_data, judge="lexical"))
    assert judges_runs().count() == 1


def test_measuring_gives_a_sign_of_life_between_metrics(train, test_data):
    """Each of them takes a bootstrap of its own: minutes with many users."""
    data = EvaluationData(
        train_dataset=train,
        test_dataset=test_data,
        train=rated_turns(train, Level.TURN),
        test=rated_turns(test_data, Level.TURN),
        pulse=(pulse := Mock()),
    )
    measure("history_mean", data, seed=1, draws=0)
    assert pulse.call_count >= len(WHOLE) + len(EXPECTED) + len(GAINED) + 2 * len(BY_SCENARIO)


def test_a_run_that_the_estimate_counted_as_finished_is_paid_for_no_second_time(train, test_data):
    """It is kept at the start: a rating that changes has nobody asked again."""
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        finished = run_to_end(start_satisfaction_run(dataset=test_data, judge="fake").pk)
        calls = server.stats()["calls"]
        asked = EvaluationRequest(train=train, test=test_data, evaluators=["fake"], draws=0)
        assert estimate_evaluation(asked) == []
        run, other = (start(plan_evaluation(asked._replace(seed=seed))) for seed in (1, 2))
        unit = RunUnit.objects.get(run=run, position=0)
        assert (unit.child, unit.reused) == (finished, True)
        SatisfactionLabel.objects.filter(annotator__username="test:ann", score=2).update(score=1)
        assert run_to_end(run.pk).status == "DONE"
        assert server.stats()["calls"] == calls
        other.units.filter(position=0).update(child=None)  # as deleting the run leaves it
        ended = run_to_end(other.pk)
        assert (ended.status, ended.error_code) == ("FAILED", "evaluation:run-gone")
        assert server.stats()["calls"] == calls
