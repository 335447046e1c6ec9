"""How carefully do the annotators of a study answer? Figures, rows, gold answers, pausing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.choices import StudyKind
from annotation.core.intervals import ends
from annotation.core.labelling import AnswerKind, Target, TargetKind
from annotation.core.quality import Quality, QualityMeasure
from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.forms import asked
from annotation.forms.quality import SKIPPED, GoldForm, QualityForm, QualityRowsForm, seen_at
from annotation.models import Participation, Study, StudyStatus
from annotation.queries.participants import study_named
from annotation.queries.quality import QualityPage, gold_rows, manager_gold, quality_page
from annotation.queries.quality_rows import quality_rows, skipped_rows
from annotation.queries.studies import drawn_counts, study_page
from annotation.queries.targets import TargetRow, target_rows
from annotation.services.quality import mark_gold, pause, resume, withdraw_gold
from annotation.views.access import SignedInRequest, csv_file, manager_required, reader_required


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
        if "HX-Request" in request.headers:
            return _marked(request, target, refused=_(outdated.text))
        refused = outdated
        form = GoldForm(kind=target.kind, initial=shown)
    else:
        if done and "HX-Request" in request.headers:
            return _marked(request, target)
        if done:
            messages.success(request, done % {"item": row.key.shown})
            draft = request.POST.get("draft", "")
            return redirect("annotation:study", draft) if study_named(draft) else redirect(back)
    context = {"row": row, "form": form, "stands": stands, "back": back}
    if refused is not None:
        context["refused"] = _(refused.text)
    status = refused.status if refused else 422 if form.is_bound else 200
    return render(request, "annotation/gold.html", context, status=status)


def _marked(request: SignedInRequest, target: Target, *, refused: str = "") -> HttpResponse:
    """The buttons of an item as they now are; with what the draft drew whose list they are in."""
    context: dict[str, Any] = {
        "kind": target.kind.value,
        "number": target.id,
        "gold": gold_rows(target),
        "refused": refused,
    }
    found = study_page(request.POST.get("draft", ""))
    if found is not None and found[0].status == StudyStatus.DRAFT:
        study, page = found
        counts = drawn_counts(study, page.row)
        context |= {"draft": study.slug, "counts": counts, "no_ties": not study.allow_tie}
    return render(request, "annotation/_gold_answer.html", context)


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


def change_pause(
    request: SignedInRequest,
    change: Callable[..., None],
    *,
    study: str,
    annotator: int,
    done: str,
    already: str,
) -> None:
    """Call `pause` or `resume` and say what came of it.

    Raises:
        Http404: The annotator is not in the study.
    """
    try:
        change(study=study, annotator=annotator, by=request.user, now=timezone.now())
    except Participation.DoesNotExist as missing:
        raise Http404 from missing
    except Refused:
        messages.info(request, already)
    else:
        messages.success(request, done)


COLUMNS = (
    "study", "annotator", "figure", "hits", "answers",
    "value", "low", "high", "chance", "undefined",
)  # fmt: skip


def _page(request: SignedInRequest, slug: str, *, file_names: bool = False) -> QualityPage:
    question = asked(QualityForm, request.GET, code="quality:unknown-choice").question(slug)
    return quality_page(question, file_names=file_names)


def agreement_query(study: Study) -> str:
    """The parameters of the agreement page for a study; empty where one person answers an item."""
    if study.overlap == 1:
        return ""
    kind = AnswerKind.VERDICTS if study.kind == StudyKind.PAIRWISE else AnswerKind.SCORES
    return urlencode({"dataset": study.dataset.slug, "kind": kind.value, "study": study.slug})


@require_safe
@reader_required
def quality(request: SignedInRequest, slug: str) -> HttpResponse:
    """The figures of each annotator of a study, and of all together."""
    page = _page(request, slug)
    context = {
        "page": page,
        "scope": page.scope,
        "study": page.scope.study,
        "query": urlencode({"seconds": page.scope.seconds}),
        "rows": [
            {"quality": each.quality, "skipped": each.skipped, "person": each, "who": f"{each.id}"}
            for each in page.annotators
        ],
        "all": {"quality": page.everybody, "skipped": page.skipped, "person": None, "who": ""},
        "agreement": agreement_query(page.scope.study) if page.everybody.measured else "",
        "attention": [each for each in page.annotators if each.needs_attention],
        "paused": any(each.part and each.part.paused_at for each in page.annotators),
    }
    return render(request, "annotation/quality.html", context)


@require_safe
@reader_required
def rows(request: SignedInRequest, slug: str) -> HttpResponse:
    """The answers behind a figure, or the items that were given back."""
    form = asked(QualityRowsForm, request.GET, code="quality:unknown-choice")
    wanted: dict[str, Any] = form.cleaned_data
    question = form.question(slug)
    own = {"annotator": wanted["annotator"], "page": request.GET.get("page", "")}
    context: dict[str, Any] = {"seconds": wanted["seconds"]}
    if wanted["figure"] == SKIPPED:
        scope, context["page"] = skipped_rows(question, **own)
        template = "annotation/quality_skipped.html"
    else:
        found = quality_rows(
            question, QualityMeasure(wanted["figure"]), outcome=wanted["outcome"], **own
        )
        scope, template = found.scope, "annotation/quality_rows.html"
        context |= {"found": found, "page": found.page}
    name = scope.names[wanted["annotator"]] if wanted["annotator"] else ""
    return render(request, template, {**context, "study": scope.study, "name": name})


@require_safe
@reader_required
def quality_csv(request: SignedInRequest, slug: str) -> HttpResponseBase:
    """Every figure of the page as a table; annotators go by their names in exported labels."""
    page = _page(request, slug, file_names=True)
    rows = ({**dict.fromkeys(COLUMNS), **row} for row in _table(page))
    said = {"dataset": page.scope.study.dataset.slug, "too_fast_below": page.scope.seconds}
    return csv_file(f"{slug}-quality", rows, said)


def _table(page: QualityPage) -> Iterator[Row]:
    people = [(each.name, each.quality, each.skipped) for each in page.annotators]
    for name, found, skipped in [*people, ("", page.everybody, page.skipped)]:
        for row in (*_shares(page, found), *_counts(found, skipped)):
            yield {"study": page.scope.study.slug, "annotator": name, **row}


def _shares(page: QualityPage, found: Quality) -> Iterator[Row]:
    for figure in page.figures:
        share = found.share(figure)
        yield {
            "figure": figure.value,
            "hits": share.hits,
            "answers": share.answers,
            "value": share.value,
            **ends(share.interval),
            "chance": share.chance,
            "undefined": share.undefined.value if share.undefined else None,
        }


def _counts(found: Quality, skipped: int) -> Iterator[Row]:
    yield {"figure": "median-seconds", "answers": found.measured, "value": found.seconds}
    yield {"figure": SKIPPED, "hits": skipped}


@require_POST
@manager_required
def pause_annotator(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Give an annotator no more items."""
    change_pause(
        request,
        pause,
        study=slug,
        annotator=number,
        done=_("Paused. Their items in progress go to others."),
        already=_("Already paused. Nothing was changed."),
    )
    return redirect("annotation:quality", slug)


@require_POST
@manager_required
def resume_annotator(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Let a paused annotator go on."""
    change_pause(
        request,
        resume,
        study=slug,
        annotator=number,
        done=_("Resumed. Only answers from now on count towards the rule."),
        already=_("Not paused. Nothing was changed."),
    )
    return redirect("annotation:quality", slug)
