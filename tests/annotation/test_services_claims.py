from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import Progress, SkipReason
from annotation.core.choices import Order
from annotation.core.labelling import Answer, FinishedItem, NothingLeft, PairTask
from annotation.core.refusals import Refused
from annotation.models import Claim, ClaimState, StudyStatus
from annotation.services.claims import RefusalCode, hold, next_task, own_task, skip
from tests.annotation.labelling import (
    NOW,
    answer,
    give_repeat,
    make_pair_study,
    make_repeat_study,
)
from tests.factory import (
    make_claim,
    make_user,
)

pytestmark = pytest.mark.django_db


def take(study, annotator, now=NOW):
    return next_task(study=study.slug, annotator=annotator, now=now)


def test_the_next_item_is_claimed_for_the_lease():
    annotator = make_user()
    study = make_pair_study([annotator], lease_minutes=20)
    task = take(study, annotator)
    claim = Claim.objects.get()
    assert (claim.item_id, claim.annotator, claim.slot) == (task.place.item, annotator, 0)
    assert claim.expires_at == NOW + timedelta(minutes=20)


def test_asking_again_gives_the_same_item_the_same_way_round():
    annotator = make_user()
    study = make_pair_study([annotator])
    assert take(study, annotator) == take(study, annotator, NOW + timedelta(hours=5))
    assert Claim.objects.count() == 1


def test_asking_again_renews_a_lease_that_has_aged():
    annotator = make_user()
    study = make_pair_study([annotator])
    take(study, annotator)
    take(study, annotator, NOW + timedelta(minutes=1))
    assert Claim.objects.get().expires_at == NOW + timedelta(minutes=15)
    take(study, annotator, NOW + timedelta(minutes=6))
    assert Claim.objects.get().expires_at == NOW + timedelta(minutes=21)


def test_items_come_in_the_study_s_order_and_each_once():
    annotator = make_user()
    study = make_pair_study([annotator], items=4)
    seen = []
    while isinstance(task := take(study, annotator), PairTask):
        seen.append(task.place.item)
        answer(study, task, annotator)
    assert seen == list(study.items.order_by("position").values_list("pk", flat=True))


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_no_item_is_given_to_more_annotators_than_the_overlap(overlap):
    annotators = [make_user() for _ in range(4)]
    study = make_pair_study(annotators, items=5, overlap=overlap)
    taking = list(annotators)
    while taking:
        for annotator in list(taking):
            task = take(study, annotator)
            if isinstance(task, NothingLeft):
                taking.remove(annotator)
            else:
                answer(study, task, annotator)
    held = Counter(Claim.objects.values_list("item", flat=True))
    assert set(held.values()) == {overlap}


def test_two_annotators_of_an_item_without_overlap_get_different_ones():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=2)
    assert take(study, one).place.item != take(study, other).place.item


def test_an_item_whose_lease_ran_out_goes_to_somebody_else():
    slow, quick = make_user(), make_user()
    study = make_pair_study([slow, quick], items=1)
    item = take(study, slow).place.item
    assert isinstance(take(study, quick, NOW + timedelta(minutes=14)), NothingLeft)
    assert take(study, quick, NOW + timedelta(minutes=15)).place.item == item
    lost = Claim.objects.get(annotator=slow)
    assert (lost.state, lost.slot) == (ClaimState.RELEASED, None)


def test_a_released_item_comes_back_the_same_way_round():
    slow, quick = make_user(), make_user()
    study = make_pair_study([slow, quick], items=1)
    first = take(study, slow)
    order = Claim.objects.get(annotator=slow).shown_order
    later = NOW + timedelta(minutes=20)
    taken = take(study, quick, later)
    skip(
        study=study.slug,
        item=taken.place.item,
        annotator=quick,
        reason=SkipReason.OTHER,
        submission=uuid4(),
        now=later,
    )
    again = take(study, slow, later)
    assert (again.first, again.second) == (first.first, first.second)
    claim = Claim.objects.get(annotator=slow)
    assert (claim.state, claim.shown_order) == (ClaimState.ACTIVE, order)


def test_what_was_left_behind_comes_at_the_end():
    slow, quick = make_user(), make_user()
    study = make_pair_study([slow, quick], items=3)
    left = take(study, slow).place.item
    second = take(study, quick)
    answer(study, second, quick)
    later = NOW + timedelta(minutes=30)
    third = take(study, quick, later)
    answer(study, third, quick, now=later)
    assert third.place.item not in {left, second.place.item}
    assert take(study, quick, later).place.item == left


