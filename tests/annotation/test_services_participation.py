from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import SkipReason
from annotation.core.choices import Reason
from annotation.core.labelling import Answer, NothingLeft, Rating
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    GoldLabel,
    ItemKind,
    PairwiseLabel,
    Participation,
    PauseReason,
    StudyItem,
)
from annotation.services.claims import RefusalCode, next_task, own_task, renew_lease, skip
from annotation.services.labels import rate_session
from annotation.services.quality import pause, pause_if_careless, resume
from tests.annotation.labelling import (
    NOW,
    answer,
    give_repeat,
    make_pair_study,
    make_session_study,
)
from tests.factory import make_claim, make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


class Work:
    """An annotator at a study of pairs of which every one is gold, and A is right."""

    def __init__(self, **rules):
        self.annotator = make_user()
        self.manager = make_user(role="MANAGER", display_name="Mia")
        self.study = make_pair_study([self.annotator], items=12, created_by=self.manager, **rules)
        self.now = NOW

    def gold(self):
        self.study.items.update(kind=ItemKind.GOLD)
        for item in self.study.items.all():
            GoldLabel.objects.create(
                comparison_id=item.comparison_id, verdict="A", source="DATASET"
            )
        return self

    @property
    def part(self):
        rows = Participation.objects.select_related("study")
        return rows.get(study=self.study, annotator=self.annotator)

    def tick(self):
        self.now += timedelta(seconds=1)
        return self.now

    def take(self):
        return next_task(study=self.study.slug, annotator=self.annotator, now=self.tick())

    def answer(self, *, right):
        """Answer the next item with A or B, whatever side it is shown on."""
        task = self.take()
        order = Claim.objects.get(item=task.place.item, annotator=self.annotator).shown_order
        first = right is (order == "ORIGINAL")
        choice = Answer.FIRST if first else Answer.SECOND
        answer(self.study, task, self.annotator, choice, now=self.tick())
        return StudyItem.objects.get(pk=task.place.item)

    def resume(self):
        resume(
            study=self.study.slug,
            annotator=self.annotator.pk,
            by=self.manager,
            now=self.tick(),
        )


def test_too_few_gold_items_right_pause_an_annotator():
    work = Work(pause_gold_below=0.6, pause_after=3).gold()
    for right in (True, False):
        work.answer(right=right)
    assert work.part.paused_at is None
    work.answer(right=False)
    assert (work.part.paused_at, work.part.pause_reason) == (work.now, PauseReason.GOLD)
    event = AuditEvent.objects.get(action="participation.paused")
    assert (event.actor, event.target, event.target_id) == (None, "participation", work.part.pk)
    assert event.detail == {
        "study": work.study.slug,
        "annotator": work.annotator.pk,
        "reason": "GOLD",
        "hits": 1,
        "answers": 3,
        "below": 0.6,
    }


def test_a_share_at_the_bound_pauses_nobody():
    work = Work(pause_gold_below=0.5, pause_after=2).gold()
    for right in (True, False, True, False):
        work.answer(right=right)
    assert work.part.paused_at is None


def test_without_a_rule_nobody_is_paused_and_nothing_is_asked(django_assert_num_queries):
    work = Work().gold()
    for _item in range(6):
        work.answer(right=False)
    assert work.part.paused_at is None
    part = work.part
    with django_assert_num_queries(0):
        pause_if_careless(part, ItemKind.GOLD, NOW)


def test_a_rule_costs_one_query_and_that_only_of_gold(django_assert_num_queries):
    work = Work(pause_gold_below=0.5, pause_after=10).gold()
    for _item in range(4):
        work.answer(right=True)
    part = work.part
    with django_assert_num_queries(0):
        pause_if_careless(part, ItemKind.NORMAL, NOW)
        pause_if_careless(part, ItemKind.REPEAT, NOW)
    with django_assert_num_queries(1):
        pause_if_careless(part, ItemKind.GOLD, NOW)


def test_normal_items_with_a_gold_answer_count_for_nothing():
    work = Work(pause_gold_below=0.6, pause_after=3).gold()
    work.study.items.filter(position__lt=3).update(kind=ItemKind.NORMAL)
    for _item in range(5):
        work.answer(right=False)
    assert work.part.paused_at is None
    work.answer(right=False)
    assert work.part.paused_at is not None


@pytest.mark.parametrize(("allow_tie", "paused"), [(False, False), (True, True)])
def test_a_tie_that_nobody_may_give_makes_no_answer_wrong(allow_tie, paused):
    work = Work(pause_gold_below=0.6, pause_after=3, allow_tie=allow_tie).gold()
    for item in work.study.items.all():
        GoldLabel.objects.create(comparison_id=item.comparison_id, verdict="TIE", source="MANAGER")
    for _item in range(4 if not paused else 3):
        work.answer(right=True)
    assert (work.part.paused_at is not None) is paused


def test_the_answer_that_holds_is_the_managers():
    work = Work(pause_gold_below=0.6, pause_after=3).gold()
    for item in work.study.items.all():
        GoldLabel.objects.create(comparison_id=item.comparison_id, verdict="B", source="MANAGER")
    for _item in range(3):
        work.answer(right=False)
    assert work.part.paused_at is None


def test_a_change_of_mind_can_pause():
    work = Work(pause_gold_below=1.0, pause_after=1).gold()
    item = work.answer(right=True)
    assert work.part.paused_at is None
    label = PairwiseLabel.objects.get()
    choice = Answer.SECOND if label.shown_order == "ORIGINAL" else Answer.FIRST
    task = own_task(study=work.study.slug, item=item.pk, annotator=work.annotator, now=work.now)
    answer(work.study, task, work.annotator, choice, now=work.tick())
    assert work.part.pause_reason == PauseReason.GOLD


