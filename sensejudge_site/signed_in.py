"""Who is signed in: two rows that every page reads, by statements written down."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotation.models import User
from annotation.queries.statements import Joined

_SESSION: Final = Joined(
    "FROM django_session session WHERE session_key = %(key)s AND expire_date > %(now)s",
    session=Session,
)
_USER: Final = Joined("FROM annotation_user person WHERE id = %(user)s", person=User)


class SessionStore(db.SessionStore):
    """Django's sessions in the database."""

    def _get_session_from_db(self) -> Session | None:
        """The session's row; without one the key is forgotten, as the base class does."""
        for row in _SESSION.rows(key=self.session_key, now=timezone.now()):
            found: Session = row["session"]
            return found
        self._session_key = None
        return None


class UserBackend(ModelBackend):
    """Django's users with passwords in the database."""

    def get_user(self, user_id: Any) -> User | None:
        """The user of a session, unless they may not sign in any more."""
        for row in _USER.rows(user=user_id):
            person: User = row["person"]
            return person if self.user_can_authenticate(person) else None
        return None
