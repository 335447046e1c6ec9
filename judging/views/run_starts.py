"""Starting, stopping and retrying runs: what is chosen, what it would cost, the runs themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused, text_of
from annotation.models import Dataset, User
from annotation.queries.pairing import compared_models
from annotation.queries.participants import names_of
from annotation.views.access import SignedInRequest, manager_required, reader_required
from judging.core.estimates import RunEstimate, total_of
from judging.core.rules import NO_SETS
from judging.core.runs import TARGETS
from judging.core.targets import RunTarget
from judging.core.verdicts import VerdictRule
from judging.forms.preferences import ControlForm
from judging.forms.runs import RunForm
from judging.models import JudgeRun, RunKind
from judging.queries.comparisons import learnable_labels, with_comparisons
from judging.queries.configurations import decides_by_log_odds
from judging.queries.endpoints import likely_judge
from judging.queries.generation import families_of_judges
from judging.queries.preferences import is_learned_elsewhere_only, last_selecting
from judging.queries.runs import RUBRIC, RunControls, run_controls
from judging.queries.satisfaction.targets import is_rated
from judging.services.abilities import could_read_letters, slow_replies
from judging.services.estimate_tallies import tight_requests
from judging.services.estimates import MOST_PROMPTS, estimate_all
from judging.services.estimates import estimate as estimate_of
from judging.services.judges import LEXICAL
from judging.services.kinds import plan
from judging.services.run_requests import RunRequest
from judging.submission import submit
from judging.templatetags.run_settings import slow_reply_text, tight_request_text
from judging.views.runs import manager_only


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_run(request: HttpRequest) -> HttpResponse:
    """Choose a dataset, then what to run on it."""
    manager = manager_only(request)
    context = _choice(request)
    form = context.get("form")
    if form is not None and form.is_bound and form.is_valid():
        try:
            planned = _plans(form, context["chosen"], manager)
            started = submit(planned, again=form.cleaned_data["again"])
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            say_started(request, started)
            return _lead_to(started, context["chosen"])
    status = 422 if form is not None and form.is_bound else 200
    return render(request, "judging/run_new.html", context, status=status)


@require_POST
@login_required
def estimate(request: HttpRequest) -> HttpResponse:
    """What the chosen runs would ask and cost; nothing is started."""
    manager = manager_only(request)
    context = _choice(request)
    form = context.get("form")
    if form is not None and form.is_valid():
        try:
            planned = _plans(form, context["chosen"], manager)
            found = estimate_all(planned)
            context |= {
                "estimates": found,
                "total": total_of(found),
                "letters": could_read_letters(planned),
                "slow": slow_replies(planned),
                "tight": tight_requests(planned),
                "kin": families_of_judges(planned),
                "brought": _brought(planned, context["datasets"]),
            }
        except Refused as error:
            context["refusal"] = gettext(error.text)
    elif form is not None and form.limit:
        context["refusal"] = form.limit
    if request.headers.get("HX-Request"):
        return render(request, "judging/_run_estimate.html", context)
    return render(request, "judging/run_new.html", context)


def _choice(request: HttpRequest) -> dict[str, Any]:
    """The datasets, and the form of the one that was chosen, or that the last run was about."""
    slug = request.POST.get("dataset") or request.GET.get("dataset", "")
    datasets = list(Dataset.objects.order_by("name"))
    if request.method != "POST" and "dataset" not in request.GET:
        last = JudgeRun.objects.order_by("-pk").values_list("dataset__slug", flat=True).first()
        slug = last or (datasets[0].slug if len(datasets) == 1 else "")
    chosen = next((each for each in datasets if each.slug == slug), None)
    context: dict[str, Any] = {"datasets": datasets, "chosen": chosen}
    if chosen is not None:
        if not request.headers.get("HX-Request"):
            names = names_of(dataset=chosen)
            context["learnable"] = [
                (names.get(each.annotator, ""), each) for each in learnable_labels(chosen.pk)
            ]
        context["form"] = RunForm(
            request.POST if request.method == "POST" else None,
            dataset=chosen,
            initial=_initial(request, chosen, labelled=bool(context.get("learnable"))),
        )
    return context


def _initial(request: HttpRequest, dataset: Dataset, *, labelled: bool) -> dict[str, Any]:
    """What a link chose; to judge is begun with what works in the dataset.

    By the judge that selected last, or, where nothing was selected, without preferences by the
    likeliest endpoint. Where there is nothing to learn from, all comparisons are to be judged, and
    where there are only ratings, satisfaction is scored.
    """
    given = request.GET
    asked = {name: given.get(name, "") for name in ("annotator", "targets", "turn_targets", "sets")}
    kind, judges = given.get("kind", RunKind.DISTIL), given.getlist("judge")
    if "kind" not in given and not labelled:
        if with_comparisons().filter(pk=dataset.pk).exists():
            kind, asked["targets"] = RunKind.TEST, RunTarget.ALL.lower()
        elif is_rated(dataset):
            kind = RunKind.SATISFACTION
    if kind == RunKind.TEST:
        selecting = last_selecting(dataset)
        judges = judges or selecting or [likely_judge(compared_models(dataset)) or LEXICAL]
        has_sets = selecting or is_learned_elsewhere_only(dataset)
        asked["sets"] = asked["sets"] or ("" if has_sets else NO_SETS)
    return {**asked, "kind": kind, "judge": judges or [LEXICAL]}


def _plans(form: RunForm, dataset: Dataset, manager: User) -> list[JudgeRun]:
    requests = form.requests(dataset=dataset, by=manager)
    return [run for request in requests for run in plan(request)]


def _brought(planned: Sequence[JudgeRun], datasets: Sequence[Dataset]) -> list[tuple[User, str]]:
    """Whose preferences judge here that were learned in another dataset, and in which."""
    names = {each.slug: str(each) for each in datasets}
    found = {
        (run.annotator, names[run.config["set_dataset"]])
        for run in planned
        if run.annotator is not None and run.config.get("sets_of") is not None
        if run.config.get("set_dataset", run.dataset.slug) != run.dataset.slug
    }
    return sorted(found, key=lambda each: each[0].pk)


def say_started(request: HttpRequest, started: Sequence[JudgeRun]) -> None:
    """Tell how many of the runs were under way, and which endpoint is too slow, or too small."""
    for each in slow_replies(started):
        messages.warning(request, slow_reply_text(each))
    for tight in tight_requests(started):
        messages.warning(request, tight_request_text(tight))
    attached = sum(run.attached for run in started)
    if attached and len(started) == 1:
        text = gettext(
            "An identical run is already in progress. It was opened instead of starting another."
        )
        messages.info(request, text)
    elif attached:
        text = ngettext(
            "%(n)d identical run is already in progress and was not started again.",
            "%(n)d identical runs are already in progress and were not started again.",
            attached,
        )
        messages.info(request, text % {"n": attached})


def _lead_to(started: list[JudgeRun], dataset: Dataset) -> HttpResponse:
    """One run's page; several judges of the same items side by side; the list otherwise."""
    if len(started) == 1:
        return redirect("judging:run", run_id=started[0].pk)
    if len({run.annotator_id for run in started}) == 1:
        together = urlencode({"run": [run.pk for run in started]}, doseq=True)
        return redirect(f"{reverse('judging:run-compare')}?{together}")
    return redirect(f"{reverse('judging:runs')}?{urlencode({'dataset': dataset.slug})}")


