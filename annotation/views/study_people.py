"""Who is in a study: one by one, adding, pausing, taking out."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.study_claims import ClaimFilter
from annotation.forms.study_filters import MembersForm
from annotation.models import Study
from annotation.queries.studies import annotator_choices, members_of, study_page
from annotation.queries.study_claims import claim_rows, claims_of
from annotation.queries.study_progress import study_live
from annotation.services.members import add_annotators, remove_annotator
from annotation.services.participation import pause, resume
from annotation.views.access import SignedInRequest, manager_required, reader_required
from annotation.views.pausing import change_pause

UNPROCESSABLE: Final = 422
LATEST: Final = 20  # claims on an annotator's page; all of them are a click away


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def people(request: SignedInRequest, slug: str) -> HttpResponse:
    """Who is in a study; adding people to it."""
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    members = members_of(row)
    inside = {member.username for member in members}
    choices = [each for each in annotator_choices() if each[0] not in inside]
    form = MembersForm(request.POST if request.method == "POST" else None, annotators=choices)
    if request.method == "POST" and form.is_valid():
        usernames = form.cleaned_data["annotators"]
        added = add_annotators(study=slug, usernames=usernames, by=request.user)
        text = ngettext("%(n)d annotator added.", "%(n)d annotators added.", added)
        messages.success(request, text % {"n": added})
        return redirect("annotation:study-people", slug)
    context = {"study": page, "form": form, "members": members, "choices": choices}
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "annotation/study_people.html", context, status=status)


@require_safe
@reader_required
def annotator(request: SignedInRequest, slug: str, annotator: int) -> HttpResponse:
    """One annotator of a study: how far they are, what they hold, what they did last."""
    now = timezone.now()
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    live = study_live(row, page.row, now)
    each = next((person for person in live.annotators if person.id == annotator), None)
    if each is None:
        raise Http404
    held = claims_of(row, now, annotator=annotator, which=ClaimFilter.HELD)
    latest = claims_of(row, now, annotator=annotator)
    context = {
        "study": page,
        "each": each,
        "held": claim_rows(held, row, now),
        "latest": claim_rows(latest[:LATEST], row, now),
        "now": now,
    }
    return render(request, "annotation/study_annotator.html", context)


@require_POST
@manager_required
def pause_annotator(request: SignedInRequest, slug: str, annotator: int) -> HttpResponse:
    """Give an annotator no more items until they may go on."""
    change_pause(
        request,
        pause,
        study=slug,
        annotator=annotator,
        done=_("Paused. Their items in progress go to others."),
        already=_("Already paused. Nothing was changed."),
    )
    return redirect("annotation:study-annotator", slug, annotator)


@require_POST
@manager_required
def resume_annotator(request: SignedInRequest, slug: str, annotator: int) -> HttpResponse:
    """Let a paused annotator go on."""
    change_pause(
        request,
        resume,
        study=slug,
        annotator=annotator,
        done=_("Resumed. Only answers from now on count towards the rule."),
        already=_("Not paused. Nothing was changed."),
    )
    return redirect("annotation:study-annotator", slug, annotator)


@require_POST
@manager_required
def remove(request: SignedInRequest, slug: str, annotator: int) -> HttpResponse:
    """Take somebody out of a study; their answers stay."""
    try:
        remove_annotator(study=slug, annotator=annotator, by=request.user)
    except Study.DoesNotExist as missing:
        raise Http404 from missing
    messages.success(request, _("Removed from the study. Their answers are kept."))
    return redirect("annotation:study-people", slug)
