"""The page on which a participant talks with a model, and everything that its buttons send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.choices import StudyKind
from annotation.core.labelling import ConversationTask
from annotation.core.refusals import Refused
from annotation.forms.labelling import SKIP_REASONS, SubmissionForm
from annotation.models import Study
from annotation.services.claims import own_task
from annotation.views.access import SignedInRequest, reader_required, refusals
from judging.core.conversations import MAX_MESSAGE_CHARACTERS, Ending, LiveConversation, talk_text
from judging.forms.prompts import EndForm, MessageForm, SetupForm, TicksForm
from judging.models import ConversationSetup
from judging.queries.conversations import (
    conversation_rows,
    conversations_of,
    last_message,
    message_of,
    model_rows,
    own_message,
    talk_of,
)
from judging.services.conversation_replies import replies_under_way
from judging.services.conversations import (
    begin,
    end,
    follow,
    keep_unsent,
    retry,
    send,
    set_up,
    stop,
    tick,
    withdraw,
)

_ON_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def setup(request: SignedInRequest, slug: str) -> HttpResponse:
    """With whom the participants of a study talk, and the conversations so far."""
    study = get_object_or_404(Study, slug=slug, kind=StudyKind.CONVERSATION)
    instance = ConversationSetup.objects.filter(study=study).first()
    form = SetupForm(request.POST or None, instance=instance or ConversationSetup(study=study))
    if request.method == "POST":
        if not request.user.is_manager:
            raise PermissionDenied
        if form.is_valid():
            set_up(
                study=study,
                endpoints=list(form.cleaned_data["endpoints"]),
                system_prompt=form.cleaned_data["system_prompt"],
                temperature=form.cleaned_data["temperature"],
                max_tokens=form.cleaned_data["max_tokens"],
                by=request.user,
            )
            messages.success(request, gettext("Conversation settings saved."))
            return redirect("judging:conversation-setup", slug)
    page = Paginator(conversations_of(study), _ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "form": form,
        "setup": instance,
        "models": model_rows(study),
        "conversations": conversation_rows(list(page)),
        "page": page,
    }
    status = 422 if form.errors else 200
    return render(request, "judging/conversation_setup.html", context, status=status)


P = ParamSpec("P")

_CONFLICT: Final = 409


class _NotTalkingError(Exception):
    """The item is not to be talked about (any more)."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Whose conversation under which item."""

    request: SignedInRequest
    slug: str
    number: int

    @property
    def partial(self) -> bool:
        """Whether htmx asks, for parts of the page it shows."""
        return "HX-Request" in self.request.headers


