"""People who follow one link at the same instant."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.core.participants import InvitationRefusal
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Participation, User
from annotation.queries.participants import token_of
from annotation.services.participants import NewAccount, invite, join, join_as_newcomer
from tests.annotation.entry import make_manager
from tests.annotation.labelling import NOW
from tests.annotation.test_concurrent_claims import at_once
from tests.factory import make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token():
    study = make_study()
    return token_of(invite(study=study.slug, by=make_manager(), now=NOW, places=3))


def outcome(call):
    """What came of joining: "in", or the code of the refusal."""
    try:
        call()
    except Refused as refused:
        return refused.code
    return "in"


def test_no_link_lets_in_more_than_its_places(token):
    people = [make_user() for _ in range(8)]
    calls = [
        lambda who=who: outcome(lambda: join(token=token, user=who, now=NOW)) for who in people
    ]
    results = at_once(calls)
    assert sorted(results) == ["in"] * 3 + [InvitationRefusal.FULL] * 5
    assert Participation.objects.count() == 3


def test_newcomers_do_not_go_beyond_the_places_and_leave_no_account(token):
    def newcomer(number):
        account = NewAccount(f"new-{number}", "secret")
        return outcome(lambda: join_as_newcomer(token=token, account=account, now=NOW))

    results = at_once([lambda n=n: newcomer(n) for n in range(6)])
    assert sorted(results) == ["in"] * 3 + [InvitationRefusal.FULL] * 3
    assert User.objects.filter(username__startswith="new-").count() == 3


def test_newcomers_do_not_go_beyond_the_accounts_of_an_hour(monkeypatch):
    monkeypatch.setattr("annotation.queries.participants.NEW_ACCOUNTS", 3)
    ends = NOW + timedelta(days=1)
    made = invite(study=make_study().slug, by=make_manager(), now=NOW, expires_at=ends)
    token = token_of(made)

    def newcomer(number):
        account = NewAccount(f"new-{number}", "secret")
        return outcome(lambda: join_as_newcomer(token=token, account=account, now=NOW))

    results = at_once([lambda n=n: newcomer(n) for n in range(8)])
    assert sorted(results) == sorted(["in"] * 3 + ["invitation:too-many-accounts"] * 5)
    assert User.objects.filter(username__startswith="new-").count() == 3


def test_look_alikes_by_two_links_make_one_account():
    study, manager = make_study(), make_manager()
    tokens = [token_of(invite(study=study.slug, by=manager, now=NOW, places=9)) for _ in range(6)]
    names = ["user_1", "user_l", "USER_I", "User_1", "uѕer_1", "USER_L"]

    def newcomer(token, name):
        account = NewAccount(name, "secret")
        return outcome(lambda: join_as_newcomer(token=token, account=account, now=NOW))

    calls = [lambda t=t, n=n: newcomer(t, n) for t, n in zip(tokens, names, strict=True)]
    assert sorted(at_once(calls)) == sorted(["in"] + ["account:name-taken"] * 5)


def test_a_double_click_makes_one_account_and_takes_one_place(token):
    account = NewAccount("once", "secret")
    results = at_once(
        [lambda: outcome(lambda: join_as_newcomer(token=token, account=account, now=NOW))] * 4
    )
    assert sorted(results) == sorted(["in"] + ["account:name-taken"] * 3)
    assert Participation.objects.count() == 1


def test_one_person_in_many_tabs_takes_one_place(token):
    user = make_user()
    results = at_once([lambda: outcome(lambda: join(token=token, user=user, now=NOW))] * 5)
    assert results == ["in"] * 5
    assert Participation.objects.count() == 1
    assert AuditEvent.objects.filter(action="study.joined").count() == 1
