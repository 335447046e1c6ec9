from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation.core.participants import NEW_ACCOUNTS, InvitationRefusal
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Invitation, Participation, Role, Study, User
from annotation.queries.participants import invitation_of, invitation_rows, part_joined, token_of
from annotation.services.participants import (
    NewAccount,
    invite,
    join,
    join_as_newcomer,
    open_invitation,
    remove_annotator,
    withdraw,
)
from tests.annotation.entry import make_manager
from tests.annotation.labelling import NOW
from tests.factory import make_study, make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)


def invited(study=None, **told):
    ends = {} if told.keys() & {"places", "expires_at"} else {"places": 20}
    made = invite(study=(study or make_study()).slug, by=make_manager(), now=NOW, **ends, **told)
    return made, token_of(made)


def refused(call, **told):
    with pytest.raises(Refused) as error:
        call(**told)
    return error.value.code


def test_an_invitation_is_kept_with_its_rules_and_traced():
    study = make_study()
    made, token = invited(study, note="Course 101", places=3, expires_at=LATER)
    made.refresh_from_db()
    assert (made.study, made.note, made.places, made.expires_at) == (study, "Course 101", 3, LATER)
    assert invitation_of(token) == made
    event = AuditEvent.objects.get()
    assert (event.action, event.actor) == ("study.invited", made.created_by)
    assert event.detail == {
        "invitation": made.pk,
        "places": 3,
        "expires_at": LATER.isoformat(),
    }


def test_a_link_that_never_ends_is_not_made():
    with pytest.raises(IntegrityError):
        invite(study=make_study().slug, by=make_manager(), now=NOW)


def test_nobody_invites_to_a_study_that_is_not_there():
    with pytest.raises(Study.DoesNotExist):
        invite(study="nowhere", by=make_manager(), now=NOW, places=1)


def test_a_link_cannot_be_made_up():
    made, token = invited()
    other, other_token = invited()
    signature = token.partition(".")[2]
    for wrong in (
        "",
        str(made.pk),
        token[:-1],
        token + "A",
        token.replace(f"{made.pk}-", f"{other.pk}-", 1),
        f"{other_token.partition('.')[0]}.{signature}",
    ):
        assert invitation_of(wrong) is None
        code = refused(open_invitation, token=wrong, user=None, now=NOW)
        assert code is InvitationRefusal.UNKNOWN


def test_a_link_from_before_the_row_was_made_opens_nothing():
    made, token = invited()
    Invitation.objects.filter(pk=made.pk).update(created_at=LATER)
    assert invitation_of(token) is None
    made.delete()
    assert invitation_of(token) is None


def test_somebody_joins_once_by_a_link():
    user = make_user()
    made, token = invited(places=1)
    for moment in (NOW, LATER):
        assert join(token=token, user=user, now=moment) == made.study
    part = Participation.objects.get()
    assert (part.annotator, part.invitation, part.joined_at) == (user, made, NOW)
    events = AuditEvent.objects.filter(action="study.joined")
    assert [event.detail for event in events] == [{"invitation": made.pk}]


def test_who_is_in_the_study_keeps_their_part_whatever_became_of_the_link():
    user, study = make_user(), make_study()
    study.annotators.add(user)
    before = Participation.objects.get()
    made, token = invited(study, places=1)
    withdraw(study=study.slug, invitation=made.pk, by=make_manager(), now=NOW)
    part = part_joined(token, user)
    assert part is not None
    assert part.study == study
    assert join(token=token, user=user, now=NOW) == study
    after = Participation.objects.get()
    assert (after.pk, after.invitation) == (before.pk, None)
    assert part_joined(token, make_user()) is None
    assert part_joined("made-up", user) is None


def test_a_link_stops_letting_people_in():
    study = make_study()
    full, full_token = invited(study, places=1)
    join(token=full_token, user=make_user(), now=NOW)
    gone, gone_token = invited(study)
    withdraw(study=study.slug, invitation=gone.pk, by=make_manager(), now=NOW)
    _old, old_token = invited(study, expires_at=NOW)
    _closed, closed_token = invited(make_study(status="CLOSED"))
    for token, code in (
        (full_token, InvitationRefusal.FULL),
        (gone_token, InvitationRefusal.WITHDRAWN),
        (old_token, InvitationRefusal.EXPIRED),
        (closed_token, InvitationRefusal.CLOSED),
        ("made-up", InvitationRefusal.UNKNOWN),
    ):
        account = NewAccount("newcomer", "secret")
        assert refused(join, token=token, user=make_user(), now=NOW) is code
        assert refused(join_as_newcomer, token=token, account=account, now=NOW) is code
        assert refused(open_invitation, token=token, user=None, now=NOW) is code
    assert Participation.objects.count() == full.participations.count() == 1
    assert not User.objects.filter(username="newcomer").exists()


def test_who_was_taken_out_needs_a_new_link():
    study, user, other = make_study(), make_user(), make_user()
    _made, token = invited(study)
    for each in (user, other):
        join(token=token, user=each, now=NOW)
    remove_annotator(study=study.slug, annotator=user.pk, by=make_manager())
    for call in (join, open_invitation):
        assert refused(call, token=token, user=user, now=NOW) is InvitationRefusal.REMOVED
    remaining = Participation.objects.get()
    assert remaining.annotator == other
    remaining.delete()  # as declining does
    join(token=token, user=other, now=NOW)
    later = invite(
        study=study.slug, by=make_manager(), now=timezone.now() + timedelta(seconds=1), places=1
    )
    join(token=token_of(later), user=user, now=NOW)
    assert Participation.objects.count() == 2


