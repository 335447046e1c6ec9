"""Guidelines as managers write them: versions, a preview, what changed in each."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused
from annotation.forms.entry import MAX_TEXT, GuidelinesForm
from annotation.models import Study
from annotation.queries.onboarding import guidelines_history, study_named
from annotation.services.guidelines import publish_guidelines
from annotation.views.access import SignedInRequest, manager_required, reader_required

UNPROCESSABLE: Final = 422


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
def history(request: SignedInRequest, slug: str) -> HttpResponse:
    """All versions, the newest first, each with what changed in it."""
    study = _study(slug)
    context = {"study": study, "versions": guidelines_history(study)}
    return render(request, "annotation/guidelines_history.html", context)
