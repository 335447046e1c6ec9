"""Which model wins: the leaderboards, the comparisons behind them, and both as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.core.charts import (
    IntervalPlot,
    IntervalRow,
    ShareChart,
    ShareRow,
    interval_plot,
    share_chart,
)
from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.templatetags.look import percent
from annotation.views.access import csv_file
from benchmark.core.corrected_ranking import CorrectedRanking
from benchmark.core.rank_agreement import (
    LEAST_MODELS,
    Leader,
    groups_alike,
    leader,
    reference_agreement,
)
from benchmark.core.ranking import HeadToHead, ModelRating, RatingMethod, Standing, WinRate
from benchmark.core.style_control import StyleEffect
from benchmark.forms import asked
from benchmark.forms.ranking import (
    LeaderboardForm,
    LeaderboardRowsForm,
    PairsForm,
    ReferenceForm,
)
from benchmark.queries.boards import (
    AnnotatorsPage,
    Board,
    LeaderboardPage,
    PairsPage,
    annotators_page,
    leaderboard_page,
    pairs_page,
)
from benchmark.queries.kept import Kept, fresh, kept
from benchmark.queries.ranking import LeaderboardScope, Source, judge_to_read, runs_of
from benchmark.queries.ranking_rows import leaderboard_rows
from benchmark.queries.trust import SEED
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID, board_query, method_name, source_name

_OF_ONE_DATASET: Final = (
    *("scenario", "annotator", "judge", "prompt", "language", "anchor", "run", "until"),
)


def without_stale_choices(view: Callable[[HttpRequest], HttpResponse]) -> Any:
    """A view whose links repeat its address: what was chosen for another dataset is not repeated.

    The forms pass such choices over; a link that kept them would ask for what is not there.
    """

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        was = request.GET.get("was_dataset", "")
        if was not in {"", request.GET.get("dataset", "")}:
            kept_choices = request.GET.copy()
            for name in _OF_ONE_DATASET:
                kept_choices.pop(name, None)
            request.GET = kept_choices  # type: ignore[assignment]  # nobody writes to it
        return view(request)

    return wrapped


@require_safe
@login_required
@without_stale_choices
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Ratings and win rates from human labels and from the judge's decisions."""
    found = _page(request)
    page = found.page
    context = {
        "kept": found,
        "page": page,
        "scope": page.scope,
        "boards": [board_view(board, rating_axis(page.boards)) for board in page.boards],
        "methods": [(each.value, method_name(each)) for each in RatingMethod],
        "figures_id": FIGURES_ID,
        "permanent": board_query(page.scope),
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_leaderboard.html" if is_part else "benchmark/leaderboard.html"
    return render(request, template, context)


def _page(request: HttpRequest) -> Kept[LeaderboardPage]:
    require_sees_everyone(request)
    return kept(leaderboard_page, asked(LeaderboardForm, request.GET).question(), seed=SEED)


def _boards_file(
    request: HttpRequest, name: str, told: Callable[[Board], Iterable[Row]]
) -> HttpResponse:
    require_sees_everyone(request)
    page = fresh(leaderboard_page, asked(LeaderboardForm, request.GET).question(), seed=SEED)
    rows = [
        {**row, "run": runs, "asked": board.prompt}
        for board in page.boards
        for runs in [runs_read(page.scope, board.source)]
        for row in told(board)
    ]
    return csv_file(name, rows, board_said(page.scope))


def runs_read(scope: LeaderboardScope, source: Source) -> str:
    """The numbers of the runs whose verdicts a board counts; "" for people's."""
    if source is Source.HUMAN:
        return ""
    return " ".join(str(run.pk) for run in runs_of(scope, source, judge_to_read(scope, source)))


def board_said(scope: LeaderboardScope) -> dict[str, object]:
    """What a leaderboard is of: its dataset and filters."""
    question = scope.question
    return {
        "dataset": scope.dataset and scope.dataset.slug,
        "filter_scenario": scope.scenario and scope.scenario.name,
        "filter_annotator": scope.annotator and scope.annotator.name,
        "filter_language": question.language,
        "filter_prompt": question.prompt,
        "style": "controlled" if question.style else "as written",
        "until": scope.pin.until,
        "seed": SEED,
    }


@require_safe
@login_required
def leaderboard_model(request: HttpRequest) -> HttpResponse:
    """The comparisons behind one model's figures, or those with one opponent."""
    require_sees_everyone(request)
    form = asked(LeaderboardRowsForm, request.GET)
    found = leaderboard_rows(
        form.question(),
        model=form.cleaned_data["model"],
        opponent=form.cleaned_data["opponent"],
        source=form.source_asked(),
        page=request.GET.get("page", ""),
    )
    name = source_name(found.source, found.judge, voted=found.voted)
    context = {"found": found, "scope": found.scope, "page": found.page, "source": name}
    return render(request, "benchmark/leaderboard_model.html", context)


@require_safe
@login_required
@without_stale_choices
def leaderboard_annotators(request: HttpRequest) -> HttpResponse:
    """How annotators' rankings differ; to htmx what warns of pooling those who do not agree."""
    found = _annotators(request)
    page = found.page
    if request.headers.get("HX-Request") == "true":
        at_odds = page.found.at_odds
        context = {"scope": page.scope, "at_odds": [(at_odds[each], each) for each in at_odds]}
        return render(request, "benchmark/_at_odds.html", context)
    pairs = {**page.found.pairs, **{key[::-1]: each for key, each in page.found.pairs.items()}}
    names = [row.annotator for row in page.found.rows]
    context = {
        "kept": found,
        "scope": page.scope,
        "found": page.found,
        "rows": [
            (row, list(row.steps("›")), page.numbers.get(row.annotator)) for row in page.found.rows
        ],
        "matrix": [(one, [(other, pairs.get((one, other))) for other in names]) for one in names],
    }
    return render(request, "benchmark/leaderboard_annotators.html", context)


def _annotators(request: HttpRequest) -> Kept[AnnotatorsPage]:
    require_sees_everyone(request)
    return kept(annotators_page, asked(LeaderboardForm, request.GET).question(), seed=SEED)


@require_safe
@login_required
def leaderboard_annotators_csv(request: HttpRequest) -> HttpResponse:
    """A row for each annotator beside all others, and for each two of them."""
    require_sees_everyone(request)
    question = asked(LeaderboardForm, request.GET).question()
    page = fresh(annotators_page, question, seed=SEED)
    said = {"judge": "", "run": "", **board_said(page.scope)}
    return csv_file("annotators", page.records(), said)


@require_POST
@login_required
def leaderboard_reference(request: HttpRequest) -> HttpResponse:
    """The leaderboards beside a reference ranking, which is not kept."""
    found = _page(request)
    page = found.page
    form = ReferenceForm(request.POST, request.FILES)
    if not form.is_valid():
        raise Refused("reference:invalid")
    scores = form.scores()
    boards = [
        (
            source_name(board.source, board.judge, voted=board.voted),
            reference_agreement(board.ranking, scores),
            {row.model: row.rank for row in board.ranking.models},
        )
        for board in page.boards
    ]
    ranked = sorted(scores, key=lambda model: (-scores[model], model))
    context = {
        "kept": found,
        "scope": page.scope,
        "boards": boards,
        "rows": [
            (model, place, [ranks.get(model) for _name, _found, ranks in boards])
            for model in ranked
            for place in [1 + sum(other > scores[model] for other in scores.values())]
        ],
        "least": LEAST_MODELS,
    }
    return render(request, "benchmark/leaderboard_reference.html", context)


@require_safe
@login_required
@without_stale_choices
def leaderboard_pairs(request: HttpRequest) -> HttpResponse:
    """Models two by two by majority, as the paper's Figure 4."""
    page = _pairs(request)
    context = {
        "page": page,
        "scope": page.scope,
        "figures_id": FIGURES_ID,
        "sources": [
            (each.value, source_name(each, "…", voted=page.voted)) for each in page.sources
        ],
        "name": source_name(page.source, page.judge, voted=page.voted),
        "pairs": page.pairs,
        "chart": _pairs_chart(page),
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    part, whole = "benchmark/_leaderboard_pairs.html", "benchmark/leaderboard_pairs.html"
    return render(request, part if is_part else whole, context)


def _pairs_chart(page: PairsPage) -> ShareChart:
    return share_chart(
        [
            ShareRow(
                label=f"{each.left} – {each.right}",
                shares=[count / each.n for count in (each.wins, each.ties, each.losses)],
                names=[_("won"), _("tied"), _("lost")],
                css=["c1", "c7", "c2"],
                text=f"{each.wins} / {each.ties} / {each.losses}",
                urls=["", "", ""],
            )
            for each in page.pairs
        ],
        write=percent,
    )


def _pairs(request: HttpRequest) -> PairsPage:
    require_sees_everyone(request)
    form = asked(PairsForm, request.GET)
    return pairs_page(form.question(), form.source_asked(), form.anchor_asked())


@require_safe
@login_required
def leaderboard_pairs_csv(request: HttpRequest) -> HttpResponse:
    """A row for each two models."""
    page = _pairs(request)
    said = {
        "run": runs_read(page.scope, page.source),
        "filter_anchor": page.anchor,
        **board_said(page.scope),
    }
    return csv_file("pairs", page.records(), said)


@require_safe
@login_required
def leaderboard_csv(request: HttpRequest) -> HttpResponse:
    """The leaderboards as one table, with whose verdicts they count."""
    return _boards_file(request, "leaderboard", Board.records)


@require_safe
@login_required
def head_to_head_csv(request: HttpRequest) -> HttpResponse:
    """A row for each two models of each leaderboard, in both directions."""
    return _boards_file(request, "head-to-head", Board.duel_records)


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One model of a leaderboard table.

    `plain` is the rating without style control, where that is on; `duels` has each model with how
    verdicts on both went, and how sure this one is above.
    """

    rating: ModelRating
    win_rate: WinRate
    standing: str
    ends: str
    plain: float | None
    duels: tuple[tuple[str, HeadToHead | None, float | None], ...]


_GroupTable = tuple[str, tuple[str, ...], tuple[tuple[str, tuple[WinRate | None, ...]], ...]]


@dataclass(frozen=True, slots=True)
class BoardView:
    """A leaderboard with its chart.

    `leader` is None where that cannot be said; `alike` are groups of models that cannot be told
    apart.
    `tables` are win rates by groups: what they are, the names of the groups, a row a model.
    """

    board: Board
    name: str
    method: str
    plot: IntervalPlot
    leader: Leader | None
    alike: tuple[tuple[str, ...], ...]
    effects: tuple[tuple[str, StyleEffect], ...]
    tables: tuple[_GroupTable, ...]
    rows: tuple[BoardRow, ...]


def board_view(board: Board, axis: tuple[float, ...]) -> BoardView:
    """A leaderboard as its card shows it; groups are told apart only where there are several."""
    ranking = board.ranking
    groups = [
        (word, found)
        for word, found in (
            (_("Win rate by scenario"), board.by_scenario),
            (_("Win rate by language"), board.by_language),
        )
        if len(found) > 1
    ]
    names = [row.model for row in ranking.models]
    rows = tuple(
        BoardRow(
            rating=row,
            win_rate=board.win_rates[row.model],
            standing=standing_name(row.standing),
            ends=rating_ends(row, _WRITE[ranking.method]),
            plain=board.style.plain[row.model].rating if board.style else None,
            duels=tuple(
                (
                    other,
                    board.duels.get((row.model, other)),
                    ranking.above.get((row.model, other)),
                )
                for other in names
            ),
        )
        for row in ranking.models
    )
    return BoardView(
        board=board,
        name=source_name(board.source, board.judge, voted=board.voted),
        method=_("Style-controlled rating") if board.style else method_name(ranking.method),
        effects=tuple((style_name(each.style), each) for each in _effects(board)),
        plot=rating_plot(board, axis),
        leader=leader(ranking, board.win_rates),
        alike=tuple(group for group in groups_alike(ranking) if len(group) > 1),
        tables=tuple(
            (
                word,
                tuple(found),
                tuple((name, tuple(rates.get(name) for rates in found.values())) for name in names),
            )
            for word, found in groups
        ),
        rows=rows,
    )


def _effects(board: Board) -> Iterable[StyleEffect]:
    return board.style.effects if board.style else ()


def style_name(style: str) -> str:
    """What style control allows for."""
    return {
        "length": _("length"),
        "headings": _("headings"),
        "lists": _("list items"),
        "bold": _("bold"),
    }[style]


def rating_axis(boards: Iterable[Board]) -> tuple[float, ...]:
    """The lowest and highest that their charts show, so that one axis serves all; may be empty."""
    rows = [row for board in boards for row in board.ranking.models]
    ends = [end for row in rows for end in (row.rating, row.low, row.high) if end is not None]
    return (min(ends), max(ends)) if ends else ()


def rating_plot(board: Board, axis: tuple[float, ...]) -> IntervalPlot:
    """Ratings with their intervals, best first; a model without one keeps its line and says why."""
    write = _WRITE[board.ranking.method]
    rows = [_rating_row(row, write) for row in board.ranking.models]
    return interval_plot(rows, write=write, include=axis)


def corrected_plot(ranking: CorrectedRanking, axis: tuple[float, ...]) -> IntervalPlot:
    """Corrected ratings on the axis of the others."""
    rows = [
        IntervalRow(
            label=row.model,
            value=row.rating,
            low=None if row.high is None else row.low,
            high=None if row.low is None else row.high,
            text="–" if row.rating is None else _whole(row.rating),
        )
        for row in ranking.models
    ]
    return interval_plot(rows, write=_whole, include=axis)


def _rating_row(row: ModelRating, write: Callable[[float], str]) -> IntervalRow:
    if row.rating is None:
        text = standing_name(row.standing)
    else:
        told = rating_ends(row, write)
        text = f"{write(row.rating)} ({told})" if told else write(row.rating)
    # A line with one end alone cannot be drawn.
    low, high = (None, None) if None in (row.low, row.high) else (row.low, row.high)
    return IntervalRow(label=row.model, value=row.rating, low=low, high=high, text=text)


def rating_ends(row: ModelRating, write: Callable[[float], str]) -> str:
    """The interval of a rating, either end "unbounded" where it is; "" without one."""
    low = _("unbounded") if row.low_unbounded else "" if row.low is None else write(row.low)
    high = _("unbounded") if row.high_unbounded else "" if row.high is None else write(row.high)
    return f"{low} … {high}" if low and high else ""


def standing_name(standing: Standing) -> str:
    """Why a model has, or has no, rating."""
    return {
        Standing.RATED: _("rated"),
        Standing.UNBOUNDED: _("unbounded: never lost, or never won, against the rated models"),
        Standing.NOT_COMPARABLE: _("not comparable: no verdicts connect it to the others"),
    }[standing]


def _whole(value: float) -> str:
    return f"{value:.0f}"


_WRITE: Final[dict[RatingMethod, Callable[[float], str]]] = {
    RatingMethod.BRADLEY_TERRY: _whole,
    RatingMethod.ELO: _whole,
    RatingMethod.WIN_RATE: percent,
}
