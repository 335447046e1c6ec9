"""Submissions that come again: known by their ids, whatever the first of them changed."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from annotation.core.assignment import SkipReason
from annotation.core.choices import Order, Reason
from annotation.core.labelling import Answer, Rating, verdict_of
from annotation.core.profiles import QUESTIONS
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    PairwiseLabel,
    SatisfactionLabel,
    SessionQuestionnaire,
    Submission,
    SubmissionKind,
)
from annotation.services.claims import RefusalCode, next_task, skip
from annotation.services.labels import rate_session
from annotation.services.reassignment import offer_again
from tests.annotation.labelling import (
    NOW,
    answer,
    give_repeat,
    make_pair_study,
    make_session_study,
)
from tests.factory import make_claim, make_user
from tests.refusals import refusal

pytestmark = pytest.mark.django_db

BAD = Rating(2, Reason.INSUFFICIENT_DETAIL)
GOOD = Rating(5)


def take(study, annotator, now=NOW):
    return next_task(study=study.slug, annotator=annotator, now=now)


def rate(study, task, annotator, rating, submission=None, questionnaire=None):
    rate_session(
        study=study.slug,
        item=task.place.item,
        annotator=annotator,
        ratings={1: rating},
        questionnaire=questionnaire,
        submission=submission or uuid4(),
        now=NOW,
    )


def give_back(study, item, annotator, submission=None, reason=SkipReason.OTHER):
    skip(
        study=study.slug,
        item=item,
        annotator=annotator,
        reason=reason,
        submission=submission or uuid4(),
        now=NOW,
    )


def test_an_answer_that_changed_nothing_does_not_undo_a_later_one():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    again = uuid4()
    answer(study, task, annotator, Answer.FIRST)
    answer(study, task, annotator, Answer.FIRST, submission=again)
    answer(study, task, annotator, Answer.SECOND)
    stored = PairwiseLabel.objects.values().get()
    answer(study, task, annotator, Answer.FIRST, submission=again)
    assert PairwiseLabel.objects.values().get() == stored
    assert AuditEvent.objects.count() == 2
    assert Submission.objects.count() == 3


def test_another_answer_under_one_id_is_a_change_of_mind_and_the_first_stays_known():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    page = uuid4()
    for each in (Answer.FIRST, Answer.SECOND, Answer.FIRST):
        answer(study, task, annotator, each, submission=page)
    shown = Claim.objects.get().shown_order
    assert PairwiseLabel.objects.get().verdict == verdict_of(Answer.SECOND, Order(shown))
    assert AuditEvent.objects.count() == 2


def test_ratings_that_changed_nothing_do_not_undo_later_ones():
    annotator = make_user()
    study = make_session_study([annotator], turns=1, ask_questionnaire=True)
    task = take(study, annotator)
    first, later = (
        {question.summary: question.options[place] for question in QUESTIONS} for place in (0, 1)
    )
    again = uuid4()
    rate(study, task, annotator, GOOD, questionnaire=first)
    rate(study, task, annotator, GOOD, again, questionnaire=first)
    rate(study, task, annotator, BAD, questionnaire=later)
    stored = (SatisfactionLabel.objects.values().get(), SessionQuestionnaire.objects.values().get())
    rate(study, task, annotator, GOOD, again, questionnaire=first)
    assert stored == (
        SatisfactionLabel.objects.values().get(),
        SessionQuestionnaire.objects.values().get(),
    )


def test_a_skip_that_comes_again_leaves_an_item_that_was_offered_anew():
    annotator = make_user()
    study = make_pair_study([annotator])
    item = take(study, annotator).place.item
    submission = uuid4()
    give_back(study, item, annotator, submission)
    offer_again(study=study.slug, by=make_user(role="MANAGER"), now=NOW)
    give_back(study, item, annotator, submission)
    assert Claim.objects.get().state == ClaimState.RELEASED
    task = take(study, annotator)
    give_back(study, item, annotator, submission)
    assert Claim.objects.get().state == ClaimState.ACTIVE
    answer(study, task, annotator)
    give_back(study, item, annotator, submission)  # as the first time: no refusal
    assert Claim.objects.get().state == ClaimState.DONE
    assert refusal(give_back, study, item, annotator) is RefusalCode.NOT_ALLOWED


def test_a_skip_that_changed_nothing_is_known_too():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    again = uuid4()
    give_back(study, task.place.item, annotator)
    give_back(study, task.place.item, annotator, again)
    offer_again(study=study.slug, by=make_user(role="MANAGER"), now=NOW)
    give_back(study, task.place.item, annotator, again)
    assert Claim.objects.get().state == ClaimState.RELEASED


def test_one_page_may_answer_what_it_skipped():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    page = uuid4()
    give_back(study, task.place.item, annotator, page)
    answer(study, task, annotator, submission=page)
    assert Claim.objects.get().state == ClaimState.DONE
    assert PairwiseLabel.objects.exists()


def test_what_is_refused_is_not_known_and_may_be_sent_once_more():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    submission = uuid4()
    code = refusal(answer, study, task, annotator, Answer.TIE, submission=submission)
    assert code is RefusalCode.NOT_ALLOWED
    assert not Submission.objects.exists()
    study.allow_tie = True
    study.save()
    answer(study, task, annotator, Answer.TIE, submission=submission)
    assert PairwiseLabel.objects.get().verdict == "TIE"


def test_one_id_of_two_people_or_two_items_is_two_submissions():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], overlap=2)
    submission = uuid4()
    for annotator in (one, other):
        answer(study, take(study, annotator), annotator, submission=submission)
    give_repeat(study.items.get(), one)
    answer(study, take(study, one), one, submission=submission)
    assert PairwiseLabel.objects.count() == 3


def test_a_submission_is_of_its_sender_alone():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other])
    task = take(study, one)
    assert refusal(answer, study, task, other) is RefusalCode.NOT_YOURS
    assert not Submission.objects.exists()


@pytest.mark.parametrize("twice", [True, False])
def test_a_submission_is_a_row_once_and_of_a_known_kind(twice):
    claim = make_claim(make_pair_study([]).items.get(), make_user())
    values = {"claim": claim, "kind": SubmissionKind.SKIP, "uuid": uuid4(), "accepted_at": NOW}
    if twice:
        Submission.objects.create(**values)
    else:
        values["kind"] = "OTHER"
    with pytest.raises(IntegrityError), transaction.atomic():
        Submission.objects.create(**values)


def test_submissions_go_with_their_claim():
    annotator = make_user()
    study = make_pair_study([annotator])
    answer(study, take(study, annotator), annotator)
    Claim.objects.get().delete()
    assert not Submission.objects.exists()


def test_a_change_of_mind_costs_a_fixed_number_of_queries(django_assert_num_queries):
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    again = uuid4()
    answer(study, task, annotator, submission=again)
    with django_assert_num_queries(10):
        answer(study, task, annotator, Answer.SECOND, now=NOW + timedelta(seconds=1))
    with django_assert_num_queries(5):
        answer(study, task, annotator, submission=again)
