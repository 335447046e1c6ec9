"""Wrong passwords lock out by user name and address, and by address; for a time that ends."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotation.models import User
from sensejudge_site.sign_in import check_trusted_proxies, client_address
from tests.factory import make_user

PASSWORD, WRONG = "the right one", "wrong"
NAME_LIMIT, ADDRESS_LIMIT, MINUTES = 8, 30, 15


@pytest.fixture(autouse=True)
def _counted(settings):
    settings.AXES_ENABLED = True
    assert settings.AXES_FAILURE_LIMIT == NAME_LIMIT
    assert settings.ADDRESS_FAILURE_LIMIT == ADDRESS_LIMIT


@pytest.fixture
def anna(db):
    return person("anna")


def person(name):
    user = make_user(username=name)
    user.set_password(PASSWORD)
    user.save()
    return user


def try_page(name, password=WRONG, address="192.0.2.1", path="/sign-in/"):
    """The status: 200 for a wrong password, 302 for a right one, 429 for a lock or its cause."""
    fields = {"username": name, "password": password}
    return Client().post(path, fields, REMOTE_ADDR=address).status_code


def try_token(name, password=WRONG, address="192.0.2.1"):
    word = base64.b64encode(f"{name}:{password}".encode()).decode()
    return Client().post(
        "/api/v1/token/", headers={"Authorization": f"Basic {word}"}, REMOTE_ADDR=address
    )


@pytest.mark.django_db
class TestName:
    def test_eight_wrong_passwords_are_looked_at(self, anna):
        assert [try_page("anna") for _n in range(10)] == [200] * 7 + [429] * 3
        assert AccessAttempt.objects.get(username="anna").failures_since_start == 8
        assert try_page("anna", PASSWORD) == 429

    def test_it_tells_for_how_long(self, anna):
        with time_machine.travel(timezone.now(), tick=False) as clock:
            for _n in range(8):
                try_page("anna")
            clock.shift(timedelta(minutes=3))
            answer = Client().post(
                "/sign-in/", {"username": "anna", "password": "x"}, REMOTE_ADDR="192.0.2.1"
            )
        assert answer.status_code == 429
        assert answer.headers["Retry-After"] == str(12 * 60)
        assert "Try again in 12 minutes." in answer.content.decode()

    def test_nobody_is_locked_out_from_another_address(self, anna):
        for _n in range(20):
            try_page("anna")
        assert try_page("anna", PASSWORD, address="192.0.2.2") == 302

    def test_failures_do_not_prolong_it(self, anna):
        with time_machine.travel(timezone.now(), tick=False) as clock:
            for _n in range(MINUTES):
                for _time in range(9):
                    try_page("anna")
                clock.shift(timedelta(minutes=1))
            assert try_page("anna", PASSWORD) == 302

    def test_a_right_password_ends_the_count(self, anna):
        for _time in range(3):
            for _n in range(7):
                assert try_page("anna") == 200
            assert try_page("anna", PASSWORD) == 302

    def test_the_admin_console_counts_with_the_page(self, anna):
        for _n in range(4):
            try_page("anna")
            try_page("anna", path="/admin/login/")
        assert try_page("anna", PASSWORD, path="/admin/login/") == 429

    def test_so_does_the_token(self, anna):
        assert [try_token("anna").status_code for _n in range(9)] == [401] * 7 + [429] * 2
        answer = try_token("anna", PASSWORD)
        assert answer.status_code == 429
        assert answer.json()["code"] == "api:locked-out"
        assert 0 < int(answer.headers["Retry-After"]) <= MINUTES * 60
        assert try_page("anna", PASSWORD) == 429
        assert try_token("anna", PASSWORD, address="192.0.2.2").status_code == 200

    def test_a_token_ends_the_count(self, anna):
        for _time in range(3):
            for _n in range(7):
                assert try_token("anna").status_code == 401
            assert try_token("anna", PASSWORD).status_code == 200

    @pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "anna\0"])
    def test_a_name_that_nobody_can_have_is_wrong(self, anna, name):
        assert try_token(name, PASSWORD).status_code == 401
        assert try_page(name, PASSWORD) == 200


@pytest.mark.django_db
class TestAddress:
    def test_thirty_wrong_passwords_over_all_names_are_looked_at(self, anna):
        assert [try_page(f"name-{n}") for n in range(32)] == [200] * 29 + [429] * 3
        assert AccessAttempt.objects.count() == 1 + 30
        assert try_page("anna", PASSWORD) == 429
        assert try_page("anna", PASSWORD, address="192.0.2.2") == 302

    def test_signing_in_between_gives_no_more_guesses(self, anna):
        looked_at = 0
        for n in range(40):
            looked_at += try_page(f"name-{n}") == 200
            try_page("anna", PASSWORD)
        assert looked_at == ADDRESS_LIMIT - 1  # the last one is told of the lock

    def test_a_class_that_knows_its_passwords_is_not_locked_out(self):
        for n in range(40):
            assert try_page(person(f"name-{n}").username, PASSWORD) == 302

    def test_counts_that_ended_are_removed(self, anna):
        with time_machine.travel(timezone.now() - timedelta(minutes=16), tick=False):
            try_page("somebody")
        assert AccessAttempt.objects.count() == 2
        try_page("anna", PASSWORD, address="192.0.2.2")
        assert list(AccessAttempt.objects.values_list("ip_address", flat=True)) == ["192.0.2.2"]

    def test_an_address_of_ipv6_counts_for_its_network(self, anna):
        statuses = [try_page("anna", address=f"2001:db8::{n + 1:x}") for n in range(9)]
        assert statuses == [200] * 7 + [429] * 2
        assert try_page("anna", PASSWORD, address="2001:db8:0:1::1") == 302


@pytest.mark.django_db(transaction=True)
def test_no_more_are_looked_at_when_all_come_at_once(anna):
    def guess(_n):
        try:
            return try_page("anna")
        finally:
            connection.close()

    with ThreadPoolExecutor(24) as threads:
        statuses = list(threads.map(guess, range(24)))
    assert sorted(statuses) == [200] * 7 + [429] * 17
    assert AccessAttempt.objects.get(username="anna").failures_since_start == 8
    assert User.objects.get(username="anna").last_login is None


class TestClientAddress:
    @pytest.mark.parametrize(
        ("proxies", "forwarded", "address"),
        [
            (0, "198.51.100.1", "192.0.2.1"),
            (1, "198.51.100.1", "198.51.100.1"),
            (1, "10.0.0.1, 198.51.100.1", "198.51.100.1"),
            (2, "10.0.0.1,198.51.100.1 ,203.0.113.1", "198.51.100.1"),
            (2, "198.51.100.1", "192.0.2.1"),
            (1, None, "192.0.2.1"),
            (1, "", "192.0.2.1"),
            (1, "unknown", "192.0.2.1"),
            (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            (1, "::ffff:198.51.100.1", "198.51.100.1"),
        ],
    )
    def test_it_is_the_one_that_the_outermost_trusted_proxy_saw(
        self, rf, settings, proxies, forwarded, address
    ):
        settings.TRUSTED_PROXIES = proxies
        headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        assert client_address(rf.get("/", headers=headers, REMOTE_ADDR="192.0.2.1")) == address

    def test_a_socket_without_an_address(self, rf):
        assert client_address(rf.get("/", REMOTE_ADDR="")) == "::"

    def test_a_deployment_behind_a_proxy_says_how_many_there_are(self, settings):
        settings.HTTPS, settings.TRUSTED_PROXIES = True, 0
        assert [each.id for each in check_trusted_proxies()] == ["sensejudge.W002"]
        settings.TRUSTED_PROXIES = 1
        assert check_trusted_proxies() == []
        settings.HTTPS, settings.TRUSTED_PROXIES = False, 0
        assert check_trusted_proxies() == []
