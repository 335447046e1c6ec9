"""Datasets: what there is, one by one, its sessions and comparisons, imports and exports."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.formats.detect import FORMATS, Format
from annotation.core.refusals import Refused
from annotation.exports import EXPORTS, ExportFormat
from annotation.forms.datasets import ImportForm, SessionFilterForm
from annotation.models import Dataset
from annotation.queries import datasets as queries
from annotation.queries.datasets import comparison_page, session_page
from annotation.queries.participants import names_of
from annotation.services.imports import ImportUpload, import_upload
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    download,
    manager_required,
    reader_required,
)

DOWNLOADS = (
    ("annotation:export", "sessions", _("Sessions with everything")),
    ("annotation:export", "labels", _("Pairwise labels")),
    ("annotation:export", "satisfaction", _("Satisfaction labels")),
    ("judging:export", "judgments", _("Judgments")),
    ("judging:export", "preferences", _("Preferences")),
    ("judging:export", "preference_sets", _("Preference sets")),
    ("judging:export", "memories", _("User memories")),
    ("judging:export", "satisfaction_judgments", _("Satisfaction judgments")),
    ("judging:export", "rubrics", _("Induced rubrics")),
)


def _dataset(slug: str) -> Dataset:
    return queries.dataset_of(slug)


@require_safe
@reader_required
def datasets(request: SignedInRequest) -> HttpResponse:
    """Every dataset with its counts."""
    return render(request, "annotation/datasets.html", {"datasets": queries.datasets()})


@require_safe
@reader_required
def dataset(request: SignedInRequest, slug: str) -> HttpResponse:
    """One dataset: its scenarios and annotators, its sessions page by page, its downloads."""
    stored = _dataset(slug)
    scenarios = queries.scenarios(stored)
    form = SessionFilterForm(request.GET, scenarios=[(row.id, row.name) for row in scenarios])
    scenario, search = form.wanted()
    context = {
        "dataset": queries.dataset_row(stored),
        "scenarios": scenarios,
        "annotators": queries.annotator_rows(stored),
        "form": form,
        "filtered": scenario is not None or bool(search),
        "page": queries.sessions_page(
            stored, scenario_id=scenario, search=search, page=request.GET.get("page", "1")
        ),
        "downloads": DOWNLOADS,
    }
    return render(request, "annotation/dataset.html", context)


@require_safe
@reader_required
def session(request: SignedInRequest, session_id: int) -> HttpResponse:
    """One session with everything about it."""
    page = session_page(session_id)
    if page is None:
        raise Http404
    return render(request, "annotation/session.html", {"session": page})


@require_safe
@reader_required
def comparison(request: SignedInRequest, comparison_id: int) -> HttpResponse:
    """One comparison: both texts, the dialogue before them, and the labels."""
    page = comparison_page(comparison_id)
    if page is None:
        raise Http404
    return render(request, "annotation/comparison.html", {"comparison": page})


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def import_file(
    request: SignedInRequest,
    run: ImportUpload = import_upload,
    formats: Mapping[str, Format] = FORMATS,
) -> HttpResponse:
    """Import an uploaded file; its faults are shown where it has any.

    The site passes an import that knows more formats than this app.
    """
    initial = {"dataset": request.GET.get("dataset", "")}
    form = ImportForm(request.POST or None, request.FILES or None, initial=initial, formats=formats)
    report = None
    if request.method == "POST" and form.is_valid():
        try:
            report = run(
                upload=form.cleaned_data["file"],
                dataset_slug=form.cleaned_data["dataset"],
                actor=request.user,
                now=timezone.now(),
                format_name=form.cleaned_data["format"],
                dry_run=form.cleaned_data["dry_run"],
            )
        except Refused as refused:
            field = "file" if refused.code in {"import:unreadable", "import:format"} else "dataset"
            form.add_error(field, _(refused.text))
    failed = bool(form.errors) or (report is not None and report.fault_count > 0)
    context = {"form": form, "report": report, "known": queries.slugs()}
    return render(
        request, "annotation/import.html", context, status=UNPROCESSABLE if failed else 200
    )


@require_safe
@login_required
def export(request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download; an annotator gets their own labels alone, without the names of models."""
    stored = _dataset(slug)
    chosen, format_ = EXPORTS[kind], ExportFormat(format_name)
    if request.user.sees_everyone:
        blocks = chosen.blocks(stored, format_)
    elif request.user.pk in names_of(dataset=stored):
        own = chosen.own_blocks(stored, format_, request.user.pk)
        if own is None:
            raise Http404
        blocks = own
    else:
        raise Http404
    return download(blocks, name=f"{slug}-{kind}", format_=format_)
