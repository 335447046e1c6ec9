"""Benchmarks: built from raw dialogues, reviewed, frozen, downloaded."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    manager_required,
    reader_required,
)
from benchmark.core.construction import (
    LIMIT_LABELS,
    REVIEW_REASONS,
    BuildStage,
    DropReason,
    ReviewDecision,
)
from benchmark.exports import FORMATS, version_file
from benchmark.forms import asked
from benchmark.forms.construction import (
    ConstructionForm,
    FreezeForm,
    ItemFilterForm,
    ReviewForm,
)
from benchmark.models import ConstructionItem
from benchmark.queries.construction import (
    LEFT,
    construction_lines,
    construction_page,
    construction_run,
    item_lines,
    item_page,
    next_to_review,
    version_named,
    version_of,
)
from benchmark.services.construction import freeze, review
from benchmark.services.construction_estimates import estimate_construction
from benchmark.services.construction_runs import plan_construction
from benchmark.submission import submit
from benchmark.views.ablations import say_if_attached
from judging.core.estimates import total_of
from judging.models import JudgeRun, RunStatus
from judging.services.run_requests import finished_like

_EDITS: Final = ("construction:edit-personal", "construction:edit-quality")
"""What can be wrong with an edited prompt."""


@require_safe
@reader_required
def constructions(request: HttpRequest) -> HttpResponse:
    """Every construction, the newest first."""
    return render(request, "benchmark/constructions.html", {"lines": construction_lines()})


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def new_construction(request: SignedInRequest) -> HttpResponse:
    """Choose a dataset, then how; the construction runs in a worker."""
    context = _choice(request)
    form = context["form"]
    if form is not None and form.is_bound and form.is_valid():
        try:
            planned = plan_construction(form.request(by=request.user))
            run = finished_like(planned) or submit(planned)
        except Refused as refused:
            form.add_error(None, _(refused.text))
        else:
            say_if_attached(request, run)
            return redirect("benchmark:construction", run.pk)
    status = UNPROCESSABLE if form is not None and form.is_bound else 200
    return render(request, "benchmark/construction_new.html", context, status=status)


@require_POST
@manager_required
def estimate_new_construction(request: SignedInRequest) -> HttpResponse:
    """What a construction would ask and cost; nothing is started."""
    context = _choice(request)
    form = context["form"]
    if form is not None and form.is_valid():
        try:
            found = estimate_construction(form.request(by=request.user))
        except Refused as refused:
            context["refusal"] = _(refused.text)
        else:
            context |= {"found": found, "estimates": found.runs, "total": total_of(found.runs)}
    if request.headers.get("HX-Request"):
        return render(request, "benchmark/_construction_estimate.html", context)
    return render(request, "benchmark/construction_new.html", context)


def _choice(request: HttpRequest) -> dict[str, Any]:
    """The datasets, and the form of the one that was chosen."""
    slug = request.POST.get("dataset") or request.GET.get("dataset", "")
    datasets = list(Dataset.objects.order_by("name"))
    chosen = next((each for each in datasets if each.slug == slug), None)
    form = None
    if chosen is not None:
        data = request.POST if request.method == "POST" else None
        form = ConstructionForm(data, dataset=chosen)
    limits = [] if form is None else [form[name] for name in LIMIT_LABELS]
    return {"datasets": datasets, "chosen": chosen, "form": form, "limits": limits}


@require_safe
@reader_required
def construction(request: HttpRequest, run_id: int) -> HttpResponse:
    """What each stage kept and dropped, the review, the version."""
    return _construction(request, run_id, FreezeForm())


def _construction(
    request: HttpRequest, run_id: int, form: FreezeForm, *, status: int = 200
) -> HttpResponse:
    found = construction_page(run_id)
    context = {
        "found": found,
        "form": form,
        "limits": _limits(found.run.config["limits"]),
        "left": LEFT,
        "waiting": next_to_review(run_id) if found.is_over else None,
    }
    return render(request, "benchmark/construction.html", context, status=status)


def _limits(limits: dict[str, int]) -> list[tuple[str, int]]:
    return [(_(label), limits[name]) for name, label in LIMIT_LABELS.items()]


@require_POST
@manager_required
def freeze_construction(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Freeze what is left into the version."""
    form = FreezeForm(request.POST)
    if not form.is_valid():
        return _construction(request, run_id, form, status=UNPROCESSABLE)
    per_category = form.cleaned_data["per_category"]
    version = freeze(run_id, per_category=per_category, by=request.user)
    return redirect("benchmark:version", version.version)


