"""Who signs in, and who is signed in: two rows that every page reads, statements written down."""

from __future__ import annotations

from typing import Any, Final

from axes.backends import AxesBackend, AxesStandaloneBackend
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotation.models import Dataset, User
from annotation.queries.sql import Joined
from sensejudge_site.demo.accounts import PASSWORD
from sensejudge_site.hashing import QUEUE
from sensejudge_site.sign_in import KnownPasswordError, is_from_this_machine, take_back

_SESSION: Final = Joined(
    "FROM django_session session WHERE session_key = %(key)s AND expire_date > %(now)s",
    session=Session,
)
_USER: Final = Joined(
    "FROM annotation_user person LEFT JOIN annotation_dataset archived ON archived.id = "
    "(SELECT MIN(id) FROM annotation_dataset WHERE archived_at IS NOT NULL) "
    "WHERE person.id = %(user)s",
    person=User,
    archived=Dataset,
)
_LONGEST_NAME: Final = 255  # of an attempt; a user's is at most 150


class SessionStore(db.SessionStore):
    """Django's sessions in the database."""

    def _get_session_from_db(self) -> Session | None:
        """The session's row; without one the key is forgotten, as the base class does."""
        for row in _SESSION.rows(key=self.session_key, now=timezone.now()):
            found: Session = row["session"]
            return found
        self._session_key = None
        return None


class UserBackend(AxesBackend):  # type: ignore[misc]  # axes ships no types
    """Django's users with passwords in the database; attempts are counted (`lock_out`)."""

    def authenticate(
        self,
        request: Any,
        username: str | None = None,
        password: str | None = None,
        **_more: Any,
    ) -> User | None:
        """Whose user name and password these are; every way to sign in with one comes here.

        Raises:
            SignInRefusedError: it makes no difference whether they are right.
        """
        if username is None or password is None:
            return None
        request = getattr(request, "_request", request)  # of REST framework's request
        # PostgreSQL stores no NUL, and no more than this; no user's name is like that.
        username = username.replace("\0", "\N{REPLACEMENT CHARACTER}")[:_LONGEST_NAME]
        with QUEUE.place():
            AxesStandaloneBackend.authenticate(self, request, username, password)
            user: User | None = ModelBackend.authenticate(self, request, username, password)
        if user is None or password != PASSWORD:
            return user
        if request is None or not is_from_this_machine(request.META):
            take_back(request)  # it was no guess
            raise KnownPasswordError
        return user

    def get_user(self, user_id: Any) -> User | None:
        """The user of a session, unless they may not sign in any more."""
        for row in _USER.rows(user=user_id):
            person: User = row["person"]
            person.__dict__["is_any_archived"] = row["archived"] is not None
            return person if self.user_can_authenticate(person) else None
        return None
