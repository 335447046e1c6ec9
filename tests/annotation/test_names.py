"""Nobody who may sign in goes by a name that looks like another's, wherever names are made."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import RequestFactory

from annotation.models import LookAlikeError, NameLook, Role, User
from annotation.services.imports.labels import ImportPeople
from annotation.services.imports.staging import Staging
from tests.factory import PASSWORD, make_dataset, make_rater, make_user

pytestmark = pytest.mark.django_db

SENTENCE = "This name is taken, or looks like one that is. Choose another."
MIXED = "This name mixes letters of different scripts, such as Latin and Cyrillic."


@pytest.mark.parametrize(
    "fields",
    [
        {"username": "Demo-Manager"},
        {"username": "demo-rnanager"},
        {"display_name": "demo-manager"},  # the user name of the other
        {"display_name": "DEMO-MANAGER"},
        {"display_name": "Lin Wei"},
        {"display_name": "Lin  Wei"},
        {"username": "lin wei"},  # the shown name of the other
    ],
)
def test_names_that_look_like_another_s_are_not_stored(fields):
    make_user(username="demo-manager", display_name="Lin Wei")
    before = User.objects.count()
    with pytest.raises(LookAlikeError, match="looks like one"):
        make_user(**fields)
    assert User.objects.count() == before


def test_one_s_own_two_names_may_be_alike():
    user = make_user(username="lin", display_name="Lin")
    user.display_name = "LIN"
    user.save()
    user.full_clean()
    assert user.name_looks.count() == 2  # LIN has capitals that look like LlN


def test_a_name_that_was_given_up_is_free():
    user = make_user(username="lin", display_name="Lin Wei")
    user.display_name = "Wei"
    user.save()
    assert make_user(username="lin wei")
    user.delete()
    assert make_user(username="wei")


def test_a_change_that_is_refused_leaves_all_as_it_was():
    make_user(username="taken")
    user = make_user(username="lin", display_name="Wei")
    user.display_name = "TAKEN"
    with pytest.raises(LookAlikeError):
        user.save()
    user.refresh_from_db()
    assert user.display_name == "Wei"
    with pytest.raises(LookAlikeError):
        make_user(username="wei")


def test_the_database_lets_nobody_share_a_look():
    user, other = make_user(), make_user()
    with pytest.raises(IntegrityError):
        NameLook.objects.create(user=other, look=user.name_looks.first().look)


def test_who_may_not_sign_in_any_more_keeps_their_name():
    user = make_user(username="lin")
    user.is_active = False
    user.save()
    with pytest.raises(LookAlikeError):
        make_user(username="LIN")


def test_raters_from_elsewhere_may_look_alike():
    dataset = make_dataset(slug="data")
    with Staging() as staging:
        people = ImportPeople(dataset, staging)
        people.prepare(["User_1", "User_l", "User_I", "USER_0", "user_O", "Аdmin"])
        staging.publish(dataset)
    assert people.created == 6
    assert not NameLook.objects.exists()
    rater = make_rater(dataset, "somebody")
    rater.save()
    assert make_user(display_name="somebody")


def test_a_rater_who_may_sign_in_is_held_to_it():
    make_user(username="lin")
    rater = make_rater(make_dataset(), "Lin")
    rater.is_active = True
    with pytest.raises(ValidationError) as refused:
        rater.full_clean()
    assert refused.value.message_dict == {"display_name": [SENTENCE]}
    with pytest.raises(LookAlikeError):
        rater.save(update_fields=["is_active"])


def test_asking_costs_one_query(django_assert_num_queries):
    make_user(username="lin", display_name="Wei")
    names = User(username="LIN", display_name="wei")
    with django_assert_num_queries(1):
        assert names.look_alikes() == ["username", "display_name"]


def test_signing_in_costs_nothing_more(django_assert_num_queries):
    user = make_user()
    user.last_login = user.date_joined
    with django_assert_num_queries(1):
        user.save(update_fields=["last_login"])


@pytest.mark.parametrize("field", ["username", "display_name"])
def test_mixed_scripts_are_refused_in_words(field):
    user = make_user()
    setattr(user, field, "Аdmin")
    with pytest.raises(ValidationError) as refused:
        user.full_clean()
    assert MIXED in refused.value.message_dict[field][0]


@pytest.mark.parametrize("name", ["王伟", "Lin 林", "田中たなかタナカ", "김철수 Kim"])
def test_names_of_every_language_are_taken(name):
    user = make_user(username=name, display_name=f"{name} 2")
    user.full_clean()
    request = RequestFactory().get("/")
    assert authenticate(request, username=name, password=PASSWORD) == user


class TestConsole:
    @pytest.fixture(autouse=True)
    def admin(self, client):
        client.force_login(make_user(username="the-admin", role=Role.ADMIN))

    def added(self, client, username):
        fields = {
            "username": username,
            "role": "ANNOTATOR",
            "usable_password": "true",
            "password1": PASSWORD,
            "password2": PASSWORD,
            "profile-TOTAL_FORMS": "0",
            "profile-INITIAL_FORMS": "0",
        }
        return client.post("/admin/annotation/user/add/", fields)

    def changed(self, client, user, **fields):
        sent = {
            "username": user.username,
            "display_name": user.display_name,
            "role": user.role,
            "is_active": "on",
            "profile-TOTAL_FORMS": "0",
            "profile-INITIAL_FORMS": "0",
        }
        return client.post(f"/admin/annotation/user/{user.pk}/change/", sent | fields)

    @pytest.mark.parametrize(
        ("name", "sentence"), [("the-adrnin", SENTENCE), ("the-аdmin", MIXED), ("THE-ADMIN", "")]
    )
    def test_it_adds_nobody_who_looks_like_another(self, client, name, sentence):
        answer = self.added(client, name)
        assert answer.status_code == 200
        assert sentence in answer.content.decode()
        assert User.objects.count() == 1

    def test_it_adds_who_does_not(self, client):
        assert self.added(client, "somebody").status_code == 302
        assert User.objects.get(username="somebody").name_looks.exists()

    @pytest.mark.parametrize("name", ["the-adrnin", "The-Admin"])
    @pytest.mark.parametrize("field", ["username", "display_name"])
    def test_it_gives_nobody_the_look_of_another(self, client, field, name):
        user = make_user()
        answer = self.changed(client, user, **{field: name})
        assert answer.status_code == 200
        assert answer.context["adminform"].form.errors == {field: [SENTENCE]}

    def test_it_changes_the_rest_of_somebody(self, client):
        user = make_user(display_name="Wei")
        assert self.changed(client, user, email="wei@lab.example").status_code == 302


@pytest.mark.parametrize(
    ("name", "sentence"), [("the-adrnin", "looks like one"), ("the-аdmin", "different scripts")]
)
def test_createsuperuser_says_so_in_a_line(monkeypatch, name, sentence):
    make_user(username="the-admin")
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    with pytest.raises(CommandError, match=sentence):
        call_command("createsuperuser", username=name, interactive=False, stdout=StringIO())
    assert User.objects.count() == 1