@require_safe
@reader_required
def construction_items(request: HttpRequest, run_id: int) -> HttpResponse:
    """The dialogues of a construction: dropped at a stage, for a reason, or left."""
    run = construction_run(run_id)
    wanted = asked(ItemFilterForm, request.GET).question()
    lines, page = item_lines(run, wanted, page=request.GET.get("page", ""))
    context = {
        "run": run,
        "lines": lines,
        "page": page,
        "wanted": wanted,
        "left": LEFT,
        "stages": list(BuildStage),
        "stage": BuildStage(wanted.stage) if wanted.stage not in ("", LEFT) else None,
        "reason": DropReason(wanted.reason) if wanted.reason else None,
    }
    return render(request, "benchmark/construction_items.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@reader_required
def construction_item(request: SignedInRequest, run_id: int, position: int) -> HttpResponse:
    """One dialogue with all that became of it; managers review it."""
    if request.method == "POST":
        return _review(request, run_id, position)
    return _item(request, run_id, position)


@manager_required
def _review(request: SignedInRequest, run_id: int, position: int) -> HttpResponse:
    form = ReviewForm(request.POST)
    if not form.is_valid():
        return _item(request, run_id, position, form=form, status=UNPROCESSABLE)
    cleaned = form.cleaned_data
    try:
        review(
            run_id,
            position,
            ReviewDecision(cleaned["decision"]),
            by=request.user,
            request=cleaned["request"],
            reason=DropReason(cleaned["reason"] or DropReason.OTHER),
            note=cleaned["note"],
        )
    except Refused as refused:
        if refused.code not in _EDITS:
            raise
        form.add_error("request", _(refused.text))
        return _item(request, run_id, position, form=form, status=UNPROCESSABLE)
    following = next_to_review(run_id, after=position)
    if following is None:
        messages.success(request, _("Every dialogue has been reviewed."))
        return redirect("benchmark:construction", run_id)
    return redirect("benchmark:construction-item", run_id, following.position)


def _item(
    request: HttpRequest,
    run_id: int,
    position: int,
    *,
    form: ReviewForm | None = None,
    status: int = 200,
) -> HttpResponse:
    run = construction_run(run_id)
    found = item_page(run, position)
    context = {
        "run": run,
        "found": found,
        "item": found.item,
        "form": form or ReviewForm(initial={"request": found.request, "note": found.item.note}),
        "reasons": REVIEW_REASONS,
        "can_review": _can_review(request, run, found.item),
    }
    return render(request, "benchmark/construction_item.html", context, status=status)


def _can_review(request: HttpRequest, run: JudgeRun, item: ConstructionItem) -> bool:
    is_open = run.status == RunStatus.DONE and version_of(run) is None
    by_manager = isinstance(request.user, User) and request.user.is_manager
    return is_open and by_manager and item.dropped_at in ("", BuildStage.REVIEW)


@require_safe
@reader_required
def version(request: HttpRequest, name: str) -> HttpResponse:
    """A frozen version with its datasheet."""
    found = version_named(name)
    sheet = found.datasheet
    stages = [
        (
            BuildStage(each["stage"]),
            each,
            [(DropReason(why), count) for why, count in each["reasons"].items()],
        )
        for each in sheet["stages"]
    ]
    labels = {
        "sensebench": _("SenseBench JSON"),
        "jsonl": _("JSON lines"),
        "datasheet": _("Datasheet (JSON)"),
    }
    context = {
        "version": found,
        "sheet": sheet,
        "stages": stages,
        "limits": _limits(sheet["limits"]),
        "formats": [(form, labels[form]) for form in FORMATS],
        "items_url": found.run_id and reverse("benchmark:construction-items", args=[found.run_id]),
    }
    return render(request, "benchmark/version.html", context)


@require_safe
@reader_required
def version_download(_request: HttpRequest, name: str, form: str) -> StreamingHttpResponse:
    """A version as a file."""
    if form not in FORMATS:
        raise Http404
    found = version_named(name)
    response = StreamingHttpResponse(
        (piece.encode() for piece in version_file(found, form)),
        content_type=f"{FORMATS[form].content_type}; charset=utf-8",
    )
    header = content_disposition_header(
        as_attachment=True, filename=f"{name}.{FORMATS[form].ending}"
    )
    response.headers["Content-Disposition"] = header or "attachment"
    response.headers["Cache-Control"] = "no-store"
    return response