def _talks(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponse],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponse]:
    """Answer refusals with their page, and lead to the ratings where the talking is over.

    A page that htmx asked parts for takes such an answer as a whole.
    """

    @wraps(view)
    def answered(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except _NotTalkingError:
            place = reverse("annotation:item", args=[kwargs["slug"], kwargs["number"]])
            if "HX-Request" not in request.headers:
                return redirect(place)
            return HttpResponse(headers={"HX-Redirect": place})

    checked = refusals(answered)

    @wraps(view)
    def whole(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        response = checked(request, *args, **kwargs)
        if response.status_code in {409, 422} and "X-Part" not in response.headers:
            response.headers["HX-Retarget"] = "body"
            response.headers["HX-Reswap"] = "innerHTML"
        return response

    return whole


@require_safe
@never_cache
@_talks
def conversation(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """The conversation: the task, what was said, and a box for the next message.

    A page that htmx would fill anew loads it instead: it has a script of its own.
    """
    if "HX-Request" in request.headers:
        return HttpResponse(headers={"HX-Redirect": request.path})
    return _whole(_Place(request, slug, number))


@require_safe
@never_cache
@_talks
def reply(request: SignedInRequest, slug: str, number: int, message: int) -> HttpResponse:
    """What has come of a reply; the whole conversation once it is there."""
    place = _Place(request, slug, number)
    row = own_message(study=slug, item=number, annotator_id=request.user.pk, message=message)
    if row is None:
        if not place.partial:
            raise Http404
        return _parts(place)  # it was taken back in another tab
    now = timezone.now()
    follow(row, now)
    shown = message_of(row, now, replies_under_way())
    if not shown.pending or not place.partial:
        return _parts(place)
    context = {"message": shown, "slug": slug, "item": number}
    return render(request, "judging/_conversation_reply.html", context)


@require_POST
@_talks
def send_message(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Store a message and have the reply written."""
    place = _Place(request, slug, number)
    form = MessageForm(request.POST)
    text = request.POST.get("text", "").replace("\x00", "")
    try:
        if not form.is_valid():
            raise Refused("conversation:message")
        send(
            study=slug,
            item=number,
            annotator=request.user,
            text=form.cleaned_data["text"],
            submission=form.cleaned_data["submission"],
            now=timezone.now(),
        )
    except Refused as refused:
        code = _own_code(refused)
        keep_unsent(study=slug, item=number, annotator=request.user, text=text)
        return _parts(place, refused=code)
    return _parts(place)


@require_POST
@_talks
def retry_reply(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Have the reply to the last message written again."""
    return _done(
        _Place(request, slug, number),
        lambda: retry(
            study=slug,
            item=number,
            annotator=request.user,
            submission=_submission(request),
            now=timezone.now(),
        ),
    )


@require_POST
@_talks
def withdraw_message(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Take back the last message, which got no reply; it stands in the box again."""
    place = _Place(request, slug, number)
    try:
        withdraw(
            study=slug,
            item=number,
            annotator=request.user,
            submission=_submission(request),
            now=timezone.now(),
        )
    except Refused as refused:
        return _parts(place, refused=_own_code(refused))
    return redirect("judging:talk", slug, number)


@require_POST
@_talks
def stop_reply(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Stop the reply that is being written; what has come of it stays."""
    return _done(
        _Place(request, slug, number),
        lambda: stop(
            study=slug,
            item=number,
            annotator=request.user,
            submission=_submission(request),
            now=timezone.now(),
        ),
    )


@require_POST
@_talks
def tick_requirements(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Keep which requirements of the task are met."""
    place = _Place(request, slug, number)
    form = TicksForm(request.POST)
    met = form.cleaned_data["met"] if form.is_valid() else []
    try:
        tick(
            study=slug,
            item=number,
            annotator=request.user,
            met=met,
            submission=_submission(request),
            now=timezone.now(),
        )
    except Refused as refused:
        return _parts(place, refused=_own_code(refused))
    if not place.partial:
        return redirect("judging:talk", slug, number)
    task, talk = _task(place)
    context = {"task": task, "talk": talk, "submission": uuid4()}
    return _part(request, "judging/_conversation_state.html", context, target="#talk-state")


@require_POST
@_talks
def end_talk(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """End the conversation and go on to rating it."""
    place = _Place(request, slug, number)
    form = EndForm(request.POST)
    try:
        if not form.is_valid():
            raise Refused("conversation:too-early")
        end(
            study=slug,
            item=number,
            annotator=request.user,
            ending=Ending(form.cleaned_data["ending"]),
            now=timezone.now(),
        )
    except Refused as refused:
        return _whole(place, refused=_own_code(refused))
    return redirect("annotation:item", slug, number)


def _own_code(refused: Refused) -> str:
    """The code of a refusal that the conversation itself tells; any other has a page of its own."""
    if not refused.code.startswith("conversation:"):
        raise refused
    return refused.code


def _submission(request: SignedInRequest) -> UUID:
    """The page's id of what a button sends."""
    form = SubmissionForm(request.POST)
    if not form.is_valid():
        raise Refused("conversation:incomplete")
    submission: UUID = form.cleaned_data["submission"]
    return submission


def _done(place: _Place, act: Callable[[], None]) -> HttpResponse:
    try:
        act()
    except Refused as refused:
        return _parts(place, refused=_own_code(refused))
    return _parts(place)


def _task(place: _Place) -> tuple[ConversationTask, LiveConversation]:
    """The task and the conversation about it as they stand; a reply that was lost is asked again.

    Raises:
        _NotTalkingError: the item is not to be talked about (any more).
        Refused: it is not theirs, the study takes no answers, or it has no model.
    """
    now = timezone.now()
    user = place.request.user
    task = own_task(
        study=place.slug, item=place.number, annotator=user, now=now, kind=StudyKind.CONVERSATION
    )
    if not isinstance(task, ConversationTask):
        raise _NotTalkingError
    row = begin(study=place.slug, item=place.number, annotator=user, now=now)
    last = last_message(row)
    if last is not None:
        follow(last, now)
    talk = talk_of(
        row,
        requirements=task.requirements,
        min_turns=task.min_turns,
        now=now,
        under_way=replies_under_way(),
    )
    return task, talk


def _whole(place: _Place, *, refused: str = "") -> HttpResponse:
    """The page."""
    try:
        task, talk = _task(place)
    except Refused as error:
        code = _own_code(error)
        said = {"text": gettext(talk_text(code)), "code": code}
        return render(place.request, "judging/conversation_closed.html", said, status=_CONFLICT)
    context = {
        "task": task,
        "talk": talk,
        "refused": refused,
        "submission": uuid4(),
        "message_chars": MAX_MESSAGE_CHARACTERS,
        "skip_reasons": SKIP_REASONS,
    }
    status = _CONFLICT if refused else 200
    return render(place.request, "judging/conversation.html", context, status=status)


def _parts(place: _Place, *, refused: str = "") -> HttpResponse:
    """For htmx, what was said and what may be done next; else the page, after a redirect."""
    if not place.partial:
        if refused:
            return _whole(place, refused=refused)
        return redirect("judging:talk", place.slug, place.number)
    task, talk = _task(place)
    context = {"task": task, "talk": talk, "refused": refused, "submission": uuid4()}
    return _part(
        place.request,
        "judging/_conversation_parts.html",
        context,
        status=_CONFLICT if refused else 200,
    )


def _part(
    request: SignedInRequest,
    template: str,
    context: dict[str, object],
    *,
    status: int = 200,
    target: str = "#talk-log",
) -> HttpResponse:
    html = render_to_string(template, context, request)
    headers = {"X-Part": "1", "HX-Retarget": target, "HX-Reswap": "outerHTML"}
    return HttpResponse(html, status=status, headers=headers)
