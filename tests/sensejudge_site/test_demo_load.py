"""Loading the demo study fills a database once, whatever has happened to it since."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.core.choices import StudyKind
from annotation.models import (
    AnnotatorProfile,
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    Study,
    StudyStatus,
    Turn,
    User,
)
from annotation.queries.assignment import next_free_item
from sensejudge_site.demo import SLUG
from sensejudge_site.demo.accounts import ANNOTATOR
from sensejudge_site.demo.annotators import PERSONAS
from sensejudge_site.demo.load import STUDIES, _arrivals, load
from tests.benchmark.stage import Stage
from tests.factory import make_claim
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
COUNTED = (
    AnnotatorProfile,
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    Study,
    Turn,
    User,
)


@pytest.fixture(autouse=True)
def _local(settings):
    settings.ALLOWED_HOSTS = ["127.0.0.1"]


def counts():
    return {model.__name__: model.objects.count() for model in COUNTED}


def test_everything_arrives_and_a_second_time_adds_nothing():
    dataset = load(now=timezone.now())
    first = counts()
    # 3 annotators, 4 raters and 4 sign-ins; 93 turns: 45 with one response, 48 with four
    assert first == {
        "AnnotatorProfile": 4,
        "Comparison": 288,
        "Dataset": 1,
        "PairwiseLabel": 432,
        "Response": 237,
        "SatisfactionLabel": 186,
        "Session": 48,
        "Study": 2,
        "Turn": 93,
        "User": 11,
    }
    assert dataset.simulated
    assert load(now=timezone.now()) == dataset
    assert counts() == first


def test_two_open_studies_wait_for_the_annotator_alone():
    load(now=timezone.now())
    for study in Study.objects.all():
        assert study.status == StudyStatus.OPEN
        assert [user.username for user in study.annotators.all()] == ["demo-annotator"]
        pairs = study.kind == StudyKind.PAIRWISE
        # Of 303 items 15 are repeats and 15 gold, 5 in a hundred each.
        assert study.items.count() == (303 if pairs else 48)
        assert study.items.filter(kind="REPEAT").count() == (15 if pairs else 0)
        assert study.items.filter(kind="GOLD").count() == (15 if pairs else 0)


def test_a_study_that_was_closed_stays_closed():
    load(now=timezone.now())
    Study.objects.filter(name=STUDIES[0].name).update(status=StudyStatus.CLOSED)
    load(now=timezone.now())
    assert Study.objects.get(name=STUDIES[0].name).status == StudyStatus.CLOSED
    assert Study.objects.count() == 2


def test_simulated_annotators_cannot_sign_in():
    load(now=timezone.now())
    simulated = User.objects.filter(username__startswith="demo:")
    assert simulated.count() == 7
    assert not simulated.filter(is_active=True).exists()


def test_an_older_demo_study_is_left_alone():
    load(now=timezone.now())
    Session.objects.filter(key="math-01").update(task_context="Something else.")
    before = counts()
    with refuses("demo:older", match="task_context"):
        load(now=timezone.now())
    assert counts() == before


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_reader_is_given_items_in_their_language_first(language):
    load(now=timezone.now())
    annotator = User.objects.get(username=ANNOTATOR.username)
    for study in Study.objects.all():
        for _first in range(3):
            item = next_free_item(study, annotator.pk, timezone.now(), language)
            session = item.session or item.comparison.turn.session
            assert session.language == language
            make_claim(item, annotator, slot=0, state="DONE", shown_order="ORIGINAL")


def test_a_newcomer_s_judges_are_compared_on_the_same_comparisons():
    stage = Stage.make(slug=SLUG, size=4)
    learned_from = stage.comparisons["Writing"][0].pk
    for persona in PERSONAS:
        rater = stage.rater(persona.name)
        stage.label(rater, "BBBB")
        run = stage.tested(
            rater, stage.distilled(rater), base="AAAA", selected="BBBB", judge="lexical"
        )
        (applied,) = run.config["scenarios"]
        run.config |= {
            "scenarios": [applied | {"learned_from": [learned_from]}],
            "targets": {"kind": "UNLABELLED"},
        }
        run.save()
    found = list(_arrivals(stage.dataset))
    assert {each.base.comparisons + each.base.ties for each in found} == {3}
    assert {each.judge.comparisons + each.judge.ties for each in found} == {3}
