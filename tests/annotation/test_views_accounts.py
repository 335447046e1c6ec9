from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role
from tests.factory import PASSWORD, make_user

pytestmark = pytest.mark.django_db

PAGE = reverse("annotation:password")
NEW = "another horse battery"
SENT = {"current": PASSWORD, "password": NEW, "password_again": NEW}


@pytest.fixture
def user(client):
    user = make_user()
    client.force_login(user)
    return user


@pytest.mark.parametrize("role", Role.values)
def test_everybody_changes_their_own_password_and_stays_signed_in(client, role):
    user = make_user(role=role)
    client.force_login(user)
    assert f'href="{PAGE}"' in client.get(reverse("annotation:my-profile")).content.decode()
    response = client.post(PAGE, SENT, follow=True)
    assert response.redirect_chain == [(PAGE, 302)]
    assert "Password changed." in response.content.decode()
    user.refresh_from_db()
    assert user.check_password(NEW)


def test_the_session_s_key_is_a_new_one(client, user):
    before = client.cookies["sessionid"].value
    client.post(PAGE, SENT)
    assert client.cookies["sessionid"].value != before


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"current": "wrong"}, "This is not your current password."),
        ({"current": ""}, "This field is required."),
        ({"current": f" {PASSWORD}"}, "This is not your current password."),
        ({"password": ""}, "This field is required."),
        ({"password_again": ""}, "This field is required."),
        ({"password_again": "something else"}, "The two passwords do not match."),
        ({"password": "short", "password_again": "short"}, "too short"),
        ({"password": "password1", "password_again": "password1"}, "too common"),
        ({"password": "73901624", "password_again": "73901624"}, "entirely numeric"),
        ({"password": "user-name-x", "password_again": "user-name-x"}, "too similar"),
    ],
)
def test_what_changes_nothing_is_said(client, change, error):
    user = make_user(username="user-name-y")
    client.force_login(user)
    response = client.post(PAGE, {**SENT, **change})
    assert response.status_code == 422
    assert error in response.content.decode()
    for secret in (PASSWORD, NEW):
        assert secret not in response.content.decode()
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_it_is_for_oneself_alone(client, user):
    other = make_user(password="some other words")
    client.post(f"{PAGE}?user={other.pk}", {**SENT, "user": other.pk, "username": other.username})
    other.refresh_from_db()
    assert other.check_password("some other words")


def test_another_s_password_is_not_one_s_own(client, user):
    make_user(password="some other words")
    assert client.post(PAGE, {**SENT, "current": "some other words"}).status_code == 422


def test_strangers_sign_in_first(client):
    assert client.get(PAGE).url == f"/sign-in/?next={PAGE}"
    assert client.post(PAGE, SENT).url.startswith("/sign-in/")


def test_a_form_needs_its_token_against_forgery():
    user = make_user()
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post(PAGE, SENT).status_code == 403
    assert client.put(PAGE).status_code == 403


def test_nobody_keeps_the_page(client, user):
    assert "no-store" in client.get(PAGE)["Cache-Control"]


def test_who_guesses_is_locked_out_as_at_the_sign_in(client, user, settings):
    settings.AXES_ENABLED = True
    for _each in range(settings.AXES_FAILURE_LIMIT):
        last = client.post(PAGE, {**SENT, "current": "wrong"})
    assert last.status_code == 429
    assert client.post(PAGE, SENT).status_code == 429
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
