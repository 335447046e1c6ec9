"""Judges beside people: how often they agree, and where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core.charts import ScatterPlot, scatter_plot
from annotation.templatetags.look import percent
from annotation.views.access import csv_file
from benchmark.core.vote_agreement import GapAgreement
from benchmark.forms import DisagreementForm, PeopleForm, asked
from benchmark.queries.annotators import PeopleScope, people_page
from benchmark.queries.disagreements import QueueScope, queue_page, queue_place
from benchmark.queries.kept import kept
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID
from judging.queries.generation import families_of_runs
from judging.queries.run_pages import comparison_page
from judging.queries.runs import applied_scenarios


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
        "scenarios": [(name, page.numbers[name], row) for name, row in page.tables.scenarios],
        "gaps": [(row, _pair_query(scope, row)) for row in page.tables.gaps],
        "plot": _gap_plot(page.tables.gaps),
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


def _pair_query(scope: PeopleScope, row: GapAgreement) -> str:
    """Where the people's votes on two models are."""
    asked = {"model": row.first, "opponent": row.second, "source": "human"}
    return urlencode({"dataset": scope.dataset.slug if scope.dataset else "", **asked})


def _gap_plot(gaps: Sequence[GapAgreement]) -> ScatterPlot:
    """The judge's agreement with people on two models by their gap in win rate, as Figure 2."""
    points = [
        (
            row.gap,
            share,
            float(row.votes.judge.pairs),
            f"{row.first}, {row.second}: {percent(share)}",
        )
        for row in gaps
        if (share := row.votes.judge.value) is not None
    ]
    return scatter_plot(points, low=0.0, high=1.0, write=percent, plot_height=160.0)


@require_safe
@login_required
def people_csv(request: HttpRequest) -> HttpResponse:
    """The agreement as a file: rows by turn, by scenario and by two models."""
    require_sees_everyone(request)
    page = people_page(asked(PeopleForm, request.GET).question())
    judge = page.scope.judge.judge if page.scope.judge else ""
    group = page.scope.question.people
    blank = dict.fromkeys(("turn", "scenario", "first", "second", "gap"))
    rows = [
        {"judge": judge, "people": group, "by": by, **blank, **row}
        for by, own in page.tables.records().items()
        for row in own
    ]
    said = {
        "dataset": page.scope.dataset and page.scope.dataset.slug,
        "run": page.scope.judge and page.scope.judge.key,
        "seed": page.seed,
    }
    return csv_file("people", rows, said)


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
        "queue": _queue_query(found.scope),
        "trust": _trust_query(found.scope),
        "figures_id": FIGURES_ID,
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_disagreements.html" if is_part else "benchmark/disagreements.html"
    return render(request, template, context)


def _queue_query(scope: QueueScope) -> str:
    """The parameters of an address that asks for the same queue, of the same run."""
    question = scope.question
    asked = {
        "dataset": scope.dataset.slug if scope.dataset else None,
        "run": scope.judge.key if scope.judge else None,
        "annotator": question.annotator,
        "scenario": question.scenario,
        "opposed": 1 if question.opposed else None,
    }
    return urlencode({name: value for name, value in asked.items() if value is not None})


def _trust_query(scope: QueueScope) -> str:
    """The parameters of the trust page of the same run, "" where it is of several annotators."""
    if scope.dataset is None or scope.judge is None or scope.trusted is None:
        return ""
    asked = {"dataset": scope.dataset.slug, "annotator": scope.trusted, "run": scope.judge.run}
    return urlencode(asked)


@require_safe
@login_required
def disagreement(request: HttpRequest, comparison_id: int, annotator_id: int) -> HttpResponse:
    """What a person and a judge said of one comparison, and every vote behind it."""
    require_sees_everyone(request)
    question = asked(DisagreementForm, request.GET).question()
    place = queue_place(question, comparison_id, annotator_id)
    judge = place.scope.judge
    found = comparison_page(judge.run if judge else 0, comparison_id, annotator=annotator_id)
    scenario = found.comparison.turn.session.scenario_id
    context = {
        "found": found,
        "applied": next(
            (each for each in applied_scenarios(found.run) if each.scenario_id == scenario), None
        ),
        "place": place,
        "opinion": place.row.opinion,
        "scope": place.scope,
        "queue": _queue_query(place.scope),
        "trust": _trust_query(place.scope),
    }
    return render(request, "benchmark/disagreement.html", context)
