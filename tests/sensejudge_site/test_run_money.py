"""What `distil` and `judge` say of money: estimates, budgets, and going on with more."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotation.models import Response, Role, User
from judging.models import JudgeRun, Judgment, LlmCall, ModelEndpoint
from judging.queries.run_totals import judged_totals
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import make_study, start_test_run
from tests.markup import tight
from tests.sensejudge_site.test_distil_and_judge import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with FakeLlm(rule="longer") as server:
        yield server


@pytest.fixture
def endpoint(server):
    """Replies of at most 20 tokens; a prompt of some 2,000 bytes costs about 0.002 at most."""
    return make_endpoint(
        name="fake",
        base_url=server.base_url,
        input_price=1,
        output_price=1,
        max_tokens=20,
        concurrency=4,
    )


@pytest.fixture
def signed_in(client):
    client.force_login(make_user(role=Role.MANAGER))
    return client


@pytest.fixture
def dataset():
    dataset, _ = make_study(comparisons=8)
    for response in Response.objects.all():
        response.text = f"{response.text} No {response.pk}."
        response.save()
    return dataset


def judge(dataset, *options):
    return run_json(
        "judge", "--dataset", dataset.slug, "--judge", "fake", "--preferences", "none", *options
    )


def test_an_estimate_starts_nothing_and_says_what_it_would_cost(dataset, endpoint, server):
    found = judge(dataset, "--estimate")
    assert (found["calls"], found["stored"], found["cost_likely"]) == (16, 0, None)
    assert 0 < found["cost_at_most"] < 0.1
    (one,) = found["runs"]
    assert (one["annotator"], one["judge"]) == ("ann", "fake")
    assert [stage["questions"] for stage in one["stages"]] == [16]
    assert (JudgeRun.objects.count(), server.stats()["calls"]) == (0, 0)
    distilled = run_json(
        "distil", "--dataset", dataset.slug, "--judge", "fake,lexical", "--estimate"
    )
    assert [one["judge"] for one in distilled["runs"]] == ["fake", "lexical"]
    lines = run(
        "judge", "--dataset", dataset.slug, "--judge", "fake", "--preferences", "none", "--estimate"
    )[0].splitlines()
    assert lines[0].startswith("ann, fake: 16 calls, 0 replies stored; ")
    cost = f"cost {found['cost_low']:.4f} to {found['cost_at_most']:.4f}, likely unknown"
    assert lines[1] == f"total: 16 calls, 0 replies stored; {cost}"
    assert 0 < found["cost_low"] < found["cost_at_most"]
    assert "tokens in, 16 to 320 tokens out; " in lines[0]
    assert lines[2].startswith("a range, since nobody knows how long replies will be")
    is_wide = found["cost_at_most"] > 10 * found["cost_low"]
    assert [line.startswith("too wide to plan by") for line in lines[3:]] == [True] * is_wide
    # The lexical judge has no prices, and needs none.
    told = run("distil", "--dataset", dataset.slug, "--estimate")[0].splitlines()
    assert told[0] == "ann, lexical: 0 calls, 0 replies stored; no cost"
    assert told[-1] == "nothing to ask: no endpoint is called"
    assert distilled["cost_at_most"] == distilled["runs"][0]["cost_at_most"] > 0
    assert distilled["runs"][1]["cost_at_most"] is None


def test_an_estimate_prices_letters_at_one_token_and_says_that_nothing_is_left(dataset, endpoint):
    ModelEndpoint.objects.update(has_logprobs=True)
    by_letter = ("judge", "--dataset", dataset.slug, "--judge", "fake", "--preferences", "none")
    by_letter += ("--verdict", "logprob")
    lines = run(*by_letter, "--estimate")[0].splitlines()
    assert "tokens in, 16 tokens out; " in lines[0]
    assert "likely unknown" not in lines[1]
    assert lines[2].startswith("every reply is one letter")
    run(*by_letter)
    lines = run(*by_letter, "--estimate")[0].splitlines()
    assert lines[1:] == [
        "total: 0 calls, 16 replies stored; no cost",
        "nothing to ask: every reply is stored",
    ]


def test_an_estimate_says_which_questions_are_equal(dataset, endpoint):
    Response.objects.update(text="the same")
    found = judge(dataset, "--estimate")
    assert (found["calls"] + found["equal"], found["stored"]) == (16, 0)
    assert found["equal"] > 0
    lines = run(
        "judge", "--dataset", dataset.slug, "--judge", "fake", "--preferences", "none", "--estimate"
    )[0].splitlines()
    assert f"0 replies stored, {found['equal']} equal questions asked once; " in lines[0]


def test_an_ablation_that_would_ask_nothing_says_so(dataset):
    told = run("ablate", "--dataset", dataset.slug, "--vary", "dev-size", "--estimate")[0]
    assert told.splitlines()[-1] == "nothing to ask: no endpoint is called"


def test_a_budget_ends_a_run_with_a_valid_part_and_more_money_goes_on(dataset, endpoint, server):
    found = judge(dataset, "--budget", "0.004")
    done = JudgeRun.objects.get()
    assert (done.status, done.error_code, done.budget) == ("DONE", "budget:spent", Decimal("0.004"))
    spent = found["errors"]["budget:spent"]
    assert found["failed"] == spent == 16 - found["judged"]
    assert 0 < found["judged"] < 16
    assert found["cost"] <= 0.004
    assert server.stats()["calls"] == found["calls"] == found["judged"]
    assert abs(float(done.held) - found["cost"]) < 1e-9
    # Nothing fits any more: trying again without more money asks nobody.
    again = run_json("judge", "--retry", str(done.pk))
    assert (again["judged"], server.stats()["calls"]) == (found["judged"], found["calls"])
    more = run_json("judge", "--retry", str(done.pk), "--budget", "1")
    assert (more["judged"], more["failed"], more["errors"]) == (16, 0, {})
    assert server.stats()["calls"] == 16 == LlmCall.objects.filter(run=done).count()
    done.refresh_from_db()
    assert (done.status, done.error_code) == ("DONE", "")


def test_a_run_that_its_budget_stopped_says_how_it_goes_on(dataset, endpoint):
    words = ("judge", "--dataset", dataset.slug, "--judge", "fake", "--preferences", "none")
    _, said = run(*words, "--budget", "0.004")
    number = JudgeRun.objects.get().pk
    assert said.splitlines() == [
        f"run {number} has spent its budget of 0.0040; "
        f"to resume it, run `judge --retry {number} --budget N` with a larger N"
    ]
    _, said = run("judge", "--retry", str(number), "--budget", "1")
    assert said == ""


def test_a_distillation_that_its_budget_stopped_says_how_it_goes_on(dataset, endpoint):
    _, said = run("distil", "--dataset", dataset.slug, "--judge", "fake", "--budget", "0.004")
    number = JudgeRun.objects.get().pk
    assert f"`judge --retry {number} --budget N`" in said


def test_what_calls_without_a_price_cost_is_unknown_everywhere(dataset, endpoint, signed_in):
    endpoint.input_price = endpoint.output_price = 0
    endpoint.save()
    assert judge(dataset)["cost"] is None
    assert set(LlmCall.objects.values_list("cost", flat=True)) == {None}
    done = JudgeRun.objects.get()
    told, _ = run("judge", "--retry", str(done.pk))
    assert "calls: 16\n" in told
    assert "cost: unknown\n" in told
    listed = tight(signed_in.get(reverse("judging:runs")))
    assert '<td class="n"><span class="muted">unknown</span>' in listed
    page = signed_in.get(reverse("judging:run", args=[done.pk])).content.decode()
    assert "unknown: the endpoint has no prices" in page
    compared = tight(signed_in.get(f"{reverse('judging:run-compare')}?run={done.pk}"))
    assert '<th>cost</th><td class="n"><span class="muted">unknown</span>' in compared


def test_the_sum_of_a_known_and_an_unknown_cost_is_unknown(dataset, endpoint, server):
    make_endpoint(name="free", base_url=server.base_url, model="other", max_tokens=20)
    words = ("judge", "--dataset", dataset.slug, "--preferences", "none", "--judge")
    assert run_json(*words, "fake,free")["cost"] is None
    assert run_json(*words, "fake,lexical")["cost"] == 0  # no call was paid for any more


@pytest.mark.parametrize("budget", ["0", "0.0005", "0.001", "0.003", "0.005"])
def test_whatever_the_budget_it_is_never_passed(dataset, endpoint, budget):
    done = run_to_end(
        start_test_run(
            dataset=dataset,
            annotator=User.objects.get(),
            judge="fake",
            with_sets=False,
            budget=Decimal(budget),
        ).pk
    )
    found = judged_totals(done.pk)
    assert Decimal(f"{found.cost or 0:.8f}") <= done.held <= Decimal(budget)
    assert found.judged + dict(found.errors).get("budget:spent", 0) == 16
    assert done.status == ("DONE" if found.judged else "FAILED")


def test_calls_of_unknown_fate_count_at_their_dearest(dataset, server):
    with FakeLlm(faults={"drop": 0.5}) as dropping:
        make_endpoint(
            name="fake", base_url=dropping.base_url, input_price=1, output_price=1, max_tokens=20
        )
        found = judge(dataset, "--budget", "0.02")
        tried = dropping.stats()["calls"]
    done = JudgeRun.objects.get()
    # Every dropped call may have been billed; none of them lets the budget be passed.
    assert tried > found["calls"]
    assert found["cost"] < float(done.held) <= 0.02


def test_a_run_without_any_answer_for_want_of_money_failed(dataset, endpoint):
    with pytest.raises(CommandError, match=r"failed budget:spent"):
        judge(dataset, "--budget", "0")
    assert set(Judgment.objects.values_list("error_code", flat=True)) == {"budget:spent"}


@pytest.mark.parametrize("amount", ["-1", "much", "nan"])
def test_a_budget_is_money(dataset, endpoint, amount):
    with pytest.raises(CommandError, match="an amount of money"):
        judge(dataset, f"--budget={amount}")


def test_without_prices_there_is_no_budget(dataset):
    make_endpoint(name="fake")
    with pytest.raises(CommandError, match="budget:no-prices") as refused:
        judge(dataset, "--budget", "1")
    assert refused.value.returncode == 2


def test_only_a_finished_run_that_exists_is_tried_again(dataset, endpoint):
    with pytest.raises(CommandError, match="run:unknown"):
        run("judge", "--retry", "99")
    judge(dataset)
    JudgeRun.objects.update(status="RUNNING")
    with pytest.raises(CommandError, match="run:not-finished"):
        run("judge", "--retry", str(JudgeRun.objects.get().pk))
    with pytest.raises(CommandError, match="--dataset is required"):
        run("judge")


def test_several_judges_have_a_run_each_on_the_same_items(dataset, endpoint):
    found = run_json(
        "judge", "--dataset", dataset.slug, "--judge", "fake,lexical", "--preferences", "none"
    )
    assert len(found["runs"]) == 2
    one, two = JudgeRun.objects.order_by("pk")
    assert (one.judge, two.judge) == ("fake", "lexical")
    assert one.config["scenarios"] == two.config["scenarios"]
    assert found["judged"] == 32
