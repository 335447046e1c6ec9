"""The pages between joining a study and its first item, those that set them up, one's profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.guidelines import MAX_CHOICES, MAX_QUESTIONS, EditAction, Quiz, digest, edited
from annotation.core.numbers import number_in
from annotation.core.participants import Step
from annotation.core.refusals import Refused
from annotation.exports import ExportFormat
from annotation.exports.labels import participant_blocks
from annotation.forms.participants import (
    ConsentForm,
    ConsentTextForm,
    QuizForm,
    ReadForm,
    edit_wanted,
    fault_text,
    quiz_draft,
)
from annotation.forms.profiles import ProfileForm
from annotation.models import Study
from annotation.queries.participants import (
    Onboarding,
    guidelines_changed,
    onboarding_of,
    profile_of,
    quiz_of,
    setting_version,
    study_named,
)
from annotation.services.participants import (
    answer_quiz,
    consent,
    decline,
    read_guidelines,
    store_profile,
    text_digest,
)
from annotation.services.studies import set_consent, set_quiz
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    download,
    manager_required,
    reader_required,
)

StepView: TypeAlias = Callable[[SignedInRequest, Onboarding], HttpResponse]


def _step(step: Step) -> Callable[[StepView], Callable[..., HttpResponse]]:
    """Show a step while it is the open one; from any other go on to that, or to the next item."""

    def decorate(view: StepView) -> Callable[..., HttpResponse]:
        @require_http_methods(["GET", "HEAD", "POST"])
        @login_required
        @never_cache
        @wraps(view)
        def shown(request: SignedInRequest, slug: str) -> HttpResponse:
            at = onboarding_of(slug, request.user)
            if at is None:
                raise Http404
            if at.open is not step:
                return _go_on(at)
            try:
                return view(request, at)
            except Refused as refused:
                # Where another tab was quicker the redirect leads to what is open now.
                if refused.code == "onboarding:changed":
                    messages.warning(request, gettext(refused.text))
            return redirect(f"annotation:{step.value}", slug)

        return shown

    return decorate


def _go_on(at: Onboarding) -> HttpResponse:
    return redirect(f"annotation:{at.open.value if at.open else 'next'}", at.study.slug)


def _render(
    request: SignedInRequest, at: Onboarding, template: str, *, status: int = 200, **context: object
) -> HttpResponse:
    """A step's page, with the list of all steps."""
    steps = [(each, each in at.finished, each is at.open) for each in at.steps]
    told = {"study": at.study, "steps": steps, **context}
    return render(request, f"annotation/{template}.html", told, status=status)


@_step(Step.CONSENT)
def consent_page(request: SignedInRequest, at: Onboarding) -> HttpResponse:
    """What taking part means; one agrees, or leaves the study."""
    slug = at.study.slug
    if "decline" in request.POST:
        decline(study=slug, annotator=request.user)
        return redirect("annotation:goodbye")
    form = ConsentForm(request.POST or None, initial={"text": text_digest(at.study.consent)})
    if form.is_valid():
        text = form.cleaned_data["text"]
        consent(study=slug, annotator=request.user, text=text, now=timezone.now())
        return redirect("annotation:next", slug)
    status = UNPROCESSABLE if form.is_bound else 200
    return _render(request, at, "consent", status=status, form=form)


@_step(Step.PROFILE)
def profile_page(request: SignedInRequest, at: Onboarding) -> HttpResponse:
    """The profile, for the first time."""
    form = ProfileForm(request.POST if request.method == "POST" else None, None)
    if form.is_valid():
        store_profile(annotator=request.user, fields=form.stored())
        return redirect("annotation:next", at.study.slug)
    return _render(
        request, at, "profile", status=UNPROCESSABLE if form.is_bound else 200, form=form
    )


