from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from annotation.models import Dataset
from judging.models import JudgeRun
from judging.services import kinds
from judging.services.run_control import cancel, reopen, reset_failed
from judging.services.run_requests import start_once
from tests.factory import make_dataset, make_endpoint, make_run
from tests.judging.study import (
    make_study,
    planned_distillation,
    start_distillation,
    start_test_run,
    start_training,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def start(study, **options):
    dataset, rater = study
    return start_distillation(dataset=dataset, annotator=rater, judge="lexical", **options)


def test_an_equal_run_is_attached_to_and_another_is_not():
    dataset, rater = study = make_study()
    first, second = start(study), start(study)
    assert (second.pk, first.attached, second.attached) == (first.pk, False, True)
    other = start_test_run(dataset=dataset, annotator=rater, judge="lexical", with_sets=False)
    assert not other.attached
    assert not start(study, for_ablation=True).attached
    assert not start(make_study()).attached


def test_started_again_a_run_is_anew_and_others_attach_to_it():
    study = make_study()
    first = start(study)
    second = start(study, again=True)
    assert (second.pk > first.pk, second.attached) == (True, False)
    assert start(study).pk == second.pk
    assert JudgeRun.objects.count() == 2


def test_a_run_planned_before_its_dataset_was_deleted_does_not_start():
    dataset, rater = make_study()
    planned = planned_distillation(dataset=dataset, annotator=rater, judge="lexical")
    Dataset.objects.filter(pk=dataset.pk).update(archived_at=timezone.now())
    with refuses("dataset:archived"):
        kinds.start(planned)
    assert not JudgeRun.objects.exists()


def test_a_finished_run_is_not_attached_to():
    study = make_study()
    first = start(study)
    cancel(first.pk)
    assert start(study).pk != first.pk


def test_a_run_does_not_go_on_beside_an_equal_one():
    study = make_study()
    first = start(study)
    cancel(first.pk)
    start(study)
    for go_on in (reopen, reset_failed):
        with refuses("run:equal-under-way"):
            go_on(first.pk)
    first.refresh_from_db()
    assert first.status == "CANCELLED"


def test_the_budget_of_who_attaches_becomes_that_of_the_run():
    dataset, rater = make_study()
    judge = make_endpoint(input_price=1, output_price=1).name
    for budget in (Decimal(1), None, Decimal(2)):
        run = start_distillation(dataset=dataset, annotator=rater, judge=judge, budget=budget)
    run.refresh_from_db()
    assert run.budget == Decimal(2)


@pytest.mark.parametrize("status", ["PENDING", "RUNNING", "BATCH"])
def test_the_database_lets_one_of_equal_runs_be_under_way(status):
    make_run(plan="p", status="PENDING")
    make_run(plan="p", status="DONE")
    make_run(plan="", status=status)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_run(plan="p", status=status)


@pytest.mark.django_db(transaction=True)
def test_of_equal_runs_that_start_at_the_same_moment_one_is_made():
    study = make_study()
    together = Barrier(2, timeout=20)

    def one(_number):
        try:
            run = planned_distillation(dataset=study[0], annotator=study[1], judge="lexical")
            together.wait()
            return kinds.start(run)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(one, range(2))
    assert (first.pk, first.attached) == (second.pk, not second.attached)


@pytest.mark.django_db(transaction=True)
def test_a_run_that_starts_while_its_dataset_is_deleted_waits_and_is_refused():
    dataset, rater = make_study()
    planned = planned_distillation(dataset=dataset, annotator=rater, judge="lexical")

    def start_it():
        try:
            with refuses("dataset:archived"):
                kinds.start(planned)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            row = Dataset.objects.select_for_update().get(pk=dataset.pk)
            starting = threads.submit(start_it)
            with pytest.raises(TimeoutError):
                starting.result(timeout=1)
            Dataset.objects.filter(pk=row.pk).update(archived_at=timezone.now())
        starting.result(timeout=20)
    assert not JudgeRun.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_who_starts_several_runs_and_who_starts_one_of_them_never_wait_for_each_other():
    dataset = make_dataset()

    def start_one(judge):
        wanted = JudgeRun(kind="TEST", dataset=dataset, judge=judge)
        return start_once(wanted, lambda _run: None)

    def start_beside():
        try:
            return start_one("second")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            start_one("first")
            beside = threads.submit(start_beside)
            with pytest.raises(TimeoutError):
                beside.result(timeout=1)
            own = start_one("second")
        other = beside.result(timeout=20)
    assert (other.pk, other.attached, own.attached) == (own.pk, True, False)


def test_one_training_of_a_dataset_is_under_way_whatever_its_ratings():
    dataset = make_dataset()
    run = start_training(dataset=dataset)
    JudgeRun.objects.filter(pk=run.pk).update(config={"ratings": "older"})
    assert start_training(dataset=dataset).pk == run.pk
    assert start_training(dataset=make_dataset()).pk != run.pk
