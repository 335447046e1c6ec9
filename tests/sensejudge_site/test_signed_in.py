from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from sensejudge_site.signed_in import SessionStore, UserBackend
from tests.factory import make_user

pytestmark = pytest.mark.django_db

PAGE = reverse("annotation:my-profile")


@pytest.fixture
def person(client):
    user = make_user()
    client.force_login(user)
    return user


def signed_in(client):
    return client.get(PAGE).status_code == 200


def test_a_session_names_its_user(client, person):
    response = client.get(PAGE)
    assert response.status_code == 200
    assert response.wsgi_request.user == person
    assert response.wsgi_request.user.date_joined == person.date_joined


def test_a_session_ends_at_its_time(client, person):
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not signed_in(client)


def test_signing_out_ends_the_session(client, person):
    kept = client.cookies["sessionid"].value
    client.post(reverse("sign-out"))
    client.cookies["sessionid"] = kept
    assert not signed_in(client)


def test_who_may_not_sign_in_any_more_is_out_at_once(client, person):
    person.is_active = False
    person.save()
    assert not signed_in(client)


def test_who_was_deleted_is_nobody(client, person):
    person.delete()
    assert not signed_in(client)
    assert UserBackend().get_user(0) is None


def test_a_key_of_no_session_is_forgotten():
    store = SessionStore("of-no-session")
    assert store.load() == {}
    assert store.session_key is None
