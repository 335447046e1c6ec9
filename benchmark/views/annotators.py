"""Judges beside people: how often they agree, and where they do not."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmark.forms import DisagreementForm, PeopleForm, asked
from benchmark.queries.annotators import people_page
from benchmark.queries.disagreements import queue_page
from benchmark.queries.kept import kept
from benchmark.views.exports import csv_file, require_sees_everyone
from benchmark.views.figures import FIGURES_ID
from judging.queries.generation import families_of_runs


@require_safe
@login_required
def people(request: HttpRequest) -> HttpResponse:
    """Agreement of a judge with people, and of people with each other, turn by turn."""
    require_sees_everyone(request)
    found = kept(people_page, asked(PeopleForm, request.GET).question())
    page, scope = found.page, found.page.scope
    context = {
        "page": page,
        "kept": found,
        "scope": scope,
        "kin": families_of_runs([scope.judge.run] if scope.judge else []),
        "figures_id": FIGURES_ID,
        "query": urlencode(
            {
                "dataset": scope.dataset.slug if scope.dataset else "",
                "run": scope.judge.key if scope.judge else "",
            }
        ),
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_people.html" if is_part else "benchmark/people.html"
    return render(request, template, context)


@require_safe
@login_required
def people_csv(request: HttpRequest) -> HttpResponse:
    """The agreement as a file, a row a turn with ties and one without."""
    require_sees_everyone(request)
    page = people_page(asked(PeopleForm, request.GET).question())
    judge = page.scope.judge.judge if page.scope.judge else ""
    group = page.scope.question.people
    rows = [{"judge": judge, "people": group, **row.record()} for row in page.rows]
    return csv_file("people", list(rows[0]) if rows else [], rows)


@require_safe
@login_required
def disagreements(request: HttpRequest) -> HttpResponse:
    """The comparisons on which a judge and a person disagree, its surest verdicts first."""
    require_sees_everyone(request)
    form = asked(DisagreementForm, request.GET)
    found = queue_page(form.question(), page=request.GET.get("page", ""))
    judge = found.scope.judge
    context = {
        "found": found,
        "scope": found.scope,
        "kin": families_of_runs([judge.run] if judge else []),
        "page": found.page,
        "figures_id": FIGURES_ID,
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_disagreements.html" if is_part else "benchmark/disagreements.html"
    return render(request, template, context)
