"""Planning comparisons of a dataset's responses: counted and priced first, then made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from annotation.core.pairing import PairingKind, PairingRules
from annotation.core.refusals import Refused
from annotation.core.splits import DEFAULT_SEED
from annotation.models import Dataset, PairingPlan
from annotation.queries.datasets import dataset_of
from annotation.queries.pairing import compared_models, pairing_plans, rules_of_plan
from annotation.services.imports.comparisons import MOST_AT_ONCE, too_many
from annotation.views.access import UNPROCESSABLE, SignedInRequest, manager_required
from benchmark.forms import PairingForm
from benchmark.queries.ranking import Source
from benchmark.services.pairing import (
    counts_by_models,
    make_next_batch,
    next_batch,
    possible_within_bounds,
    price,
)
from benchmark.services.pairing_runs import plan_pairing
from benchmark.submission import submit
from benchmark.views.ablations import say_if_attached
from judging.core.estimates import total_of
from judging.core.rules import NO_SETS
from judging.core.targets import RunTarget, Targets
from judging.models import RunKind
from judging.queries.endpoints import likely_judge
from judging.queries.generation import families_of_endpoints
from judging.services.judges import LEXICAL
from judging.services.kinds import check_abilities
from judging.services.kinds import plan as plan_runs
from judging.services.run_requests import RunRequest

AT_ONCE: Final = 1_000
"""Of more possible comparisons the page tells their number alone, and a worker makes the plan."""


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def pairing(request: SignedInRequest, slug: str) -> HttpResponse:
    """Choose a plan, see what it would make and what judging that takes; make it."""
    dataset = dataset_of(slug)
    chosen = request.POST if request.method == "POST" else request.GET
    data = chosen if "kind" in chosen else _usual(dataset)
    form = PairingForm(data, dataset=dataset)
    context: dict[str, Any] = {"dataset": dataset, "form": form, "refusal": ""}
    if form.is_valid():
        try:
            possible = possible_within_bounds(dataset, form.rules())
            if request.method == "POST":
                make = _made if possible <= AT_ONCE else _started
                return make(request, dataset, form)
            if possible <= (MOST_AT_ONCE if "estimate" in chosen else AT_ONCE):
                context |= _counted(dataset, form)
            else:
                context |= {"possible": possible, "can_count": possible <= MOST_AT_ONCE}
        except Refused as refused:
            context["refusal"] = gettext(refused.text) % refused.values
    sent = [(name, each) for name, values in data.lists() for each in values]
    context["sent"] = [(name, each) for name, each in sent if name in form.fields]
    kept = {name: str(data[name]) for name in ("judge", "verdicts") if name in data}
    context["run_query"] = _run_query(form.cleaned_data)
    context["plans"] = [
        (plan, asked, _query(rules_of_plan(plan), **kept)) for plan, asked in pairing_plans(dataset)
    ]
    failed = request.method == "POST"
    status = UNPROCESSABLE if failed or form.errors else 200
    return render(request, "benchmark/pairing.html", context, status=status)


def _usual(dataset: Dataset) -> QueryDict:
    """What the page shows before anything is chosen."""
    data: dict[str, str | int] = {
        "kind": str(PairingKind.ALL),
        "cap": 1,
        "seed": DEFAULT_SEED,
        "judge": likely_judge(compared_models(dataset)) or LEXICAL,
    }
    return QueryDict(urlencode(data))


def _run_query(chosen: Mapping[str, Any]) -> str:
    """How a run over a plan begins: with the judge that the page goes by, where one was chosen."""
    fields = {"kind": RunKind.TEST.value}
    judge, whose = chosen.get("judge", LEXICAL), chosen.get("verdicts")
    if judge != LEXICAL or whose in (Source.BASE, Source.SELECTED):
        fields["judge"] = judge
    if whose == Source.BASE:
        fields["sets"] = NO_SETS
    return urlencode(fields)


def _counted(dataset: Dataset, form: PairingForm) -> dict[str, Any]:
    """What the plan would add, by pair of models and scenario, and what judging it would take."""
    found = next_batch(dataset, form.rules(), form.whose())
    refused = too_many(found.new)
    estimate = price(dataset, found.added, judge=form.cleaned_data["judge"])
    rows = counts_by_models(found.added)
    scenarios = sorted({name for row in rows for name in row["scenarios"]})
    return {
        "found": found,
        "refusal": gettext(refused.text) % refused.values if refused else "",
        "scenarios": scenarios,
        "rows": [(row, [row["scenarios"].get(name, 0) for name in scenarios]) for row in rows],
        "estimates": [estimate],
        "total": total_of([estimate]),
        "kin": families_of_endpoints(dataset.pk, [form.cleaned_data["judge"]]),
    }


def _made(request: SignedInRequest, dataset: Dataset, form: PairingForm) -> HttpResponse:
    rules = form.rules()
    made = make_next_batch(dataset, rules, form.whose(), by=request.user)
    text = ngettext("Created %(n)d comparison.", "Created %(n)d comparisons.", made.created)
    messages.success(request, text % {"n": made.created})
    if "judge_now" in request.POST:
        return _judged(request, dataset, made.plan, judge=form.cleaned_data["judge"])
    address = reverse("benchmark:pairing", args=[dataset.slug])
    judge = {"judge": form.cleaned_data["judge"], "verdicts": form.cleaned_data["verdicts"]}
    return redirect(f"{address}?{_query(rules, **judge)}")


def _judged(
    request: SignedInRequest, dataset: Dataset, made: PairingPlan, *, judge: str
) -> HttpResponse:
    """A run judges the plan without preferences, so that nothing needs to be learned first."""
    wanted = RunRequest(
        kind=RunKind.TEST,
        dataset=dataset,
        judge=judge,
        with_sets=False,
        targets=Targets(kind=RunTarget.PLAN, plan=made.pk),
        created_by=request.user,
    )
    planned = plan_runs(wanted)[0]
    check_abilities(planned)
    run = submit(planned)
    say_if_attached(request, run)
    return redirect("judging:run", run_id=run.pk)


def _started(request: SignedInRequest, dataset: Dataset, form: PairingForm) -> HttpResponse:
    """A worker plans and makes them."""
    run = submit(plan_pairing(dataset, form.rules(), form.whose(), by=request.user))
    say_if_attached(request, run)
    return redirect("judging:run", run_id=run.pk)


def _query(rules: PairingRules, **more: str) -> str:
    """The parameters by which the page shows what a plan would add."""
    fields = {
        "kind": rules.kind.value,
        "anchor": rules.anchor,
        "size": rules.size or "",
        "cap": rules.cap,
        "seed": rules.seed,
        "scenarios": rules.scenarios,
        "models": rules.models,
        **({"both_models": "on"} if rules.both_models else {}),
        **({"variants": "on"} if rules.variants else {}),
        **more,
    }
    return urlencode(fields, doseq=True)
