"""Training on stored ratings: stored once, again when labels change."""

import pytest

from annotation.models import SatisfactionLabel
from judging.core.satisfaction_artefact import from_bytes
from judging.core.satisfaction_features import NAMES
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import VERSION, Settings, predict
from judging.models import LearnedModel
from judging.queries.satisfaction.labels import examples
from judging.services.learned import learned_model
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

QUICK = Settings(general=GeneralSettings(trees=4), folds=2)


@pytest.fixture
def dataset():
    return make_rated_dataset("rated", users=("ann", "bob", "cid", "dan"))


def test_examples_carry_the_first_score_and_its_reason(dataset, django_assert_num_queries):
    with django_assert_num_queries(6):
        found = examples(dataset_id=dataset.pk)
    assert len(found) == 8
    assert found[0].scores == (5, 5, 4, 4, 3, 2)
    assert [reason and reason.value for reason in found[0].reasons] == [None] * 4 + ["OTHER"] * 2


def test_a_model_is_stored_with_what_it_was_trained_on(dataset):
    model = learned_model(dataset=dataset, settings=QUICK)
    assert (model.version, model.method) == (1, VERSION)
    kept = model.manifest
    assert (kept["dataset"], kept["users"]) == ("rated", ["ann", "bob", "cid", "dan"])
    assert (kept["turns"], kept["dissatisfied"], kept["reasons"]) == (48, 20, 20)
    assert (kept["seed"], kept["folds"], kept["method"]) == (42, 2, VERSION)
    assert kept["settings"]["general"]["trees"] == 4
    assert kept["features"] == list(NAMES)
    assert set(kept["libraries"]) == {"python", "numpy", "scipy", "scikit-learn"}
    newest = SatisfactionLabel.objects.latest("updated_at").updated_at
    assert kept["ratings"] == {"count": 48, "newest": newest.isoformat()}
    assert len(model.held_out["expected"]) == len(model.held_out["gold"]) == 48
    blocks = [one.block for one in examples(dataset_id=dataset.pk)]
    found = predict(from_bytes(bytes(model.artefact)), blocks)
    assert [len(one) for one in found] == [6] * 8
    assert str(model) == f"{dataset.pk} v1"


def test_the_stored_model_serves_until_a_label_changes(dataset):
    first = learned_model(dataset=dataset, settings=QUICK)
    assert learned_model(dataset=dataset, settings=QUICK) == first
    label = SatisfactionLabel.objects.earliest("id")
    label.score, label.reason = 1, "UNUSABLE"
    label.save()
    second = learned_model(dataset=dataset, settings=QUICK)
    assert second.version == 2
    assert LearnedModel.objects.count() == 2
    assert bytes(second.artefact) != bytes(first.artefact)


def test_too_few_users_store_nothing():
    with refuses("learned:too-few-ratings"):
        learned_model(dataset=make_rated_dataset("small"), settings=QUICK)
    assert not LearnedModel.objects.exists()


def test_other_settings_make_another_version(dataset):
    learned_model(dataset=dataset, settings=QUICK)
    other = Settings(general=GeneralSettings(trees=5), folds=2)
    assert learned_model(dataset=dataset, settings=other).version == 2
