"""The learning curve on stored ratings: computed, kept, and found again by its datasets."""

import pytest

from benchmark.core.learning_curve import CurveOn
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction import stored_curve
from benchmark.services.satisfaction_report import evaluate_learning_curve, stored_point
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

QUICK = Settings(general=GeneralSettings(trees=2), folds=2)


@pytest.fixture
def train():
    return make_rated_dataset("train", users=("bob", "cid", "dan", "eve", "fay"))


def curve(train, test, **more):
    return evaluate_learning_curve(
        train=train, test=test, draws=2, seed=1, bootstrap=20, settings=QUICK, **more
    )


def test_a_curve_is_kept_with_its_settings_and_read_back(train):
    test = make_rated_dataset("test", users=("ann", "bob"))
    seen = []
    found = curve(train, test, observer=seen.append)
    assert len(seen) == 3
    assert found.sizes == (4,)
    assert [(one.on, one.users, one.draws) for one in found.points] == [
        (CurveOn.HELD_OUT, 2, 1),  # five users in two groups: each predicted by 2 at least
        (CurveOn.HELD_OUT, 4, 2),
        (CurveOn.TEST, 4, 2),
        (CurveOn.TEST, 5, 1),
    ]
    # Bob rated in both datasets: only ann's twelve turns are of somebody new.
    assert [one.turns for one in found.points] == [60, 24, 24, 12]
    kept = stored_curve(train="train", test="test")
    assert [stored_point(one) for one in kept.points] == [stored_point(one) for one in found.points]
    assert (kept.draws, kept.seed, kept.bootstrap) == (2, 1, 20)
    assert stored_curve(train="test", test="train") is None


def test_on_the_training_dataset_itself_nobody_is_new(train):
    found = curve(train, train)
    assert {one.on for one in found.points} == {CurveOn.HELD_OUT}


def test_too_few_users_keep_nothing():
    small = make_rated_dataset("small")
    with refuses("learned:too-few-ratings", match="there are 2"):
        curve(small, small)
    assert not VerificationReport.objects.exists()
