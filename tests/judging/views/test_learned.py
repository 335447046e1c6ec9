"""The pages of the learned evaluator, and asking for a training."""

from __future__ import annotations

import pytest

from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.models import JudgeRun, LearnedModel, RunKind
from judging.services.learned import learned_model
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import make_run, make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db

PAGE, TRAIN = "/datasets/rated/learned/", "/datasets/rated/learned/train/"
VERSION_1 = f"{PAGE}1/"
QUICK = Settings(general=GeneralSettings(trees=2), folds=2)


@pytest.fixture
def dataset():
    return make_rated_dataset("rated", users=("ann", "bob", "cid", "dan"))


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.mark.parametrize("address", [PAGE, VERSION_1])
def test_strangers_sign_in_first(client, dataset, address):
    answer = client.get(address)
    assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind(client, dataset):
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (PAGE, VERSION_1)] == [403, 403]


def test_pages_are_only_read_and_training_is_only_asked_for(manager, dataset):
    assert [manager.post(address).status_code for address in (PAGE, VERSION_1)] == [405, 405]
    assert manager.get(TRAIN).status_code == 405


def test_only_managers_train(client, dataset):
    client.force_login(make_user(role="VIEWER"))
    assert "<form" not in tight(client.get(PAGE)).partition("<main")[2]
    assert client.post(TRAIN).status_code == 403
    assert not JudgeRun.objects.exists()


def test_before_the_first_training_the_page_says_what_it_takes(manager, dataset):
    shown = tight(manager.get(PAGE))
    assert "No versions yet" in shown
    assert "There are 48 ratings so far." in shown
    assert ">Train</button>" in shown


def test_asking_leads_to_the_run_that_trains(manager, dataset):
    answer = manager.post(TRAIN)
    run = JudgeRun.objects.get(kind=RunKind.TRAIN)
    assert (answer.status_code, answer.url) == (302, f"/runs/{run.pk}/")
    shown = tight(manager.get(PAGE))
    assert f"Training in progress: run {run.pk}." in shown
    assert ">Train</button>" not in shown
    JudgeRun.objects.update(status="RUNNING")
    told = tight(manager.post(TRAIN, follow=True))
    assert "The evaluator is already being trained." in told
    assert JudgeRun.objects.count() == 1


def test_a_failed_training_says_why(manager, dataset):
    make_run(dataset, kind=RunKind.TRAIN, status="FAILED", error_code="learned:too-few-ratings")
    assert "There are too few ratings to learn from" in tight(manager.get(PAGE))


def test_versions_stand_with_their_figures(manager, dataset, django_assert_num_queries):
    model = learned_model(dataset=dataset, settings=QUICK)
    # Session, user, dataset, versions, ratings, run, a stamp of turns and one of whole sessions.
    with django_assert_num_queries(8):
        answer = manager.get(PAGE)
    shown = tight(answer)
    assert '>Version 1</a><span class="tag">current</span>' in shown
    figure = model.manifest["figures"]["pearson_expected"]
    assert f'<td class="n">{figure:.3f}</td>'.replace("-", "−") in shown
    assert "Train again" not in shown


def test_changed_ratings_are_told_and_can_be_trained_on(manager, dataset):
    learned_model(dataset=dataset, settings=QUICK)
    LearnedModel.objects.update(ratings_digest="other")
    shown = tight(manager.get(PAGE))
    assert "Ratings have changed since the newest version." in shown
    assert "Train again" in shown
    assert '<span class="tag">current' not in shown


def test_a_version_shows_what_made_it_and_who_used_it(manager, dataset, django_assert_num_queries):
    model = learned_model(dataset=dataset, settings=QUICK)
    run = make_run(dataset, kind=RunKind.TRAIN, learned_model=model)
    with django_assert_num_queries(5):  # session, user, dataset, version, runs
        answer = manager.get(VERSION_1)
    shown = tight(answer)
    assert "<dt>scikit-learn</dt>" in shown
    assert "ann, bob, cid, dan" in shown
    assert "48<span" in shown
    assert "general.trees" in shown
    assert f"run {run.pk}</a>" in shown
    assert "Version 1" in tight(manager.get(f"/runs/{run.pk}/"))
    assert "Too few users for intervals: about 6 more are needed." in shown
    model.manifest |= {"users": [f"user {number}" for number in range(10)], "effective_users": 9.5}
    model.manifest["intervals"]["mae"] = {"low": 0.125, "high": 0.875}
    model.save()
    shown = tight(manager.get(VERSION_1))
    assert "0.125 … 0.875" in shown
    assert "bootstrap over users, 1000 draws, seed 42" in shown
    model.manifest |= {"effective_users": 1.5, "largest_user": 0.8}
    model.save()
    shown = tight(manager.get(VERSION_1))
    assert "One user holds most of the rows. Too few users for intervals: about 30 more" in shown


def test_a_version_of_before_has_figures_without_intervals(manager, dataset):
    model = learned_model(dataset=dataset, settings=QUICK)
    del model.manifest["intervals"]
    model.save()
    shown = tight(manager.get(VERSION_1))
    assert f"{model.manifest['figures']['mae']:.3f}</td>" in shown
    assert "bootstrap over users" not in shown


@pytest.mark.parametrize("address", ["/datasets/other/learned/", f"{PAGE}7/"])
def test_what_does_not_exist_is_not_found(manager, dataset, address):
    assert manager.get(address).status_code == 404


def test_nothing_is_trained_on_a_dataset_that_does_not_exist(manager):
    assert manager.post("/datasets/other/learned/train/").status_code == 404