@pytest.mark.parametrize("status", ["DRAFT", "PAUSED", "OPEN"])
def test_people_join_before_and_while_a_study_runs(status):
    _made, token = invited(make_study(status=status))
    assert join(token=token, user=make_user(), now=NOW).status == status


def test_a_newcomer_gets_an_annotator_s_account():
    made, token = invited()
    account = NewAccount("lin", "correct horse", "Lin 林")
    user, study = join_as_newcomer(token=token, account=account, now=NOW)
    user.refresh_from_db()
    assert (user.username, user.display_name, user.role) == ("lin", "Lin 林", Role.ANNOTATOR)
    assert user.check_password("correct horse")
    assert not user.is_staff
    assert study == made.study
    assert Participation.objects.get().annotator == user


@pytest.mark.parametrize(
    ("username", "display_name", "names"),
    [
        ("lin", "", ["username"]),
        ("LIN", "", ["username"]),
        ("1in", "", ["username"]),
        ("wei", "Lin", ["display_name"]),
        ("wei", "the Boss", ["display_name"]),
        ("the boss", "LIN", ["username", "display_name"]),
        ("left", "", ["username"]),
        ("data:rater", "", ["username"]),
    ],
)
def test_a_name_that_is_taken_makes_nothing(username, display_name, names):
    make_user(username="lin", display_name="The boss")
    make_user(username="left", is_active=False)
    make_user(username="data:rater", is_active=False)
    _made, token = invited()
    account = NewAccount(username, "secret", display_name)
    with refuses("account:name-taken") as taken:
        join_as_newcomer(token=token, account=account, now=NOW)
    assert taken.value.values["names"] == names
    assert not Participation.objects.exists()


def newcomers(token, number, *, first=0, now=NOW):
    for each in range(first, first + number):
        join_as_newcomer(token=token, account=NewAccount(f"new-{each:03}", "secret"), now=now)


class TestManyAccounts:
    """A link without a number of places makes so many accounts an hour."""

    @pytest.fixture
    def token(self):
        return invited(expires_at=LATER + timedelta(days=1))[1]

    def test_no_more_within_the_hour(self, token):
        newcomers(token, NEW_ACCOUNTS - 1)
        half = NOW + timedelta(minutes=30)
        newcomers(token, 1, first=NEW_ACCOUNTS, now=half)
        with refuses("invitation:too-many-accounts") as refused:
            newcomers(token, 1, first=900, now=half)
        assert refused.value.values["again_at"] == NOW + timedelta(hours=1)
        assert not User.objects.filter(username="new-900").exists()
        newcomers(token, NEW_ACCOUNTS - 1, first=100, now=refused.value.values["again_at"])
        with refuses("invitation:too-many-accounts"):
            newcomers(token, 1, first=900, now=refused.value.values["again_at"])

    def test_who_leaves_makes_no_room(self, token):
        newcomers(token, NEW_ACCOUNTS)
        Participation.objects.all().delete()  # as declining does
        with refuses("invitation:too-many-accounts"):
            newcomers(token, 1, first=900)

    def test_who_has_an_account_joins_all_the_same(self, token):
        newcomers(token, NEW_ACCOUNTS)
        assert join(token=token, user=make_user(), now=NOW)

    def test_another_link_and_one_with_places_are_not_held_up(self, token):
        newcomers(token, NEW_ACCOUNTS)
        newcomers(invited(expires_at=LATER)[1], 1, first=200)
        bounded = invited(places=NEW_ACCOUNTS + 5)[1]
        newcomers(bounded, NEW_ACCOUNTS + 5, first=300)


def test_withdrawing_happens_once_and_leaves_those_who_joined():
    study, manager = make_study(), make_manager()
    made, token = invited(study)
    join(token=token, user=make_user(), now=NOW)
    for moment in (NOW, LATER):
        withdraw(study=study.slug, invitation=made.pk, by=manager, now=moment)
    made.refresh_from_db()
    assert made.revoked_at == NOW
    assert AuditEvent.objects.filter(action="study.invitation-withdrawn").count() == 1
    assert Participation.objects.count() == 1
    with pytest.raises(Invitation.DoesNotExist):
        withdraw(study=make_study().slug, invitation=made.pk, by=manager, now=NOW)


def test_a_manager_sees_every_link_and_who_came(django_assert_num_queries):
    study = make_study()
    old, token = invited(study, note="first", places=2, expires_at=LATER)
    join(token=token, user=make_user(), now=NOW)
    invited()  # of another study
    invited(study, note="second")
    with django_assert_num_queries(1):
        rows = invitation_rows(study.slug, NOW)
    assert [row.note for row in rows] == ["second", "first"]
    first = rows[1]
    assert (first.number, first.token, first.joined, first.places) == (old.pk, token, 1, 2)
    assert (first.expires_at, first.made_at, first.refusal) == (LATER, NOW, None)
    assert first.made_by == str(old.created_by)
    (later, expired) = invitation_rows(study.slug, LATER)
    assert (later.refusal, expired.refusal) == (None, InvitationRefusal.EXPIRED)
