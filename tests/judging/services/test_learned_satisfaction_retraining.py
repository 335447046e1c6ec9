"""Training as a run, started by ratings that came to rest."""

from dataclasses import asdict
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import SatisfactionLabel
from judging.core.satisfaction_model import VERSION
from judging.models import JudgeRun, LearnedModel, RunKind, RunStatus
from judging.queries.satisfaction.blocks import ratings_digest
from judging.queries.satisfaction.learned import ratings_stamp
from judging.services import learned
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start_due_trainings
from judging.services.learned import AT_REST, PATIENCE, learned_model
from judging.services.run_requests import RunRequest
from judging.submission import submit
from judging.tasks import watch_ratings
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import make_user
from tests.judging.study import start_training

pytestmark = pytest.mark.django_db

SOON, LATER = timedelta(seconds=1), AT_REST + timedelta(seconds=1)


@pytest.fixture
def dataset():
    return make_rated_dataset("rated", users=("ann", "bob", "cid", "dan"))


def make_version(dataset):
    """The row of a training on the ratings as they are, without its numbers."""
    return LearnedModel.objects.create(
        dataset=dataset,
        version=1,
        method=VERSION,
        ratings_digest=ratings_digest(dataset_id=dataset.pk),
        settings=asdict(learned.Settings()),
        manifest={"ratings": ratings_stamp(dataset_id=dataset.pk).to_json()},
        artefact=b"",
    )


@pytest.fixture
def trained(dataset):
    return make_version(dataset)


def change_a_rating():
    label = SatisfactionLabel.objects.filter(score=5).first()
    label.score = 4
    label.save()


def test_a_run_trains_and_names_its_version(dataset):
    manager = make_user(role="MANAGER")
    run = run_to_end(start_training(dataset=dataset, created_by=manager).pk)
    assert (run.kind, run.status, run.created_by) == (RunKind.TRAIN, RunStatus.DONE, manager)
    assert run.learned_model.version == 1
    assert run.learned_model.manifest["figures"]["pearson_expected"] > 0


def test_asking_again_gives_the_run_that_is_under_way(dataset):
    first = start_training(dataset=dataset)
    assert start_training(dataset=dataset) == first
    run_to_end(first.pk)
    second = run_to_end(start_training(dataset=dataset).pk)
    assert second != first
    assert second.learned_model.version == 1  # the ratings are the same
    assert LearnedModel.objects.count() == 1


def test_too_few_ratings_end_the_run_with_a_reason():
    run = run_to_end(start_training(dataset=make_rated_dataset("small")).pk)
    assert (run.status, run.error_code) == (RunStatus.FAILED, "learned:too-few-ratings")
    assert not LearnedModel.objects.exists()


def test_new_ratings_start_a_training_once_they_are_at_rest(dataset, trained):
    change_a_rating()
    now = timezone.now()
    assert start_due_trainings(now=now + SOON) == []
    (run,) = start_due_trainings(now=now + LATER)
    assert (run.kind, run.created_by) == (RunKind.TRAIN, None)
    assert start_due_trainings(now=now + LATER) == []


def test_ratings_that_never_rest_are_trained_on_after_a_while(dataset, trained):
    now = timezone.now()
    late = now + PATIENCE + SOON
    SatisfactionLabel.objects.filter(pk=SatisfactionLabel.objects.first().pk).update(
        score=1, reason="OTHER", updated_at=late - SOON
    )
    assert start_due_trainings(now=now + PATIENCE / 2) == []
    assert len(start_due_trainings(now=late)) == 1


def test_ratings_that_were_tried_start_nothing_more(dataset, trained):
    change_a_rating()
    later = timezone.now() + LATER
    (run,) = start_due_trainings(now=later)
    JudgeRun.objects.filter(pk=run.pk).update(status=RunStatus.FAILED, error_code="run:crashed")
    assert start_due_trainings(now=later) == []


def test_a_rating_saved_as_it_was_starts_nothing(dataset, trained):
    SatisfactionLabel.objects.first().save()
    assert start_due_trainings(now=timezone.now() + LATER) == []


def test_ratings_taken_back_start_a_training(dataset, trained):
    SatisfactionLabel.objects.latest("pk").delete()
    assert len(start_due_trainings(now=timezone.now() + LATER)) == 1


def test_another_method_starts_a_training(dataset, trained):
    LearnedModel.objects.update(method=1)
    assert len(start_due_trainings(now=timezone.now() + LATER)) == 1


def test_a_dataset_that_nobody_trained_on_is_left_alone(dataset):
    assert start_due_trainings(now=timezone.now() + LATER) == []


def test_who_trains_at_the_same_time_gets_the_quicker_ones_version(dataset):
    """While one trains, somebody else stores the version of these ratings."""
    stored = []

    def be_quicker():
        if not stored:
            stored.append(make_version(dataset))

    assert learned_model(dataset=dataset, pulse=be_quicker) == stored[0]
    assert LearnedModel.objects.count() == 1


def test_the_watch_enqueues_what_it_started(dataset, trained, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = True
    change_a_rating()
    SatisfactionLabel.objects.update(updated_at=timezone.now() - LATER)
    watch_ratings()
    run = JudgeRun.objects.get(kind=RunKind.TRAIN)
    assert (run.status, run.learned_model.version) == (RunStatus.DONE, 2)
    assert [one.version for one in LearnedModel.objects.order_by("pk")] == [1, 2]


def test_a_training_is_dispatched_on_commit(dataset, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as callbacks:
        (run,) = submit(plan(RunRequest(kind=RunKind.TRAIN, dataset=dataset)))
    assert run.status == RunStatus.PENDING
    assert len(callbacks) == 1
