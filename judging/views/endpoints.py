"""Model endpoints: the list, adding one, changing it, testing it, switching it off."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    manager_required,
    reader_required,
)
from judging.forms.endpoints import ManagedEndpointForm, failure_text
from judging.llm.errors import LlmError
from judging.models import ModelEndpoint
from judging.services.abilities import check_answers
from judging.services.endpoints import all_endpoints, lacks_key, save_endpoint, unset_variable


@require_safe
@reader_required
def endpoints(request: SignedInRequest) -> HttpResponse:
    """All of them, with what is known of each."""
    rows = [(row, lacks_key(row)) for row in all_endpoints()]
    return render(request, "judging/endpoints.html", {"rows": rows, **_came_from(request)})


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def edit_endpoint(request: SignedInRequest, endpoint_id: int | None = None) -> HttpResponse:
    """A new endpoint, or one that is there."""
    row = get_object_or_404(ModelEndpoint, pk=endpoint_id) if endpoint_id is not None else None
    data = request.POST if request.method == "POST" else None
    form = ManagedEndpointForm(data, instance=row, by=request.user)
    if form.is_bound and form.is_valid():
        saved = form.save(commit=False)
        save_endpoint(saved, changed=form.changed_data, by=request.user)
        if "test" in request.POST:
            messages.success(request, gettext("Saved."))
            _test(request, saved)
            return _list(request)
        messages.success(request, gettext("Saved. Test it before you start a run with it."))
        if lacks_key(saved):
            messages.warning(request, _not_set(saved))
        return _list(request)
    status = UNPROCESSABLE if form.is_bound else 200
    context = {"form": form, "row": row, **_came_from(request)}
    return render(request, "judging/endpoint.html", context, status=status)


@require_POST
@manager_required
def test_endpoint(request: SignedInRequest, endpoint_id: int) -> HttpResponse:
    """Ask it a few small questions, and say whether it answered, or why not."""
    _test(request, get_object_or_404(ModelEndpoint, pk=endpoint_id))
    return _list(request)


def _test(request: SignedInRequest, row: ModelEndpoint) -> None:
    try:
        check_answers(row)
    except LlmError as error:
        messages.error(request, f"{row}: {failure_text(error)}")
    except Refused as error:
        is_unset = error.code == "llm:no-key"
        messages.error(request, _not_set(row) if is_unset else f"{row}: {gettext(error.text)}")
    else:
        text = gettext("%(name)s answered. The table shows what it can do.")
        messages.success(request, text % {"name": row})


@require_POST
@manager_required
def switch_endpoint(request: SignedInRequest, endpoint_id: int) -> HttpResponse:
    """Offer it to new runs, or no longer."""
    row = get_object_or_404(ModelEndpoint, pk=endpoint_id)
    row.enabled = request.POST.get("enabled") == "on"
    save_endpoint(row, changed=["enabled"], by=request.user)
    return _list(request)


def _came_from(request: SignedInRequest) -> dict[str, object]:
    """Which dataset's page led here, for the way back, and the query that keeps it."""
    slug = request.GET.get("dataset", "")
    dataset = Dataset.objects.filter(slug=slug).first() if slug else None
    if dataset is None:
        return {"dataset": None, "kept": ""}
    to_generate = "generate" in request.GET
    kept = urlencode({"dataset": slug, **({"generate": ""} if to_generate else {})})
    return {"dataset": dataset, "to_generate": to_generate, "kept": f"?{kept}"}


def _list(request: SignedInRequest) -> HttpResponse:
    return redirect(f"{reverse('judging:endpoints')}{_came_from(request)['kept']}")


def _not_set(row: ModelEndpoint) -> str:
    return gettext(
        "%(name)s: the variable %(variable)s is not set on this server. Set it where the server "
        "and its workers start, and restart them."
    ) % {"name": row, "variable": unset_variable(row)}
