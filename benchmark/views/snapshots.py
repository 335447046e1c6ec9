"""Snapshots: kept from a page, cited by their number, verified, compared."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused
from annotation.views.access import SignedInRequest, csv_file, manager_required, reader_required
from benchmark.core.snapshots import (
    THERE,
    BasisPart,
    SnapshotChange,
    SnapshotKind,
    differences,
    named_rows,
    with_method,
)
from benchmark.forms import PeopleForm, TrustForm, asked
from benchmark.forms.models import ModelsForm
from benchmark.forms.ranking import LeaderboardForm, PairsForm, SnapshotForm
from benchmark.models import Snapshot
from benchmark.queries.snapshot_questions import (
    Question,
    asked_board,
    asked_corrected,
    asked_pairs,
    asked_people,
    asked_replay,
    asked_satisfaction,
    asked_trust,
    page_of,
)
from benchmark.queries.snapshots import snapshot_numbered, snapshots_of
from benchmark.services.snapshots import keep, verify
from benchmark.views.corrected import corrected_question
from benchmark.views.replay import asked_replay_page
from benchmark.views.snapshot_figures import (
    all_columns,
    figure_cell,
    figure_tables,
    first_plot,
    row_word,
    setting_title,
    setting_told,
    settings_of,
    settings_told,
)

READ_AGAIN: Final = 2000
"""Of a run so many answers, evenly spread, are read again within a request; commands read all."""
_FILTERS: Final = frozenset({"scenario", "annotator", "language", "prompt", "anchor"})
"""What of a question narrows it: columns of files say so, beside those that tell a row."""


def told_differences(found: list[SnapshotChange]) -> list[tuple[str, str, str]]:
    """What is not as it was, then and now, in words."""
    return [
        (_(text) % {"name": name} if text else name, *_rounded(_told(was), _told(now)))
        for text, name, was, now in map(_as_asked, found)
    ]


def _rounded(was: str, now: str) -> tuple[str, str]:
    """Long numbers with six digits, if that leaves them different."""
    short = [f"{float(each):.6g}" if _LONG.fullmatch(each) else each for each in (was, now)]
    return (short[0], short[1]) if (short[0] == short[1]) is (was == now) else (was, now)


_LONG: Final = re.compile(r"-?\d+\.\d{4,}")


def _as_asked(each: SnapshotChange) -> SnapshotChange:
    """A change of a setting in words; any other as it is."""
    if each.text != BasisPart.QUESTION.label:
        return each
    was, now = (value and setting_told(each.name, value) for value in (each.was, each.now))
    return SnapshotChange("", setting_title(each.name), was, now)


def _told(value: object) -> str:
    """A value with the head of its hash alone; a row as there or not."""
    if value is None:
        return _("not there")
    if value == THERE:
        return _(THERE)
    if counts := _READ_AGAIN.fullmatch(str(value)):
        told = _("%(same)s the same, %(other)s different, %(missing)s missing")
        return told % counts.groupdict()
    return _HASH.sub(r" \1", str(value)).strip() or "–"


_READ_AGAIN: Final = re.compile(
    r"(?P<same>\d+) same, (?P<other>\d+) other, (?P<missing>\d+) missing"
)
_HASH: Final = re.compile(r":?\b([0-9a-f]{12})[0-9a-f]{52}\b")


@require_safe
@reader_required
def snapshots(request: SignedInRequest) -> HttpResponse:
    """All that was kept, the newest first."""
    slug = asked(SnapshotForm, request.GET).cleaned_data["dataset"]
    rows = [(each, settings_told(each)) for each in snapshots_of(slug)]
    return render(request, "benchmark/snapshots.html", {"rows": rows, "slug": slug})


def _board_asked(parameters: QueryDict) -> Question:
    return asked_board(asked(LeaderboardForm, parameters).question())


def _corrected_asked(parameters: QueryDict) -> Question:
    return asked_corrected(*corrected_question(parameters))


def _pairs_asked(parameters: QueryDict) -> Question:
    form = asked(PairsForm, parameters)
    return asked_pairs(form.question(), form.source_asked(), form.anchor_asked())


def _satisfaction_asked(parameters: QueryDict) -> Question:
    return asked_satisfaction(asked(ModelsForm, parameters).question())


def _people_asked(parameters: QueryDict) -> Question:
    return asked_people(asked(PeopleForm, parameters).question())


def _trust_asked(parameters: QueryDict) -> Question:
    return asked_trust(asked(TrustForm, parameters).question())


_KEPT_FROM: Final[dict[str, tuple[SnapshotKind, Callable[[QueryDict], Question]]]] = {
    "leaderboard": (SnapshotKind.BOARD, _board_asked),
    "corrected": (SnapshotKind.CORRECTED, _corrected_asked),
    "pairs": (SnapshotKind.PAIRS, _pairs_asked),
    "satisfaction": (SnapshotKind.SATISFACTION, _satisfaction_asked),
    "people": (SnapshotKind.PEOPLE, _people_asked),
    "trust": (SnapshotKind.TRUST, _trust_asked),
}
"""By the word of its address, the page that is kept and what its parameters ask."""


@require_POST
@manager_required
def keep_now(request: SignedInRequest, page: str) -> HttpResponse:
    """Keep the figures of a page as the address asks for them."""
    if page not in _KEPT_FROM:
        raise Http404
    kind, question = _KEPT_FROM[page]
    return _kept(request, kind, question(request.GET))


@require_POST
@manager_required
def keep_replay_now(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Keep the scores of a replay on the scale that the address asks for."""
    found = asked_replay_page(request, run_id)
    return _kept(request, SnapshotKind.REPLAY, asked_replay(found))


