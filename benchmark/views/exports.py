"""The shown tables as CSV, and downloads of what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.intervals import ends
from annotation.core.tables import Row
from annotation.models import User
from annotation.views.access import (
    csv_file,
    table_asked,
)
from benchmark.forms import TrustForm, asked
from benchmark.frames import agreement_table
from benchmark.queries.satisfaction import shown_figures
from benchmark.queries.trust import (
    SEED,
    Reader,
    TrustScope,
    asked_controls,
    asked_report,
    personal_report,
    report,
    trust_scope,
)


def reader_of(request: HttpRequest) -> Reader:
    """Annotators read figures about themselves alone; everybody else reads all.

    Raises:
        PermissionDenied: nobody is signed in.
    """
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return Reader(only=None if user.sees_everyone else user.pk)


def require_sees_everyone(request: HttpRequest) -> None:
    """Refuse annotators: models' names and other people's labels are on the page.

    Raises:
        PermissionDenied: an annotator asks.
    """
    if reader_of(request).only is not None:
        raise PermissionDenied(
            _("Annotators cannot see this page: it shows models and other people's answers.")
        )


@require_safe
@login_required
def figures_csv(request: HttpRequest) -> HttpResponse:
    """One annotator's figures, a row a scenario, as the trust page shows them.

    With `table=controls` what stands beside them in the page's chart, with `table=satisfaction` the
    figures of scores. Of position bias and these two annotators read nothing.
    """
    reader = reader_of(request)
    table = table_asked(request, ("figures", "controls", "satisfaction"))
    if table != "figures":
        require_sees_everyone(request)
    scope = trust_scope(asked(TrustForm, request.GET).question(), reader)
    if table == "controls":
        return csv_file("controls", map(asdict, asked_controls(scope)), _said(scope))
    if table == "satisfaction":
        return csv_file("satisfaction", _scores(scope), _said(scope))
    rows, said = [asdict(row) for row in asked_report(scope)], _said(scope)
    if reader.only is not None:
        rows = [{name: row[name] for name in row if "position_bias" not in name} for row in rows]
        said = {name: said[name] for name in ("dataset", "seed")}
    return csv_file("figures", rows, said)


def _scores(scope: TrustScope) -> Iterator[Row]:
    """Metrics of calibrated and raw scores, and what users stated where each was predicted."""
    until = scope.question.until
    for whose, found in shown_figures(scope.dataset, scope.annotator, seed=SEED, until=until):
        of: dict[str, object] = {
            "annotator": whose,
            "run": found.run.id,
            "judge": found.run.judge,
            "asked": found.asked,
            "rule": "",
            "policy": "",
            "filter_scenario": "",
        }
        for row in found.metrics:
            for scale, one in (("calibrated", row.calibrated), ("raw", row.raw)):
                yield {
                    "figure": row.name.value,
                    "scale": scale,
                    "predicted": None,
                    "value": one.value,
                    **ends(one.interval),
                    "n": found.turns,
                    **of,
                }
        for point in found.reliability:
            yield {
                "figure": "mean_stated",
                "scale": "calibrated",
                "predicted": point.predicted,
                "value": point.stated,
                **ends(None),
                "n": point.n,
                **of,
            }


def _said(scope: TrustScope) -> dict[str, object]:
    """What the figures of a trust page are of."""
    run = scope.run
    return {
        "dataset": scope.dataset and scope.dataset.slug,
        "judge": run and run.judge,
        "run": run and run.id,
        "asked": run and run.prompt,
        "filter_scenario": scope.scenario and scope.scenario.name,
        "rule": scope.question.rule.value,
        "policy": scope.question.policy.value,
        "until": scope.pin.until,
        "seed": SEED,
    }


@require_safe
@login_required
def personal_csv(request: HttpRequest) -> HttpResponse:
    """Whose judge is personal: a row an annotator, under the judge of a trust page."""
    require_sees_everyone(request)
    scope = trust_scope(asked(TrustForm, request.GET).question(), reader_of(request))
    rows = (asdict(row) | {"others": ", ".join(row.others)} for row in personal_report(scope))
    said = _said(scope)
    # Claims are over all scenarios, by the usual vote.
    return csv_file("personal", rows, {name: said[name] for name in ("dataset", "until", "seed")})


@require_safe
@login_required
def agreement_csv(request: HttpRequest) -> HttpResponse:
    """Agreement of every annotator in every scenario, as a wide table."""
    require_sees_everyone(request)
    question = asked(TrustForm, request.GET).question()
    found = report(question.dataset)
    said = {
        "dataset": found.dataset,
        "judge": ", ".join(found.judges),
        "run": " ".join(str(run.id) for _name, run in found.runs),
        "seed": found.seed,
    }
    return csv_file(f"agreement-{found.dataset}", agreement_table(found.rows), said)
