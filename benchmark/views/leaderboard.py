"""Which model wins, by the humans and by the judge."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmark.forms import LeaderboardForm, LeaderboardRowsForm, asked
from benchmark.queries.ranking import leaderboard_page, leaderboard_rows
from benchmark.queries.trust import SEED
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID, board_view


@require_safe
@login_required
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Ratings and win rates from human labels and from the judge's decisions."""
    require_sees_everyone(request)
    question = asked(LeaderboardForm, request.GET).question()
    page = leaderboard_page(question, seed=SEED)
    boards = [board_view(board) for board in page.boards]
    context = {"page": page, "scope": page.scope, "boards": boards, "figures_id": FIGURES_ID}
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_leaderboard.html" if is_part else "benchmark/leaderboard.html"
    return render(request, template, context)


@require_safe
@login_required
def leaderboard_model(request: HttpRequest) -> HttpResponse:
    """The comparisons behind one model's figures."""
    require_sees_everyone(request)
    form = asked(LeaderboardRowsForm, request.GET)
    found = leaderboard_rows(
        form.question(),
        model=form.cleaned_data["model"],
        source=form.source_asked(),
        page=request.GET.get("page", ""),
    )
    context = {"found": found, "scope": found.scope, "page": found.page}
    return render(request, "benchmark/leaderboard_model.html", context)
