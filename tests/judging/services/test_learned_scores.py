"""A run of the learned evaluator: every user scored by what the others' ratings teach."""

import pytest

from annotation.models import SatisfactionLabel
from benchmark.queries.choices import dataset_of
from benchmark.queries.satisfaction import satisfaction_figures
from judging.core.satisfaction_model import from_text
from judging.core.targets import RunTarget, Targets
from judging.models import JudgeRun, LearnedModel, RunStatus, SatisfactionJudgment
from judging.queries.run_totals import scored_totals
from judging.queries.satisfaction.learned import steps_learned
from judging.services.batches import IdRange
from judging.services.foreground import run_to_end
from judging.services.run_requests import finished_like
from judging.services.runs import dispatch, run_batch
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.judging.study import planned_satisfaction, start_distillation, start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


EVERYTHING = Targets(kind=RunTarget.ALL)


@pytest.fixture
def dataset():
    return make_rated_dataset("rated", users=("ann", "bob", "cid", "dan"))


def scored(dataset, **more):
    return run_to_end(start_satisfaction_run(dataset=dataset, judge="learned", **more).pk)


def test_every_turn_has_the_held_out_prediction_of_its_user(dataset):
    run = scored(dataset)
    assert run.status == RunStatus.DONE
    model = LearnedModel.objects.get(dataset=dataset)
    rows = list(run.satisfaction_judgments.order_by("pk"))
    assert [row.score for row in rows] == model.held_out["scores"]
    assert [row.expected_score for row in rows] == model.held_out["expected"]
    assert [row.user_id for row in rows] == model.held_out["users"]
    assert [row.calibrated for row in rows] == model.held_out["scores"]
    assert {row.calibration for row in rows} == {"RAW"}
    assert [row.reason is None for row in rows] == [row.score >= 4 for row in rows]
    explained = [from_text(row.raw) for row in rows]
    assert [one.dissatisfied for one in explained] == model.held_out["dissatisfied"]
    # Within 1-5 an expectation is the mean of the others and its moves (kept to four places).
    for one, row in zip(explained, rows, strict=True):
        total = one.baseline + sum(one.moves.values())
        if 2 < total < 4:
            assert row.expected_score == pytest.approx(total, abs=2e-3)


def test_labels_that_arrive_train_it_again(dataset):
    first = scored(dataset)
    assert finished_like(planned_satisfaction(dataset=dataset, judge="learned")) == first
    label = SatisfactionLabel.objects.filter(score=5).first()
    SatisfactionLabel.objects.filter(pk=label.pk).update(score=4)
    assert finished_like(planned_satisfaction(dataset=dataset, judge="learned")) is None
    second = scored(dataset)
    assert second != first
    assert set(LearnedModel.objects.values_list("version", flat=True)) == {1, 2}


def test_one_user_alone_is_scored_by_what_all_others_teach(dataset):
    label = SatisfactionLabel.objects.filter(annotator__display_name="ann").first()
    run = scored(dataset, annotator=label.annotator)
    assert run.satisfaction_judgments.count() == 12
    assert LearnedModel.objects.get(dataset=dataset).manifest["turns"] == 48


def test_with_too_few_users_every_turn_says_why():
    run = scored(make_rated_dataset("small"))
    rows = SatisfactionJudgment.objects.filter(run=run)
    assert set(rows.values_list("status", "error_code")) == {("FAILED", "learned:too-few-ratings")}


def test_a_rating_taken_back_after_the_start_is_named(dataset):
    run = start_satisfaction_run(dataset=dataset, judge="learned")
    SatisfactionLabel.objects.filter(pk=SatisfactionLabel.objects.first().pk).delete()
    run_to_end(run.pk)
    failed = run.satisfaction_judgments.filter(status="FAILED")
    assert list(failed.values_list("error_code", flat=True)) == ["score:no-turn"]
    assert run.satisfaction_judgments.filter(status="DONE").count() == 47
    totals = scored_totals([run.pk])
    assert (totals["failed"], totals["errors"]) == (0, {"score:no-turn": 1})
    figures = satisfaction_figures(dataset_of(dataset.slug), user=None, seed=0, until=None)
    assert (figures.failed, figures.turns) == (0, 47)


def test_it_judges_no_pairs(dataset):
    annotator = SatisfactionLabel.objects.first().annotator
    with refuses("judge:unknown"):
        start_distillation(dataset=dataset, annotator=annotator, judge="learned")


def test_other_targets_are_scored_in_parts_that_stay_and_others_come_between(dataset):
    run = start_satisfaction_run(dataset=dataset, judge="learned", targets=EVERYTHING)
    whole = IdRange(0, 0)
    following = dispatch(run.pk)
    seen, shown = [], []
    for _ in range(5):  # the training, then each user's group
        assert following.batches == (whole,)  # its turn comes after what others queued meanwhile
        following = run_batch(run.pk, following.generation, whole)
        run.refresh_from_db()
        seen.append(run.satisfaction_judgments.filter(status="DONE").count())
        shown.append(steps_learned(run))
    # Four groups of users: the training has ten steps, and each group six.
    assert seen == [0, 12, 24, 36, 48]
    assert shown == [(10, 34), (16, 34), (22, 34), (28, 34), None]
    assert run_batch(run.pk, following.generation, whole) is None  # calibrated, and done
    assert JudgeRun.objects.get(pk=run.pk).status == RunStatus.DONE


def test_what_was_scored_stays_when_the_run_goes_on(dataset):
    run = start_satisfaction_run(dataset=dataset, judge="learned", targets=EVERYTHING)
    following = dispatch(run.pk)
    for _ in range(2):
        following = run_batch(run.pk, following.generation, IdRange(0, 0))
    done = dict(run.satisfaction_judgments.filter(status="DONE").values_list("pk", "updated_at"))
    assert len(done) == 12
    again = dispatch(run.pk)  # whoever was at it died
    run.refresh_from_db()
    assert run_batch(run.pk, following.generation, IdRange(0, 0)) is None
    following = run_batch(run.pk, again.generation, IdRange(0, 0))
    run.refresh_from_db()
    assert steps_learned(run) == (22, 34)
    rows = run.satisfaction_judgments.filter(status="DONE")
    assert rows.count() == 24
    assert dict(rows.filter(pk__in=done).values_list("pk", "updated_at")) == done


def test_scores_of_two_versions_never_stand_side_by_side(dataset):
    run = start_satisfaction_run(dataset=dataset, judge="learned", targets=EVERYTHING)
    following = dispatch(run.pk)
    for _ in range(2):
        following = run_batch(run.pk, following.generation, IdRange(0, 0))
    label = SatisfactionLabel.objects.filter(score=5).first()
    SatisfactionLabel.objects.filter(pk=label.pk).update(score=4)
    run_batch(run.pk, following.generation, IdRange(0, 0))
    run.refresh_from_db()
    assert run.learned_model.version == 2
    assert set(run.satisfaction_judgments.values_list("status", flat=True)) == {"PENDING"}
