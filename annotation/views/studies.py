"""Studies: one's own to label; all of them to set up, to manage and to download."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.choices import StudyKind
from annotation.core.numbers import number_in
from annotation.core.refusals import Refused
from annotation.core.studies import StudyPage
from annotation.exports import EXPORTS, ExportFormat
from annotation.forms.participants import MAX_TEXT, GuidelinesForm
from annotation.forms.studies import CountsForm, RulesForm, StudyForm
from annotation.forms.study_filters import StatusForm, StudyFilterForm
from annotation.models import Study, StudyStatus
from annotation.queries.label_sampling import has_no_chances
from annotation.queries.participants import guidelines_history, setting_version, study_named
from annotation.queries.studies import (
    all_studies,
    annotator_choices,
    dataset_choices,
    draft_pairs,
    drawn_counts,
    is_touched,
    item_offers,
    my_studies,
    my_study,
    planned_counts,
    seconds_worked,
    status_counts,
    study_items,
    study_page,
    with_claims,
)
from annotation.queries.study_claims import flag_rows, flags_of, most_skipped, study_of
from annotation.queries.study_progress import study_live, trace_of, trace_rows
from annotation.services.studies import (
    change_rules,
    create_study,
    delete_draft,
    publish_guidelines,
    set_status,
)
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    download,
    manager_required,
    reader_required,
)
from annotation.views.participants import invitations_context
from annotation.views.quality import agreement_query

ITEMS_PER_PAGE = 50
SHOWN_BESIDE = 5  # skipped items and flags on a study's page; all of them have pages of their own


@require_safe
@never_cache
@login_required
def studies(request: SignedInRequest) -> HttpResponse:
    """What there is to label; for those who see everyone, every study."""
    context: dict[str, object] = {"mine": my_studies(request.user, timezone.now()), "all": None}
    if request.user.sees_everyone:
        form = StudyFilterForm(request.GET)
        status, sort = form.wanted()
        counts = status_counts()
        context |= {
            "all": all_studies(status=status, sort=sort),
            "any": sum(counts.values()),
            "statuses": [
                (each.value, each.label, counts[each]) for each in StudyStatus if each in counts
            ],
            "status": status,
            "sort": sort.value,
        }
    return render(request, "annotation/studies.html", context)


@require_safe
@never_cache
@login_required
def study(request: SignedInRequest, slug: str) -> HttpResponse:
    """One study: its guidelines and what is left, or how it goes."""
    now = timezone.now()
    if not request.user.sees_everyone:
        mine = my_study(request.user, slug, now)
        if mine is None:
            raise Http404
        seconds = seconds_worked(slug, mine.rules.kind, request.user.pk)
        own = {"study": mine, "seconds": seconds}
        return render(request, "annotation/my_study.html", own)
    row, page = _page(slug)
    draft = row.status == StudyStatus.DRAFT
    to_mark = draft and row.kind == StudyKind.PAIRWISE and request.user.is_manager
    rows = draft_pairs(slug) if to_mark else study_items(slug)
    items = Paginator(rows, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    flags = flags_of(row)
    context = {
        "study": page,
        "stored": row,
        "selection": row.selection,
        "lacks_chances": has_no_chances(row),
        "dataset_slug": row.dataset.slug if row.status == StudyStatus.CLOSED else "",
        "live": study_live(row, page.row, now),
        "now": now,
        "page": items,
        "items": [] if to_mark else with_claims(list(items)),
        "pairs": list(items) if to_mark else [],
        "agreement": agreement_query(row) if page.row.done else "",
        "no_ties": to_mark and not row.allow_tie,
        "drawn": drawn_counts(row, page.row) if draft else None,
        "skips": most_skipped(row, at_most=SHOWN_BESIDE),
        "flags": flag_rows(flags[:SHOWN_BESIDE]),
        "flag_count": flags.count(),
    }
    if request.user.is_manager:
        context |= invitations_context(slug)
    return render(request, "annotation/study.html", context)


@require_safe
@never_cache
@reader_required
def live(request: SignedInRequest, slug: str) -> HttpResponse:
    """How a study goes at this moment: a part of its page that asks for itself."""
    now = timezone.now()
    row, page = _page(slug)
    context = {"study": page, "live": study_live(row, page.row, now), "now": now}
    return render(request, "annotation/_study_live.html", context)


@require_POST
@manager_required
def study_status(request: SignedInRequest, slug: str) -> HttpResponse:
    """Open, pause or close a study."""
    form = StatusForm(request.POST)
    if not form.is_valid():
        raise BadRequest("no such status")
    status = StudyStatus(form.cleaned_data["status"])
    try:
        set_status(study=slug, status=status, by=request.user)
    except Study.DoesNotExist as missing:
        raise Http404 from missing
    except Refused as refused:
        messages.error(request, _(refused.text))
    else:
        if status == StudyStatus.OPEN:
            text = _("The study is open: its annotators get items, and invited people can join.")
            messages.success(request, text)
    return redirect("annotation:study", slug)


@require_POST
@manager_required
def delete_study(request: SignedInRequest, slug: str) -> HttpResponse:
    """Delete a draft."""
    try:
        name = delete_draft(study=slug, by=request.user)
    except Study.DoesNotExist as missing:
        raise Http404 from missing
    except Refused as refused:
        messages.error(request, _(refused.text))
        return redirect("annotation:study", slug)
    messages.success(request, _("Deleted the draft “%(name)s”.") % {"name": name})
    return redirect("annotation:studies")


def _page(slug: str) -> tuple[Study, StudyPage]:
    found = study_page(slug)
    if found is None:
        raise Http404
    return found


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def new_study(request: SignedInRequest) -> HttpResponse:
    """Plan a study: first the dataset, then the rest."""
    datasets = dataset_choices()
    only = datasets[0][0] if len(datasets) == 1 else ""
    dataset = request.GET.get("dataset", only)
    if dataset not in dict(datasets):
        return render(request, "annotation/new_study.html", {"datasets": datasets})
    form = StudyForm(
        request.POST if request.method == "POST" else None,
        offers=item_offers(dataset),
        annotators=annotator_choices(),
        initial={"plan_of_pairs": request.GET.get("plan", "")},
    )
    if request.method == "POST" and form.is_valid():
        plan = form.plan(dataset)
        try:
            slug = create_study(plan, by=request.user)
        except Refused as refused:
            form.add_error("scenarios", _(refused.text))
        else:
            talks = plan.kind is StudyKind.CONVERSATION
            return redirect("judging:conversation-setup" if talks else "annotation:study", slug)
    context = {"datasets": datasets, "dataset": dataset, "form": form}
    return render(
        request,
        "annotation/new_study.html",
        context,
        status=UNPROCESSABLE if form.is_bound else 200,
    )


@require_safe
@never_cache
@manager_required
def new_study_counts(request: SignedInRequest) -> HttpResponse:
    """What a study would hold, while its form is being filled in."""
    dataset = request.GET.get("dataset", "")
    if dataset not in dict(dataset_choices()):
        raise Http404
    form = CountsForm(request.GET, offers=item_offers(dataset), annotators=annotator_choices())
    counts = planned_counts(form.plan(dataset)) if form.is_valid() else None
    context = {"counts": counts, "kind": request.GET.get("kind", "")}
    return render(request, "annotation/_study_counts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def study_rules(request: SignedInRequest, slug: str) -> HttpResponse:
    """The rules of a study: those that harm no answer may change."""
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    touched, refused = is_touched(row), None
    form = RulesForm(request.POST if request.method == "POST" else None, study=row, touched=touched)
    if request.method == "POST" and form.is_valid():
        try:
            since = number_in(request.POST.get("since", ""))
            change_rules(study=slug, rules=form.rules(), since=since, by=request.user)
        except Refused as error:
            for each in error.faults:
                form.add_error(each.name, gettext(each.fault.label))
            if not error.faults:
                refused, form = error, RulesForm(study=row, touched=touched)
        else:
            messages.success(request, _("Rules saved."))
            return redirect("annotation:study", slug)
    seen = None if refused else request.POST.get("since")
    context = {
        "study": page,
        "form": form,
        "touched": touched,
        "since": seen or setting_version(row, "study.rules"),
        "refused": gettext(refused.text) if refused else "",
    }
    return render(
        request,
        "annotation/study_rules.html",
        context,
        status=refused.status if refused else UNPROCESSABLE if form.errors else 200,
    )


EVENTS_PER_PAGE: Final = 100


@require_safe
@reader_required
def history(request: SignedInRequest, slug: str) -> HttpResponse:
    """What was done to a study, by whom and when."""
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    answers = "answers" in request.GET
    events = Paginator(trace_of(row, answers=answers), EVENTS_PER_PAGE)
    shown = events.get_page(request.GET.get("page"))
    rows = trace_rows(shown, workers=request.user.is_manager)
    context = {"study": page, "answers": answers, "page": shown, "events": rows}
    return render(request, "annotation/study_history.html", context)


@require_safe
@reader_required
def export(request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download of a study alone: its labels, or its sessions with them."""
    row = study_of(slug)
    if row is None:
        raise Http404
    format_ = ExportFormat(format_name)
    blocks = EXPORTS[kind].study_blocks(row, format_, workers=request.user.is_manager)
    if blocks is None:
        raise Http404
    return download(blocks, name=f"{slug}-{kind}", format_=format_)


