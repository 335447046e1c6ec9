"""The pages on which annotators work: the next item, an earlier one, skipping."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import register_converter, reverse
from django.urls.converters import IntConverter
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.core.assignment import SkipReason, hidden, revealed
from annotation.core.labelling import (
    ConversationTask,
    NothingLeft,
    PairTask,
    RatingTask,
    Task,
    shown_digest,
)
from annotation.core.language import primary_language
from annotation.core.refusals import Refused
from annotation.core.worddiff import word_diff
from annotation.forms.labelling import (
    ANCHORS,
    COMMENT_CHARS,
    FLAGS,
    HALLUCINATIONS,
    REASONS,
    SKIP_REASONS,
    AnswerForm,
    EffortForm,
    SessionForm,
    SkipForm,
    UndoSkipForm,
    answer_buttons,
)
from annotation.queries.assignment import finished_items
from annotation.queries.labelling import answered_items
from annotation.queries.participants import participation_of
from annotation.queries.withheld import withholds
from annotation.services.claims import (
    RefusalCode,
    next_task,
    own_task,
    renew_lease,
    skip,
    undo_skip,
)
from annotation.services.labels import answer_pair, pair_ahead, rate_session
from annotation.views.access import SignedInRequest, refusals

ITEM: Final = "studies/<slug:slug>/items/<hidden_item:number>/"
"""Every page of an item that annotators can reach begins so: its own number is in no address."""


class HiddenItemConverter(IntConverter):
    """Obfuscates item numbers in URLs, so that hidden repeats cannot be recognised."""

    regex = "[0-9]{1,13}"

    def to_python(self, value: str) -> int:
        """The item's own number."""
        return revealed(int(value), key=item_key())

    def to_url(self, value: int | str) -> str:
        """The number that stands for it."""
        return str(hidden(int(value), key=item_key()))


def item_key() -> bytes:
    """Returns the secret key for obfuscating item numbers."""
    # The salt names where the class stood first: another one would change every address.
    return salted_hmac("annotation.urls.HiddenItemConverter", "item", algorithm="sha256").digest()


register_converter(HiddenItemConverter, "hidden_item")


ANSWERS_PER_PAGE: Final = 50

SHOWS: Final = "X-Shows"
"""Header that names what a page shows of its item, see `annotation.core.labelling`."""


@require_safe
@never_cache
@refusals
def next_item(request: SignedInRequest, slug: str) -> HttpResponse:
    """The item at hand, or the next one; the finished page where there is none."""
    task = _next_task(request, slug, changed=_hidden_item(request.GET.get("changed", "")))
    if isinstance(task, NothingLeft):
        return render(request, "annotation/done.html", {"nothing": task})
    page = _page(request, task)
    page["HX-Replace-Url"] = request.path  # to come back here says nothing of what changed
    return page


def _hidden_item(written: str) -> int | None:
    """The item that a number in an address stands for; None for anything else."""
    converter = HiddenItemConverter()
    return converter.to_python(written) if re.fullmatch(converter.regex, written) else None


@require_safe
@never_cache
@login_required
def answers(request: SignedInRequest, slug: str) -> HttpResponse:
    """The annotator's own answers in a study, newest first; each leads to its item."""
    part = participation_of(slug, request.user)
    if part is None:
        raise Http404
    finished = finished_items(part.study, request.user.pk)
    page = Paginator(finished, ANSWERS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": part.study,
        "page": page,
        "rows": answered_items(list(page), request.user.pk),
        "withheld": withholds(part.study),
    }
    return render(request, "annotation/answers.html", context)


