"""The demo's known password opens only a site that serves its own machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.checks import run_checks

from annotation.models import Role, User
from sensejudge_site.demo.accounts import (
    LOGINS,
    PASSWORD,
    NotLocalError,
    check_logins,
    make_logins,
)
from tests.paths import ROOT

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
    with pytest.raises(NotLocalError):
        make_logins()
    assert not User.objects.exists()


def test_opening_the_site_later_is_an_error_until_the_passwords_are_changed(settings):
    make_logins()
    assert check_logins(databases=["default"]) == []
    settings.ALLOWED_HOSTS = ["example.org"]
    found = [error for error in run_checks(databases=["default"]) if error.id == "sensejudge.E001"]
    assert [error.obj.username for error in found] == sorted(each.username for each in LOGINS)
    User.objects.filter(username="demo-viewer").update(is_active=False)
    for user in User.objects.filter(is_active=True):
        user.set_password("something else")
        user.save()
    assert check_logins(databases=["default"]) == []


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
