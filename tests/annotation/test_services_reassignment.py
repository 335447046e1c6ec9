from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import RESERVED_FOR, SkipReason
from annotation.core.labelling import NothingLeft
from annotation.models import (
    AuditEvent,
    Claim,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    SessionQuestionnaire,
    StudyItem,
)
from annotation.services.claims import next_task, release_claims, renew_lease, skip
from annotation.services.reassignment import (
    ReassignmentRefusal,
    discard_answers,
    give_all,
    give_item,
    offer_again,
    release_all,
    release_claim,
)
from tests.annotation.labelling import NOW, answer, make_pair_study, make_session_study
from tests.factory import make_claim, make_label, make_rating, make_study, make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=1)


def take_next(study, annotator, now=NOW):
    return next_task(study=study.slug, annotator=annotator, now=now)


def claim_of(annotator, item=None):
    claims = Claim.objects.filter(annotator=annotator)
    return claims.get(item=item) if item else claims.get()


def give(study, item, annotator, now=NOW, **more):
    by = make_user(role="MANAGER")
    give_item(study=study.slug, item=item.pk, annotator=annotator.pk, by=by, now=now, **more)


def release(study, claim, now=NOW):
    release_claim(study=study.slug, claim=claim.pk, by=make_user(role="MANAGER"), now=now)


def refused(code):
    return refuses(code)


def items(study):
    return list(study.items.order_by("position"))


def test_an_item_that_is_taken_back_goes_to_somebody_else():
    stuck, other = make_user(), make_user()
    study = make_pair_study([stuck, other])
    take_next(study, stuck)
    assert isinstance(take_next(study, other), NothingLeft)
    for _twice in range(2):
        release(study, claim_of(stuck))
    assert take_next(study, other).place.item == items(study)[0].pk
    event = AuditEvent.objects.get(action="claim.released")
    assert event.detail == {"item": items(study)[0].pk, "annotator": stuck.pk}


def test_an_open_page_does_not_take_back_what_a_manager_took():
    stuck = make_user()
    study = make_pair_study([stuck], items=2)
    first = items(study)[0]
    take_next(study, stuck)
    release(study, claim_of(stuck))
    with refuses("labelling:taken"):
        renew_lease(study=study.slug, item=first.pk, annotator=stuck, now=LATER)
    assert claim_of(stuck, first).state == "RELEASED"
    # They are given other items first, and this one only when nothing else is left.
    second = take_next(study, stuck, LATER)
    assert second.place.item == items(study)[1].pk
    answer(study, second, stuck, now=LATER)
    assert take_next(study, stuck, LATER).place.item == first.pk


def test_an_answer_sent_before_anybody_else_has_the_item_counts():
    stuck = make_user()
    study = make_pair_study([stuck])
    task = take_next(study, stuck)
    release(study, claim_of(stuck))
    answer(study, task, stuck, now=LATER)
    assert PairwiseLabel.objects.get().annotator == stuck


def test_what_was_answered_cannot_be_taken_back():
    annotator = make_user()
    study = make_pair_study([annotator])
    answer(study, take_next(study, annotator), annotator)
    with refused(ReassignmentRefusal.ANSWERED):
        release(study, claim_of(annotator))
    assert claim_of(annotator).state == "DONE"
    assert not AuditEvent.objects.filter(action="claim.released").exists()


def test_a_claim_of_another_study_is_not_found():
    annotator = make_user()
    study, other = make_pair_study([annotator]), make_pair_study([annotator])
    take_next(study, annotator)
    with refused(ReassignmentRefusal.NOT_FOUND):
        release(other, claim_of(annotator))
    with refused(ReassignmentRefusal.NOT_FOUND):
        give(other, items(study)[0], annotator)


def test_an_item_moves_to_somebody_and_comes_next():
    stuck, target = make_user(), make_user()
    study = make_pair_study([stuck, target], items=3)
    wanted = items(study)[0]
    take_next(study, stuck)
    at_hand = take_next(study, target)
    for _twice in range(2):
        give(study, wanted, target, now=LATER, instead_of=claim_of(stuck, wanted).pk)
    assert claim_of(stuck, wanted).state == "RELEASED"
    assert claim_of(target, wanted).slot == 0
    assert take_next(study, target, LATER).place.item == at_hand.place.item
    answer(study, at_hand, target, now=LATER)
    assert take_next(study, target, LATER).place.item == wanted.pk
    event = AuditEvent.objects.get(action="claim.given")
    assert event.detail["annotator"] == target.pk


@pytest.mark.parametrize("repeat_rate", [0.0, 0.1])
def test_an_item_that_was_given_does_not_move_ones_place_in_the_study(repeat_rate):
    one = make_user()
    study = make_pair_study([one], items=6, repeat_rate=repeat_rate)
    at_hand = take_next(study, one)
    give(study, items(study)[4], one)
    answer(study, at_hand, one)
    places = []
    for minute in range(1, 6):
        task = take_next(study, one, NOW + timedelta(minutes=minute))
        places.append(StudyItem.objects.get(pk=task.place.item).position)
        answer(study, task, one, now=NOW + timedelta(minutes=minute))
    assert places == [4, 1, 2, 3, 5]


