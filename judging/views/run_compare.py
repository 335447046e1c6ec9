"""Several judges over the same items, side by side."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.core.numbers import number_in
from annotation.core.refusals import text_of
from judging.models import RunStatus
from judging.queries.run_pages import compared_runs
from judging.queries.runs import UNFINISHED
from judging.views.runs import researcher


@require_safe
@login_required
def compare(request: HttpRequest) -> HttpResponse:
    """The runs whose numbers are asked for."""
    researcher(request)
    numbers = map(number_in, request.GET.getlist("run"))
    ids = [number for number in numbers if number is not None]
    found = compared_runs(ids)
    columns = [
        {
            "one": one,
            "status": RunStatus(one.run.status),
            "errors": [(gettext(text_of(code)), code, n) for code, n in one.progress.errors],
        }
        for one in found.runs
    ]
    unfinished = any(one.run.status in UNFINISHED for one in found.runs)
    context = {"found": found, "columns": columns, "unfinished": unfinished}
    return render(request, "judging/run_compare.html", context)
