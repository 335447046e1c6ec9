"""The learning curve on stored ratings: computed, kept, and found again by its datasets."""

import pytest

from benchmark.core.learning_curve import CurveOn
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction import CURVE_KIND, stored_curve
from benchmark.services.satisfaction_report import evaluate_learning_curve, stored_point
from judging.core.rules import Level
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.judging.ratings import make_ratings
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

QUICK = Settings(general=GeneralSettings(trees=2), folds=2)


@pytest.fixture
def train():
    return make_rated_dataset("train", users=("bob", "cid", "dan", "eve", "fay"))


def curve(train, test, **more):
    found = evaluate_learning_curve(
        train=train, test=test, draws=2, seed=1, bootstrap=20, settings=QUICK, **more
    )
    VerificationReport.objects.create(dataset=test, kind=CURVE_KIND, **found)
    return stored_curve(train=train.slug, test=test.slug)


def test_a_curve_is_kept_with_its_settings_and_read_back(train):
    test = make_rated_dataset("test", users=("ann", "bob"))
    seen = []
    found = curve(train, test, observer=seen.append)
    assert sum(seen) == 3 < len(seen)
    assert found.sizes == (4,)
    assert [(one.on, one.users, one.draws) for one in found.points] == [
        (CurveOn.HELD_OUT, 2, 1),  # five users in two groups: each predicted by 2 at least
        (CurveOn.HELD_OUT, 4, 2),
        (CurveOn.TEST, 4, 2),
        (CurveOn.TEST, 5, 1),
    ]
    # Bob rated in both datasets: only ann's twelve turns are of somebody new.
    assert [one.turns for one in found.points] == [60, 24, 24, 12]
    kept = VerificationReport.objects.get().rows
    assert [stored_point(one) for one in found.points] == kept
    assert (found.draws, found.seed, found.bootstrap) == (2, 1, 20)
    assert stored_curve(train="test", test="train") is None


def test_on_the_training_dataset_itself_nobody_is_new(train):
    found = curve(train, train)
    assert {one.on for one in found.points} == {CurveOn.HELD_OUT}


def test_too_few_users_keep_nothing():
    small = make_rated_dataset("small")
    with refuses("learned:too-few-ratings", match="there are 2"):
        curve(small, small)
    assert not VerificationReport.objects.exists()


def test_a_curve_of_sessions_is_made_of_sessions_and_stands_apart():
    """Five people hold two conversations in each of two scenarios and rate each as a whole."""
    whole = make_ratings(people=5, turns=2, sessions=True)
    found = evaluate_learning_curve(
        train=whole, test=whole, level=Level.SESSION, draws=1, seed=1, bootstrap=0, settings=QUICK
    )
    VerificationReport.objects.create(dataset=whole, kind=CURVE_KIND, **found)
    assert stored_curve(train=whole.slug, test=whole.slug) is None
    kept = stored_curve(train=whole.slug, test=whole.slug, whole=True)
    assert {one.users: one.turns for one in kept.points} == {2: 20, 4: 4}
