"""Snapshots: kept from a page, cited by their number, verified, compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.charts import IntervalPlot, IntervalRow, interval_plot
from annotation.core.refusals import Refused, gettext_noop
from annotation.templatetags.look import percent
from annotation.views.access import SignedInRequest, csv_file, manager_required, reader_required
from benchmark.core.ranking import RatingMethod
from benchmark.core.snapshots import (
    KEYS,
    THERE,
    BasisPart,
    Figures,
    SnapshotChange,
    SnapshotKind,
    basis_differences,
    figure_differences,
    named_rows,
)
from benchmark.forms import TrustForm, asked
from benchmark.forms.ranking import LeaderboardForm, SnapshotForm
from benchmark.models import Snapshot
from benchmark.queries.snapshots import page_of, snapshot_numbered, snapshots_of
from benchmark.services.snapshots import keep_board, keep_replay_figures, keep_trust, verify
from benchmark.views.replay import asked_replay_page


class FigureColumn(NamedTuple):
    """A figure of a row with its interval; a share is written in percent, others with `places`."""

    name: str
    title: str
    low: str = ""
    high: str = ""
    is_share: bool = True
    places: int = 0


_AGREEMENT: Final = (
    FigureColumn("own", gettext_noop("What stands in agrees"), "own_low", "own_high"),
    FigureColumn("base", gettext_noop("Base judge agrees"), "base_low", "base_high"),
    FigureColumn("own_gain", gettext_noop("Gain"), "own_gain_low", "own_gain_high"),
    FigureColumn(
        "position_bias", gettext_noop("Position bias"), "position_bias_low", "position_bias_high"
    ),
    FigureColumn("consistency", gettext_noop("Consistency"), "consistency_low", "consistency_high"),
    FigureColumn("n", gettext_noop("Comparisons"), is_share=False),
)
_COLUMNS: Final = {
    SnapshotKind.BOARD: (
        FigureColumn("rating", gettext_noop("Rating"), "low", "high", is_share=False),
        FigureColumn("rank", gettext_noop("Rank"), "rank_low", "rank_high", is_share=False),
        FigureColumn("win_rate", gettext_noop("Win rate"), "win_rate_low", "win_rate_high"),
        FigureColumn("verdicts", gettext_noop("Verdicts"), is_share=False),
    ),
    SnapshotKind.TRUST: _AGREEMENT,
    SnapshotKind.REPORT: _AGREEMENT,
    SnapshotKind.REPLAY: (
        FigureColumn(
            "user",
            gettext_noop("Mean over users"),
            "user_low",
            "user_high",
            is_share=False,
            places=2,
        ),
        FigureColumn(
            "gain", gettext_noop("Gain"), "gain_low", "gain_high", is_share=False, places=2
        ),
        FigureColumn("p_holm", gettext_noop("p (Holm)"), is_share=False, places=3),
        FigureColumn("sat", gettext_noop("Satisfied"), "sat_low", "sat_high"),
        FigureColumn("items", gettext_noop("Turns"), is_share=False),
    ),
}
"""What the page shows of a row; the first is in its chart. The file has all."""


def _columns(snapshot: Snapshot) -> tuple[FigureColumn, ...]:
    """Of a leaderboard by win rates the rating is one."""
    first, *others = _COLUMNS[SnapshotKind(snapshot.kind)]
    if snapshot.question.get("method") == RatingMethod.WIN_RATE.value:
        first = first._replace(is_share=True)
    return tuple(each._replace(title=_(each.title)) for each in (first, *others))


def _written(column: FigureColumn, value: float | None) -> str:
    if value is None:
        return "–"
    return percent(value, 1) if column.is_share else f"{value:.{column.places}f}"


def _interval(column: FigureColumn, row: Mapping[str, Any]) -> str:
    low, high = row.get(column.low), row.get(column.high)
    if low is None or high is None:
        return ""
    return f"{_written(column, low)} … {_written(column, high)}"


def _cells(snapshot: Snapshot, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (_written(each, row.get(each.name)), _interval(each, row)) for each in _columns(snapshot)
    ]


def _named(kind: SnapshotKind, figures: Figures) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, row) for name, row, _same in named_rows(kind, figures, figures) if row]


def _plot(snapshot: Snapshot) -> IntervalPlot:
    column = _columns(snapshot)[0]
    rows = []
    for name, row in _named(SnapshotKind(snapshot.kind), snapshot.figures):
        interval = _interval(column, row)
        value, low, high = (row.get(each) for each in (column.name, column.low, column.high))
        text = _written(column, value) + (f" ({interval})" if interval else "")
        ends = (low, high) if None not in (low, high) else (None, None)
        rows.append(IntervalRow(name, value, *ends, text))
    return interval_plot(rows, write=lambda value: _written(column, value))


def told_differences(found: list[SnapshotChange]) -> list[tuple[str, str, str]]:
    """What is not as it was, then and now, in words."""
    return [
        (
            _(each.text) % {"name": each.name} if each.text else each.name,
            _told(each.was),
            _told(each.now),
        )
        for each in found
    ]


def _told(value: object) -> str:
    """A value with the head of its hash alone; a row as there or not."""
    if value is None:
        return _("not there")
    return _(THERE) if value == THERE else _HASH.sub(r" \1", str(value)).strip() or "–"


_HASH: Final = re.compile(r":?\b([0-9a-f]{12})[0-9a-f]{52}\b")


@require_safe
@reader_required
def snapshots(request: SignedInRequest) -> HttpResponse:
    """All that was kept, the newest first."""
    slug = asked(SnapshotForm, request.GET).cleaned_data["dataset"]
    return render(request, "benchmark/snapshots.html", {"rows": snapshots_of(slug), "slug": slug})


@require_POST
@manager_required
def keep_board_now(request: SignedInRequest) -> HttpResponse:
    """Keep the leaderboards that the address asks for."""
    question = asked(LeaderboardForm, request.GET).question()
    return _kept(request, keep_board(question, created_by=request.user))


@require_POST
@manager_required
def keep_trust_now(request: SignedInRequest) -> HttpResponse:
    """Keep the figures of the trust page that the address asks for."""
    question = asked(TrustForm, request.GET).question()
    return _kept(request, keep_trust(question, created_by=request.user))


@require_POST
@manager_required
def keep_replay_now(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Keep the scores of a replay on the scale that the address asks for."""
    found = asked_replay_page(request, run_id)
    return _kept(request, keep_replay_figures(found, created_by=request.user))