def _study(slug: str) -> Study:
    study = study_named(slug)
    if study is None:
        raise Http404
    return study


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def edit_guidelines(request: SignedInRequest, slug: str) -> HttpResponse:
    """Write the next version; annotators read it before they go on."""
    study = _study(slug)
    stored = {"text": study.guidelines, "since": study.guidelines_version}
    form = GuidelinesForm(request.POST if request.method == "POST" else None, initial=stored)
    previewed = form["text"].value() if "preview" in request.POST else None
    if form.is_valid() and previewed is None:
        try:
            version = publish_guidelines(
                study=slug,
                text=form.cleaned_data["text"],
                since=form.cleaned_data["since"],
                by=request.user,
            )
        except Refused as refused:
            form.add_error(None, gettext(refused.text))
        else:
            messages.success(request, gettext("Published version %d.") % version)
            return redirect("annotation:guidelines-history", slug)
    context = {"study": study, "form": form, "text": previewed}
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "annotation/guidelines_edit.html", context, status=status)


@require_POST
@manager_required
def preview(request: SignedInRequest) -> HttpResponse:
    """A text as annotators will see it."""
    text = request.POST.get("text", "")[:MAX_TEXT]
    return render(request, "annotation/_preview.html", {"text": text})


@require_safe
@reader_required
def guidelines_history_page(request: SignedInRequest, slug: str) -> HttpResponse:
    """All versions, the newest first, each with what changed in it."""
    study = _study(slug)
    context = {"study": study, "versions": guidelines_history(study)}
    return render(request, "annotation/guidelines_history.html", context)
