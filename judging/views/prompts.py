"""Prompts of a dataset or a study: the list, an edit with what it would do, and the versions."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.guidelines import changes
from annotation.core.refusals import Refused, text_of
from annotation.models import Dataset, Study
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    manager_required,
    reader_required,
)
from judging.core.prompt_edits import EDITED, edit_faults, plain_text, prompt_names, requirements
from judging.core.prompts import LANGUAGES, Prompt, load_prompt
from judging.forms.prompts import PromptForm, RestoreForm
from judging.models import JudgeRun
from judging.queries.prompts import (
    PromptOwner,
    newest_version,
    preview,
    prompt_history,
    prompt_line,
    prompt_lines,
    prompts_of_run,
)
from judging.services.edited_prompts import publish_prompt, restore_prompt


def _owner(kind: str, slug: str) -> PromptOwner:
    if kind == "study":
        return PromptOwner(get_object_or_404(Study, slug=slug))
    return PromptOwner(get_object_or_404(Dataset, slug=slug))


def _context(owner: PromptOwner) -> dict[str, Any]:
    """Whose prompts, and the names of the addresses of their pages."""
    names = ("prompts", "prompt", "prompt-check", "prompt-restore", "prompt-history")
    return {
        "owner": owner,
        owner.kind: owner.row,
        "pages": {name.replace("-", "_"): f"judging:{owner.kind}-{name}" for name in names},
    }


def _known(name: str, language: str) -> None:
    if name not in prompt_names() or language not in LANGUAGES:
        raise Http404


@require_safe
@reader_required
def prompts(request: SignedInRequest, kind: str, slug: str) -> HttpResponse:
    """Every prompt by language: which text is asked, and whose it is."""
    owner = _owner(kind, slug)
    context = {**_context(owner), "languages": prompt_lines(owner)}
    return render(request, "judging/prompts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def prompt(
    request: SignedInRequest, kind: str, slug: str, name: str, language: str
) -> HttpResponse:
    """Edit a prompt: what must stay, what changed, and how it reads on a real item."""
    owner = _owner(kind, slug)
    _known(name, language)
    line = prompt_line(owner, name, language)
    stored = {"text": line.text, "since": newest_version(owner, name, language)}
    form = PromptForm(request.POST if request.method == "POST" else None, initial=stored)
    if form.is_valid() and "check" not in request.POST:
        try:
            version = publish_prompt(
                owner, name=name, language=language, by=request.user, **form.cleaned_data
            )
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            messages.success(request, gettext("Published version %d.") % version)
            return redirect(_context(owner)["pages"]["prompt"], slug, name, language)
    text = form["text"].value() or ""
    context = {
        **_context(owner),
        "form": form,
        "line": line,
        "name": name,
        "language": language,
        **_checked(owner, line.released, text),
    }
    refused = form.is_bound and bool(form.errors)
    return render(request, "judging/prompt.html", context, status=UNPROCESSABLE if refused else 200)


@require_POST
@manager_required
def check(request: SignedInRequest, kind: str, slug: str, name: str, language: str) -> HttpResponse:
    """What a text that is being written would do; nothing is stored."""
    owner = _owner(kind, slug)
    _known(name, language)
    released = load_prompt(name, language=language)
    context = _checked(owner, released, request.POST.get("text", ""))
    return render(request, "judging/_prompt_check.html", context)


def _checked(owner: PromptOwner, released: Prompt, told: str) -> dict[str, Any]:
    """What must stay with whether it does, what is wrong, what changed, and the filled prompt."""
    text = plain_text(told)
    faults = edit_faults(released.name, released.language, text)
    edited = Prompt(released.name, EDITED, released.language, text)
    try:
        same_places = edited.placeholders == released.placeholders
        filled, missing = preview(owner, edited) if same_places else (None, [])
    except Refused:
        filled, missing = None, []
    return {
        "requirements": requirements(released, text),
        "faults": [(gettext(text_of(fault.code)), fault.parts) for fault in faults],
        "same": text == released.text,
        "changed": changes(released.text, text),
        "preview": filled,
        "missing": missing,
    }


@require_POST
@manager_required
def restore(
    request: SignedInRequest, kind: str, slug: str, name: str, language: str
) -> HttpResponse:
    """Take an edited text back."""
    owner = _owner(kind, slug)
    _known(name, language)
    form = RestoreForm(request.POST)
    since = form.cleaned_data["since"] if form.is_valid() else -1
    try:
        restore_prompt(owner, name=name, language=language, since=since, by=request.user)
    except Refused as error:
        messages.error(request, gettext(error.text))
    else:
        messages.success(request, gettext("The edited text was withdrawn."))
    return redirect(_context(owner)["pages"]["prompt"], slug, name, language)


@require_safe
@reader_required
def history(
    request: SignedInRequest, kind: str, slug: str, name: str, language: str
) -> HttpResponse:
    """The versions of a prompt, the newest first, each with what changed in it."""
    owner = _owner(kind, slug)
    _known(name, language)
    context = {
        **_context(owner),
        "name": name,
        "language": language,
        "line": prompt_line(owner, name, language),
        "versions": prompt_history(owner, name, language),
    }
    return render(request, "judging/prompt_history.html", context)


@require_safe
@reader_required
def run_prompts(request: SignedInRequest, run_id: int) -> HttpResponse:
    """The prompts that a run asked, whole, with what was edited in them."""
    run = get_object_or_404(JudgeRun, pk=run_id)
    return render(request, "judging/run_prompts.html", {"run": run, "prompts": prompts_of_run(run)})
