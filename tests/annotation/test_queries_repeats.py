"""Hidden repeats given out: after enough items of one's own, to nobody else, in nobody's way."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import Progress, SkipReason
from annotation.core.choices import StudyKind
from annotation.core.hidden_items import REPEAT_GAPS
from annotation.core.labelling import NothingLeft
from annotation.models import Claim, ClaimState, ItemKind, StudyItem
from annotation.queries.assignment import next_free_item, progress_of
from annotation.queries.studies import all_studies, my_studies, my_study
from annotation.services.claims import next_task, release_claims, skip
from annotation.services.labels import pair_ahead
from tests.annotation.labelling import NOW, answer, make_pair_study, make_repeat_study
from tests.factory import make_item, make_user

pytestmark = pytest.mark.django_db

GAP = REPEAT_GAPS[StudyKind.PAIRWISE]


class Clock:
    """Every step a second later, as in life: the order of claims is that of time."""

    def __init__(self):
        self.now = NOW

    def tick(self):
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock():
    return Clock()


def step(study, annotator, clock):
    """Take and answer the next item; its position, or None where nothing is left."""
    task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
    if isinstance(task, NothingLeft):
        return None
    answer(study, task, annotator, now=clock.tick())
    return StudyItem.objects.get(pk=task.place.item).position


def planned(study, *firsts_and_places):
    """Put repeats of the items at these positions at these places, moving what follows."""
    for first, place in firsts_and_places:
        items = list(study.items.order_by("-position"))
        for item in items:
            if item.position >= place:
                StudyItem.objects.filter(pk=item.pk).update(position=item.position + 1)
        row = study.items.get(position=first)
        make_item(study, comparison=row.comparison, kind="REPEAT", repeat_of=row, position=place)


def test_who_works_alone_meets_every_repeat_at_its_place(clock):
    annotator = make_user()
    study = make_pair_study([annotator], items=26, repeat_rate=0.1)
    planned(study, (1, 12), (3, 25))
    assert [step(study, annotator, clock) for _item in range(28)] == [*range(28)]
    assert step(study, annotator, clock) is None


def test_who_shares_the_items_meets_a_repeat_after_as_many_of_their_own(clock):
    """Two take turns in a study of 41 items; the first of position 0 comes again 10 items of its
    annotator later, though its place in the study was passed long before."""
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=40, repeat_rate=0.1)
    planned(study, (0, 10))
    seen = []
    for _turn in range(20):
        seen.append(step(study, one, clock))
        assert step(study, other, clock) != 10
    assert seen.index(10) == 10
    assert Claim.objects.filter(item__kind=ItemKind.REPEAT).count() == 1


def test_a_repeat_never_goes_to_somebody_who_did_not_answer_its_first(clock):
    one, other = make_user(), make_user()
    study = make_repeat_study([one, other])
    assert step(study, one, clock) == 0
    assert [step(study, other, clock) for _item in range(10)] == [*range(1, 10), None]
    assert progress_of(study, other.pk, clock.now) == Progress(done=9, skipped=0, left=0)


def test_a_repeat_that_comes_too_early_is_not_waited_for(clock):
    """The first annotator did one item, others the rest: nothing is left that keeps the gap."""
    one, other = make_user(), make_user()
    study = make_repeat_study([one, other])
    step(study, one, clock)
    for _item in range(9):
        step(study, other, clock)
    assert step(study, one, clock) is None
    assert progress_of(study, one.pk, clock.now) == Progress(done=1, skipped=0, left=0)


def test_at_the_end_a_repeat_comes_early_if_the_gap_is_kept(clock):
    annotator = make_user()
    study = make_pair_study([annotator], items=GAP, repeat_rate=0.1)
    first = study.items.get(position=0)
    make_item(study, comparison=first.comparison, kind="REPEAT", repeat_of=first, position=25)
    assert [step(study, annotator, clock) for _item in range(GAP + 1)] == [*range(GAP), 25]


def test_with_overlap_everybody_meets_repeats_of_their_own(clock):
    people = [make_user() for _each in range(3)]
    study = make_repeat_study(people, overlap=2)
    for _turn in range(11):
        for person in people:
            step(study, person, clock)
    again = Claim.objects.filter(item__kind=ItemKind.REPEAT)
    firsts = Claim.objects.filter(item__position=0)
    assert firsts.count() == 2
    assert set(again.values_list("annotator", flat=True)) <= set(
        firsts.values_list("annotator", flat=True)
    )


def test_the_total_stands_still_while_one_works(clock):
    """Neither the first answer nor the repeat moves the number of items."""
    annotator = make_user()
    study = make_pair_study([annotator], items=24, repeat_rate=0.1)
    planned(study, (1, 12), (3, 20))
    totals = set()
    while step(study, annotator, clock) is not None:
        totals.add(progress_of(study, annotator.pk, clock.now).total)
    assert totals == {26}


def test_skipping_moves_no_number_whether_or_not_the_item_would_come_again(clock):
    annotator = make_user()
    study = make_pair_study([annotator], items=24, repeat_rate=0.1)
    planned(study, (1, 12))
    totals = []
    for _item in range(3):
        task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
        skip(
            study=study.slug,
            item=task.place.item,
            annotator=annotator,
            reason=SkipReason.OTHER,
            submission=uuid4(),
            now=clock.tick(),
        )
        totals.append(progress_of(study, annotator.pk, clock.now).total)
    assert totals == [25, 25, 25]


def test_a_repeat_given_back_comes_again_in_the_same_order(clock):
    annotator = make_user()
    study = make_repeat_study([annotator], items=12)
    for _item in range(12):
        step(study, annotator, clock)
    task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
    release_claims(annotator)
    again = next_task(study=study.slug, annotator=annotator, now=clock.tick())
    assert again.place.item == task.place.item
    assert again.first == task.first


def test_giving_an_item_back_brings_no_repeat_forward(clock):
    """At every item: sign out and in again. Were another item there then, it would be a repeat."""
    annotator = make_user()
    study = make_pair_study([annotator], items=40, repeat_rate=0.1)
    planned(study, (1, 12), (3, 20), (15, 30))
    seen = []
    task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
    while not isinstance(task, NothingLeft):
        for _time in range(2):
            release_claims(annotator)
            again = next_task(study=study.slug, annotator=annotator, now=clock.tick())
            assert again.place.item == task.place.item
        answer(study, task, annotator, now=clock.tick())
        seen.append(StudyItem.objects.get(pk=task.place.item).position)
        task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
    assert seen == [*range(43)]


def test_a_repeat_that_others_hold_blocks_nobody(clock):
    """By hand somebody was given the only place of the repeat."""
    one, other = make_user(), make_user()
    study = make_repeat_study([one, other], items=11)
    repeat = study.items.get(kind=ItemKind.REPEAT)
    Claim.objects.create(
        item=repeat,
        annotator=other,
        slot=0,
        state=ClaimState.DONE,
        shown_order="ORIGINAL",
        claimed_at=NOW,
        expires_at=NOW,
    )
    assert [step(study, one, clock) for _item in range(12)] == [*range(11), None]


def test_without_a_rate_nothing_comes_again(clock):
    annotator = make_user()
    study = make_repeat_study([annotator], repeat_rate=0.0, items=12)
    assert [step(study, annotator, clock) for _item in range(13)] == [*range(12), None]


def test_the_next_item_of_a_study_with_repeats_costs_no_statement_more(
    clock, django_assert_num_queries
):
    annotator = make_user()
    study = make_repeat_study([annotator], items=20)
    for _item in range(5):
        step(study, annotator, clock)
    with django_assert_num_queries(3):  # what was given, the next free item, its texts
        next_free_item(study, annotator.pk, clock.now)


def test_a_study_wants_no_answers_to_repeats(clock):
    """10 pairs and a repeat that nobody may be able to take: 10 answers finish the study."""
    annotator = make_user()
    study = make_repeat_study([annotator])
    assert (all_studies()[0].items, all_studies()[0].wanted) == (10, 10)
    while step(study, annotator, clock) is not None:
        pass
    assert Claim.objects.filter(state=ClaimState.DONE).count() == 11
    assert (all_studies()[0].done, all_studies()[0].share) == (10, 1.0)


def test_who_is_paused_reads_so_in_their_list():
    annotator = make_user()
    study = make_pair_study([annotator])
    assert (my_studies(annotator, NOW)[0].open, my_studies(annotator, NOW)[0].paused) == (
        True,
        False,
    )
    study.participations.update(paused_at=NOW, pause_reason="MANAGER")
    mine = my_study(annotator, study.slug, NOW)
    assert (mine.open, mine.paused) == (False, True)
    study.status = "PAUSED"
    study.save()
    mine = my_study(annotator, study.slug, NOW)
    assert (mine.open, mine.paused) == (False, True)  # also while the whole study is


def test_the_pair_shown_ahead_is_the_one_that_follows_repeats_too(clock):
    annotator = make_user()
    study = make_pair_study([annotator], items=14, repeat_rate=0.1)
    planned(study, (0, 11), (1, 13))
    kinds = []
    task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
    while not isinstance(task, NothingLeft):
        ahead = pair_ahead(
            study=study.slug, item=task.place.item, annotator=annotator, now=clock.tick()
        )
        answer(study, task, annotator, now=clock.tick())
        task = next_task(study=study.slug, annotator=annotator, now=clock.tick())
        if ahead is None:
            assert isinstance(task, NothingLeft)
        else:
            assert (task.place.item, task.first) == (ahead.place.item, ahead.first)
            kinds.append(StudyItem.objects.get(pk=ahead.place.item).kind)
    assert kinds.count("REPEAT") == 2
