"""Estimates, budgets and several judges on the pages of runs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from judging.models import JudgeRun, Judgment, LlmCall
from judging.queries.run_totals import judged_totals
from tests.factory import make_endpoint, make_run, make_user
from tests.judging.study import make_study
from tests.markup import one_line

pytestmark = pytest.mark.django_db

ESTIMATE = "/runs/new/estimate/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture
def study():
    return make_study(comparisons=10)


@pytest.fixture
def endpoint():
    return make_endpoint(name="priced", input_price=1, output_price=2)


def fields(study, **more):
    dataset, rater = study
    usual = {"dataset": dataset.slug, "kind": "DISTIL", "annotator": rater.pk, "judge": "priced"}
    return usual | more


def test_an_estimate_is_shown_before_anything_starts(manager, study, endpoint):
    page = one_line(manager.post(ESTIMATE, fields(study), headers=HTMX))
    assert "<html" not in page
    assert "Judge comparisons" in page
    assert "cost range" in page
    assert "unknown until the endpoint's first reply" in page.replace("&#x27;", "'")
    assert not JudgeRun.objects.exists()


def test_without_htmx_the_estimate_stands_on_the_whole_page(manager, study, endpoint):
    page = one_line(manager.post(ESTIMATE, fields(study)))
    assert "<html" in page
    assert "cost range" in page


def test_everybody_and_several_judges_are_estimated_together(manager, study, endpoint):
    page = one_line(
        manager.post(
            ESTIMATE, fields(study, annotator="", judge=["lexical", "priced"]), headers=HTMX
        )
    )
    assert ">ann, lexical<" in page.replace(" </th>", "<").replace("<th> ", "<th>")
    assert ">ann, priced<" in page.replace(" </th>", "<").replace("<th> ", "<th>")


def test_judges_without_an_endpoint_ask_nobody(manager, study):
    page = one_line(manager.post(ESTIMATE, fields(study, judge="lexical"), headers=HTMX))
    assert "these judges need no endpoint" in page


def test_an_incomplete_choice_and_a_refusal_are_said(manager, study, endpoint):
    incomplete = one_line(manager.post(ESTIMATE, fields(study, judge=[]), headers=HTMX))
    assert "Complete the form" in incomplete
    nothing = one_line(manager.post(ESTIMATE, fields(study, kind="TEST"), headers=HTMX))
    assert "Distil preferences first" in nothing


def test_only_managers_estimate_and_set_budgets(client, study, endpoint):
    run = make_run(study[0], endpoint=endpoint)
    for address in (ESTIMATE, f"/runs/{run.pk}/budget/"):
        assert client.post(address).url == f"/sign-in/?next={address}"
    client.force_login(make_user(role="VIEWER"))
    for address in (ESTIMATE, f"/runs/{run.pk}/budget/"):
        assert client.post(address).status_code == 403
        assert client.get(address).status_code == 405


def test_a_run_is_started_with_its_budget(manager, study, endpoint):
    manager.post("/runs/new/", fields(study, budget="2.5"))
    assert JudgeRun.objects.get().budget == Decimal("2.5")


@pytest.mark.parametrize(
    ("judge", "budget", "said"),
    [("lexical", "1", "have no price"), ("priced", "-1", "greater than or equal to 0")],
)
def test_a_budget_that_cannot_be_kept_is_refused(manager, study, endpoint, judge, budget, said):
    answer = manager.post("/runs/new/", fields(study, judge=judge, budget=budget))
    assert answer.status_code == 422
    assert said in one_line(answer)
    assert not JudgeRun.objects.exists()


def test_several_judges_lead_to_the_page_that_compares_them(manager, study, endpoint):
    answer = manager.post("/runs/new/", fields(study, judge=["lexical", "priced"]))
    one, two = JudgeRun.objects.order_by("pk")
    assert answer.url == f"/runs/compare/?run={one.pk}&run={two.pk}"
    assert (one.judge, two.judge) == ("lexical", "priced")
    # The lexical judge's control is drawn ten times, the other's once.
    first, second = (
        [(each["dev"], each["winners"], each["test_winners"]) for each in run.config["scenarios"]]
        for run in (one, two)
    )
    assert first == second


def spent_run(study, endpoint):
    run = make_run(
        study[0],
        annotator=study[1],
        judge=endpoint.name,
        endpoint=endpoint,
        status="DONE",
        error_code="budget:spent",
        budget=Decimal("0.5"),
        held=Decimal("0.5"),
    )
    LlmCall.objects.create(
        key="k" * 64,
        run=run,
        base_url="http://x",
        model="m",
        request={},
        input_tokens=1200,
        cached_tokens=800,
        output_tokens=34,
        cost=Decimal("0.375"),
    )
    return run


def test_a_run_says_what_it_cost_and_why_it_ended(manager, study, endpoint):
    run = spent_run(study, endpoint)
    page = one_line(manager.get(f"/runs/{run.pk}/"))
    for said in (
        "budget does not cover another call",
        "0.3750",
        "0.1250 reserved for calls that may have been billed",
        "800 from the endpoint",
        "Save and resume",
    ):
        assert said in page
    assert "0.3750" in one_line(manager.get("/runs/"))


def test_calls_made_before_there_were_prices_are_no_part_of_the_cost_and_it_is_said(
    manager, study, endpoint
):
    run = spent_run(study, endpoint)
    call = LlmCall.objects.get()
    call.pk, call.key, call.cost = None, "l" * 64, None
    call.save()
    page = one_line(manager.get(f"/runs/{run.pk}/"))
    assert "at least 0.3750" in page
    assert "cost of 1 call unknown" in page
    assert "at least 0.3750" in one_line(manager.get("/runs/"))
    compared = one_line(manager.get(f"/runs/compare/?run={run.pk}"))
    assert "at least 0.3750" in compared
    assert judged_totals(run.pk).cost is None
    LlmCall.objects.update(cost=None)
    for address in (f"/runs/{run.pk}/", "/runs/", f"/runs/compare/?run={run.pk}"):
        page = one_line(manager.get(address))
        assert "unknown" in page
        assert "0.0000" not in page.split("budget")[0]


def test_a_larger_budget_goes_on_at_once(manager, study, endpoint):
    run = spent_run(study, endpoint)
    answer = manager.post(f"/runs/{run.pk}/budget/", {"budget": "2", "go_on": "1"})
    assert answer.url == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert (run.budget, run.status, run.error_code) == (2, "PENDING", "")


def test_a_budget_is_saved_or_refused_with_a_word(manager, study, endpoint):
    run = spent_run(study, endpoint)
    manager.post(f"/runs/{run.pk}/budget/", {"budget": ""})
    run.refresh_from_db()
    assert (run.budget, run.status) == (None, "DONE")
    manager.post(f"/runs/{run.pk}/budget/", {"budget": "-2"})
    page = one_line(manager.get(f"/runs/{run.pk}/"))
    assert "0 or more" in page
    free = make_run(study[0])
    manager.post(f"/runs/{free.pk}/budget/", {"budget": "1"})
    page = one_line(manager.get(f"/runs/{free.pk}/"))
    assert "have no price" in page
    assert "Set budget" not in page
    assert manager.post("/runs/99999/budget/", {"budget": "1"}).status_code == 404


def judged(study, judge, verdicts):
    """A test run whose base judge gave these verdicts, original and swapped in turns."""
    from judging.services.foreground import run_to_end
    from tests.judging.study import start_test_run

    run = start_test_run(dataset=study[0], annotator=study[1], judge="lexical", with_sets=False)
    run_to_end(run.pk)
    for row, verdict in zip(Judgment.objects.filter(run=run).order_by("pk"), verdicts, strict=True):
        Judgment.objects.filter(pk=row.pk).update(verdict=verdict)
    JudgeRun.objects.filter(pk=run.pk).update(judge=judge)
    return run


def test_judges_are_compared_on_the_same_items(manager, study):
    # The annotator prefers the longer one, which is A and B in turns; 10 test comparisons.
    right = "AABB" * 5
    one = judged(study, "one", right)
    two = judged(study, "two", "A" * 20)
    page = one_line(manager.get(f"/runs/compare/?run={one.pk}&run={two.pk}&run=999&run=x"))
    for said in ("100 %", "50 %", "n 20", "n 10", "one (", "two ("):
        assert said in page
    assert f"/runs/compare/?run={one.pk}&amp;run={two.pk}" in one_line(
        manager.get(f"/runs/{one.pk}/")
    )


def test_what_comparing_costs_grows_with_the_runs_alone(
    manager, study, django_assert_max_num_queries
):
    runs = [judged(study, name, "A" * 20) for name in ("one", "two", "three")]
    address = "/runs/compare/?" + "&".join(f"run={run.pk}" for run in runs)
    with django_assert_max_num_queries(4 + 7 * len(runs)):
        manager.get(address)


def test_nothing_to_compare_is_said(manager, client):
    assert "Runs not found" in one_line(manager.get("/runs/compare/"))
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get("/runs/compare/").status_code == 403
