"""Marking an item with the answer that a manager holds to be right."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.core.answers import Target, TargetKind
from annotation.forms.gold import GoldForm
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
    back = _page_of(row)
    stands = manager_gold(target)
    if request.method == "POST" and "withdraw" in request.POST:
        withdraw_gold(target=target, by=request.user, now=timezone.now())
        messages.success(request, _("Withdrawn: %(item)s.") % {"item": row.key})
        return redirect(back)
    form = GoldForm(
        request.POST if request.method == "POST" else None, kind=target.kind, initial=stands
    )
    if form.is_valid():
        mark_gold(
            target=target,
            answer=form.given(),
            rationale=form.cleaned_data["rationale"],
            by=request.user,
            now=timezone.now(),
        )
        messages.success(request, _("Marked as gold: %(item)s.") % {"item": row.key})
        return redirect(back)
    context = {"row": row, "form": form, "stands": stands, "back": back}
    return render(request, "annotation/gold.html", context, status=422 if form.is_bound else 200)


def _page_of(row: TargetRow) -> str:
    if row.target.kind is TargetKind.COMPARISON:
        return reverse("annotation:comparison", args=[row.target.id])
    return f"{reverse('annotation:session', args=[row.session])}#turn-{row.turn}"
