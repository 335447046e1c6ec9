"""The pages between joining a study and its first item, one at a time; and one's own profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, TypeAlias

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.onboarding import Step
from annotation.core.quiz import digest
from annotation.core.refusals import Refused
from annotation.forms.onboarding import ConsentForm, QuizForm, ReadForm
from annotation.forms.profiles import ProfileForm
from annotation.queries.onboarding import (
    Onboarding,
    guidelines_to_read,
    onboarding_of,
    profile_of,
    quiz_of,
)
from annotation.services.onboarding import (
    answer_quiz,
    consent,
    decline,
    read_guidelines,
    store_profile,
    text_digest,
)
from annotation.views.access import SignedInRequest

UNPROCESSABLE: Final = 422

STEP_NAMES: Final = {
    Step.CONSENT: _("Taking part"),
    Step.PROFILE: _("About you"),
    Step.GUIDELINES: _("Guidelines"),
    Step.QUIZ: _("Quiz"),
}


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
    steps = [(STEP_NAMES[each], each in at.finished, each is at.open) for each in at.steps]
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
    guidelines = guidelines_to_read(at.study, at.participation.guidelines_read)
    return _render(
        request,
        at,
        "guidelines",
        status=UNPROCESSABLE if form.is_bound else 200,
        guidelines=guidelines,
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
        ).wrong
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
