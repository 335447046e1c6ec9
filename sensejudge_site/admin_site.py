"""The admin console, each list of which refuses a filter that no database can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db import DatabaseError
from django.http import HttpRequest

from sensejudge_site.middleware import is_unavailable

_UNREADABLE: Final = (IndexError, OverflowError, ValueError, DatabaseError)
"""Years beyond the calendar, numbers no column holds, a range of one value, a broken pattern."""


class CheckedChangeList(ChangeList):
    """A list whose address may hold any filter: one that cannot be read shows the whole list."""

    def get_filters(self, request: HttpRequest) -> Any:
        """The filters asked for."""
        return _checked(super().get_filters, request)

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The rows they leave."""
        return _checked(super().get_queryset, request, *args, **kwargs)

    def get_results(self, request: HttpRequest) -> None:
        """Count the rows and choose those of the page; the database sees the filters first here."""
        _checked(super().get_results, request)


def _checked(step: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
    try:
        return step(request, *args, **kwargs)
    except _UNREADABLE as error:
        if not request.GET or is_unavailable(error):
            raise  # no filter's fault
        raise IncorrectLookupParameters from error


class CheckedLists:
    """What each admin class of the site is given, those of other packages too."""

    def get_changelist(self, *_args: Any, **_kwargs: Any) -> type[ChangeList]:
        """The list that checks its filters."""
        return CheckedChangeList


class Console(AdminSite):
    """The site's admin console."""

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register models, their lists checked."""
        own = admin_class or ModelAdmin
        checked = type(own.__name__, (CheckedLists, own), {"__module__": own.__module__})
        super().register(model_or_iterable, checked, **options)
