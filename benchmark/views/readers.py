"""Who may read which figures."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.models import User
from benchmark.queries.trust import Reader


def reader_of(request: HttpRequest) -> Reader:
    """Annotators read figures about themselves alone; everybody else reads all.

    Raises:
        PermissionDenied: nobody is signed in.
    """
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return Reader(only=None if user.sees_everyone else user.pk)


def require_sees_everyone(request: HttpRequest) -> None:
    """Refuse annotators: models' names and other people's labels are on the page.

    Raises:
        PermissionDenied: an annotator asks.
    """
    if reader_of(request).only is not None:
        raise PermissionDenied(
            _("Annotators cannot see this page: it shows models and other people's answers.")
        )