@require_safe
@reader_required
def controls(request: SignedInRequest, run_id: int) -> HttpResponse:
    """The controls of a test run, and what those that were not judged would take."""
    found = run_controls(_run_of(run_id))
    missing = [each for each in found.others if each.tried is None and not each.inside]
    most = max(50, MOST_PROMPTS // (len(missing) + 1))
    context: dict[str, Any] = {
        "found": found,
        "run": found.run,
        "others": [
            (each, _estimate(found, most, sets_of=each.annotator) if each in missing else None)
            for each in found.others
        ],
        "has_prices": found.run.can_have_budget,
    }
    if found.rubric is None and found.can_rubric:
        context["rubric_estimate"] = _estimate(found, most, prompt=RUBRIC)
    return render(request, "judging/run_controls.html", context)


def _estimate(found: RunControls, most: int, **control: Any) -> RunEstimate | None:
    """What a control would take; None where it cannot be judged."""
    try:
        return estimate_of(plan(_request(found.run, **control))[0], most=most)
    except Refused:
        return None


def _request(run: JudgeRun, *, sets_of: int | None = None, **more: Any) -> RunRequest:
    owner = None if sets_of is None else User.objects.get(pk=sets_of)
    return RunRequest(
        kind=RunKind.TEST,
        dataset=run.dataset,
        annotator=run.annotator,
        judge=run.judge,
        selected_by=None if run.parent is None else run.parent.judge,
        writer=None if run.parent is None else run.parent.written_by,
        verdict=_by_letters(run),
        sets_of=owner,
        **more,
    )


def _by_letters(run: JudgeRun) -> VerdictRule | None:
    """A control is read like the run it stands beside, where any prompt can be."""
    by_letters = decides_by_log_odds(run.config, judge=run.judge)
    return VerdictRule.LOGPROB if by_letters else None


@require_POST
@manager_required
def start_control(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Judge the run's comparisons under another annotator's preferences, or by a generic rubric."""
    run = _run_of(run_id)
    found = run_controls(run)
    form = ControlForm(request.POST, others=[each.annotator for each in found.others])
    if not form.is_valid():
        messages.error(request, gettext(text_of("run:no-control")))
        return redirect("judging:run-controls", run_id=run_id)
    other = form.other()
    control: dict[str, Any] = {"prompt": RUBRIC} if other is None else {"sets_of": other}
    try:
        wanted = _request(
            run, **control, budget=form.cleaned_data["budget"], created_by=request.user
        )
        started = submit(plan(wanted))
    except Refused as error:
        messages.error(request, gettext(error.text))
        return redirect("judging:run-controls", run_id=run_id)
    say_started(request, started)
    return redirect("judging:run", run_id=started[0].pk)


def _run_of(run_id: int) -> JudgeRun:
    """A test run that applied its annotator's own preferences."""
    run = (
        JudgeRun.objects.filter(pk=run_id, kind=RunKind.TEST, annotator__isnull=False)
        .select_related("dataset", "annotator", "endpoint", "parent")
        .first()
    )
    if run is None or run.parent is None or run.parent.annotator_id != run.annotator_id:
        raise Http404
    if TARGETS in run.config:  # controls are over the test part
        raise Http404
    return run
