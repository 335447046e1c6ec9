"""Datasets: what there is, one by one, its sessions and comparisons, imports and exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.datasets import DatasetCounts, answers_of, facts_of
from annotation.core.formats.detect import AUTO, FORMATS, format_of_text, with_columns
from annotation.core.formats.format import Format
from annotation.core.formats.grids import preview
from annotation.core.formats.tables import NAME as TABLES
from annotation.core.formats.value_counts import count_values
from annotation.core.refusals import Refused, text_of
from annotation.exports import EXPORTS, ExportFormat
from annotation.exports.folder import PACKED, UNLIKE, has_parquet
from annotation.exports.kto import (
    HIGHEST_THRESHOLD,
    KTO,
    LOWEST_THRESHOLD,
    count_undecided,
    has_marked,
    marked_replies,
)
from annotation.forms.datasets import ImportForm, SamplingForm, SessionFilterForm, TableForm
from annotation.forms.imports import ValuesForm
from annotation.models import Dataset
from annotation.queries import datasets as queries
from annotation.queries.label_sampling import stated_sampling
from annotation.queries.participants import names_of
from annotation.services.datasets import archive_dataset, state_sampling
from annotation.services.imports import ImportFile, import_records
from annotation.services.imports.uploads import forget, keep, kept_file
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    download,
    manager_required,
    reader_required,
    whole_export,
)

_FIELD_OF_REFUSAL: Final = {
    "import:archived": "dataset",
    "import:dataset": "dataset",
    "import:format": "format",
    "import:nearest": "format",
    "import:outrun": "dataset",
}
"""Refusals of an import that another answer than another file may mend: which answer."""

DOWNLOADS = (
    ("annotation:export", "sessions", _("Sessions with everything")),
    ("annotation:export", "labels", _("Pairwise labels")),
    ("annotation:export", "labels_wide", _("Labels, a column for each annotator")),
    ("annotation:export", "satisfaction", _("Satisfaction labels")),
    ("annotation:export", "kto", _("KTO: ratings of replies, 4–5 good, 1–2 bad")),
    ("judging:export", "judgments", _("Judgments")),
    ("judging:export", "preferences", _("Preferences")),
    ("judging:export", "preference_sets", _("Preference sets")),
    ("judging:export", "memories", _("User memories")),
    ("judging:export", "satisfaction_judgments", _("Satisfaction judgments")),
    ("judging:export", "rubrics", _("Induced rubrics")),
    ("judging:export", "generated_responses", _("Generated responses")),
    ("judging:export", "mtbench_questions", _("MT-Bench: questions")),
    ("judging:export", "mtbench_answers", _("MT-Bench: answers")),
    ("judging:export", "mtbench_votes", _("MT-Bench: people’s votes")),
    ("judging:export", "mtbench_pairs", _("MT-Bench: judgments of pairs")),
    ("judging:export", "mtbench_singles", _("MT-Bench: grades")),
    ("judging:export", "alpaca_outputs", _("AlpacaEval: outputs")),
    ("judging:export", "alpaca_annotations", _("AlpacaEval: annotations")),
    ("judging:export", "arena_battles", _("Arena: battles")),
    ("judging:export", "rewardbench", _("RewardBench: chosen and rejected by gold answer")),
)


def _dataset(slug: str) -> Dataset:
    return queries.dataset_of(slug)


@require_safe
@reader_required
def datasets(request: SignedInRequest) -> HttpResponse:
    """Every dataset with its counts."""
    return render(request, "annotation/datasets.html", {"datasets": queries.datasets()})


def _no_others(_dataset: Dataset) -> frozenset[str]:
    return frozenset()


@require_safe
@reader_required
def dataset(
    request: SignedInRequest, slug: str, filled: Callable[[Dataset], frozenset[str]] = _no_others
) -> HttpResponse:
    """One dataset: its scenarios and annotators, its sessions page by page, its downloads.

    The site tells which exports of the apps above have a row, as `filled`.
    """
    context = _of_dataset(request, _dataset(slug), filled)
    return render(request, "annotation/dataset.html", context)


def _filled(counts: DatasetCounts) -> set[str]:
    """The kinds of exports of people's data that have a row."""
    kinds = {"sessions"} if counts.sessions else set()
    if counts.labels:
        kinds |= {"labels", "labels_wide"}
    return kinds | ({"satisfaction"} if counts.ratings else set())


