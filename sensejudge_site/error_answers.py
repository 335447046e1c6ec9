"""What is answered where a request ends in an error: a page, or the API's own shape of it."""

from __future__ import annotations

import logging
import sys
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template, render_to_string
from django.templatetags.static import static
from django.utils.translation import gettext as _
from django.views.decorators.csrf import requires_csrf_token

from sensejudge_site.api_errors import shaped
from sensejudge_site.database_errors import is_unavailable, is_unstorable
from sensejudge_site.whole_bodies import CutBodyError

_RETRY_SECONDS: Final = 30
_log = logging.getLogger(__name__)


@requires_csrf_token
def bad_request(request: HttpRequest, exception: BaseException) -> HttpResponse:
    """The answer to what was not understood, or did not arrive whole."""
    cut = isinstance(exception, CutBodyError)
    if _is_api(request):
        code, message = "bad_request", _("This request could not be read.")
        if cut:
            code, message = CutBodyError.code, str(CutBodyError.sentence)
        return JsonResponse(shaped(code, message), status=HTTPStatus.BAD_REQUEST)
    page = render_to_string("400.html", {"reason": CutBodyError.sentence if cut else ""}, request)
    return HttpResponse(page, status=HTTPStatus.BAD_REQUEST)


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to our own faults, and to what the database refuses.

    Django calls it while it handles the error, whichever middleware or view that came from. While
    the database is away nothing here reads it.
    """
    error = sys.exc_info()[1]
    if error is not None and is_unstorable(error):
        # It may be a fault of ours after all, where the value was not sent: it is in the log.
        _log.error("Not to be stored: %s", request.path, exc_info=error)
        return bad_request(request, error)
    if is_unavailable(error):
        answer = _answer(
            request,
            HTTPStatus.SERVICE_UNAVAILABLE,
            shaped("unavailable", _("The database is not responding. Try again in a minute.")),
        )
        answer.headers["Retry-After"] = str(_RETRY_SECONDS)
        return answer
    return _answer(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        shaped("server_error", _("This is an error on our side, and it has been logged.")),
    )


def _answer(request: HttpRequest, status: HTTPStatus, body: dict[str, object]) -> HttpResponse:
    """That body for the API; a page has no look where the fault is that no file is to be had."""
    if _is_api(request):
        return JsonResponse(body, status=status)
    try:
        files = {"icon": static("icons/favicon.svg"), "stylesheet": static("app.css")}
    except ValueError:
        files = {}
    return HttpResponse(get_template(f"{status.value}.html").render(files), status=status)


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/v1/")