def test_a_skipped_item_frees_its_slot_and_does_not_come_again():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other], items=1)
    item = take(study, annotator).place.item
    for _twice in range(2):
        skip(
            study=study.slug,
            item=item,
            annotator=annotator,
            reason=SkipReason.CANNOT_JUDGE,
            submission=uuid4(),
            now=NOW,
        )
    claim = Claim.objects.get()
    assert (claim.state, claim.slot, claim.skip_reason) == ("SKIPPED", None, "CANNOT_JUDGE")
    nothing = take(study, annotator)
    assert (nothing.progress.skipped, nothing.progress.left, nothing.last.item) == (1, 0, item)
    assert take(study, other).place.item == item


def test_an_answered_item_cannot_be_skipped():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator)
    with pytest.raises(Refused) as refused:
        skip(
            study=study.slug,
            item=task.place.item,
            annotator=annotator,
            reason=SkipReason.OTHER,
            submission=uuid4(),
            now=NOW,
        )
    assert refused.value.code is RefusalCode.NOT_ALLOWED


def test_orders_are_balanced_over_released_and_skipped_presentations_too():
    annotator = make_user()
    study = make_pair_study([annotator], items=12, models=("alpha", "beta"))
    first = Counter()
    for number in range(12):
        task = take(study, annotator)
        claim = Claim.objects.get(item_id=task.place.item)
        side = "a" if claim.shown_order == Order.ORIGINAL else "b"
        first[getattr(claim.item.comparison, f"response_{side}").model] += 1
        assert abs(first["alpha"] - first["beta"]) <= 1
        if number % 3:
            answer(study, task, annotator)
        else:
            skip(
                study=study.slug,
                item=task.place.item,
                annotator=annotator,
                reason=SkipReason.OTHER,
                submission=uuid4(),
                now=NOW,
            )


def test_orders_are_balanced_where_models_are_unknown():
    annotator = make_user()
    study = make_pair_study([annotator], items=6, models=("", ""))
    for _item in range(6):
        answer(study, take(study, annotator), annotator)
    orders = Counter(Claim.objects.values_list("shown_order", flat=True))
    assert orders == {"ORIGINAL": 3, "SWAPPED": 3}


def test_a_hidden_repeat_comes_after_its_first_answer_in_the_other_order():
    annotator = make_user()
    study = make_repeat_study([annotator])
    first = take(study, annotator)
    answer(study, first, annotator)
    for _item in range(9):
        answer(study, take(study, annotator), annotator)
    again = take(study, annotator)
    assert again.place.item == study.items.get(kind="REPEAT").pk
    assert (again.first, again.second) == (first.second, first.first)


def test_a_repeat_of_what_was_skipped_never_comes():
    annotator = make_user()
    study = make_repeat_study([annotator])
    item = take(study, annotator).place.item
    skip(
        study=study.slug,
        item=item,
        annotator=annotator,
        reason=SkipReason.OTHER,
        submission=uuid4(),
        now=NOW,
    )
    for _item in range(9):
        answer(study, take(study, annotator), annotator)
    nothing = take(study, annotator)
    assert isinstance(nothing, NothingLeft)
    assert nothing.progress == Progress(done=9, skipped=1, left=0)


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_a_study_that_is_not_open_gives_nothing_out(status):
    annotator = make_user()
    study = make_pair_study([annotator], status=status)
    nothing = take(study, annotator)
    assert isinstance(nothing, NothingLeft)
    assert not nothing.open
    assert not Claim.objects.exists()


def test_who_is_not_in_the_study_gets_nothing():
    study = make_pair_study([make_user()])
    with pytest.raises(Refused) as refused:
        take(study, make_user())
    assert refused.value.code is RefusalCode.NOT_YOURS


def test_an_item_of_somebody_else_is_not_shown():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other])
    item = take(study, one).place.item
    with pytest.raises(Refused) as refused:
        own_task(study=study.slug, item=item, annotator=other, now=NOW)
    assert refused.value.code is RefusalCode.NOT_YOURS


