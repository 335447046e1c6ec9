"""Who may see a page, in types and in fact."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from annotation.models import User

P = ParamSpec("P")


class SignedInRequest(HttpRequest):
    """A request of somebody who signed in."""

    user: User


def manager_required(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponse],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponse]:
    """Let managers and admins through; send strangers to the sign-in, refuse everybody else."""

    @wraps(view)
    def checked(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_manager:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(checked)


def reader_required(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponseBase],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponseBase]:
    """Let those through who may see everybody's labels and the models' names; refuse annotators."""

    @wraps(view)
    def checked(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.sees_everyone:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(checked)