def _kept(request: SignedInRequest, kind: SnapshotKind, question: Question) -> HttpResponse:
    snapshot = keep(kind, question, created_by=request.user, most=READ_AGAIN)
    messages.success(
        request, _("Snapshot saved. This address will always show the page as it is now.")
    )
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
        context |= {"verified": True, "changed": told_differences(verify(found, most=READ_AGAIN))}
    others = [each for each in snapshots_of("").filter(kind=found.kind)[:50] if each != found]
    others.sort(key=lambda each: each.question.get("dataset") != found.question.get("dataset"))
    context["others"] = [(each, settings_told(each)) for each in others]
    return render(request, "benchmark/snapshot.html", context)


def _context(found: Snapshot) -> dict[str, Any]:
    kind = SnapshotKind(found.kind)
    return {
        "snapshot": found,
        "kind": kind,
        "question": settings_of(found),
        "tables": [
            (columns, [(name, [figure_cell(each, row) for each in columns]) for name, row in rows])
            for columns, rows in figure_tables(found)
        ],
        "plot": first_plot(found),
        "basis": told_differences(_parts(found)),
        "changed": [],
        "today": _today(kind, found),
    }


def _parts(found: Snapshot) -> list[SnapshotChange]:
    """What the figures rest on, as of a snapshot that nothing was before."""
    return [
        SnapshotChange(part.label, name, None, value)
        for part in BasisPart
        for name, value in with_method(found.basis).get(part.value, {}).items()
    ]


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
    SnapshotKind.CORRECTED: "benchmark:corrected",
    SnapshotKind.PAIRS: "benchmark:leaderboard-pairs",
    SnapshotKind.SATISFACTION: "benchmark:model-satisfaction",
    SnapshotKind.PEOPLE: "benchmark:people",
    SnapshotKind.TRUST: "benchmark:trust",
    SnapshotKind.REPLAY: "benchmark:replay",
}


@require_safe
@reader_required
def snapshot_file(_request: SignedInRequest, number: int, form: str) -> HttpResponse:
    """Its figures as CSV, or its chart as SVG."""
    found = snapshot_numbered(number)
    if form == "csv":
        asked_then = {
            f"filter_{name}" if name in _FILTERS else name: value
            for name, value in found.question.items()
        }
        said = {"snapshot": number, **asked_then, "kept_at": found.created_at.isoformat()}
        said["version"] = found.basis[BasisPart.VERSIONS.value]["sensejudge"]
        columns = all_columns(found)
        rows = [{name: row.get(name, said.get(name)) for name in columns} for row in found.figures]
        return csv_file(f"snapshot-{number}", rows, said)
    if form != "svg":
        raise Http404
    response = render(
        _request,
        "benchmark/snapshot.svg",
        {"plot": first_plot(found), "label": f"snapshot {number}"},
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
    column = figure_tables(one)[0][0][0]
    sides = [{**each.basis, BasisPart.QUESTION.value: each.question} for each in (one, other)]
    found = differences(kind, (sides[0], one.figures), (sides[1], other.figures))
    rows = [
        (name, [("–", "") if row is None else figure_cell(column, row) for row in pair])
        for name, *pair in named_rows(kind, one.figures, other.figures, told=row_word)
        if any(row and column.name in row for row in pair)
    ]
    context = {
        "one": one,
        "other": other,
        "sides": [(each, settings_told(each)) for each in (one, other)],
        "column": column,
        "rows": rows,
        "changed": told_differences(found),
    }
    return render(request, "benchmark/snapshot_compare.html", context)