@require_safe
@never_cache
@refusals
def item(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """An item the annotator was given before, to look at again and to change."""
    task = own_task(study=slug, item=number, annotator=request.user, now=timezone.now())
    return _page(request, task)


@require_safe
@never_cache
@refusals
def ahead(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """The page of the pair that follows the item at hand, for a browser to keep until then."""
    task = pair_ahead(
        study=slug,
        item=number,
        annotator=request.user,
        now=timezone.now(),
        language=primary_language(get_language() or ""),
    )
    if task is None:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    page = _pair(request, task)
    page[SHOWS] = shown_digest(task, key=item_key())
    return page


@require_safe
@never_cache
@refusals
def raw_reply(request: SignedInRequest, slug: str, number: int, turn: int) -> HttpResponse:
    """The text of one reply of a conversation as it came, without any formatting."""
    task = own_task(study=slug, item=number, annotator=request.user, now=timezone.now())
    turns = task.ratable if isinstance(task, RatingTask) else ()
    text = next((each.response for each in turns if each.number == turn), None)
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_POST
@refusals
def answer(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Take the answer to a pair and go on."""
    form = AnswerForm(request.POST)
    if not form.is_valid():
        raise Refused(RefusalCode.NOT_ALLOWED)
    changed = answer_pair(
        study=slug,
        item=number,
        annotator=request.user,
        answer=form.given(),
        submission=form.cleaned_data["submission"],
        effort=EffortForm(request.POST).effort(),
        now=timezone.now(),
    )
    if changed and "ahead" not in request.POST:
        return _after_change(slug, number)
    return _go_on(request, slug)


@require_POST
@refusals
def ratings(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Take the ratings of a session and go on; where something is missing, say what."""
    task = own_task(study=slug, item=number, annotator=request.user, now=timezone.now())
    if not isinstance(task, RatingTask):
        raise Refused(RefusalCode.NOT_ALLOWED)
    form = SessionForm(task, request.POST)
    if not form.is_valid():
        page = _turns(request, task, form, status=422)
        page["HX-Replace-Url"] = reverse("annotation:item", args=[slug, number])
        return page
    changed = rate_session(
        study=slug,
        item=number,
        annotator=request.user,
        ratings=form.ratings(),
        efforts=form.efforts(),
        questionnaire=form.answers(),
        submission=form.submission,
        now=timezone.now(),
    )
    return _after_change(slug, number) if changed else redirect("annotation:next", slug)


@require_POST
@refusals
def skip_item(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Give an item back and go on."""
    form = SkipForm(request.POST)
    if not form.is_valid():
        raise Refused(RefusalCode.NOT_ALLOWED)
    skip(
        study=slug,
        item=number,
        annotator=request.user,
        reason=SkipReason(form.cleaned_data["reason"]),
        submission=form.cleaned_data["submission"],
        now=timezone.now(),
    )
    return _go_on(request, slug)


@require_POST
@refusals
def undo_skip_item(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Put a skipped item back in hand and show it."""
    form = UndoSkipForm(request.POST)
    if not form.is_valid():
        raise Refused(RefusalCode.NOT_ALLOWED)
    undo_skip(
        study=slug,
        item=number,
        annotator=request.user,
        skipped_at=form.cleaned_data["skipped_at"],
        now=timezone.now(),
    )
    return redirect("annotation:item", slug, number)


@require_POST
@refusals
def lease(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Keep the item at hand while its page is open."""
    renew_lease(study=slug, item=number, annotator=request.user, now=timezone.now())
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


def _after_change(slug: str, number: int) -> HttpResponse:
    """To the item at hand, which says that the older one was changed."""
    item = hidden(number, key=item_key())
    return redirect(f"{reverse('annotation:next', args=[slug])}?changed={item}")


def _go_on(request: SignedInRequest, slug: str) -> HttpResponse:
    """To the next item; where the browser has its page ready, only where in the study one is."""
    kept = request.POST.get("ahead")
    task = _given_now(request, slug) if kept else None
    if task is None or shown_digest(task, key=item_key()) != kept:
        return redirect("annotation:next", slug)
    status = render(request, "annotation/_task_status.html", {"task": task})
    status[SHOWS] = kept
    status["HX-Replace-Url"] = reverse("annotation:next", args=[slug])
    return status


def _given_now(request: SignedInRequest, slug: str) -> PairTask | None:
    """The pair that is given out now; what else there is to say, the next page says."""
    try:
        task = _next_task(request, slug)
    except Refused:
        return None
    return task if isinstance(task, PairTask) else None


def _next_task(
    request: SignedInRequest, slug: str, changed: int | None = None
) -> Task | NothingLeft:
    return next_task(
        study=slug,
        annotator=request.user,
        now=timezone.now(),
        changed=changed,
        language=primary_language(get_language() or ""),
    )


def _page(request: SignedInRequest, task: Task) -> HttpResponse:
    if isinstance(task, PairTask):
        return _pair(request, task)
    if isinstance(task, ConversationTask):
        return redirect("judging:talk", task.rules.slug, task.place.item)
    return _turns(request, task, SessionForm(task), status=200)


def _pair(request: SignedInRequest, task: PairTask) -> HttpResponse:
    wants_diff = "diff" in request.GET
    texts = task.first.text or "", task.second.text or ""
    pieces = (word_diff(*texts) if wants_diff else None) or (None, None)
    context = {
        "task": task,
        "sides": [
            ("first", _("First"), task.first, pieces[0]),
            ("second", _("Second"), task.second, pieces[1]),
        ],
        "diff": pieces[0] is not None,
        "too_long": wants_diff and pieces[0] is None,
        "raw": "raw" in request.GET,
        "buttons": answer_buttons(task.rules, task.given),
        "flags": FLAGS,
        "comment_chars": COMMENT_CHARS,
        "skip_reasons": SKIP_REASONS,
        "submission": uuid4(),
    }
    return render(request, "annotation/pair.html", context)


def _turns(
    request: SignedInRequest, task: RatingTask, form: SessionForm, *, status: int
) -> HttpResponse:
    context = {
        "task": task,
        "turns": [(turn, form.turns.get(turn.number)) for turn in task.turns],
        "faulty": form.faulty(),
        "questionnaire": form.questionnaire,
        "anchors": ANCHORS,
        "reasons": REASONS,
        "hallucinations": HALLUCINATIONS,
        "flags": FLAGS,
        "comment_chars": COMMENT_CHARS,
        "skip_reasons": SKIP_REASONS,
        "submission": uuid4(),
    }
    return render(request, "annotation/turns.html", context, status=status)
