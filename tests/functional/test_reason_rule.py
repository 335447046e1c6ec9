"""A reason stands exactly at a score of 3 and below, by whatever way a rating comes.

The page itself is tried in tests/browser/test_labelling_sessions.py.
"""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.core.choices import Reason
from annotation.core.labelling import Rating
from annotation.core.refusals import Refused
from annotation.models import SatisfactionLabel
from annotation.services.labels import rate_session
from tests.annotation.labelling import make_session_study
from tests.annotation.pages import rated, show, url
from tests.factory import make_rating, make_user

pytestmark = pytest.mark.django_db

GIVEN = [each.value for each in Reason if each is not Reason.NOT_RECORDED]
WRONG = [*((score, None) for score in (1, 2, 3)), *((score, "OTHER") for score in (4, 5))]
RIGHT = [*((score, reason) for score in (1, 2, 3) for reason in GIVEN), (4, None), (5, None)]


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


@pytest.mark.parametrize(("score", "reason"), RIGHT)
def test_a_plain_form_stores_what_is_right(client, annotator, score, reason):
    study = make_session_study([annotator], turns=1)
    show(client, study)
    assert client.post(url("ratings", study), rated((score, reason or ""))).status_code == 302
    label = SatisfactionLabel.objects.get()
    assert (label.score, label.reason) == (score, reason)


@pytest.mark.parametrize(("score", "reason"), WRONG)
def test_a_plain_form_never_stores_what_is_wrong(client, annotator, score, reason):
    study = make_session_study([annotator], turns=1)
    show(client, study)
    response = client.post(url("ratings", study), rated((score, reason or "")))
    if score <= 3:
        assert response.status_code == 422
        assert "Choose the main reason." in response.content.decode()
        assert not SatisfactionLabel.objects.exists()
    else:  # one that was chosen before the score rose goes
        assert response.status_code == 302
        assert SatisfactionLabel.objects.get().reason is None


@pytest.mark.parametrize(("score", "reason"), [*WRONG, (2, "NOT_RECORDED")])
def test_the_service_refuses_it(client, annotator, score, reason):
    study = make_session_study([annotator], turns=1)
    show(client, study)
    rating = Rating(score, Reason(reason) if reason else None)
    with pytest.raises(Refused):
        rate_session(
            study=study.slug,
            item=study.items.get().pk,
            annotator=annotator,
            ratings={1: rating},
            submission=UUID("7f7ac68e-2e65-4b3c-8f2e-1f1a9a3f9c11"),
            now=timezone.now(),
        )
    assert not SatisfactionLabel.objects.exists()


@pytest.mark.parametrize(("score", "reason"), WRONG)
def test_the_database_refuses_it_new_and_changed(score, reason):
    with pytest.raises(IntegrityError), transaction.atomic():
        make_rating(score=score, reason=reason)
    label = make_rating(score=4) if score <= 3 else make_rating(score=3, reason="OTHER")
    with pytest.raises(IntegrityError), transaction.atomic():
        SatisfactionLabel.objects.filter(pk=label.pk).update(score=score)
    assert SatisfactionLabel.objects.filter(pk=label.pk, score=label.score).exists()


@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_no_rating_is_written_through_the_api(client, annotator, method):
    label = make_rating(score=4)
    path = reverse("satisfactionlabel-list")
    place = path if method == "post" else f"{path}{label.pk}/"
    data = {"score": 2, "reason": None, "response": label.response_id}
    response = getattr(client, method)(place, data, content_type="application/json")
    assert response.status_code in {403, 405}
    assert SatisfactionLabel.objects.get() == label
    assert SatisfactionLabel.objects.get().score == 4
