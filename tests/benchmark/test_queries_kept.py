from __future__ import annotations

import threading

import pytest
import time_machine
from django.utils import translation

from annotation.models import Claim, PairwiseLabel
from benchmark.queries.kept import RENEWAL, fresh, kept
from judging.models import JudgeRun
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_item,
    make_label,
    make_run,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db

NOON = "2026-05-01T12:00:00+00:00"


def counted(*asked, **settings):
    """A page that tells how often it was computed."""
    counted.times += 1
    counted.language = translation.get_language()
    return (counted.times, asked, settings)


@pytest.fixture(autouse=True)
def nothing_counted():
    counted.times = 0


def test_a_page_is_computed_once_a_question():
    assert kept(counted, 1, seed=2).page == (1, (1,), {"seed": 2})
    assert kept(counted, 1, seed=2).page == (1, (1,), {"seed": 2})
    assert kept(counted, 1, seed=3).page[0] == 2
    assert kept(counted, 2, seed=2).page[0] == 3


def label():
    make_label(make_comparison())


def change():
    row = PairwiseLabel.objects.first()
    row.comment = "after all"
    row.save()


def remove():
    PairwiseLabel.objects.first().delete()


def finish():
    JudgeRun.objects.update(status="DONE")


def undo_skip():
    Claim.objects.update(state="ACTIVE", slot=0)


@pytest.mark.parametrize(
    "happens", [label, change, remove, make_dataset, make_run, finish, undo_skip]
)
def test_what_a_page_rests_on_has_it_computed_again(happens):
    label()
    make_run()
    make_claim(make_item(make_study()), make_user(), state="SKIPPED", slot=None)
    assert kept(counted).page[0] == kept(counted).page[0] == 1
    happens()
    assert kept(counted).page[0] == 2


def slowly(seconds):
    def page(*_asked):
        clock.shift(seconds)
        return counted()

    return page


def wait_for_renewals():
    for each in threading.enumerate():
        if each.name == RENEWAL:
            each.join()


@pytest.mark.django_db(transaction=True)
def test_a_page_that_took_long_is_shown_with_its_time_until_a_thread_has_renewed_it():
    global clock
    with time_machine.travel(NOON, tick=False) as clock:
        page = slowly(3)
        assert kept(page).as_of is None
        label()
        clock.shift(26)
        told = kept(page)
        assert (told.page[0], told.as_of.isoformat(), told.seconds) == (1, NOON, 3)
        assert ((told.renewed_at - told.as_of).total_seconds(), told.wait) == (30, 0)
        wait_for_renewals()
        assert counted.times == 1
        clock.shift(1)
        with translation.override("zh-hans"):
            kept(page)
            label()
            clock.shift(30)
            told = kept(page)
            assert (told.page[0], told.wait) == (2, 3)
            wait_for_renewals()
            assert counted.language == "zh-hans"
            assert (kept(page).page[0], kept(page).as_of, kept(page).wait) == (3, None, 0)


@pytest.mark.django_db(transaction=True)
def test_a_page_is_renewed_once_at_a_time():
    goes_on = threading.Event()

    def page():
        if counted.times:
            goes_on.wait()
        clock.shift(3)
        return counted()

    global clock
    with time_machine.travel(NOON, tick=False) as clock:
        kept(page)
        label()
        clock.shift(30)
        assert [kept(page).page[0] for _ in range(3)] == [1, 1, 1]
        goes_on.set()
        wait_for_renewals()
        assert kept(page).page[0] == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_who_looks_after_a_renewal_that_failed_is_told():
    def page():
        if counted.times:
            raise LookupError
        clock.shift(3)
        return counted()

    global clock
    with time_machine.travel(NOON, tick=False) as clock:
        kept(page)
        label()
        clock.shift(30)
        kept(page)
        wait_for_renewals()
        with pytest.raises(LookupError):
            kept(page)


def test_a_file_is_never_behind_and_not_computed_for_nothing():
    global clock
    with time_machine.travel(NOON, tick=False) as clock:
        page = slowly(3)
        kept(page)
        assert fresh(page)[0] == 1
        label()
        assert kept(page).page[0] == 1
        assert fresh(page)[0] == kept(page).page[0] == 2


def test_a_page_that_took_a_moment_is_never_behind():
    global clock
    with time_machine.travel(NOON, tick=False) as clock:
        page = slowly(0.5)
        kept(page)
        label()
        assert kept(page).page[0] == 2


def test_each_language_has_its_own():
    assert kept(counted).page[0] == 1
    with translation.override("zh-hans"):
        assert kept(counted).page[0] == 2


def test_what_it_costs_to_know(django_assert_num_queries):
    kept(counted)
    with django_assert_num_queries(2):
        kept(counted)
