"""The demo's sign-ins: one a role, with a password that everybody knows.

They are made only where nobody but this machine is served, and a check refuses to let a site that
was opened to others keep them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import DatabaseError
from django.db.models import QuerySet

from annotation.models import Role, User

PASSWORD: Final = "sensejudge-demo"  # noqa: S105 - known on purpose, see the module's first lines

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


class NotLocalError(Exception):
    """This site serves more than its own machine, so no known password may open it."""

    code = "demo:not-local"


@dataclass(frozen=True, slots=True)
class Login:
    """A demo user."""

    username: str
    role: Role


ADMIN: Final = Login("demo-admin", Role.ADMIN)
MANAGER: Final = Login("demo-manager", Role.MANAGER)
ANNOTATOR: Final = Login("demo-annotator", Role.ANNOTATOR)
VIEWER: Final = Login("demo-viewer", Role.VIEWER)
LOGINS: Final = (ADMIN, MANAGER, ANNOTATOR, VIEWER)


def is_local() -> bool:
    """Whether the site answers to names of this machine alone."""
    return _LOOPBACK.issuperset(settings.ALLOWED_HOSTS)


def make_logins() -> None:
    """Make the demo users that are missing; those that exist keep their passwords.

    Raises:
        NotLocalError: the site serves more than its own machine.
    """
    if not is_local():
        hosts = ", ".join(settings.ALLOWED_HOSTS)
        raise NotLocalError(
            f"ALLOWED_HOSTS lets others reach this site ({hosts}), and everybody knows the "
            "password of the demo's users: run the demo on a site for this machine alone"
        )
    known = set(_demo_users().values_list("username", flat=True))
    for login in LOGINS:
        if login.username not in known:
            User.objects.create_user(login.username, PASSWORD, role=login.role)


def check_logins(*, databases: Any = None, **_options: Any) -> list[CheckMessage]:
    """An error where the site is open to others and a demo user has the known password."""
    if not databases or is_local():
        return []
    try:
        users = list(_demo_users().filter(is_active=True).order_by("username"))
    except DatabaseError:  # before the first migration there is no table, and nobody in it
        return []
    return [
        Error(
            f"{user.username} can sign in with the demo's password, and ALLOWED_HOSTS lets others "
            "reach this site.",
            hint="Give this user another password, or take the right to sign in away.",
            obj=user,
            id="sensejudge.E001",
        )
        for user in users
        if user.check_password(PASSWORD)
    ]


def _demo_users() -> QuerySet[User]:
    return User.objects.filter(username__in=[login.username for login in LOGINS])