def test_an_earlier_item_is_shown_with_the_answer_that_was_given():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator, Answer.SECOND)
    again = own_task(study=study.slug, item=task.place.item, annotator=annotator, now=NOW)
    assert again.given.answer is Answer.SECOND
    assert (again.first, again.second) == (task.first, task.second)


def test_the_previous_item_is_the_one_finished_before():
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    items = []
    for minute in range(3):
        now = NOW + timedelta(minutes=minute)
        task = take(study, annotator, now)
        assert [*items[-1:]] == ([task.place.previous.item] if task.place.previous else [])
        items.append(task.place.item)
        answer(study, task, annotator, now=now)
    shown = own_task(study=study.slug, item=items[1], annotator=annotator, now=NOW)
    assert shown.place.previous.item == items[0]


def test_the_answer_stored_last_is_shown_with_the_next_item():
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    first = take(study, annotator)
    assert first.place.previous is None
    answer(study, first, annotator, Answer.SECOND)
    second = take(study, annotator)
    assert second.place.previous == FinishedItem(
        first.place.item, answered=True, answer=Answer.SECOND
    )
    skipped_at = NOW + timedelta(seconds=1)
    skip(
        study=study.slug,
        item=second.place.item,
        annotator=annotator,
        reason=SkipReason.OTHER,
        submission=uuid4(),
        now=skipped_at,
    )
    third = take(study, annotator)
    assert third.place.previous == FinishedItem(second.place.item, skipped_at=skipped_at)


def test_the_answer_stored_last_may_be_that_to_a_hidden_repeat():
    annotator = make_user()
    study = make_pair_study([annotator], items=1)
    item = study.items.get()
    said = []
    for second, choice in enumerate((Answer.FIRST, Answer.SECOND, Answer.FIRST)):
        now = NOW + timedelta(seconds=second)
        if second:
            give_repeat(item, annotator, now)
        task = take(study, annotator, now)
        said.append(task.place.previous and task.place.previous.answer)
        answer(study, task, annotator, choice, now=now)
    assert said == [None, Answer.FIRST, Answer.SECOND]


def test_a_lost_item_is_held_again_only_while_a_slot_is_free():
    slow, quick = make_user(), make_user()
    study = make_pair_study([slow, quick], items=1)
    item = study.items.get()
    lost = make_claim(item, slow, slot=None, state="RELEASED", shown_order="ORIGINAL")
    hold(lost, study, NOW)
    lost.refresh_from_db()
    assert (lost.state, lost.slot) == ("ACTIVE", 0)
    Claim.objects.filter(pk=lost.pk).update(state="RELEASED", slot=None)
    lost.refresh_from_db()
    make_claim(item, quick, slot=0, state="DONE", shown_order="ORIGINAL")
    with pytest.raises(Refused) as refused:
        hold(lost, study, NOW)
    assert refused.value.code is RefusalCode.TAKEN


def test_whoever_was_taken_out_holds_no_lost_item_again():
    annotator = make_user()
    study = make_pair_study([annotator], items=1)
    lost = make_claim(study.items.get(), annotator, slot=None, state="RELEASED")
    study.participations.all().delete()
    with pytest.raises(Refused) as refused:
        hold(lost, study, NOW)
    assert refused.value.code is RefusalCode.NOT_YOURS


def test_progress_counts_what_this_annotator_may_still_get():
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other], items=5)
    taken = take(study, other)
    answer(study, taken, other)
    take(study, other)  # a running lease keeps its item from others
    progress = take(study, annotator).place.progress
    assert (progress.done, progress.left, progress.total) == (0, 3, 3)
    answer(study, take(study, annotator), annotator)
    progress = take(study, annotator).place.progress
    assert (progress.done, progress.left, progress.total) == (1, 2, 3)


def test_claiming_and_resuming_cost_a_fixed_number_of_queries(django_assert_num_queries):
    annotator = make_user()
    study = make_pair_study([annotator], items=20)
    for _item in range(5):
        answer(study, take(study, annotator), annotator)
    with django_assert_num_queries(18):
        take(study, annotator)
    with django_assert_num_queries(6):
        take(study, annotator)


def test_now_is_an_argument():
    annotator = make_user()
    study = make_pair_study([annotator])
    long_ago = datetime(2001, 1, 1, tzinfo=UTC)
    take(study, annotator, long_ago)
    assert Claim.objects.get().claimed_at == long_ago
