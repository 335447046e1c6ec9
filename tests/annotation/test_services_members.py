from __future__ import annotations

import pytest

from annotation.models import AuditEvent, Claim, PairwiseLabel, Participation, Study
from annotation.services.claims import next_task
from annotation.services.participants import add_annotators, remove_annotator
from tests.annotation.labelling import NOW, answer, make_pair_study
from tests.factory import make_study, make_user

pytestmark = pytest.mark.django_db


def test_people_are_added_once():
    manager, study = make_user(role="MANAGER"), make_study()
    names = [make_user(username="li").username, make_user(username="wu").username, "nobody"]
    assert add_annotators(study=study.slug, usernames=names, by=manager) == 2
    assert add_annotators(study=study.slug, usernames=names, by=manager) == 0
    assert sorted(study.annotators.values_list("username", flat=True)) == ["li", "wu"]
    event = AuditEvent.objects.get()
    assert (event.action, len(event.detail["annotators"])) == ("study.annotators-added", 2)


def test_whoever_cannot_sign_in_is_not_added():
    study = make_study()
    gone = make_user(is_active=False)
    assert add_annotators(study=study.slug, usernames=[gone.username], by=make_user()) == 0


def test_taking_somebody_out_keeps_answers_and_gives_back_items():
    annotator, manager = make_user(), make_user(role="MANAGER")
    study = make_pair_study([annotator], items=2)
    task = next_task(study=study.slug, annotator=annotator, now=NOW)
    answer(study, task, annotator)
    next_task(study=study.slug, annotator=annotator, now=NOW)
    Participation.objects.update(consented_at=NOW, guidelines_read=3)
    for _twice in range(2):
        remove_annotator(study=study.slug, annotator=annotator.pk, by=manager)
    assert not study.annotators.exists()
    assert PairwiseLabel.objects.get().annotator == annotator
    assert sorted(Claim.objects.values_list("state", flat=True)) == ["DONE", "RELEASED"]
    detail = AuditEvent.objects.get(action="study.annotator-removed").detail
    assert (detail["annotator"], detail["released"]) == (annotator.pk, 1)
    assert (detail["consented_at"], detail["guidelines_read"]) == (NOW.isoformat(), 3)


def test_a_study_that_is_not_there():
    with pytest.raises(Study.DoesNotExist):
        add_annotators(study="nowhere", usernames=[], by=make_user())
    with pytest.raises(Study.DoesNotExist):
        remove_annotator(study="nowhere", annotator=1, by=make_user())
