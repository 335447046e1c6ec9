"""Live conversations of a study as those see them who see everyone; managers set them up."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from annotation.core.choices import StudyKind
from annotation.models import Study
from annotation.views.access import SignedInRequest, reader_required
from judging.forms.conversations import SetupForm
from judging.models import ConversationSetup
from judging.queries.conversations import conversation_rows, conversations_of, model_rows
from judging.services.conversation_setup import set_up

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
