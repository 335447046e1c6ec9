"""Who is in a study: links to join by, its people, and one's own account."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.participants import worker_of
from annotation.core.refusals import Refused
from annotation.core.studies import ClaimFilter
from annotation.forms.participants import CompletionForm, InvitationForm, NewcomerForm, PasswordForm
from annotation.forms.study_filters import MembersForm
from annotation.models import Invitation, LookAlikeError, Study, StudyStatus, User
from annotation.queries.participants import invitation_rows, part_joined, study_named
from annotation.queries.studies import annotator_choices, members_of, seconds_worked, study_page
from annotation.queries.study_claims import claim_rows, claims_of
from annotation.queries.study_progress import study_live
from annotation.services.participants import (
    add_annotators,
    change_password,
    invite,
    join,
    join_as_newcomer,
    open_invitation,
    remove_annotator,
    set_completion,
    withdraw,
)
from annotation.services.quality import pause, resume
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    manager_required,
    reader_required,
)
from annotation.views.quality import change_pause

TOO_MANY: Final = 429
ONE_YEAR: Final = 365 * 24 * 3600


def invitations_context(slug: str, form: InvitationForm | None = None) -> dict[str, Any]:
    """What `annotation/_invitations.html` needs, but for a change of a row that was refused."""
    rows = invitation_rows(slug, timezone.now())
    return {"slug": slug, "invitations": rows, "invitation_form": form or InvitationForm()}


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def invitations(request: SignedInRequest, slug: str) -> HttpResponse:
    """The invitations of a study, and a form for another one."""
    study = study_named(slug)
    if study is None:
        raise Http404
    form = InvitationForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        invite(
            study=slug,
            by=request.user,
            now=timezone.now(),
            note=form.cleaned_data["note"],
            places=form.cleaned_data["places"],
            expires_at=form.expires_at(),
            completion=form.cleaned_data["completion"],
        )
        return _listed(request, slug)
    status = UNPROCESSABLE if form.is_bound else 200
    return _invitations(request, {"study": study, **invitations_context(slug, form)}, status)


@require_POST
@manager_required
def withdraw_invitation(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Let nobody else in by a link."""
    try:
        withdraw(study=slug, invitation=number, by=request.user, now=timezone.now())
    except Invitation.DoesNotExist as missing:
        raise Http404 from missing
    return _listed(request, slug)


