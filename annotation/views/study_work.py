"""The rows behind a study's counts, and what managers do about items that are stuck."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.core.numbers import number_in
from annotation.core.refusals import Refused
from annotation.core.studies import ClaimFilter
from annotation.forms.study_filters import ClaimFilterForm, GiveForm
from annotation.models import Study, StudyItem
from annotation.queries.studies import study_page
from annotation.queries.study_claims import (
    annotators_of,
    claim_rows,
    claims_of,
    could_take,
    flag_rows,
    flags_of,
    skipped_items,
)
from annotation.services.reassignment import (
    ReassignmentRefusal,
    discard_answers,
    give_all,
    give_item,
    offer_again,
    release_all,
    release_claim,
)
from annotation.views.access import SignedInRequest, manager_required, reader_required

ROWS_PER_PAGE: Final = 50
CLAIMS_OF_AN_ITEM: Final = 1000


@require_safe
@reader_required
def claims(request: SignedInRequest, slug: str) -> HttpResponse:
    """Who has or had which item of a study."""
    now = timezone.now()
    row, context = _study(slug)
    form = ClaimFilterForm(request.GET, annotators=annotators_of(row))
    wanted = form.wanted()
    found = claims_of(row, now, **wanted)
    page = Paginator(found, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    context |= {
        "form": form,
        "filtered": any(wanted.values()),
        "page": page,
        "claims": claim_rows(page, row, now),
        "now": now,
        "skipped": wanted["which"] is ClaimFilter.SKIPPED and page.paginator.count > 0,
        "annotator": wanted["annotator"],
        "held": wanted == {"which": ClaimFilter.HELD, "annotator": None, "reason": ""}
        and page.paginator.count > 0,
    }
    return render(request, "annotation/study_claims.html", context)


@require_safe
@reader_required
def item_claims(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """One item of a study: who has or had it, and what can be done about it."""
    now = timezone.now()
    row, context = _study(slug)
    item = _item(row, number)
    rows = claim_rows(claims_of(row, now, item=number)[:CLAIMS_OF_AN_ITEM], row, now)
    holding = [each for each in rows if each.state in {"ACTIVE", "DONE"} and each.phase != "LAPSED"]
    context |= {
        "item": item,
        "position": item.position + 1,
        "claims": rows,
        "now": now,
        "free": max(row.overlap - len(holding), 0),
        "waiting": [each for each in rows if each.phase is not None],
        "skipped": any(each.state == "SKIPPED" for each in rows),
        "give": GiveForm(annotators=could_take(row, item)),
        "gives": row.status in {"OPEN", "PAUSED"},
    }
    return render(request, "annotation/study_item.html", context)


@require_safe
@reader_required
def skips(request: SignedInRequest, slug: str) -> HttpResponse:
    """The items of a study that were skipped, most often first, and why."""
    row, context = _study(slug)
    items, found = skipped_items(row, page=request.GET.get("page"), per_page=ROWS_PER_PAGE)
    return render(request, "annotation/study_skips.html", context | {"page": items, "items": found})


@require_safe
@reader_required
def flags(request: SignedInRequest, slug: str) -> HttpResponse:
    """The answers of a study that annotators want somebody to look at."""
    row, context = _study(slug)
    page = Paginator(flags_of(row), ROWS_PER_PAGE).get_page(request.GET.get("page"))
    first = max(page.start_index() - 1, 0)
    rows = flag_rows(flags_of(row)[first : first + ROWS_PER_PAGE])
    return render(request, "annotation/study_flags.html", context | {"page": page, "flags": rows})


@require_POST
@manager_required
def release(request: SignedInRequest, slug: str, number: int, claim: int) -> HttpResponse:
    """Take an item back from whoever holds it."""
    try:
        release_claim(study=slug, claim=claim, by=request.user, now=timezone.now())
    except Refused as refused:
        _say(request, refused)
    else:
        messages.success(request, _("Unassigned. The item is offered to others first."))
    return redirect("annotation:study-item", slug, number)


@require_POST
@manager_required
def give(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Give an item to somebody."""
    row, _context = _study(slug)
    form = GiveForm(request.POST, annotators=annotators_of(row))
    if not form.is_valid():
        messages.error(request, _("Choose an annotator in the study."))
        return redirect("annotation:study-item", slug, number)
    try:
        give_item(
            study=slug,
            item=number,
            annotator=form.cleaned_data["annotator"],
            instead_of=form.cleaned_data["instead_of"],
            by=request.user,
            now=timezone.now(),
        )
    except Refused as refused:
        _say(request, refused)
    else:
        messages.success(request, _("Assigned. They get the item next, after their current one."))
    return redirect("annotation:study-item", slug, number)