def test_an_item_waits_for_two_days_and_has_an_ordinary_lease_once_it_is_opened():
    target = make_user()
    study = make_pair_study([target])
    give(study, items(study)[0], target)
    assert claim_of(target).expires_at == NOW + RESERVED_FOR
    take_next(study, target, LATER)
    assert claim_of(target).expires_at == LATER + timedelta(minutes=study.lease_minutes)


def test_what_was_given_to_somebody_waits_while_they_are_signed_out():
    target = make_user()
    study = make_pair_study([target], items=2)
    take_next(study, target)
    give(study, items(study)[1], target)
    assert release_claims(target) == 1
    assert claim_of(target, items(study)[1]).state == "ACTIVE"
    assert take_next(study, target, LATER).place.item == items(study)[1].pk
    # Once they opened it, it is an item like any other; and pausing them takes everything.
    assert release_claims(target) == 1
    give(study, items(study)[0], target)
    assert release_claims(target, study=study) == 1


def test_whoever_comes_too_late_leaves_the_item_to_others():
    target, other = make_user(), make_user()
    study = make_pair_study([target, other])
    give(study, items(study)[0], target)
    soon, late = NOW + RESERVED_FOR - timedelta(minutes=1), NOW + RESERVED_FOR
    assert isinstance(take_next(study, other, soon), NothingLeft)
    assert take_next(study, other, late).place.item == items(study)[0].pk


def test_overlap_stays():
    holder, target = make_user(), make_user()
    study = make_pair_study([holder, target])
    take_next(study, holder)
    with refused(ReassignmentRefusal.FULL):
        give(study, items(study)[0], target)
    assert not Claim.objects.filter(annotator=target).exists()


def test_a_place_that_an_answer_filled_in_the_meantime_stays_filled():
    holder, target = make_user(), make_user()
    study = make_pair_study([holder, target])
    answer(study, take_next(study, holder), holder)
    with refused(ReassignmentRefusal.ANSWERED):
        give(study, items(study)[0], target, instead_of=claim_of(holder).pk)
    with refused(ReassignmentRefusal.NOT_FOUND):
        give(study, items(study)[0], target, instead_of=0)


def test_a_second_presentation_keeps_the_order_of_the_first():
    target = make_user()
    study = make_pair_study([target])
    item = items(study)[0]
    make_claim(item, target, state="SKIPPED", slot=None, shown_order="SWAPPED", skip_reason="OTHER")
    give(study, item, target)
    claim = claim_of(target)
    assert (claim.state, claim.shown_order, claim.skip_reason) == ("ACTIVE", "SWAPPED", "")


def test_first_presentations_stay_balanced():
    target = make_user()
    study = make_pair_study([target], items=6)
    for item in items(study):
        give(study, item, target)
    first = [
        claim.item.comparison.response_a.model
        if claim.shown_order == "ORIGINAL"
        else claim.item.comparison.response_b.model
        for claim in Claim.objects.select_related("item__comparison__response_a")
    ]
    assert sorted(first) == ["secret-alpha"] * 3 + ["secret-beta"] * 3


def test_whoever_answered_it_is_not_asked_again():
    annotator = make_user()
    study = make_pair_study([annotator], overlap=2)
    answer(study, take_next(study, annotator), annotator)
    with refused(ReassignmentRefusal.ANSWERED):
        give(study, items(study)[0], annotator)


def test_only_those_in_the_study_who_are_not_paused_are_given_items():
    study = make_pair_study([make_user()])
    with refused(ReassignmentRefusal.NOT_IN_STUDY):
        give(study, items(study)[0], make_user())
    paused = make_user()
    Participation.objects.create(
        study=study, annotator=paused, paused_at=NOW, pause_reason="MANAGER"
    )
    with refused(ReassignmentRefusal.PAUSED):
        give(study, items(study)[0], paused)


def test_a_repeat_goes_only_to_whoever_answered_its_first():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=2, overlap=1)
    first = items(study)[0]
    repeat = StudyItem.objects.create(
        study=study, comparison=first.comparison, kind="REPEAT", repeat_of=first, position=2
    )
    answer(study, take_next(study, one), one)
    with refused(ReassignmentRefusal.NO_FIRST):
        give(study, repeat, other)
    give(study, repeat, one)
    assert claim_of(one, repeat).shown_order != claim_of(one, first).shown_order


@pytest.mark.parametrize("status", ["DRAFT", "CLOSED"])
def test_a_study_that_gives_out_nothing_gives_nobody_an_item(status):
    annotator = make_user()
    study = make_pair_study([annotator], status=status)
    with refused(ReassignmentRefusal.NOT_GIVEN_OUT):
        give(study, items(study)[0], annotator)


