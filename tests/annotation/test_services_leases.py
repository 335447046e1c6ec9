from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import SkipReason
from annotation.core.refusals import Refused
from annotation.models import Claim, ClaimState, Study
from annotation.services.claims import RefusalCode, next_task, release_claims, renew_lease, skip
from tests.annotation.labelling import NOW, answer, make_pair_study
from tests.factory import make_user

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=20)  # a lease is 15 minutes long


def take(study, annotator, now=NOW):
    return next_task(study=study.slug, annotator=annotator, now=now)


def renew(study, task, annotator, now):
    renew_lease(study=study.slug, item=task.place.item, annotator=annotator, now=now)


def refusal(study, task, annotator, now=LATER):
    with pytest.raises(Refused) as refused:
        renew(study, task, annotator, now)
    return refused.value.code


def held(annotator):
    return Claim.objects.get(annotator=annotator, state=ClaimState.ACTIVE)


def test_a_lease_is_renewed_from_the_moment_on():
    annotator = make_user()
    study = make_pair_study([annotator])
    renew(study, take(study, annotator), annotator, NOW + timedelta(minutes=5))
    assert held(annotator).expires_at == NOW + timedelta(minutes=20)


def test_a_renewed_item_is_not_given_to_others():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other])
    task = take(study, annotator)
    renew(study, task, annotator, NOW + timedelta(minutes=10))
    assert not hasattr(take(study, other, LATER), "place")


def test_a_lease_that_ran_out_unnoticed_goes_on():
    annotator = make_user()
    study = make_pair_study([annotator])
    renew(study, take(study, annotator), annotator, LATER)
    assert held(annotator).expires_at == LATER + timedelta(minutes=15)


def test_what_others_filled_is_lost():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other])
    task = take(study, annotator)
    take(study, other, LATER)
    assert refusal(study, task, annotator) is RefusalCode.TAKEN
    assert held(other).item_id == task.place.item


def test_a_released_item_is_taken_again_while_a_place_is_free():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    release_claims(annotator)
    renew(study, task, annotator, LATER)
    assert held(annotator).item_id == task.place.item


def test_an_answered_item_stays_answered():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator)
    before = Claim.objects.get()
    renew(study, task, annotator, LATER)
    after = Claim.objects.get()
    assert (after.state, after.expires_at) == (ClaimState.DONE, before.expires_at)


def test_a_skipped_item_is_not_held():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    item = task.place.item
    skip(
        study=study.slug,
        item=item,
        annotator=annotator,
        reason=SkipReason.OTHER,
        submission=uuid4(),
        now=NOW,
    )
    assert refusal(study, task, annotator) is RefusalCode.TAKEN
    assert Claim.objects.get().state == ClaimState.SKIPPED


def test_a_paused_study_renews_nothing():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    Study.objects.update(status="PAUSED")
    assert refusal(study, task, annotator) is RefusalCode.NOT_OPEN


def test_only_one_s_own_lease_is_renewed():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other])
    task = take(study, annotator)
    assert refusal(study, task, other) is RefusalCode.NOT_YOURS
    assert refusal(study, task, make_user()) is RefusalCode.NOT_YOURS


def test_leaving_gives_back_what_is_held_and_keeps_what_is_answered():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other], items=3, overlap=2)
    answer(study, take(study, annotator), annotator)
    order = Claim.objects.get(item=take(study, annotator).place.item).shown_order
    take(study, other)
    assert release_claims(annotator) == 1
    mine = Claim.objects.filter(annotator=annotator).order_by("pk")
    assert [(claim.state, claim.slot) for claim in mine] == [("DONE", 0), ("RELEASED", None)]
    assert mine[1].shown_order == order
    assert held(other)
    assert release_claims(annotator) == 0


def test_the_item_given_back_on_leaving_comes_first_again():
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    answer(study, take(study, annotator), annotator)
    left = take(study, annotator)
    release_claims(annotator)
    again = take(study, annotator, LATER)
    assert again.place.item == left.place.item
    assert (again.first, again.second) == (left.first, left.second)
    assert Claim.objects.count() == 2
    assert held(annotator).claimed_at == LATER


def test_the_item_given_back_is_passed_over_once_others_have_filled_it():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other], items=2)
    left = take(study, annotator)
    release_claims(annotator)
    assert take(study, other).place.item == left.place.item
    assert take(study, annotator).place.item != left.place.item
