"""What the pages of annotators answer where the services say no, or nobody is signed in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext

from annotation.core.refusals import Refused
from annotation.services.claims import RefusalCode
from annotation.views.access import SignedInRequest

P = ParamSpec("P")


def refusals(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponse],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponse]:
    """Answer a refusal of the services with its page; what is not one's own does not exist.

    A script that wants no page is refused in one plain sentence.
    """

    @wraps(view)
    def answered(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return _sign_in_first(request, **kwargs)
        try:
            return view(request, *args, **kwargs)
        except Refused as refused:
            if refused.code is RefusalCode.NOT_YOURS:
                raise
            if refused.code is RefusalCode.NOT_READY and request.method != "POST":
                return redirect(f"annotation:{refused.values['step'].value}", kwargs["slug"])
            text, status = gettext(refused.text), refused.status
            if not request.accepts("text/html"):
                return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
            context = {"text": text, "slug": kwargs["slug"]}
            return render(request, "annotation/refused.html", context, status=status)

    return answered


def _sign_in_first(request: SignedInRequest, **place: object) -> HttpResponse:
    """To the sign-in, and from there to the item's page: what was sent cannot be sent again by it.

    A script gets a 401 and no page, so that it keeps what the person typed.
    """
    if "HX-Request" in request.headers or not request.accepts("text/html"):
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED)
    if request.method != "POST":
        return redirect_to_login(request.get_full_path())
    return redirect_to_login(reverse("annotation:item", kwargs=place))