def repeated(work, *, alike):
    """Answer an item, and then its repeat."""
    item = work.answer(right=True)
    give_repeat(item, work.annotator, work.tick())
    work.answer(right=alike)


def test_too_few_repeats_answered_alike_pause_an_annotator():
    work = Work(pause_repeats_below=0.7, pause_after=2)
    repeated(work, alike=True)
    assert work.part.paused_at is None
    repeated(work, alike=False)
    assert work.part.pause_reason == PauseReason.REPEATS
    detail = AuditEvent.objects.get(action="participation.paused").detail
    assert (detail["hits"], detail["answers"]) == (1, 2)


def test_a_gold_rule_does_not_look_at_repeats():
    work = Work(pause_gold_below=1.0, pause_after=1)
    repeated(work, alike=False)
    assert work.part.paused_at is None


class Sessions:
    """A study of one gold session of two replies, both worth a 4."""

    def __init__(self, **rules):
        self.annotator = make_user()
        self.study = make_session_study([self.annotator], turns=2, **rules)
        self.study.items.update(kind=ItemKind.GOLD)
        session = self.study.items.get().session
        for turn in session.turns.all():
            GoldLabel.objects.create(response=turn.responses.get(), score=4, source="DATASET")

    def rate(self, *scores):
        task = next_task(study=self.study.slug, annotator=self.annotator, now=NOW)
        rate_session(
            study=self.study.slug,
            item=task.place.item,
            annotator=self.annotator,
            ratings={
                number: Rating(score, Reason.OTHER if score <= 3 else None)
                for number, score in enumerate(scores, start=1)
            },
            submission=uuid4(),
            now=NOW,
        )
        return Participation.objects.get()


def test_a_score_one_off_is_right():
    assert Sessions(pause_gold_below=1.0, pause_after=2).rate(3, 5).paused_at is None


def test_a_score_two_off_is_wrong():
    part = Sessions(pause_gold_below=1.0, pause_after=2).rate(4, 2)
    assert part.pause_reason == PauseReason.GOLD


def test_repeated_scores_pause_too():
    sessions = Sessions(pause_repeats_below=1.0, pause_after=2)
    assert sessions.rate(4, 4).paused_at is None
    give_repeat(sessions.study.items.get(), sessions.annotator)
    assert sessions.rate(3, 2).pause_reason == PauseReason.REPEATS


def test_who_is_paused_gets_nothing_and_is_told_whom_to_ask():
    work = Work()
    task = work.take()
    pause(study=work.study.slug, annotator=work.annotator.pk, by=work.manager, now=work.tick())
    nothing = work.take()
    assert isinstance(nothing, NothingLeft)
    assert (nothing.paused, nothing.open, nothing.ask) == (True, True, "Mia")
    claim = Claim.objects.get()
    assert (claim.state, claim.slot) == (ClaimState.RELEASED, None)
    own = {"study": work.study.slug, "item": task.place.item, "annotator": work.annotator}
    for refused in (
        lambda: answer(work.study, task, work.annotator, now=work.now),
        lambda: skip(**own, reason=SkipReason.OTHER, submission=uuid4(), now=work.now),
        lambda: renew_lease(**own, now=work.now),
    ):
        with pytest.raises(Refused) as said:
            refused()
        assert said.value.code is RefusalCode.PAUSED
    assert RefusalCode.PAUSED.value == "labelling:paused"
    assert not PairwiseLabel.objects.exists()


def test_items_of_other_studies_stay_with_who_is_paused():
    work = Work()
    elsewhere = make_pair_study([work.annotator])
    held = make_claim(elsewhere.items.get(), work.annotator)
    pause(study=work.study.slug, annotator=work.annotator.pk, by=work.manager, now=NOW)
    held.refresh_from_db()
    assert held.state == ClaimState.ACTIVE


def test_going_on_counts_answers_from_then_on():
    work = Work(pause_gold_below=0.6, pause_after=3).gold()
    for _item in range(3):
        work.answer(right=False)
    assert work.part.paused_at is not None
    work.resume()
    part = work.part
    assert (part.paused_at, part.pause_reason, part.resumed_at) == (None, "", work.now)
    for _item in range(2):
        work.answer(right=False)
    assert work.part.paused_at is None
    work.answer(right=False)
    assert work.part.pause_reason == PauseReason.GOLD
    events = AuditEvent.objects.filter(target="participation").order_by("pk")
    assert [event.action for event in events] == [
        "participation.paused",
        "participation.resumed",
        "participation.paused",
    ]
    assert (events[1].actor, events[1].detail["was"]) == (work.manager, "GOLD")


def test_pausing_and_going_on_happen_once():
    work = Work()
    with refuses("participation:not-paused"):
        work.resume()
    pause(study=work.study.slug, annotator=work.annotator.pk, by=work.manager, now=NOW)
    with refuses("participation:paused"):
        pause(study=work.study.slug, annotator=work.annotator.pk, by=work.manager, now=NOW)
    work.resume()
    assert AuditEvent.objects.filter(target="participation").count() == 2


def test_who_is_not_in_the_study_cannot_be_paused():
    work = Work()
    with pytest.raises(Participation.DoesNotExist):
        pause(study=work.study.slug, annotator=make_user().pk, by=work.manager, now=NOW)
