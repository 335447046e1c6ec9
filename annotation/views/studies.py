"""Studies: one's own to label, and all of them to manage."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.core.refusals import Refused
from annotation.core.studies import StudyPage
from annotation.forms.study_filters import StatusForm, StudyFilterForm
from annotation.models import Study, StudyStatus
from annotation.queries.studies import (
    all_studies,
    item_rows,
    my_effort,
    my_studies,
    my_study,
    status_counts,
    study_items,
    study_page,
)
from annotation.queries.study_claims import flag_rows, flags_of, most_skipped
from annotation.queries.study_progress import study_live
from annotation.services.studies import set_status
from annotation.views.access import SignedInRequest, manager_required, reader_required
from annotation.views.invitations import invitations_context

ITEMS_PER_PAGE = 50
SHOWN_BESIDE = 5  # skipped items and flags on a study's page; all of them have pages of their own


@require_safe
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
@login_required
def study(request: SignedInRequest, slug: str) -> HttpResponse:
    """One study: its guidelines and what is left, or how it goes."""
    now = timezone.now()
    if not request.user.sees_everyone:
        mine = my_study(request.user, slug, now)
        if mine is None:
            raise Http404
        context = {"study": mine, "effort": my_effort(request.user, slug)}
        return render(request, "annotation/my_study.html", context)
    row, page = _page(slug)
    items = Paginator(study_items(slug), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    flags = flags_of(row)
    context = {
        "study": page,
        "live": study_live(row, page.row, now),
        "now": now,
        "page": items,
        "items": item_rows(list(items)),
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
    try:
        set_status(study=slug, status=StudyStatus(form.cleaned_data["status"]), by=request.user)
    except Study.DoesNotExist as missing:
        raise Http404 from missing
    except Refused as refused:
        messages.error(request, _(refused.text))
    return redirect("annotation:study", slug)


def _page(slug: str) -> tuple[Study, StudyPage]:
    found = study_page(slug)
    if found is None:
        raise Http404
    return found