def skip_next(study, annotator, now=NOW):
    item = take_next(study, annotator, now).place.item
    skip(
        study=study.slug,
        item=item,
        annotator=annotator,
        reason=SkipReason.BROKEN,
        submission=uuid4(),
        now=now,
    )
    return item


def test_skipped_items_are_offered_again_with_their_trace():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=2, overlap=2)
    skipped = [skip_next(study, one), skip_next(study, other)]
    assert skipped == [items(study)[0].pk] * 2
    manager = make_user(role="MANAGER")
    assert offer_again(study=study.slug, by=manager, now=LATER) == 2
    assert offer_again(study=study.slug, by=manager, now=LATER) == 0
    event = AuditEvent.objects.get(action="study.offered-again")
    assert [reason for _claim, reason in event.detail["claims"]] == ["BROKEN", "BROKEN"]
    first = take_next(study, one, LATER).place.item
    assert first == skipped[0]


def test_items_of_one_annotator_or_one_item_are_offered_alone():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=2, overlap=2)
    skip_next(study, one)
    second = skip_next(study, one)
    skip_next(study, other)
    by = make_user(role="MANAGER")
    assert offer_again(study=study.slug, by=by, now=LATER, annotator=other.pk) == 1
    assert offer_again(study=study.slug, by=by, now=LATER, item=second) == 1
    assert Claim.objects.get(state="SKIPPED").annotator == one
    with refused(ReassignmentRefusal.NOT_FOUND):
        offer_again(study="nowhere", by=by, now=LATER)


def test_everything_in_progress_is_taken_back_at_once_of_one_or_of_all():
    first, second = make_user(), make_user()
    study, manager = make_pair_study([first, second], items=2, overlap=2), make_user()
    take_next(study, first)
    take_next(study, second)
    back = {"study": study.slug, "by": manager, "now": LATER}
    assert release_all(annotator=first.pk, **back) == 1
    assert claim_of(first).state == "RELEASED"
    assert [release_all(**back), release_all(**back)] == [1, 0]
    events = AuditEvent.objects.filter(action="study.returned").order_by("pk")
    assert [each.detail["annotator"] for each in events] == [first.pk, None]


def test_what_one_holds_is_given_to_another_but_for_what_they_answered():
    stuck, other = make_user(), make_user()
    study = make_pair_study([stuck, other], items=3, overlap=2)
    one, two, _three = items(study)
    for item in (one, two):
        make_claim(item, stuck, expires_at=LATER)
    make_claim(one, other, state="DONE", slot=1)
    give = {"study": study.slug, "source": stuck.pk, "by": make_user(), "now": NOW}
    assert give_all(annotator=other.pk, **give) == 1
    assert (claim_of(stuck, one).state, claim_of(stuck, two).state) == ("ACTIVE", "RELEASED")
    assert take_next(study, other).place.item == two.pk
    Participation.objects.filter(annotator=other).update(paused_at=NOW, pause_reason="MANAGER")
    with refused(ReassignmentRefusal.PAUSED):
        give_all(annotator=other.pk, **give)


def discard(study, annotator):
    by = make_user(role="MANAGER")
    return discard_answers(study=study.slug, annotator=annotator.pk, by=by, now=LATER)


def test_discarded_answers_count_no_longer_and_others_are_asked():
    careless, other = make_user(), make_user()
    study = make_pair_study([careless, other], items=2)
    elsewhere = make_label(items(study)[1].comparison, annotator=careless)
    answer(study, take_next(study, careless), careless)
    take_next(study, careless)
    given = PairwiseLabel.objects.exclude(pk=elsewhere.pk).get().verdict
    assert discard(study, careless) == 1
    assert PairwiseLabel.objects.get() == elsewhere
    assert set(Claim.objects.values_list("state", "slot")) == {("RELEASED", None)}
    assert not Participation.objects.filter(annotator=careless).exists()
    assert take_next(study, other).place.item == items(study)[0].pk
    kept = AuditEvent.objects.get(action="label.discarded").detail
    assert (kept["annotator_id"], kept["verdict"]) == (careless.pk, given)
    told = AuditEvent.objects.get(action="study.answers-discarded")
    assert told.detail == {"annotator": careless.pk, "answers": 1}
    assert discard(study, careless) == 0


def test_ratings_are_discarded_with_what_was_said_of_the_whole():
    careless = make_user()
    study = make_session_study([careless])
    session = study.items.get().session
    for turn in session.turns.all():
        make_rating(turn.responses.get(), annotator=careless, study=study)
    SessionQuestionnaire.objects.create(annotator=careless, session=session, study=study)
    assert discard(study, careless) == 4
    assert not SatisfactionLabel.objects.exists()
    assert not SessionQuestionnaire.objects.exists()


def test_ones_own_conversations_cannot_be_asked_again():
    annotator = make_user()
    study = make_study(kind="CONVERSATION", annotators=[annotator])
    with refused(ReassignmentRefusal.OWN_WORDS):
        discard(study, annotator)
    assert Participation.objects.exists()
