"""What managers set before the first item besides the guidelines: consent, profile and quiz."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.quiz import MAX_CHOICES, MAX_QUESTIONS, EditAction, Quiz, edited
from annotation.core.refusals import Refused
from annotation.exports import ExportFormat
from annotation.exports.participants import participant_blocks
from annotation.forms.entry import ConsentTextForm, edit_wanted, fault_text, quiz_draft
from annotation.models import Study
from annotation.queries.onboarding import consent_version, quiz_of, study_named
from annotation.services.entry import set_consent, set_quiz
from annotation.views.access import SignedInRequest, manager_required, reader_required
from annotation.views.downloads import download

UNPROCESSABLE: Final = 422


def _study(slug: str) -> Study:
    study = study_named(slug)
    if study is None:
        raise Http404
    return study


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def edit_consent(request: SignedInRequest, slug: str) -> HttpResponse:
    """What annotators agree to, and whether they fill in a profile."""
    study, refused = _study(slug), None
    form = ConsentTextForm(
        request.POST if request.method == "POST" else None, initial=_agreed(study)
    )
    previewed = form["text"].value() if "preview" in request.POST else None
    if form.is_valid() and previewed is None:
        try:
            set_consent(study=slug, by=request.user, **form.cleaned_data)
        except Refused as outdated:
            study, refused = _study(slug), outdated
            form = ConsentTextForm(initial=_agreed(study))
        else:
            messages.success(request, gettext("Saved."))
            return redirect("annotation:study", slug)
    context = {"study": study, "form": form, "text": previewed}
    if refused is not None:
        context["refused"] = gettext(refused.text)
    status = refused.status if refused else UNPROCESSABLE if form.errors else 200
    return render(request, "annotation/consent_edit.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def edit_quiz(request: SignedInRequest, slug: str) -> HttpResponse:
    """The questions: a button changes the draft on the page, storing takes all of it or nothing."""
    study = _study(slug)
    if request.method != "POST":
        return _editor(request, study, _stored(study))
    draft = quiz_draft(request.POST)
    wanted = edit_wanted(request.POST)
    if wanted is not None:
        return _editor(request, study, edited(draft, *wanted), after=wanted)
    try:
        again = "ask_again" in request.POST
        set_quiz(study=slug, quiz=draft, ask_again=again, by=request.user)
    except Refused as faulty:
        return _editor(request, study, draft, refused=faulty)
    messages.success(request, gettext("Saved."))
    return redirect("annotation:study", slug)


@require_safe
@reader_required
def participants(
    request: SignedInRequest,  # noqa: ARG001 - asked by the check above
    slug: str,
    format_name: str,
) -> HttpResponseBase:
    """Who takes part, with what they agreed to, read and answered, as a file."""
    study, format_ = _study(slug), ExportFormat(format_name)
    blocks = participant_blocks(study, format_)
    return download(blocks, name=f"{slug}-participants", format_=format_)


def _agreed(study: Study) -> dict[str, Any]:
    """What annotators agree to, and which version that is."""
    since = consent_version(study)
    return {"text": study.consent, "ask_profile": study.ask_profile, "since": since}


def _stored(study: Study) -> Quiz:
    """The stored questions; one that cannot be read is written anew."""
    try:
        return quiz_of(study)
    except Refused:
        return ()


def _editor(
    request: SignedInRequest,
    study: Study,
    draft: Quiz,
    *,
    after: tuple[EditAction, int, int] | None = None,
    refused: Refused | None = None,
) -> HttpResponse:
    """The page, or for htmx the editor in it, with the cursor where somebody goes on writing."""
    faults = refused.faults if refused else ()
    context: dict[str, Any] = {
        "study": study,
        "questions": draft,
        "faults": [(fault.question, fault_text(fault)) for fault in faults],
        "faulty": {fault.question for fault in faults},
        "ask_again": "ask_again" in request.POST,
        "focus": _focus(draft, after),
        "full": len(draft) >= MAX_QUESTIONS,
        "max_choices": MAX_CHOICES,
    }
    template = "_quiz_editor" if "HX-Request" in request.headers else "quiz_edit"
    status = UNPROCESSABLE if refused else 200
    return render(request, f"annotation/{template}.html", context, status=status)


def _focus(draft: Quiz, after: tuple[EditAction, int, int] | None) -> str:
    """The id of the field that a person goes on with after an edit."""
    if after is None:
        return ""
    action, question, _choice = after
    if action is EditAction.ADD_QUESTION:
        return f"q{len(draft) - 1}-question"
    if action is EditAction.ADD_CHOICE and question < len(draft):
        return f"q{question}-choice-{len(draft[question].choices) - 1}"
    if action is EditAction.MOVE_UP and question:
        return f"q{question - 1}-question"
    if action is EditAction.REMOVE_CHOICE:
        return f"q{question}-add"
    return "add-question"
