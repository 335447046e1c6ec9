"""A password that changes, by whatever way, ends every API token and every other session."""

from __future__ import annotations

import base64
from io import StringIO
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from knox.models import AuthToken

from annotation.models import Role, User
from tests.factory import PASSWORD, make_user

pytestmark = pytest.mark.django_db

NEW = "another horse battery"
PAGE = reverse("annotation:password")


def token_of(user, password=PASSWORD):
    basic = base64.b64encode(f"{user.username}:{password}".encode()).decode()
    answer = Client().post("/api/v1/token/", headers={"authorization": f"Basic {basic}"})
    return answer.json()["token"]


def api_status(token):
    headers = {"authorization": f"Token {token}"}
    return Client().get("/api/v1/datasets/", headers=headers).status_code


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


def is_open(client):
    return client.get(PAGE).status_code == 200


def by_the_page(user):
    sent = {"current": PASSWORD, "password": NEW, "password_again": NEW}
    assert signed_in(user).post(PAGE, sent).status_code == 302


def by_an_admin(user):
    admin = signed_in(make_user(role=Role.ADMIN))
    sent = {"usable_password": "true", "password1": NEW, "password2": NEW}
    place = f"/admin/annotation/user/{user.pk}/password/"
    assert admin.post(place, sent).status_code == 302


def by_an_admin_who_takes_it_away(user):
    admin = signed_in(make_user(role=Role.ADMIN))
    sent = {"usable_password": "false", "unset-password": "1"}
    place = f"/admin/annotation/user/{user.pk}/password/"
    assert admin.post(place, sent).status_code == 302


def by_the_console_s_own_page(user):
    User.objects.filter(pk=user.pk).update(role=Role.MANAGER)
    sent = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert signed_in(user).post("/admin/password_change/", sent).status_code == 302


def by_the_command(user):
    with patch("getpass.getpass", return_value=NEW):
        call_command("changepassword", user.username, stdout=StringIO(), stderr=StringIO())


def by_the_model(user):
    row = User.objects.get(pk=user.pk)
    row.set_password(NEW)
    row.save()


def by_a_statement(user):
    row = User.objects.get(pk=user.pk)
    row.set_password(NEW)
    User.objects.filter(pk=user.pk).update(password=row.password)


WAYS = [
    by_the_page,
    by_an_admin,
    by_an_admin_who_takes_it_away,
    by_the_console_s_own_page,
    by_the_command,
    by_the_model,
    by_a_statement,
]


@pytest.mark.parametrize("change", WAYS)
def test_it_ends_tokens_and_sessions(change):
    user, other = make_user(role=Role.VIEWER), make_user(role=Role.VIEWER)
    tokens, sessions = [token_of(user), token_of(user)], [signed_in(user), signed_in(user)]
    kept, stays = token_of(other), signed_in(other)
    assert [api_status(each) for each in tokens] == [200, 200]
    assert all(map(is_open, sessions))
    change(user)
    assert [api_status(each) for each in tokens] == [401, 401]
    assert not any(map(is_open, sessions))
    assert api_status(kept) == 200
    assert is_open(stays)


@pytest.mark.parametrize("change", [by_the_page, by_the_model])
def test_a_new_token_opens_the_api_again(change):
    user = make_user(role=Role.VIEWER)
    change(user)
    assert api_status(token_of(user, NEW)) == 200


def test_an_ended_token_cannot_be_revoked_or_used_for_another():
    user = make_user(role=Role.VIEWER)
    headers = {"authorization": f"Token {token_of(user)}"}
    by_the_model(user)
    assert Client().post("/api/v1/token/revoke/", headers=headers).status_code == 401
    assert Client().post("/api/v1/token/", headers=headers).status_code == 401


def test_the_same_password_set_again_ends_them_too():
    user = make_user(role=Role.VIEWER)
    token = token_of(user)
    user.set_password(PASSWORD)
    user.save()
    assert api_status(token) == 401


def test_a_token_that_was_made_for_no_password_opens_nothing():
    _row, token = AuthToken.objects.create(make_user(role=Role.VIEWER))
    assert api_status(token) == 401


def test_a_token_of_somebody_who_may_not_sign_in_opens_nothing():
    user = make_user(role=Role.VIEWER)
    token = token_of(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert api_status(token) == 401


def test_a_token_says_nothing_of_the_password():
    user = make_user(role=Role.VIEWER)
    one, other = token_of(user), token_of(user)
    assert one != other
    assert one[:10] not in user.password


def test_signing_in_leaves_tokens_alone(client):
    user = make_user(role=Role.VIEWER)
    token = token_of(user)
    client.post(reverse("sign-in"), {"username": user.username, "password": PASSWORD})
    assert api_status(token) == 200


def test_the_description_of_the_api_names_the_token(client):
    client.force_login(make_user(role=Role.VIEWER))
    assert "knoxApiToken" in client.get("/api/schema/").content.decode()