def _of_dataset(
    request: SignedInRequest,
    stored: Dataset,
    filled: Callable[[Dataset], frozenset[str]] = _no_others,
) -> dict[str, object]:
    scenarios = queries.scenarios(stored)
    form = SessionFilterForm(
        request.GET, scenarios=[(row.pk, row.name) for row, _counts in scenarios]
    )
    scenario, search = form.wanted()
    counts = queries.counts_of(stored)
    kinds = _filled(counts) | filled(stored)
    if counts.ratings and has_marked(stored):
        kinds.add(KTO.kind)
    return {
        "dataset": stored,
        "counts": counts,
        "scenarios": scenarios,
        "annotators": queries.annotators_with_counts(stored),
        "form": form,
        "filtered": scenario is not None or bool(search),
        "page": queries.sessions_page(
            stored, scenario_id=scenario, search=search, page=request.GET.get("page", "1")
        ),
        "downloads": [each for each in DOWNLOADS if each[1] in kinds],
        "undecided": count_undecided(stored) if KTO.kind in kinds else 0,
        "unlike": UNLIKE,
        "has_parquet": has_parquet(),
        "comparable": request.user.is_manager and queries.comparable(stored),
        "sampling": stated_sampling(stored.pk),
    }


@require_POST
@manager_required
def label_sampling(request: SignedInRequest, slug: str) -> HttpResponse:
    """Keep how a dataset's imported labels were drawn; an empty text takes it back."""
    stored = _dataset(slug)
    form = SamplingForm(request.POST)
    if not form.is_valid():
        context = _of_dataset(request, stored) | {"sampling_form": form}
        return render(request, "annotation/dataset.html", context, status=422)
    state_sampling(
        dataset=stored.slug,
        statement=form.cleaned_data["statement"],
        by=request.user,
        now=timezone.now(),
    )
    return redirect(reverse("annotation:dataset", args=[stored.slug]) + "#sampling")


def _no_runs(_dataset: Dataset) -> bool:
    return False


@require_POST
@manager_required
def delete(
    request: SignedInRequest, slug: str, under_way: Callable[[Dataset], bool] = _no_runs
) -> HttpResponse:
    """Delete a dataset whose name was typed; the site says whether runs of it go on."""
    stored = _dataset(slug)
    try:
        archive_dataset(
            dataset=stored.slug,
            name=request.POST.get("name", ""),
            under_way=under_way,
            by=request.user,
            now=timezone.now(),
        )
    except Refused as refused:
        context = _of_dataset(request, stored) | {"refusal": _(refused.text)}
        return render(request, "annotation/dataset.html", context, status=refused.status)
    messages.success(request, gettext("Deleted: %(name)s.") % {"name": stored.name})
    return redirect("annotation:datasets")


@require_safe
@reader_required
def session(request: SignedInRequest, session_id: int) -> HttpResponse:
    """One session with everything about it."""
    stored = queries.whole_session(session_id)
    if stored is None:
        raise Http404
    names = names_of(dataset=stored.dataset)
    context = {
        "session": stored,
        "names": names,
        "profile": facts_of(stored.profile_snapshot),
        "extra": facts_of(stored.extra),
        "questionnaires": [
            (names[each.annotator_id], answers_of(each.answers))
            for each in stored.questionnaires.all()
        ],
    }
    return render(request, "annotation/session.html", context)


@require_safe
@reader_required
def comparison(request: SignedInRequest, comparison_id: int) -> HttpResponse:
    """One comparison: both texts, the dialogue before them, and the labels."""
    stored = queries.labelled_comparison(comparison_id)
    if stored is None:
        raise Http404
    context = {
        "comparison": stored,
        "session": stored.turn.session,
        "names": names_of(dataset=stored.turn.session.dataset),
        "dialogue": queries.dialogue_before(stored.turn),
        "extra": facts_of(stored.extra),
    }
    return render(request, "annotation/comparison.html", context)


def _nothing_judged(_slug: str) -> bool:
    return False


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def import_file(
    request: SignedInRequest,
    run: ImportFile = import_records,
    formats: Mapping[str, Format] = FORMATS,
    judged: Callable[[str], bool] = _nothing_judged,
) -> HttpResponse:
    """Import an uploaded file; its faults are shown where it has any.

    Of a table one first says what its columns are. The site passes an import that knows more
    formats than this app, and whether judges have said anything of a dataset.
    """
    if "upload" in request.POST:
        context = _import_table(request, run, formats)
    else:
        context = _import_upload(request, run, formats)
    report, done = context.get("report"), False
    if report is not None and not report.fault_count and not report.dry_run:
        done = True
        context["steps"] = queries.next_steps(report.dataset, judged=judged(report.dataset))
    if done or "table" not in context:
        initial = {"dataset": request.GET.get("dataset", report.dataset if report else "")}
        context.setdefault("form", ImportForm(initial=initial, formats=formats))
        context["known"] = queries.slugs()
    asked = context.get("form") or context["table"]
    is_open = "values" in context and context["values"].is_open
    failed = (
        bool(asked.errors) or is_open or "refusal" in context or (report and report.fault_count)
    )
    return render(
        request, "annotation/import.html", context, status=UNPROCESSABLE if failed else 200
    )


