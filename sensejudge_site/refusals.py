"""What is answered where a service refuses and no view says more about it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext

from annotation.core.refusals import Refused, register

register(
    {
        "bench:failed": "A step of the benchmark failed.",
        "bench:input": "The benchmark's file cannot be used.",
        "bench:not-empty": "The benchmark needs an empty database.",
        "bench:unknown": "The benchmark was not found.",
        "bench:unknown-size": "The benchmark does not have this size.",
        "demo:not-local": "The demo's password is public: the demo is for this machine only.",
        "demo:older": "The database has a demo study of another version.",
        "pairs:faulty": "A row of this file cannot be used.",
    }
)


def _asks_for_nothing(parameters: QueryDict, code: str) -> bool:
    """Whether what was refused is named after the address's question mark, and does not exist."""
    topic, _colon, reason = code.partition(":")
    if reason == "unknown":
        return topic in parameters
    return bool(parameters) and reason in {"unknown-choice", "unknown-queue"}


class RefusalPages:
    """Middleware: a page with the sentence of the refusal and its status."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page of a refusal; what does not exist has the page of any such address.

        Where an address asks a page for a choice that is not there, it leads to the page without.
        """
        if not isinstance(error, Refused):
            return None
        if request.method == "GET" and _asks_for_nothing(request.GET, error.code):
            return render(request, "unknown_choice.html", status=error.status)
        is_table = error.code == "export:unknown-table"
        if error.status == HTTPStatus.NOT_FOUND and not is_table:
            return response_for_exception(request, Http404(str(error)))
        text = gettext(error.text)
        if is_table:
            text %= error.values
        if not request.accepts("text/html"):
            return HttpResponse(text, status=error.status, content_type="text/plain; charset=utf-8")
        title = gettext("Table not found") if is_table else ""
        template = "message.html" if is_table else "refused.html"
        context = {"title": title, "text": text, "gone": error.status == HTTPStatus.GONE}
        return render(request, template, context, status=error.status)
