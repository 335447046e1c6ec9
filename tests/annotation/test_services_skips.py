"""Undoing a skip: the item is in hand as it was, if still skipped and a place is free."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import Progress, SkipReason
from annotation.core.refusals import Refused
from annotation.models import Claim, Participation, StudyItem
from annotation.services import claims
from annotation.services.claims import RefusalCode, next_task, own_claim, skip, undo_skip
from tests.annotation.labelling import NOW, answer, make_pair_study
from tests.factory import make_claim, make_user

pytestmark = pytest.mark.django_db

SKIPPED_AT = NOW + timedelta(minutes=1)


def take(study, annotator, now=NOW):
    return next_task(study=study.slug, annotator=annotator, now=now)


@pytest.fixture
def annotator():
    return make_user()


@pytest.fixture
def study(annotator):
    return make_pair_study([annotator, make_user()], items=3)


def skip_first(study, annotator):
    item = take(study, annotator).place.item
    Claim.objects.update(given=True)
    before = Claim.objects.values().get()
    own = {"study": study.slug, "item": item, "annotator": annotator}
    skip(**own, reason=SkipReason.OTHER, submission=uuid4(), now=SKIPPED_AT)
    take(study, annotator, SKIPPED_AT)
    return before, {**own, "skipped_at": SKIPPED_AT, "now": NOW + timedelta(minutes=2)}


def test_the_item_is_in_hand_as_it_was_and_comes_before_the_next(study, annotator):
    before, own = skip_first(study, annotator)
    undo_skip(**own)
    claim = Claim.objects.values().get(pk=before["id"])
    assert claim | {"expires_at": before["expires_at"]} == before
    assert claim["expires_at"] == own["now"] + timedelta(minutes=study.lease_minutes)
    again = take(study, annotator, own["now"])
    assert again.place.item == own["item"]
    assert again.place.progress == Progress(done=0, skipped=0, left=3)
    answer(study, again, annotator, now=own["now"])
    assert Claim.objects.filter(state="ACTIVE").get().item_id != own["item"]


def test_an_undoing_that_comes_again_undoes_no_later_skip(study, annotator):
    _before, own = skip_first(study, annotator)
    undo_skip(**own)
    undo_skip(**own)
    skip(
        study=study.slug,
        item=own["item"],
        annotator=annotator,
        reason=SkipReason.BROKEN,
        submission=uuid4(),
        now=NOW + timedelta(minutes=3),
    )
    undo_skip(**own)
    assert Claim.objects.get(item=own["item"]).skip_reason == "BROKEN"


def test_what_others_hold_by_now_stays_skipped(study, annotator):
    _before, own = skip_first(study, annotator)
    other = study.annotators.exclude(pk=annotator.pk).get()
    make_claim(StudyItem.objects.get(pk=own["item"]), other, slot=0, state="DONE")
    with pytest.raises(Refused) as refused:
        undo_skip(**own)
    assert refused.value.code is RefusalCode.TAKEN
    assert Claim.objects.get(item=own["item"], annotator=annotator).state == "SKIPPED"


def test_who_is_just_taken_out_of_the_study_holds_nothing_again(study, annotator, monkeypatch):
    _before, own = skip_first(study, annotator)

    def take_out(*given):
        Participation.objects.filter(annotator=annotator).delete()
        return own_claim(*given)

    monkeypatch.setattr(claims, "own_claim", take_out)
    with pytest.raises(Refused) as refused:
        undo_skip(**own)
    assert refused.value.code is RefusalCode.NOT_YOURS
    assert Claim.objects.get(item=own["item"]).state == "SKIPPED"
