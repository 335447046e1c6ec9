"""A study's trace and its downloads."""

from __future__ import annotations

from typing import Final

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.exports import EXPORTS, ExportFormat
from annotation.queries.studies import study_page
from annotation.queries.study_claims import study_of
from annotation.queries.study_history import trace_of, trace_rows
from annotation.views.access import SignedInRequest, reader_required
from annotation.views.downloads import download

EVENTS_PER_PAGE: Final = 100


@require_safe
@reader_required
def history(request: SignedInRequest, slug: str) -> HttpResponse:
    """What was done to a study, by whom and when."""
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    answers = "answers" in request.GET
    events = Paginator(trace_of(row, answers=answers), EVENTS_PER_PAGE)
    shown = events.get_page(request.GET.get("page"))
    context = {"study": page, "answers": answers, "page": shown, "events": trace_rows(shown)}
    return render(request, "annotation/study_history.html", context)


@require_safe
@reader_required
def export(_request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download of a study alone: its labels, or its sessions with them."""
    row = study_of(slug)
    if row is None:
        raise Http404
    format_ = ExportFormat(format_name)
    blocks = EXPORTS[kind].study_blocks(row, format_)
    if blocks is None:
        raise Http404
    return download(blocks, name=f"{slug}-{kind}", format_=format_)
