"""Items in the reader's language come first, each language in the order of the study."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.core.labelling import NothingLeft
from annotation.models import Session, StudyItem
from annotation.services.ahead import pair_ahead
from annotation.services.claims import next_task
from annotation.services.study_items import make_items
from tests.annotation.labelling import NOW, answer, make_pair_study
from tests.factory import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator():
    return make_user()


@pytest.fixture
def make_mixed(annotator):
    """A study planned anew over pairs of these languages."""

    def make(*languages, **fields):
        study = make_pair_study([annotator], items=len(languages), **fields)
        targets = []
        for item, language in zip(study.items.order_by("position"), languages, strict=True):
            Session.objects.filter(pk=item.comparison.turn.session_id).update(language=language)
            targets.append(item.comparison_id)
        study.items.all().delete()
        make_items(study, targets)
        return study

    return make


def label(study, annotator, *, language, items=None):
    """Answer in a language until nothing or so many items are done; the items, and those ready."""
    given, ready = [], []
    now = NOW + timedelta(hours=annotator.claims.count())
    while items is None or len(given) < items:
        now += timedelta(seconds=2)
        who = {"study": study.slug, "annotator": annotator, "language": language}
        task = next_task(**who, now=now)
        if isinstance(task, NothingLeft):
            break
        given.append(StudyItem.objects.get(pk=task.place.item))
        follows = pair_ahead(**who, item=task.place.item, now=now)
        ready.append(follows and follows.place.item)
        answer(study, task, annotator, now=now + timedelta(seconds=1))
    return given, ready


def in_order(study, *languages):
    order = []
    for language in languages:
        order += study.items.filter(language=language).exclude(kind="REPEAT").order_by("position")
    return order


@pytest.mark.parametrize(
    ("language", "order"), [("en", ["en", "zh", "und"]), ("zh", ["zh"]), ("fr", []), ("", [])]
)
def test_the_reader_s_language_comes_first(make_mixed, annotator, language, order):
    study = make_mixed(*["en", "zh-CN", "EN"] * 4, "")
    given, ready = label(study, annotator, language=language)
    others = [item for item in study.items.order_by("position") if item.language != language]
    first = in_order(study, language) if order else []
    assert given == first + others
    assert ready == [item.pk for item in given[1:]] + [None]


def test_who_changes_the_language_gets_that_one_s_items(make_mixed, annotator):
    study = make_mixed(*["en", "zh"] * 4)
    begun, _ready = label(study, annotator, language="en", items=2)
    switched, _ready = label(study, annotator, language="zh", items=3)
    rest, _ready = label(study, annotator, language="en")
    english, chinese = in_order(study, "en"), in_order(study, "zh")
    assert (begun, switched, rest) == (english[:2], chinese[:3], [*english[2:], chinese[3]])


def test_a_study_of_one_language_is_not_searched_by_it(make_mixed, annotator):
    study = make_mixed(*["en"] * 3)
    assert set(study.items.values_list("language", flat=True)) == {""}
    given, _ready = label(study, annotator, language="zh")
    assert given == list(study.items.order_by("position"))


def test_repeats_come_as_many_items_later_as_ever(make_mixed, annotator):
    study = make_mixed(*["en", "zh"] * 40, repeat_rate=0.1)
    given, _ready = label(study, annotator, language="zh")
    assert len(given) == study.items.count()
    firsts = [item for item in given if item.kind != "REPEAT"]
    assert firsts == in_order(study, "zh", "en")
    places = {item.pk: place for place, item in enumerate(given)}
    gaps = [places[item.pk] - places[item.repeat_of_id] for item in given if item.repeat_of_id]
    assert gaps
    assert min(gaps) >= 10
