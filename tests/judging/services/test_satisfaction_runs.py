import pytest

from annotation.models import SatisfactionLabel
from judging.core.calibration import Calibration
from judging.core.rules import SatisfactionSettings, Variant
from judging.models import JudgeRun, RunStatus, SatisfactionJudgment
from judging.services.run_requests import finished_like
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.judging.study import planned_satisfaction, start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return make_user()


@pytest.fixture
def dataset(user):
    """One user who rated two scenarios."""
    dataset = make_dataset()
    for _ in range(2):
        turn = make_turn(make_session(make_scenario(dataset)))
        make_rating(make_response(turn, original=True), annotator=user)
    return dataset


def test_a_run_says_what_it_was_asked(dataset, user):
    manager = make_user()
    settings = SatisfactionSettings(Calibration.MEAN_SHIFT, Variant.NO_MEMORY)
    run = start_satisfaction_run(
        dataset=dataset, judge="lexical", annotator=user, settings=settings, created_by=manager
    )
    assert (run.kind, run.judge, run.endpoint, run.annotator) == (
        "SATISFACTION",
        "lexical",
        None,
        user,
    )
    assert run.created_by == manager
    assert run.config["calibration"] == "MEAN_SHIFT"
    assert run.config["judge"]["judge"] == "lexical"
    assert run.satisfaction_judgments.count() == 2
    assert run.memories.count() == 0


def test_an_endpoint_is_kept_with_its_prompts(dataset):
    endpoint = make_endpoint()
    run = start_satisfaction_run(dataset=dataset, judge=endpoint.name)
    assert run.endpoint == endpoint
    assert run.config["judge"]["model"] == "test-model"
    assert run.config["judge"]["prompts"]


def test_asking_twice_gives_the_unfinished_run(dataset):
    first = start_satisfaction_run(dataset=dataset, judge="lexical")
    assert start_satisfaction_run(dataset=dataset, judge="lexical") == first
    assert SatisfactionJudgment.objects.count() == 2
    other = SatisfactionSettings(Calibration.RAW)
    assert start_satisfaction_run(dataset=dataset, judge="lexical", settings=other) != first
    JudgeRun.objects.update(status=RunStatus.DONE)
    assert start_satisfaction_run(dataset=dataset, judge="lexical") != first


def test_without_ratings_nothing_is_written():
    dataset = make_dataset()
    with refuses("run:no-ratings"):
        start_satisfaction_run(dataset=dataset, judge="lexical")
    assert not JudgeRun.objects.exists()


def test_a_judge_that_does_not_exist(dataset):
    with refuses("judge:unknown"):
        start_satisfaction_run(dataset=dataset, judge="nobody")


def test_a_finished_run_over_the_same_turns_need_not_be_repeated(dataset, user):
    run = start_satisfaction_run(dataset=dataset, judge="lexical")
    assert finished_like(planned_satisfaction(dataset=dataset, judge="lexical")) is None
    JudgeRun.objects.update(status=RunStatus.DONE)
    assert finished_like(planned_satisfaction(dataset=dataset, judge="lexical")) == run
    other = SatisfactionSettings(variant=Variant.NO_MEMORY)
    assert (
        finished_like(planned_satisfaction(dataset=dataset, judge="lexical", settings=other))
        is None
    )
    response = make_response(make_turn(make_session(dataset.scenarios.first())), original=True)
    make_rating(response, annotator=user)
    assert finished_like(planned_satisfaction(dataset=dataset, judge="lexical")) is None


def test_a_run_over_other_ratings_is_repeated(dataset):
    start_satisfaction_run(dataset=dataset, judge="lexical")
    JudgeRun.objects.update(status=RunStatus.DONE)
    SatisfactionLabel.objects.update(score=1, reason="OTHER")
    assert finished_like(planned_satisfaction(dataset=dataset, judge="lexical")) is None