def _import_upload(
    request: SignedInRequest, run: ImportFile, formats: Mapping[str, Format]
) -> dict[str, Any]:
    """The form, and what came of a file that was sent.

    Unless it was imported or has errors, it is kept: a table until it is explained, any other
    until it is imported after a check or under another name.
    """
    initial = {"dataset": request.GET.get("dataset", "")}
    if request.method != "POST":
        return {"form": ImportForm(initial=initial, formats=formats)}
    try:
        token, path = _kept_upload(request)
    except Refused as refused:
        form = ImportForm(request.POST, request.FILES, formats=formats)
        form.add_error("file", _(refused.text))
        return {"form": form, "path": None}
    return _import_kept(request, run, formats, token=token, path=path)


def _import_kept(
    request: SignedInRequest,
    run: ImportFile,
    formats: Mapping[str, Format],
    *,
    token: str,
    path: Path | None,
) -> dict[str, Any]:
    data = request.POST.copy()
    data["kept"] = token
    form = ImportForm(data, request.FILES or None, formats=formats, kept=token)
    context: dict[str, Any] = {"form": form, "path": path}
    if request.POST.get("kept") and path is None:
        form.fields["file"].error_messages["required"] = _(text_of("import:expired"))
    if not form.is_valid() or path is None:
        return context
    wanted = form.cleaned_data
    keeps = False
    try:
        if _is_table(path, wanted["format"], formats):
            header, rows = preview(path)
            initial = {"upload": token, "dataset": wanted["dataset"]}
            keeps = True
            return {"table": TableForm(header=header, initial=initial), "rows": rows, "path": path}
        report = context["report"] = run(
            path=path,
            dataset_slug=wanted["dataset"],
            now=timezone.now(),
            format_name=wanted["format"],
            dry_run="dry_run" in request.POST,
            skip_errors="skip_errors" in request.POST,
            actor=request.user,
            formats=formats,
        )
        keeps = report.dry_run and not report.fault_count
    except Refused as refused:
        field = _FIELD_OF_REFUSAL.get(refused.code, "file")
        keeps = field != "file"
        form.add_error(field, refused.sentence(gettext))
    finally:
        if not keeps:
            forget(token, request.user)
    if not keeps:
        data["kept"], context["path"] = "", None
        form.fields["file"].required = True
        form["file"].label = _("File")
    return context


def _kept_upload(request: SignedInRequest) -> tuple[str, Path | None]:
    """The token and path of the file that is sent, or else of the one that was kept before.

    Raises:
        Refused: there is no room for the file that is sent.
    """
    sent = request.FILES.get("file")
    token = keep(sent, request.user) if sent else request.POST.get("kept", "")
    try:
        return (token, kept_file(token, request.user)) if token else ("", None)
    except Refused:
        return "", None


def _is_table(path: Path, format_name: str, formats: Mapping[str, Format]) -> bool:
    chosen = format_of_text(path, formats) if format_name == AUTO else formats[format_name]
    return chosen is not None and chosen.name == TABLES


def _import_table(
    request: SignedInRequest, run: ImportFile, formats: Mapping[str, Format]
) -> dict[str, Any]:
    """What came of a table whose columns were told; until it is imported it can be told again."""
    token = request.POST["upload"]
    try:
        path = kept_file(token, request.user)
        header, rows = preview(path)
    except Refused as refused:
        return {"refusal": _(refused.text)}
    table = TableForm(request.POST, header=header)
    context: dict[str, Any] = {"table": table, "rows": rows, "path": path}
    if not table.is_valid():
        return context
    try:
        values = ValuesForm(request.POST, counts=count_values(path, table.columns()))
        if values.is_bound or values.is_open:
            context["values"] = values
        if values.is_open:
            return context
        report = run(
            path=path,
            dataset_slug=table.cleaned_data["dataset"],
            now=timezone.now(),
            format_name=TABLES,
            dry_run=table.cleaned_data["dry_run"],
            skip_errors="skip_errors" in request.POST,
            actor=request.user,
            formats=with_columns(formats, table.columns(), values.means()),
        )
    except Refused as refused:
        table.add_error(None, _(refused.text))
        return context
    except BaseException:
        forget(token, request.user)
        raise
    if report.fault_count or report.dry_run:
        return {**context, "report": report}
    forget(token, request.user)
    return {"report": report}


def _threshold(given: str) -> int:
    if given not in map(str, range(LOWEST_THRESHOLD, HIGHEST_THRESHOLD + 1)):
        raise Refused("export:threshold")
    return int(given)


@require_safe
@login_required
def export(request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download; an annotator gets their own labels alone, without the names of models."""
    stored, chosen = _dataset(slug), EXPORTS[kind]
    if kind == KTO.kind and "threshold" in request.GET:
        chosen = marked_replies(_threshold(request.GET["threshold"]))
    if request.user.sees_everyone:
        return whole_export(chosen, stored, format_name, workers=request.user.is_manager)
    if format_name in PACKED or request.user.pk not in names_of(dataset=stored):
        raise Http404
    format_ = ExportFormat(format_name)
    own = chosen.own_blocks(stored, format_, request.user.pk)
    if own is None:
        raise Http404
    return download(own, name=f"{slug}-{kind}", format_=format_)