@require_POST
@manager_required
def offer(request: SignedInRequest, slug: str) -> HttpResponse:
    """Offer what was skipped to those who skipped it once more."""
    number, annotator = (_number(request.POST.get(name, "")) for name in ("item", "annotator"))
    times = offer_again(
        study=slug, item=number, annotator=annotator, by=request.user, now=timezone.now()
    )
    text = ngettext(
        "Offering %(n)d skipped item again.", "Offering %(n)d skipped items again.", times
    )
    messages.success(request, text % {"n": times})
    if number is not None:
        return redirect("annotation:study-item", slug, number)
    return redirect("annotation:study-skips", slug)


@require_POST
@manager_required
def return_all(request: SignedInRequest, slug: str) -> HttpResponse:
    """Take back every item in progress, of one annotator or of all."""
    annotator = _number(request.POST.get("annotator", ""))
    items = release_all(study=slug, annotator=annotator, by=request.user, now=timezone.now())
    text = ngettext(
        "Returned %(n)d item; it is offered to others first.",
        "Returned %(n)d items; they are offered to others first.",
        items,
    )
    messages.success(request, text % {"n": items})
    return redirect("annotation:study-claims", slug)


@require_POST
@manager_required
def pass_on(request: SignedInRequest, slug: str) -> HttpResponse:
    """Give what one annotator holds to another."""
    row, _context = _study(slug)
    source, other = (_number(request.POST.get(name, "")) for name in ("source", "annotator"))
    known = dict(annotators_of(row))
    if source not in known or other not in known or source == other:
        messages.error(request, _("Choose an annotator in the study."))
        return redirect("annotation:study-claims", slug)
    try:
        items = give_all(
            study=slug, source=source, annotator=other, by=request.user, now=timezone.now()
        )
    except Refused as refused:
        _say(request, refused)
    else:
        text = ngettext(
            "Assigned %(n)d item to %(name)s.", "Assigned %(n)d items to %(name)s.", items
        )
        messages.success(request, text % {"n": items, "name": known[other]})
    return redirect("annotation:study-claims", slug)


@require_POST
@manager_required
def discard(request: SignedInRequest, slug: str) -> HttpResponse:
    """Let an annotator's answers no longer count, and ask others."""
    row, _context = _study(slug)
    annotator = _number(request.POST.get("annotator", ""))
    if annotator not in dict(annotators_of(row)):
        raise Http404
    try:
        n = discard_answers(study=slug, annotator=annotator, by=request.user, now=timezone.now())
    except Refused as refused:
        _say(request, refused)
    else:
        text = ngettext(
            "Discarded %(n)d answer; its item is offered to others again.",
            "Discarded %(n)d answers; their items are offered to others again.",
            n,
        )
        messages.success(request, text % {"n": n})
    return redirect("annotation:study-people", slug)


def _study(slug: str) -> tuple[Study, dict[str, Any]]:
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    return row, {"study": page}


def _item(study: Study, number: int) -> StudyItem:
    rows = StudyItem.objects.select_related("comparison__turn", "session")
    item = rows.filter(study=study, pk=number).first()
    if item is None:
        raise Http404
    return item


def _number(text: str) -> int | None:
    """The number that was sent, or None; what is no number stands for no row, not for all."""
    number = number_in(text)
    if text and number is None:
        raise Http404
    return number


def _say(request: SignedInRequest, refused: Refused) -> None:
    """Say why nothing was done; what is not of this study does not exist."""
    if refused.code is ReassignmentRefusal.NOT_FOUND:
        raise refused
    messages.error(request, gettext(refused.text))