def _kept(request: HttpRequest, snapshot: Snapshot) -> HttpResponse:
    messages.success(request, _("Kept. This address will always show it as it is now."))
    return redirect("benchmark:snapshot", snapshot.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def snapshot(request: SignedInRequest, number: int) -> HttpResponse:
    """One as it was kept; posted to, with what is not as it was."""
    found = snapshot_numbered(number)
    context = _context(found)
    if request.method == "POST":
        if not request.user.is_manager:
            raise PermissionDenied
        context |= {"verified": True, "changed": told_differences(verify(found))}
    context["others"] = [
        each for each in snapshots_of("").filter(kind=found.kind)[:50] if each.pk != found.pk
    ]
    return render(request, "benchmark/snapshot.html", context)


def _context(found: Snapshot) -> dict[str, Any]:
    kind = SnapshotKind(found.kind)
    return {
        "snapshot": found,
        "kind": kind,
        "question": [(name, value) for name, value in found.question.items() if value],
        "columns": _columns(found),
        "rows": [(name, _cells(found, row)) for name, row in _named(kind, found.figures)],
        "plot": _plot(found),
        "basis": told_differences(basis_differences({}, found.basis)),
        "changed": [],
        "today": _today(kind, found),
    }


def _today(kind: SnapshotKind, found: Snapshot) -> str:
    """The address of the same page, computed now, with the rows behind it.

    "" where what was asked for is gone, and of a report, which no page shows.
    """
    if kind is SnapshotKind.REPORT:
        return ""
    try:
        asked_today = urlencode(page_of(kind, found.question))
    except Refused:
        return ""
    run = {"run_id": found.question["run"]} if kind is SnapshotKind.REPLAY else {}
    return f"{reverse(_PAGES[kind], kwargs=run)}?{asked_today}"


_PAGES: Final = {
    SnapshotKind.BOARD: "benchmark:leaderboard",
    SnapshotKind.TRUST: "benchmark:trust",
    SnapshotKind.REPLAY: "benchmark:replay",
}


def _all_columns(found: Snapshot) -> list[str]:
    """What tells a row, what its page shows, then the rest; PostgreSQL keeps no order of names."""
    there = {name for row in found.figures for name in row}
    shown = [part for each in _columns(found) for part in (each.name, each.low, each.high)]
    wanted = dict.fromkeys((*KEYS[SnapshotKind(found.kind)], *shown, *sorted(there)))
    return [name for name in wanted if name in there]


@require_safe
@reader_required
def snapshot_file(_request: SignedInRequest, number: int, form: str) -> HttpResponse:
    """Its figures as CSV, or its chart as SVG."""
    found = snapshot_numbered(number)
    if form == "csv":
        columns = _all_columns(found)
        rows = [{name: row.get(name) for name in columns} for row in found.figures]
        said = {"snapshot": number, **found.question, "kept_at": found.created_at.isoformat()}
        said["version"] = found.basis[BasisPart.VERSIONS.value]["sensejudge"]
        return csv_file(f"snapshot-{number}", rows, said)
    if form != "svg":
        raise Http404
    response = render(
        _request,
        "benchmark/snapshot.svg",
        {"plot": _plot(found), "label": f"snapshot {number}"},
        content_type="image/svg+xml; charset=utf-8",
    )
    response.headers["Content-Disposition"] = f'attachment; filename="snapshot-{number}.svg"'
    return response


@require_safe
@reader_required
def compare_snapshots(request: SignedInRequest, number: int) -> HttpResponse:
    """Two side by side, with all that differs."""
    other_number = asked(SnapshotForm, request.GET).cleaned_data["other"]
    one, other = snapshot_numbered(number), snapshot_numbered(other_number or number)
    kind = SnapshotKind(one.kind)
    if other.kind != one.kind:
        raise Refused("snapshot:other-kind", "only two of one kind can be compared")
    column = _columns(one)[0]
    sides = [{**each.basis, BasisPart.QUESTION.value: each.question} for each in (one, other)]
    found = [
        *basis_differences(sides[0], sides[1]),
        *figure_differences(kind, one.figures, other.figures),
    ]
    rows = [
        (name, [("–", "") if row is None else _side(column, row) for row in pair])
        for name, *pair in named_rows(kind, one.figures, other.figures)
    ]
    context = {
        "one": one,
        "other": other,
        "column": column,
        "rows": rows,
        "changed": told_differences(found),
    }
    return render(request, "benchmark/snapshot_compare.html", context)


def _side(column: FigureColumn, row: Mapping[str, Any]) -> tuple[str, str]:
    return _written(column, row.get(column.name)), _interval(column, row)