@require_POST
@manager_required
def completion(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Change the completion code or address of a link."""
    study, form = study_named(slug), CompletionForm(request.POST)
    if study is None:
        raise Http404
    if form.is_valid():
        code = form.cleaned_data["completion"]
        try:
            set_completion(study=slug, invitation=number, completion=code, by=request.user)
        except Invitation.DoesNotExist as missing:
            raise Http404 from missing
        return _listed(request, slug)
    context = {"study": study, **invitations_context(slug), "changed": number, "completion": form}
    return _invitations(request, context, UNPROCESSABLE)


def _invitations(request: SignedInRequest, context: dict[str, Any], status: int) -> HttpResponse:
    template = "_invitations" if "HX-Request" in request.headers else "invitations"
    return render(request, f"annotation/{template}.html", context, status=status)


def _listed(request: SignedInRequest, slug: str) -> HttpResponse:
    if "HX-Request" in request.headers:
        return render(request, "annotation/_invitations.html", invitations_context(slug))
    return redirect("annotation:invitations", slug)


@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def join_study(request: HttpRequest, token: str) -> HttpResponse:
    """Where a link leads: to join as oneself, to sign in first, or to make an account.

    Who has no account sends the form of one; it is made only where the link lets them in. What the
    link says of a worker is kept once they join: its parameters stay with every step until then.
    """
    now = timezone.now()
    user = request.user if isinstance(request.user, User) else None
    part = part_joined(token, user) if user else None
    worker = worker_of(request.GET.dict())
    if part is not None and (part.worker or not worker):
        return _to_study(request, part.study)
    try:
        if user is not None and request.method == "POST":
            return _to_study(request, join(token=token, user=user, now=now, worker=worker))
        if part is not None:
            study = part.study
        else:
            invitation = open_invitation(token=token, user=user, now=now)
            if user is None:
                return _newcomer(request, token, invitation, worker)
            study = invitation.study
    except Refused as refused:
        return _refused(request, refused)
    return render(request, "annotation/join.html", {"study": study, "joined": part is not None})


def _newcomer(
    request: HttpRequest, token: str, invitation: Invitation, worker: dict[str, str]
) -> HttpResponse:
    now = timezone.now()
    form = NewcomerForm(request.POST if request.method == "POST" else None)
    wait: timedelta | None = None
    if form.is_valid():
        try:
            user, study = join_as_newcomer(
                token=token, account=form.account(), now=now, worker=worker
            )
        except Refused as refused:
            wait = _explained(form, refused, now)
        else:
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[-1])
            return _with_language(_to_study(request, study), form.cleaned_data["language"])
    context = {"study": invitation.study, "form": form}
    response = render(request, "annotation/join.html", context)
    if wait is not None:
        response.status_code = TOO_MANY
        response["Retry-After"] = math.ceil(wait.total_seconds())
    elif form.is_bound:
        response.status_code = UNPROCESSABLE
    return response


def _explained(form: NewcomerForm, refused: Refused, now: datetime) -> timedelta | None:
    """Say in the form why there is no account; how long to wait, where that helps."""
    if refused.code == "account:name-taken":
        for name in refused.values["names"]:
            form.add_error(name, LookAlikeError())
        return None
    if refused.code != "invitation:too-many-accounts":
        raise refused
    wait: timedelta = refused.values["again_at"] - now
    form.add_error(None, _too_many_text(wait))
    return wait


def _too_many_text(wait: timedelta) -> str:
    minutes = math.ceil(wait.total_seconds() / 60)
    text = ngettext(
        "Too many accounts were created with this link in the last hour. Try again in "
        "%(minutes)d minute.",
        "Too many accounts were created with this link in the last hour. Try again in "
        "%(minutes)d minutes.",
        minutes,
    )
    return text % {"minutes": minutes}


def _to_study(request: HttpRequest, study: Study) -> HttpResponse:
    if study.status != StudyStatus.DRAFT:
        return redirect("annotation:next", study.slug)
    text = gettext(
        "You joined “%(study)s”. It has not started yet; it will appear here once it does."
    )
    messages.success(request, text % {"study": study.name})
    return redirect("annotation:studies")


def _with_language(response: HttpResponse, language: str) -> HttpResponse:
    if language:
        name = settings.LANGUAGE_COOKIE_NAME
        response.set_cookie(name, language, max_age=ONE_YEAR, samesite="Lax")
    return response


def _refused(request: HttpRequest, refused: Refused) -> HttpResponse:
    context = {"text": gettext_lazy(refused.text), "code": refused.code, "home": reverse("home")}
    return render(request, "annotation/join_refused.html", context, status=refused.status)


@sensitive_post_parameters("current", "password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_cache
def password(request: SignedInRequest) -> HttpResponse:
    """Another password for oneself; this session stays, all others and the API tokens end."""
    form = PasswordForm(request, request.user)
    if form.is_valid():
        change_password(user=request.user, password=form.cleaned_data["password"])
        update_session_auth_hash(request, request.user)
        text = gettext(
            "Password changed. You have been signed out on all other devices, and your API "
            "tokens no longer work."
        )
        messages.success(request, text)
        return redirect("annotation:password")
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "annotation/password.html", {"form": form}, status=status)


LATEST: Final = 20  # claims on an annotator's page; all of them are a click away


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def people(request: SignedInRequest, slug: str) -> HttpResponse:
    """Who is in a study; adding people to it."""
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    members = list(members_of(row))
    inside = {member.annotator.username for member in members}
    choices = [each for each in annotator_choices() if each[0] not in inside]
    form = MembersForm(request.POST if request.method == "POST" else None, annotators=choices)
    if request.method == "POST" and form.is_valid():
        usernames = form.cleaned_data["annotators"]
        added = add_annotators(study=slug, usernames=usernames, by=request.user)
        text = ngettext("%(n)d annotator added.", "%(n)d annotators added.", added)
        messages.success(request, text % {"n": added})
        return redirect("annotation:study-people", slug)
    workers = Counter(member.worker_id for member in members if member.worker_id)
    context = {
        "study": page,
        "form": form,
        "members": members,
        "choices": choices,
        "workers": workers,
        "twice": {worker for worker, accounts in workers.items() if accounts > 1},
    }
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
        "seconds": seconds_worked(slug, page.row.kind, each.id),
        "now": now,
        "others": [
            (person.id, person.name)
            for person in live.annotators
            if person.facts.member and not person.facts.paused and person.id != annotator
        ],
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
        done=gettext("Paused. Their items in progress go to others."),
        already=gettext("Already paused. Nothing was changed."),
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
        done=gettext("Resumed. Only answers from now on count towards the rule."),
        already=gettext("Not paused. Nothing was changed."),
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
    messages.success(request, gettext("Removed from the study. Their answers are kept."))
    return redirect("annotation:study-people", slug)
