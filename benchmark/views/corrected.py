"""People, judge, corrected: models' win rates three ways, the rows behind them, a file."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.views.access import csv_file
from benchmark.core.ranking import RatingMethod
from benchmark.forms import asked
from benchmark.forms.ranking import LeaderboardForm
from benchmark.queries.boards import leaderboard_page
from benchmark.queries.corrected import (
    JUDGED,
    CorrectedBoard,
    corrected_board,
    corrected_page,
    model_rows,
)
from benchmark.queries.kept import fresh, kept
from benchmark.queries.ranking import LeaderboardQuestion, Source
from benchmark.queries.trust import SEED
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import source_name
from benchmark.views.ranking import board_said, corrected_plot, rating_axis, runs_read


@require_safe
@login_required
def corrected(request: HttpRequest) -> HttpResponse:
    """The table; to htmx the section alone, as the leaderboard shows it."""
    question, source = _asked(request)
    found = kept(corrected_page, question, source, seed=SEED)
    is_part = request.headers.get("HX-Request") == "true"
    template = "benchmark/_corrected_table.html" if is_part else "benchmark/corrected.html"
    context = _context(found.page, source) | {"kept": found}
    if found.page and found.page.ranking:
        is_same = question.method is RatingMethod.BRADLEY_TERRY and not question.style
        boards = kept(leaderboard_page, question, seed=SEED).page.boards if is_same else ()
        context["plot"] = corrected_plot(found.page.ranking, rating_axis(boards))
    return render(request, template, context)


@require_safe
@login_required
def corrected_rows(request: HttpRequest) -> HttpResponse:
    """What the judge and people said of each comparison of one model."""
    question, source = _asked(request)
    board = corrected_board(question, source, seed=SEED, draws=0)
    if board is None:
        raise Http404
    model, labelled = request.GET.get("model", ""), request.GET.get("show") == "labelled"
    rows, page = model_rows(board, model, labelled=labelled, page=request.GET.get("page", ""))
    context = _context(board, board.source)
    context |= {"model": model, "rows": rows, "page": page, "labelled": labelled}
    context["figure"] = dict(board.models)[model]
    return render(request, "benchmark/corrected_rows.html", context)


@require_safe
@login_required
def corrected_csv(request: HttpRequest) -> HttpResponse:
    """The table as a file, a row a model."""
    question, source = _asked(request)
    board = fresh(corrected_page, question, source, seed=SEED)
    if board is None:
        return csv_file("corrected", (), {"dataset": question.dataset})
    said = {"run": runs_read(board.scope, board.source), **board_said(board.scope)}
    return csv_file("corrected", board.records(), said)


def _asked(request: HttpRequest) -> tuple[LeaderboardQuestion, Source]:
    require_sees_everyone(request)
    return corrected_question(request.GET)


def corrected_question(parameters: QueryDict) -> tuple[LeaderboardQuestion, Source]:
    """What an address asks: of which part, and which judge is corrected."""
    is_own = parameters.get("source") == Source.SELECTED
    question = asked(LeaderboardForm, parameters).question()
    return question, Source.SELECTED if is_own else Source.BASE


def _context(board: CorrectedBoard | None, source: Source) -> dict[str, object]:
    if board is None:
        return {"board": None, "source": source}
    rated = {row.model: row for row in board.ranking.models} if board.ranking else {}
    return {
        "board": board,
        "scope": board.scope,
        "source": source,
        "judge_name": source_name(board.source, board.judge, voted=False),
        "sources": JUDGED if any(each.judged for each in board.scope.annotators) else (),
        "rows": [(model, figure, rated.get(model)) for model, figure in board.models],
    }
