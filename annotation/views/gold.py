"""Marking an item with the answer that a manager holds to be right."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.core.answers import Target, TargetKind
from annotation.core.refusals import Refused
from annotation.forms.gold import GoldForm, seen_at
from annotation.queries.gold import manager_gold
from annotation.queries.targets import TargetRow, target_rows
from annotation.services.gold import mark_gold, withdraw_gold
from annotation.views.access import SignedInRequest, manager_required


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def gold(request: SignedInRequest, kind: str, number: str) -> HttpResponse:
    """The right answer to a comparison or a response; where it was given, back to its page."""
    target = Target(TargetKind(kind), int(number))
    row = target_rows([target]).get(target)
    if row is None:
        raise Http404
    back, now, refused = _page_of(row), timezone.now(), None
    stands = manager_gold(target)
    shown = {"since": now.isoformat(), **(stands or {})}
    form = GoldForm(
        request.POST if request.method == "POST" else None, kind=target.kind, initial=shown
    )
    try:
        done = _done(request, target, form, now)
    except Refused as outdated:
        refused = outdated
        form = GoldForm(kind=target.kind, initial=shown)
    else:
        if done:
            messages.success(request, done % {"item": row.key})
            return redirect(back)
    context = {"row": row, "form": form, "stands": stands, "back": back}
    if refused is not None:
        context["refused"] = _(refused.text)
    status = refused.status if refused else 422 if form.is_bound else 200
    return render(request, "annotation/gold.html", context, status=status)


def _done(request: SignedInRequest, target: Target, form: GoldForm, now: datetime) -> str:
    """What was done with the answer, in words; empty where nothing was.

    Raises:
        Refused: it was changed after the page was opened.
    """
    since = seen_at(request.POST.get("since", ""))
    if "withdraw" in request.POST:
        withdraw_gold(target=target, since=since, by=request.user, now=now)
        return _("Withdrawn: %(item)s.")
    if not form.is_valid():
        return ""
    mark_gold(
        target=target,
        answer=form.given(),
        rationale=form.cleaned_data["rationale"],
        since=since,
        by=request.user,
        now=now,
    )
    return _("Marked as gold: %(item)s.")


def _page_of(row: TargetRow) -> str:
    if row.target.kind is TargetKind.COMPARISON:
        return reverse("annotation:comparison", args=[row.target.id])
    return f"{reverse('annotation:session', args=[row.session])}#turn-{row.turn}"
