"""Judges against gold answers: the page, the comparisons behind a number, the same as a file."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.views.access import csv_file
from benchmark.core.gold import gold_records
from benchmark.forms import POLICIES, GoldQuestionForm, asked
from benchmark.queries import gold as queries
from benchmark.queries.gold import GoldScope
from benchmark.queries.gold_rows import gold_rows as gold_rows_behind
from benchmark.queries.kept import kept
from benchmark.queries.rows import VerdictMatch
from benchmark.queries.trust import SEED
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID
from judging.queries.generation import families_of_runs


@require_safe
@login_required
def gold(request: HttpRequest) -> HttpResponse:
    """Every judge against gold, and one of them by subset; to htmx the figures alone."""
    require_sees_everyone(request)
    found = kept(queries.gold_page, asked(GoldQuestionForm, request.GET).question())
    page = found.page
    context = {
        "page": page,
        "kept": found,
        "scope": page.scope,
        "kin": families_of_runs(line.judge.run for line in page.lines),
        "policies": POLICIES,
        "query": _query(page.scope),
        "figures_id": FIGURES_ID,
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    return render(request, "benchmark/_gold.html" if is_part else "benchmark/gold.html", context)


@require_safe
@login_required
def gold_rows(request: HttpRequest) -> HttpResponse:
    """The comparisons behind a number, with the gold answer and the judge's decisions."""
    require_sees_everyone(request)
    form = asked(GoldQuestionForm, request.GET)
    found = gold_rows_behind(
        form.question(),
        subset=form.cleaned_data["subset"],
        section=form.section_asked(),
        outcome=form.outcome_asked(),
        page=request.GET.get("page", ""),
    )
    context = {
        "found": found,
        "scope": found.scope,
        "page": found.page,
        "back": _query(found.scope),
        "outcomes": [(each.value, found.counts[each]) for each in VerdictMatch],
    }
    return render(request, "benchmark/gold_rows.html", context)


@require_safe
@login_required
def gold_csv(request: HttpRequest) -> HttpResponse:
    """The figures of every judge, or of the one asked for, a row a subset and section."""
    require_sees_everyone(request)
    page = queries.gold_page(asked(GoldQuestionForm, request.GET).question())
    asked_for = page.scope.question.run
    rows = [
        {"run": line.judge.key, "edited": line.judge.edited, **row}
        for line in page.lines
        if asked_for in {"", line.judge.key}
        for row in gold_records(line.judge.judge, line.report, line.best_of, line.ties)
    ]
    said = {
        "dataset": page.scope.dataset and page.scope.dataset.slug,
        "policy": page.scope.question.policy.value,
        "seed": SEED,
    }
    return csv_file("gold", rows, said)


def _query(scope: GoldScope) -> str:
    """The parameters of an address that asks the same question."""
    return urlencode(
        {
            "dataset": scope.dataset.slug if scope.dataset else "",
            "run": scope.judge.key if scope.judge else "",
            "policy": scope.question.policy.value,
        }
    )
