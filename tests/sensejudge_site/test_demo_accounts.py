"""The demo's known password opens only a site that serves its own machine."""

from __future__ import annotations

import base64
import os
import subprocess
import sys

import pytest
from django.contrib.auth import authenticate
from django.core.checks import run_checks
from django.db import OperationalError

from annotation.models import Role, User
from sensejudge_site.demo import accounts
from sensejudge_site.demo.accounts import (
    LOGINS,
    PASSWORD,
    check_deployed_logins,
    check_logins,
    make_logins,
)
from sensejudge_site.sign_in import KnownPasswordError
from tests.paths import ROOT
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _local(settings):
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]


def test_there_is_one_login_a_role():
    make_logins()
    assert {user.role for user in User.objects.all()} == set(Role)
    assert all(
        User.objects.get(username=login.username).check_password(PASSWORD) for login in LOGINS
    )


def test_making_them_again_leaves_a_changed_password_alone():
    make_logins()
    admin = User.objects.get(username="demo-admin")
    admin.set_password("something else")
    admin.save()
    make_logins()
    assert User.objects.count() == 4
    assert User.objects.get(username="demo-admin").check_password("something else")


@pytest.mark.parametrize("hosts", [["example.org"], ["*"], ["localhost", ".example.org"]])
def test_a_site_open_to_others_gets_no_logins(settings, hosts):
    settings.ALLOWED_HOSTS = hosts
    with refuses("demo:not-local"):
        make_logins()
    assert not User.objects.exists()


def test_opening_the_site_later_is_warned_of_until_the_passwords_are_changed(settings):
    make_logins()
    assert check_logins(databases=["default"]) == []
    settings.ALLOWED_HOSTS = ["example.org"]
    found = [each for each in run_checks(databases=["default"]) if each.id == "sensejudge.W001"]
    assert [each.obj.username for each in found] == sorted(each.username for each in LOGINS)
    assert not any(each.is_serious() for each in found)  # or nobody could migrate
    User.objects.filter(username="demo-viewer").update(is_active=False)
    for user in User.objects.filter(is_active=True):
        user.set_password("something else")
        user.save()
    assert check_logins(databases=["default"]) == []


def test_a_deployment_with_a_known_password_is_an_error_whatever_hosts_it_answers_to():
    def found():
        messages = run_checks(include_deployment_checks=True, tags=["security"])
        return [each.obj.username for each in messages if each.id == "sensejudge.E001"]

    assert found() == []
    make_logins()
    assert found() == sorted(each.username for each in LOGINS)
    assert not any(each.id == "sensejudge.E001" for each in run_checks(databases=["default"]))
    admin = User.objects.get(username="demo-admin")
    admin.set_password("something else")
    admin.save()
    assert found() == ["demo-annotator", "demo-manager", "demo-viewer"]


def test_a_deployment_whose_database_is_away_is_warned(monkeypatch):
    def away():
        raise OperationalError("connection refused")

    monkeypatch.setattr(accounts.connection.introspection, "table_names", away)
    (warning,) = check_deployed_logins()
    assert warning.id == "sensejudge.W003"
    assert "connection refused" in warning.msg


class TestSigningIn:
    """The known password opens the site to its own machine alone, however one signs in."""

    HERE = {"SERVER_SOFTWARE": "Granian", "SERVER_NAME": "127.0.0.1"}
    ELSEWHERE = [
        {"SERVER_SOFTWARE": "Granian", "SERVER_NAME": "0.0.0.0"},  # noqa: S104 - nothing listens
        {"SERVER_SOFTWARE": "Granian", "SERVER_NAME": "127.0.0.2"},
        {"SERVER_SOFTWARE": "Granian", "SERVER_NAME": "/run/granian.sock"},
        {"SERVER_SOFTWARE": "WSGIServer/0.2 CPython/3.11.7", "SERVER_NAME": "127.0.0.1"},
        {**HERE, "HTTP_FORWARDED": "for=127.0.0.1"},
        {**HERE, "HTTP_X_FORWARDED_FOR": ""},
        {**HERE, "HTTP_X_FORWARDED_PROTO": "http"},
        {**HERE, "HTTP_VIA": "1.1 proxy"},
        {**HERE, "HTTP_X_REAL_IP": "192.0.2.7"},
        {**HERE, "HTTP_X_CLIENT_IP": "192.0.2.7"},
        {**HERE, "HTTP_X_CLUSTER_CLIENT_IP": "192.0.2.7"},
        {**HERE, "HTTP_TRUE_CLIENT_IP": "192.0.2.7"},
        {**HERE, "HTTP_CF_CONNECTING_IP": "192.0.2.7"},
        {**HERE, "HTTP_FASTLY_CLIENT_IP": "192.0.2.7"},
    ]

    @pytest.fixture(autouse=True)
    def _logins(self):
        make_logins()

    def test_here(self, client):
        assert sign_in(client, "/sign-in/", self.HERE).status_code == 302
        assert sign_in(client, "/admin/login/", self.HERE).status_code == 302
        assert ask_for_token(client, self.HERE).status_code == 200

    @pytest.mark.parametrize("environ", ELSEWHERE)
    def test_elsewhere(self, client, environ):
        for path in ("/sign-in/", "/admin/login/"):
            answer = sign_in(client, path, environ)
            assert answer.status_code == 403
            assert "The demo password is public" in answer.content.decode()
            assert "_auth_user_id" not in client.session
        answer = ask_for_token(client, environ)
        assert answer.status_code == 403
        assert answer.json()["code"] == "api:known-password"
        assert "Sign in there" in answer.json()["message"]

    def test_without_a_request_nobody_knows(self):
        with pytest.raises(KnownPasswordError):
            authenticate(username="demo-admin", password=PASSWORD)

    def test_a_wrong_password_is_no_more_than_wrong(self, client):
        answer = sign_in(client, "/sign-in/", {}, password="wrong")
        assert answer.status_code == 200
        assert "The demo password is public" not in answer.content.decode()

    def test_a_changed_password_opens_the_site_from_anywhere(self, client):
        admin = User.objects.get(username="demo-admin")
        admin.set_password("something else")
        admin.save()
        assert sign_in(client, "/sign-in/", {}, password="something else").status_code == 302


def sign_in(client, path, environ, password=PASSWORD):
    fields = {"username": "demo-admin", "password": password}
    return client.post(f"{path}?next=/", fields, headers={"Host": "127.0.0.1"}, **environ)


def ask_for_token(client, environ):
    word = base64.b64encode(f"demo-admin:{PASSWORD}".encode()).decode()
    headers = {"Host": "127.0.0.1", "Authorization": f"Basic {word}"}
    return client.post("/api/v1/token/", headers=headers, **environ)


def test_without_a_database_nothing_is_asked(settings, django_assert_num_queries):
    settings.ALLOWED_HOSTS = ["example.org"]
    with django_assert_num_queries(0):
        assert check_logins(databases=None) == []


def test_an_empty_database_passes_the_check(tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
        "SENSEJUDGE_VAR": str(tmp_path),
        "ALLOWED_HOSTS": "example.org",
    }
    command = [sys.executable, "manage.py", "check", "--database", "default"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
