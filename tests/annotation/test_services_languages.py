"""Items in the reader's language come first, each language in the order of the study."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.core.labelling import NothingLeft
from annotation.models import Session, StudyItem
from annotation.services.claims import next_task
from annotation.services.labels import pair_ahead
from annotation.services.studies import make_items
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


@pytest.mark.parametrize("language", ["en", "zh", "fr", ""])
def test_the_reader_s_language_comes_first(make_mixed, annotator, language):
    """Then the others, each whole, in the order in which the study has the first item of each."""
    study = make_mixed(*["en", "zh-CN", "EN"] * 4, "")
    given, ready = label(study, annotator, language=language)
    met = dict.fromkeys(item.language for item in study.items.order_by("position"))
    assert given == in_order(study, *sorted(met, key=lambda each: each != language))
    assert ready == [item.pk for item in given[1:]] + [None]


def test_who_changes_the_site_s_language_goes_on_in_the_one_they_began_in(make_mixed, annotator):
    study = make_mixed(*["en", "zh"] * 4)
    begun, _ready = label(study, annotator, language="en", items=2)
    rest, _ready = label(study, annotator, language="zh")
    assert [*begun, *rest] == in_order(study, "en", "zh")


def test_the_language_of_the_page_ahead_tells_no_repeat(make_mixed, annotator):
    """Did the same item come ahead in both languages, and another one else, it were a repeat."""
    study = make_mixed(*["en", "zh"] * 40, repeat_rate=0.1)
    now, differ = NOW, 0
    while not isinstance(
        task := next_task(study=study.slug, annotator=annotator, now=now, language="en"),
        NothingLeft,
    ):
        who = {"study": study.slug, "annotator": annotator, "item": task.place.item, "now": now}
        ahead = {
            pair_ahead(**who, language=one).place.item for one in ("en", "zh") if pair_ahead(**who)
        }
        differ += len(ahead) > 1
        now += timedelta(seconds=2)
        answer(study, task, annotator, now=now - timedelta(seconds=1))
    assert annotator.claims.filter(item__kind="REPEAT").exists()
    assert differ == 0


def test_repeats_stay_among_the_items_of_their_language(make_mixed, annotator):
    study = make_mixed(*["en", "zh"] * 40, repeat_rate=0.1)
    given, _ready = label(study, annotator, language="zh")
    assert [item.language for item in given] == sorted(
        (item.language for item in given), reverse=True
    )
    assert {item.language for item in given if item.kind == "REPEAT"} == {"en", "zh"}


def test_a_study_of_one_language_is_not_searched_by_it(make_mixed, annotator):
    study = make_mixed(*["en"] * 3)
    assert set(study.items.values_list("language", flat=True)) == {""}
    given, _ready = label(study, annotator, language="zh")
    assert given == list(study.items.order_by("position"))


def test_repeats_come_as_many_items_later_as_ever(make_mixed, annotator):
    study = make_mixed(*["en", "zh"] * 40, repeat_rate=0.1)
    given, _ready = label(study, annotator, language="zh")
    firsts = [item for item in given if item.kind != "REPEAT"]
    assert firsts == in_order(study, "zh", "en")
    places = {item.pk: place for place, item in enumerate(given)}
    gaps = [places[item.pk] - places[item.repeat_of_id] for item in given if item.repeat_of_id]
    assert gaps
    assert min(gaps) >= 10
