"""The demo's sign-ins: one a role, with a password that everybody knows.

They are made only where the site answers to the names of this machine alone. Their password works
only in requests from this machine (`loopback`); while it works, `serve` refuses to listen on
another address, and `check --deploy` ends in an error: a proxy may hide where a request came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core import checks
from django.db import DatabaseError, connection
from django.db.models import QuerySet

from annotation.core.refusals import Refused
from annotation.models import Role, User

PASSWORD: Final = "sensejudge-demo"  # noqa: S105 - known on purpose, see the module's first lines

_LOCAL_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HINT: Final = "Give this user another password, or remove the right to sign in."


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
    return _LOCAL_HOSTS.issuperset(settings.ALLOWED_HOSTS)


def make_logins() -> None:
    """Make the demo users that are missing; those that exist keep their passwords.

    Raises:
        Refused: the site serves more than its own machine.
    """
    if not is_local():
        hosts = ", ".join(settings.ALLOWED_HOSTS)
        raise Refused(
            "demo:not-local",
            f"ALLOWED_HOSTS lets others reach this site ({hosts}), and the password of the "
            "demo's users is public: run the demo on a site for this machine only",
        )
    known = set(_demo_users().values_list("username", flat=True))
    for login in LOGINS:
        if login.username not in known:
            User.objects.create_user(login.username, PASSWORD, role=login.role)


def open_logins() -> list[User]:
    """The demo users who can sign in with the known password; none before the first migration.

    Raises:
        DatabaseError: the database cannot be reached.
    """
    if User._meta.db_table not in connection.introspection.table_names():  # noqa: SLF001
        return []
    users = _demo_users().filter(is_active=True).order_by("username")
    return [user for user in users if check_password(PASSWORD, user.password)]


def check_logins(*, databases: Any = None, **_options: Any) -> list[checks.CheckMessage]:
    """A warning where the site answers to other names and a demo user has the known password."""
    if not databases or is_local():
        return []
    try:
        users = open_logins()
    except DatabaseError:  # whoever looks after the database hears of it anyhow
        return []
    return [
        checks.Warning(
            f"{user.username} has the demo's password, which works on this machine only, and "
            "ALLOWED_HOSTS lets others reach this site.",
            hint=_HINT,
            obj=user,
            id="sensejudge.W001",
        )
        for user in users
    ]


def check_deployed_logins(**_options: Any) -> list[checks.CheckMessage]:
    """An error where a demo user has the known password; the database is asked in any case."""
    try:
        users = open_logins()
    except DatabaseError as error:
        message = f"Could not check whether the demo's password works: {str(error).strip()}"
        hint = "Run this check where the database can be reached."
        return [checks.Warning(message, hint=hint, id="sensejudge.W003")]
    return [
        checks.Error(
            f"{user.username} can sign in with the demo's password, which is public, through a "
            "proxy that does not identify itself as one.",
            hint=_HINT,
            obj=user,
            id="sensejudge.E001",
        )
        for user in users
    ]


def _demo_users() -> QuerySet[User]:
    return User.objects.filter(username__in=[login.username for login in LOGINS])