@_step(Step.GUIDELINES)
def guidelines_page(request: SignedInRequest, at: Onboarding) -> HttpResponse:
    """The guidelines in force; where an older version was read, what changed since."""
    slug = at.study.slug
    form = ReadForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        version = form.cleaned_data["version"]
        read_guidelines(study=slug, annotator=request.user, version=version)
        return redirect("annotation:next", slug)
    before, changed = guidelines_changed(at.study, at.participation.guidelines_read)
    return _render(
        request,
        at,
        "guidelines",
        status=UNPROCESSABLE if form.is_bound else 200,
        before=before,
        changed=changed,
    )


@_step(Step.QUIZ)
def quiz_page(request: SignedInRequest, at: Onboarding) -> HttpResponse:
    """The quiz; what was answered wrong is explained once it was sent."""
    questions = quiz_of(at.study)
    sent = request.POST if request.method == "POST" else None
    form = QuizForm(questions, sent, digest=digest(questions))
    wrong: tuple[int, ...] | None = None
    if sent is not None and sent.get("quiz") != digest(questions):
        raise Refused("onboarding:changed")
    if form.is_valid():
        wrong = answer_quiz(
            study=at.study.slug,
            annotator=request.user,
            quiz=form.cleaned_data["quiz"],
            given=form.given(),
            now=timezone.now(),
        )
        if not wrong:
            messages.success(request, gettext("All answers are correct."))
            return redirect("annotation:next", at.study.slug)
    asked = [
        {
            "field": form[f"q{number}"],
            "outcome": None if wrong is None else "wrong" if number in wrong else "right",
            "explanation": question.explanation if wrong and number in wrong else "",
        }
        for number, question in enumerate(questions, start=1)
    ]
    context = {"form": form, "asked": asked, "wrong": wrong}
    return _render(request, at, "quiz", status=UNPROCESSABLE if form.is_bound else 200, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_cache
def my_profile(request: SignedInRequest) -> HttpResponse:
    """One's own profile, to change at any time."""
    sent = request.POST if request.method == "POST" else None
    form = ProfileForm(sent, profile_of(request.user))
    if form.is_valid():
        store_profile(annotator=request.user, fields=form.stored())
        messages.success(request, gettext("Your profile is saved."))
        return redirect("annotation:my-profile")
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "annotation/my_profile.html", {"form": form}, status=status)


@require_safe
@login_required
def goodbye(request: SignedInRequest) -> HttpResponse:
    """After leaving a study."""
    return render(request, "annotation/goodbye.html")


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
        since = number_in(request.POST.get("since", ""))
        set_quiz(study=slug, quiz=draft, ask_again=again, since=since, by=request.user)
    except Refused as faulty:
        return _editor(request, study, draft, refused=faulty)
    messages.success(request, gettext("Saved."))
    return redirect("annotation:study", slug)


@require_safe
@reader_required
def participants(request: SignedInRequest, slug: str, format_name: str) -> HttpResponseBase:
    """Who takes part, with what they agreed to, read and answered, as a file."""
    study, format_ = _study(slug), ExportFormat(format_name)
    blocks = participant_blocks(study, format_, workers=request.user.is_manager)
    return download(blocks, name=f"{slug}-participants", format_=format_)


def _agreed(study: Study) -> dict[str, Any]:
    """What annotators agree to, and which version that is."""
    since = setting_version(study, "study.consent")
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
        "refused": gettext(refused.text) if refused and not faults else "",
        "since": _seen_version(request, study, refused),
        "ask_again": "ask_again" in request.POST,
        "focus": _focus(draft, after),
        "full": len(draft) >= MAX_QUESTIONS,
        "max_choices": MAX_CHOICES,
    }
    template = "_quiz_editor" if "HX-Request" in request.headers else "quiz_edit"
    status = refused.status if refused and not faults else UNPROCESSABLE if refused else 200
    return render(request, f"annotation/{template}.html", context, status=status)


def _seen_version(request: SignedInRequest, study: Study, refused: Refused | None) -> object:
    """The version that the editor is about: an edit of a draft does not make it a newer one."""
    if refused is not None and refused.code == "quiz:outdated":
        return setting_version(study, "study.quiz")
    return request.POST.get("since") or setting_version(study, "study.quiz")


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
