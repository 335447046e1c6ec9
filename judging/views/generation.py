"""Having models answer the turns of a dataset: what is chosen, what it would cost, the runs."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from annotation.queries.datasets import dataset_of
from annotation.views.access import UNPROCESSABLE, SignedInRequest, manager_required
from judging.core.estimates import total_of
from judging.forms.generation import GenerationForm
from judging.models import JudgeRun
from judging.queries.generation import judges_of_family
from judging.services.abilities import slow_replies
from judging.services.estimate_tallies import tight_requests
from judging.services.estimates import estimate_all
from judging.services.kinds import plan
from judging.submission import submit
from judging.views.run_starts import say_started


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def generate(request: SignedInRequest, slug: str) -> HttpResponse:
    """Choose models and settings, then start a run for each model."""
    dataset = dataset_of(slug)
    form = _form(request, dataset)
    if form.is_bound and form.is_valid():
        try:
            started = submit(_plans(form, dataset, request.user), again=form.cleaned_data["again"])
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            say_started(request, started)
            if len(started) == 1:
                return redirect("judging:run", run_id=started[0].pk)
            return redirect(f"{reverse('judging:runs')}?{urlencode({'dataset': slug})}")
    context = {"dataset": dataset, "form": form}
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "judging/generate.html", context, status=status)


@require_POST
@manager_required
def estimate(request: SignedInRequest, slug: str) -> HttpResponse:
    """What the chosen models would be asked, and the cost; nothing is started."""
    dataset = dataset_of(slug)
    form = _form(request, dataset)
    context: dict[str, Any] = {"dataset": dataset, "form": form}
    if form.is_valid():
        try:
            planned = _plans(form, dataset, request.user)
            found = estimate_all(planned)
        except Refused as error:
            context["refusal"] = gettext(error.text)
        else:
            models = [run.config["judge"]["model"] for run in planned]
            kin = judges_of_family(dataset.pk, models)
            context |= {"estimates": found, "total": total_of(found), "kin": kin}
            context["slow"] = slow_replies(planned)
            context["tight"] = tight_requests(planned)
    if request.headers.get("HX-Request"):
        return render(request, "judging/_estimate.html", context)
    return render(request, "judging/generate.html", context)


def _form(request: SignedInRequest, dataset: Dataset) -> GenerationForm:
    return GenerationForm(request.POST if request.method == "POST" else None, dataset=dataset)


def _plans(form: GenerationForm, dataset: Dataset, manager: User) -> list[JudgeRun]:
    requests = form.requests(dataset=dataset, by=manager)
    return [run for request in requests for run in plan(request)]
