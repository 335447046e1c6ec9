"""The learned evaluator stacked on a judge behind a loopback server: one that knows, one that not.

Users like words that say nothing to the learned evaluator: every response has its own, and its
score hangs on a mark that only the judge was told of.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict

import pytest

from annotation.core.choices import JudgmentStatus
from annotation.models import SatisfactionLabel
from benchmark.core.metrics import MetricName
from benchmark.queries.satisfaction import evaluation_turns, judged_turns
from benchmark.services.evaluators import predict_learned, predict_stacked
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.models import JudgeRun, LearnedModel, RunStatus, SatisfactionJudgment
from judging.services.learned import learned_model
from judging.services.satisfaction import write_satisfaction
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
from tests.judging.study import planned_satisfaction
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

SENTENCE = "We take the train to the museum and have soup at noon."


def draw(*parts):
    """A number of 0-1 that nobody can guess from the words."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32


def make_people(slug, users):
    """Each user rates six responses of one wording in each of two scenarios, 2-5 at random."""
    dataset = make_dataset(slug=slug)
    scenarios = [make_scenario(dataset, position=place) for place in range(2)]
    for name in users:
        rater = make_rater(dataset, name)
        for scenario in scenarios:
            session = make_session(scenario)
            for place in range(6):
                score = 2 + int(4 * draw(slug, name, scenario.position, place))
                response = make_response(
                    make_turn(session, user_message="Plan a day."), text=SENTENCE, original=True
                )
                make_rating(
                    response,
                    annotator=rater,
                    score=score,
                    reason="OTHER" if score < 4 else None,
                )
    return dataset


@pytest.fixture
def train():
    """Training users with an evaluator of few trees that stands in for the usual one."""
    dataset = make_people("train", [f"t{number}" for number in range(6)])
    quick = Settings(general=GeneralSettings(trees=2), folds=2)
    model = learned_model(dataset=dataset, settings=quick)
    LearnedModel.objects.filter(pk=model.pk).update(settings=asdict(Settings()))
    return dataset


@pytest.fixture
def test_data():
    return make_people("test", [f"u{number}" for number in range(5)])


@pytest.fixture
def judge():
    with FakeLlm() as server:
        yield make_endpoint(name="fake", base_url=server.base_url)


def judged(dataset, judge, *, knows):
    """A finished run whose scores are the users' own within one, or drawn at random."""
    run = planned_satisfaction(dataset=dataset, judge=judge.name)
    run.status = RunStatus.DONE
    run.save()
    write_satisfaction(run)
    said = dict(SatisfactionLabel.objects.values_list("response_id", "score"))
    rows = list(SatisfactionJudgment.objects.filter(run=run))
    for row in rows:
        noise = 2 * draw(dataset.slug, row.response_id, "noise") - 1
        row.status = JudgmentStatus.DONE
        row.expected_score = said[row.response_id] + noise if knows else 3 + 2 * noise
        row.score = min(5, max(1, round(row.expected_score)))
    SatisfactionJudgment.objects.bulk_update(rows, ["status", "score", "expected_score"])


def evaluated(train, test_data):
    found = evaluate_satisfaction(
        train=train, test=test_data, evaluators=["learned", "learned+fake"], draws=0
    )
    assert [(one.name, one.setting) for one in found.rows] == [
        ("learned", "trained"),
        ("learned+fake", "memory"),
    ]
    return found


def test_a_judge_that_knows_adds_to_what_was_learned(train, test_data, judge):
    for dataset in (train, test_data):
        judged(dataset, judge, knows=True)
    runs = judges_runs().count()
    found = evaluated(train, test_data)
    alone, stacked = found.rows
    assert judges_runs().count() == runs  # both runs were there already
    assert stacked.turns == alone.turns == 60
    name = MetricName.PEARSON
    assert stacked.metrics[f"{name}_expected"].value > alone.metrics[f"{name}_expected"].value + 0.3
    assert stacked.metrics[MetricName.MAE].value < alone.metrics[MetricName.MAE].value
    assert found.rows[1].details.chances.error.value < 0.25
    assert found.rows[1].details.likely is not None


def test_a_judge_that_knows_nothing_takes_nothing_away(train, test_data, judge):
    for dataset in (train, test_data):
        judged(dataset, judge, knows=False)
    alone, stacked = evaluated(train, test_data).rows
    name = MetricName.RMSE
    assert (
        stacked.metrics[f"{name}_expected"].value < alone.metrics[f"{name}_expected"].value * 1.03
    )


def test_the_judge_is_asked_about_both_datasets_where_nothing_is_stored(train, test_data, judge):
    evaluated(train, test_data)
    assert set(judges_runs().values_list("dataset__slug", "judge")) == {
        ("train", "fake"),
        ("test", "fake"),
    }


def test_no_label_of_the_scored_turns_reaches_a_stacked_score(train, test_data, judge):
    """The labels of one test scenario are sentinels, one value or another: nothing may differ."""
    for dataset in (train, test_data):
        judged(dataset, judge, knows=True)
    target = SatisfactionLabel.objects.filter(
        response__turn__session__dataset=test_data,
        response__turn__session__scenario__position=0,
    )
    seen = []
    for score, reason in ((1, "UNUSABLE"), (5, None)):
        target.update(score=score, reason=reason)
        judged_now = JudgeRun.objects.filter(dataset=test_data).latest("pk")
        seen.append(stacked_scores(train, test_data, judged_now))
    assert seen[0] == seen[1]


def stacked_scores(train, test_data, run):
    """All that the stacked evaluator says of the first scenario's turns, from stored rows."""
    taught, asked = evaluation_turns(train.pk), evaluation_turns(test_data.pk)
    learned = predict_learned(train=train, training=taught.gold, test=asked.blocks)
    trained = JudgeRun.objects.filter(dataset=train, judge="fake").latest("pk")
    found = predict_stacked(
        learned,
        training=taught.gold,
        judged_training=judged_turns(trained.pk, taught.stored),
        judged_test=judged_turns(run.pk, asked.stored),
        asked=[block.user for block in asked.gold],
    )
    scenario = asked.gold[0].scenario
    return [own for own, block in zip(found, asked.gold, strict=True) if block.scenario == scenario]


@pytest.mark.parametrize("name", ["learned+learned", "learned+fake:few-shot"])
def test_what_may_have_seen_the_labels_is_not_stacked_on(train, test_data, judge, name):
    with refuses("learned:cannot-stack"):
        evaluate_satisfaction(train=train, test=test_data, evaluators=[name], draws=0)


@pytest.mark.parametrize("name", ["train", "again"])
def test_nobody_who_taught_is_asked_about(train, judge, name):
    """What others are expected to say was learned from them, and the judge is weighed by that."""
    test_data = train if name == "train" else make_people("again", ["t0", "u1"])
    with refuses("learned:tested-teachers"):
        evaluate_satisfaction(train=train, test=test_data, evaluators=["learned+fake"], draws=0)
    assert not judges_runs().exists()  # nothing was asked
    turns = evaluation_turns(train.pk)
    learned = predict_learned(train=train, training=turns.gold, test=turns.blocks[:2])
    with refuses("learned:tested-teachers"):
        predict_stacked(
            learned,
            training=turns.gold,
            judged_training=(),
            judged_test=(),
            asked=[turns.gold[0].user],
        )
