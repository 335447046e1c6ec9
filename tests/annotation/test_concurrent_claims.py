"""Annotators at the same instant: SQLite lets in one writer at a time, PostgreSQL many."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from uuid import uuid4

import pytest
from django.db import connection, transaction

from annotation.core.labelling import Answer, NothingLeft, OwnAnswer
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Claim, PairwiseLabel, Submission, SubmissionKind
from annotation.queries.assignment import next_free_item
from annotation.services.claims import accept, next_task
from annotation.services.labels import answer_pair
from annotation.services.participants import remove_annotator
from annotation.services.quality import pause
from annotation.services.reassignment import (
    ReassignmentRefusal,
    discard_answers,
    give_item,
)
from tests.annotation.labelling import NOW, make_pair_study
from tests.factory import make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def locked_rows():
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: on SQLite one transaction writes at a time")


def at_once(calls):
    """Run calls in as many threads, each with its own connection."""

    def run(call):
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def label_all(study, annotator):
    """Take and answer items until nothing is left."""
    count = 0
    while True:
        task = next_task(study=study.slug, annotator=annotator, now=NOW)
        if isinstance(task, NothingLeft):
            return count
        answer_pair(
            study=study.slug,
            item=task.place.item,
            annotator=annotator,
            answer=OwnAnswer(Answer.FIRST, None, both_bad=False, comment=""),
            submission=uuid4(),
            now=NOW,
        )
        count += 1


@pytest.mark.parametrize("overlap", [1, 3])
def test_no_item_goes_beyond_its_overlap_and_every_answer_is_a_row(overlap):
    annotators = [make_user() for _ in range(6)]
    study = make_pair_study(annotators, items=20, overlap=overlap)
    counts = at_once([lambda who=who: label_all(study, who) for who in annotators])
    held = Counter(Claim.objects.values_list("item", flat=True))
    assert set(held.values()) == {overlap}
    assert len(held) == 20
    assert sum(counts) == PairwiseLabel.objects.count() == 20 * overlap


def test_two_tabs_get_one_item():
    annotator = make_user()
    study = make_pair_study([annotator], items=9)
    tasks = at_once(
        [lambda: next_task(study=study.slug, annotator=annotator, now=NOW) for _tab in range(6)]
    )
    assert len({task.place.item for task in tasks}) == 1
    assert Claim.objects.count() == 1


def pausing(study, annotator, manager):
    pause(study=study.slug, annotator=annotator.pk, by=manager, now=NOW)


def removing(study, annotator, manager):
    remove_annotator(study=study.slug, annotator=annotator.pk, by=manager)


@pytest.mark.parametrize("end", [pausing, removing])
def test_who_stops_getting_items_gets_none_in_the_same_instant(end):
    annotator, manager = make_user(), make_user(role="MANAGER")
    study = make_pair_study([annotator])

    def take():
        try:
            return next_task(study=study.slug, annotator=annotator, now=NOW)
        except Refused as refused:
            return refused.code
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            end(study, annotator, manager)
            taken = threads.submit(take)
            until_it_waits(taken)
        said = taken.result()
    assert not Claim.objects.exists()
    assert said == "labelling:not-yours" if end is removing else said.paused


@pytest.mark.parametrize("end", [pausing, removing])
def test_an_item_taken_in_the_same_instant_is_given_back(end):
    annotator, manager = make_user(), make_user(role="MANAGER")
    study = make_pair_study([annotator])

    def stop():
        try:
            end(study, annotator, manager)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            next_task(study=study.slug, annotator=annotator, now=NOW)
            stopped = threads.submit(stop)
            until_it_waits(stopped)
        stopped.result()
    assert Claim.objects.get().state == "RELEASED"


def test_one_submission_sent_by_many_requests_is_stored_once():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = next_task(study=study.slug, annotator=annotator, now=NOW)
    submission = uuid4()
    at_once(
        [
            lambda: answer_pair(
                study=study.slug,
                item=task.place.item,
                annotator=annotator,
                answer=OwnAnswer(Answer.SECOND, None, both_bad=False, comment=""),
                submission=submission,
                now=NOW,
            )
        ]
        * 6
    )
    assert PairwiseLabel.objects.get().edits == 0
    assert AuditEvent.objects.count() == 1


def test_one_submission_accepted_by_many_requests_acts_in_one():
    annotator = make_user()
    study = make_pair_study([annotator])
    next_task(study=study.slug, annotator=annotator, now=NOW)
    claim, submission = Claim.objects.get(), uuid4()

    def act():
        with transaction.atomic():
            return accept(claim, SubmissionKind.SKIP, submission, NOW)

    assert Counter(at_once([act] * 6)) == {True: 1, False: 5}
    assert Submission.objects.count() == 1


def test_an_item_given_to_many_at_once_goes_to_one():
    annotators = [make_user() for _ in range(6)]
    study = make_pair_study(annotators, items=1)
    manager, item = make_user(role="MANAGER"), study.items.get().pk

    def give(who):
        try:
            give_item(study=study.slug, item=item, annotator=who.pk, by=manager, now=NOW)
        except Refused as refused:
            return refused.code
        return None

    said = at_once([lambda who=who: give(who) for who in annotators])
    assert Counter(said) == {None: 1, ReassignmentRefusal.FULL: 5}
    assert Claim.objects.get().state == "ACTIVE"
    assert AuditEvent.objects.filter(action="claim.given").count() == 1


@pytest.mark.usefixtures("locked_rows")
def test_an_item_that_somebody_is_just_taking_is_passed_over_while_there_is_another():
    first, second = make_user(), make_user()
    study = make_pair_study([first, second], items=2, overlap=2)
    one, two = study.items.order_by("position")

    def free():
        with transaction.atomic():
            return next_free_item(study, second.pk, NOW)

    with transaction.atomic():
        assert next_free_item(study, first.pk, NOW) == one
        assert at_once([free]) == [two]


@pytest.mark.usefixtures("locked_rows")
def test_the_last_item_with_a_free_slot_is_offered_though_somebody_is_just_taking_it():
    first, second = make_user(), make_user()
    study = make_pair_study([first, second], items=1, overlap=2)
    with transaction.atomic():
        item = next_free_item(study, first.pk, NOW)
        offered = at_once(
            [lambda: next_task(study=study.slug, annotator=second, now=NOW)],
        )
    assert [task.place.item for task in offered] == [item.pk]


def test_an_answer_that_is_just_changed_is_discarded_as_it_was_changed():
    annotator, manager = make_user(), make_user(role="MANAGER")
    study = make_pair_study([annotator])
    task = next_task(study=study.slug, annotator=annotator, now=NOW)

    def say(answer):
        answer_pair(
            study=study.slug,
            item=task.place.item,
            annotator=annotator,
            answer=OwnAnswer(answer, None, both_bad=False, comment=""),
            submission=uuid4(),
            now=NOW,
        )

    def discard():
        try:
            return discard_answers(study=study.slug, annotator=annotator.pk, by=manager, now=NOW)
        finally:
            connection.close()

    say(Answer.FIRST)
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            say(Answer.SECOND)
            changed = PairwiseLabel.objects.get().verdict
            discarding = threads.submit(discard)
            until_it_waits(discarding)
        assert discarding.result() == 1
    assert AuditEvent.objects.get(action="label.discarded").detail["verdict"] == changed
    assert Claim.objects.get().state == "RELEASED"
    assert not PairwiseLabel.objects.exists()


def until_it_waits(other):
    """Returns once another thread waits for what this transaction has locked, or is done."""
    if connection.vendor != "postgresql":
        wait([other], timeout=0.3)  # SQLite does not tell who waits; none of the outcomes differs
        return
    with connection.cursor() as cursor:
        while not other.done():
            cursor.execute(
                "SELECT 1 FROM pg_locks"
                " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            if cursor.fetchone() is not None:
                return
