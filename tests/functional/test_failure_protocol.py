"""A judge that fails at a known rate, against a server: page, command and file tell that rate.

The server knows which of ten math questions in which order it gets wrong, by the prompt that it
recognises: as many as GPT-4 in the MT-Bench paper's Table 4, 14, 6 and 3 of 20 judgments.
"""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import GoldLabel, Session, Turn
from benchmark.models import VerificationReport
from benchmark.queries.annotators import judge_options
from benchmark.queries.choices import AnnotatorChoice, dataset_of, verdict_runs
from benchmark.queries.ranking import LeaderboardQuestion, Source, leaderboard_scope, runs_of
from benchmark.services.failures import failure_config, judged_by
from judging.core.rules import JudgePrompt
from judging.core.targets import RunTarget, Targets
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, Judgment, LlmCall, RunKind
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start
from judging.services.run_control import reset_failed
from judging.services.run_requests import RunRequest
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.fake_judge import inside
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db

FAILS = {"pairwise": 14, "thought": 6, "reference": 3}
STRICT = VerdictRule.STRICT
PAGE, NEW = "/trust/ablations/", "/trust/ablations/new/"
ESTIMATE = "/trust/ablations/new/estimate/"


class KnownFailures(FakeLlm):
    """Wrong in the first so many of 20 judgments, two a question: the right one first, or second.

    `instead` is what it says in some judgments, by prompt and number; it judges no prompt with the
    words `refused`.
    """

    def __init__(self, *, instead=None, **options):
        super().__init__(**options)
        self.instead = instead or {}
        self.references = 0
        self.refused = None

    def _act(self, body):
        if self.script:
            return self.script.popleft()
        prompt = body["messages"][0]["content"]
        first = inside(prompt, "response_a")
        if first and self.refused and self.refused in prompt:
            return Act(status=400)
        number = int(re.search(r"Question (\d+)", prompt).group(1))
        if not first:
            self.references += 1
            return Act(text=f"The answer is {number}.")
        style = "pairwise"
        if "answer the request yourself, step by step" in prompt:
            style = "thought"
        elif reference := inside(prompt, "reference"):
            assert reference.endswith(f"is {number}.")
            style = "reference"
        right = f"is {number}." in first
        place = 2 * number + (not right)
        said = self.instead.get((style, place))
        if isinstance(said, Act):
            return said
        if said is None:
            said = "[[A]]" if right is not (place < FAILS[style]) else "[[B]]"
        return Act(text=f"Because. {said}")


@pytest.fixture
def dataset():
    """Ten math questions, the right response A and B in turns, and what is not to be judged."""
    dataset = make_dataset(slug="mt")
    math, writing = make_scenario(dataset, name="math"), make_scenario(dataset, name="writing")
    for number in range(10):
        right_first = number % 2 == 0
        add(math, number, right_first=right_first, verdict="A" if right_first else "B")
    add(math, 10, right_first=True, verdict="TIE")
    add(math, 11, right_first=True, verdict="")
    add(writing, 12, right_first=True, verdict="A")
    return dataset


def add(scenario, number, *, right_first, verdict):
    turn = make_turn(make_session(scenario), user_message=f"Question {number}: what is it?")
    texts = [f"It is {number}.", f"I think that it is {number + 50}."]
    a, b = texts if right_first else reversed(texts)
    comparison = make_comparison(
        turn, response_a=make_response(turn, text=a), response_b=make_response(turn, text=b)
    )
    if verdict:
        GoldLabel.objects.create(comparison=comparison, verdict=verdict, source="DATASET")


def priced(server, **fields):
    prices = {"input_price": 1, "output_price": 1, "max_tokens": 20}
    return make_endpoint(name="knows", base_url=server.base_url, **{**prices, **fields})


def command(**options):
    out = StringIO()
    options = {"dataset": "mt", "vary": "prompt", "judge": "knows", "scenario": "math", **options}
    call_command("ablate", stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def text_of(response):
    return " ".join(response.content.decode().split())


def test_a_judge_s_failures_are_told_exactly_by_command_page_and_file(dataset, client):
    with KnownFailures() as server:
        priced(server)
        estimate = json.loads(command(estimate=True, json=True))
        assert server.stats()["calls"] == 0
        told = json.loads(command(json=True))
        # Ten reference answers, once each, and three prompts in two orders.
        assert estimate["calls"] == server.stats()["calls"] == 10 + 3 * 20
        assert server.references == 10
        again = json.loads(command(json=True))
        assert again["rows"] == told["rows"]
        assert server.stats()["calls"] == 70
        assert json.loads(command(estimate=True, json=True))["calls"] == 0
    assert (told["scenario"], told["judges"], told["vary"]) == ("math", ["knows"], "prompt")
    rows = {row["prompt"]: row for row in told["rows"]}
    assert list(rows) == ["PAIRWISE", "THOUGHT", "OWN_REFERENCE"]
    for row, fails in zip(rows.values(), FAILS.values(), strict=True):
        assert (row["failures"], row["judgments"], row["share"]) == (fails, 20, fails / 20)
        assert (row["questions"], row["ties"], row["unreadable"], row["failed"]) == (10, 0, 0, 0)
        assert row["low"] < row["share"] < row["high"]
        assert row["paper"] == row["share"]
    assert [row["p"] for row in rows.values()] == [None, 2 / 2**4, 2 / 2**6]
    assert rows["THOUGHT"]["difference"] == pytest.approx(-0.4)
    lines = command().splitlines()
    assert [re.search(r"(\d+)/20 +(\S+) %", line).groups() for line in lines[2:]] == [
        ("14", "70.0"),
        ("6", "30.0"),
        ("3", "15.0"),
    ]

    client.force_login(make_user(role="VIEWER"))
    report = VerificationReport.objects.get(pk=told["report"])
    page = text_of(client.get(PAGE))
    shares = re.findall(r'outcome=failure">\s*([\d.]+).{,40}?</a>.{,80}?(\d+)/20\s*</span>', page)
    assert (
        shares == [("70.0", "14"), ("30.0", "6"), ("15.0", "3")] * 3
    )  # the command was given thrice
    assert [f"{fails}/20</td>" in page for fails in FAILS.values()] == [True] * 3  # the paper's
    table = client.get("/trust/ablations.csv", {"report": report.pk}).content.decode()
    lines = list(csv.DictReader(StringIO(table)))
    assert [float(line["share"]) for line in lines] == [0.7, 0.3, 0.15]
    for line, fails in zip(lines, FAILS.values(), strict=True):
        behind = client.get(
            f"{PAGE}judgments/", {"report": report.pk, "run": line["run"], "outcome": "failure"}
        )
        found = behind.context["found"]
        assert len(found.rows) == found.counts["failure"] == fails
        assert {judgment.outcome for judgment, *_ in found.rows} == {"failure"}
        raw = reverse("judging:comparison", args=[line["run"], found.rows[0][0].comparison])
        assert raw in text_of(behind)
    everything = client.get(f"{PAGE}judgments/", {"report": report.pk, "run": lines[0]["run"]})
    assert everything.context["page"].paginator.count == 20


def test_reference_answers_of_the_data_are_shown_and_none_is_written(dataset):
    for turn in Turn.objects.filter(session__scenario__dataset=dataset):
        number = int(re.search(r"\d+", turn.user_message).group())
        Session.objects.filter(pk=turn.session_id).update(extra={"reference": f"It is {number}."})
    with KnownFailures() as server:
        priced(server)
        estimate = json.loads(command(estimate=True, json=True))
        rows = json.loads(command(json=True))["rows"]
        assert estimate["calls"] == server.stats()["calls"] == 60
    assert (rows[2]["prompt"], rows[2]["share"], server.references) == ("REFERENCE", 0.15, 0)


def test_ties_unreadable_replies_and_failed_calls_are_shown_apart(dataset, client):
    """The default is to name no winner in two of 20, and to say nothing readable in one."""
    instead = {("pairwise", 0): "[[C]]", ("pairwise", 19): "[[C]]", ("pairwise", 1): "Both."}
    with KnownFailures(instead=instead) as server:
        priced(server)
        told = json.loads(command(json=True))
    row = told["rows"][0]
    assert (row["failures"], row["right"], row["ties"], row["unreadable"]) == (12, 5, 2, 1)
    assert (row["judgments"], row["share"]) == (19, 12 / 19)
    assert told["rows"][1]["paired"] == 19
    client.force_login(make_user(role="VIEWER"))
    asked = {"report": told["report"], "run": row["run"]}
    for outcome, count in (("tie", 2), ("unreadable", 1), ("right", 5), ("failed", 0)):
        shown = client.get(f"{PAGE}judgments/", {**asked, "outcome": outcome})
        assert len(shown.context["found"].rows) == count
    assert "No judgments match this filter." in text_of(shown)


def test_a_prompt_without_any_readable_reply_has_its_row_and_the_others_go_on(dataset, client):
    with KnownFailures(instead={("thought", place): "Both." for place in range(20)}) as server:
        priced(server)
        told = json.loads(command(json=True))
    assert [row["failures"] for row in told["rows"]] == [14, 0, 3]
    row = told["rows"][1]
    assert (row["unreadable"], row["judgments"], row["share"]) == (20, 0, None)
    assert JudgeRun.objects.get(kind="ABLATE").status == "DONE"
    client.force_login(make_user(role="VIEWER"))
    assert "Left out" not in text_of(client.get(PAGE))
    asked = {"report": told["report"], "run": row["run"], "outcome": "unreadable"}
    assert client.get(f"{PAGE}judgments/", asked).context["page"].paginator.count == 20


def test_a_prompt_whose_calls_fail_is_left_out_until_it_is_tried_again(dataset, client):
    failing = {("thought", place): Act(status=400) for place in range(20)}
    with KnownFailures(instead=failing) as server:
        priced(server)
        with pytest.raises(CommandError, match="1 step could not be finished") as failed:
            command()
        assert failed.value.returncode == 1
        report = VerificationReport.objects.get()
        assert [row["prompt"] for row in report.rows] == ["PAIRWISE", "OWN_REFERENCE"]
        client.force_login(make_user(role="VIEWER"))
        page = text_of(client.get(PAGE))
        assert "Left out: thought · knows." in page
        assert "llm:bad-request" in page
        server.instead = {}
        reset_failed(report.run_id)
        assert run_to_end(report.run_id).status == "DONE"
    report.refresh_from_db()
    assert [row["failures"] for row in report.rows] == [14, 6, 3]
    assert "refused" not in report.settings


def test_its_runs_stand_in_no_other_figures(dataset, client):
    """They judged a part by three prompts; a run that somebody else started stands beside them."""
    with KnownFailures() as server:
        priced(server)
        command()
        steps = list(JudgeRun.objects.filter(kind="TEST").values_list("pk", flat=True))
        assert (len(steps), standing()) == (3, ([], [], []))
        client.force_login(make_user(role="VIEWER"))
        for page in ("/trust/gold/", "/trust/judges/", "/leaderboard/", "/leaderboard/corrected/"):
            assert "knows" not in text_of(client.get(page, {"dataset": "mt"}))
        shown = text_of(client.get(f"/runs/{steps[0]}/"))
        assert f'href="/runs/{JudgeRun.objects.get(kind="ABLATE").pk}/"' in shown
        assert "/trust/gold/" not in shown.split("<main")[1]
        asked = RunRequest(
            kind=RunKind.TEST,
            dataset=dataset,
            judge="knows",
            prompt=JudgePrompt.THOUGHT,
            with_sets=False,
            targets=Targets(kind=RunTarget.ALL),
        )
        (own,) = (run_to_end(start(each).pk).pk for each in plan(asked))
    assert standing() == ([own], [own], [own])


def test_a_run_that_the_protocol_found_there_stands_as_before(dataset):
    with KnownFailures() as server:
        priced(server)
        config = failure_config(dataset, scenario="math", judges=["knows"], verdict=STRICT)
        own = start(judged_by(dataset, "knows", JudgePrompt.PAIRWISE, config)).pk
        run_to_end(own)
        command()
    assert JudgeRun.objects.filter(kind="TEST").count() == 3
    assert standing() == ([own], [own], [own])


def standing():
    """The runs of a leaderboard, those held against gold answers, and those on offer for Trust."""
    scope = leaderboard_scope(LeaderboardQuestion(dataset="mt"))
    gold = judge_options(dataset_of("mt"))
    nobody = AnnotatorChoice(0, "", judged=False)
    return (
        [run.pk for run in runs_of(scope, Source.BASE, "knows")],
        [each.run for each in gold],
        [each.id for each in verdict_runs(dataset_of("mt"), nobody)],
    )


def test_a_run_that_was_cut_short_goes_on_and_pays_nothing_twice(dataset):
    """Money for a part of the first prompt: no figures; with more, the same as at once."""
    with KnownFailures() as server:
        priced(server, concurrency=1)
        with pytest.raises(CommandError, match="budget:spent") as spent:
            command(budget=Decimal("0.003"))
        assert "--scenario math" in str(spent.value)
        paid = server.stats()["calls"]
        assert 0 < paid < 70
        assert not VerificationReport.objects.exists()
        told = json.loads(command(json=True))
        assert server.stats()["calls"] == 70 == LlmCall.objects.count()
    assert [row["failures"] for row in told["rows"]] == [14, 6, 3]


def test_prompts_that_the_money_did_not_reach_are_named(dataset, client):
    with KnownFailures() as server:
        priced(server, concurrency=1)
        # All that the first prompt takes is stored; the second one has no money.
        command()
        first, *others = JudgeRun.objects.filter(kind="TEST").order_by("pk")
        Judgment.objects.filter(run__in=others).delete()
        for run in (*others, *JudgeRun.objects.filter(kind="ABLATE")):
            run.delete()
        LlmCall.objects.exclude(run=first.pk).delete()
        with pytest.raises(CommandError, match="budget:spent: thought · knows, own-reference"):
            command(budget=Decimal("0.0001"))
    (report,) = VerificationReport.objects.all()
    assert [row["prompt"] for row in report.rows] == ["PAIRWISE"]
    client.force_login(make_user(role="VIEWER"))
    assert "before these were measured: thought · knows, own-reference" in text_of(client.get(PAGE))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"scenario": "poetry"}, "ablation:no-gold"),
        ({"verdict": "logprob"}, "ablation:needs-words"),
        ({"judge": "lexical"}, "judge:no-prompts"),
    ],
)
def test_what_cannot_be_measured_is_refused(dataset, options, code):
    make_endpoint(name="knows")
    with pytest.raises(CommandError, match=f"^{code}: ") as refused:
        command(**options)
    assert refused.value.returncode == 2
    assert not JudgeRun.objects.exists()


def test_a_manager_starts_it_from_the_page(dataset, client):
    client.force_login(make_user(role="MANAGER"))
    form = {"dataset": "mt", "vary": "prompt", "judge": "knows", "scenario": "math"}
    with KnownFailures() as server:
        priced(server)
        offered = text_of(client.get(NEW, {"dataset": "mt"}))
        assert '<option value="math">' in offered
        told = text_of(client.post(ESTIMATE, form, headers={"HX-Request": "true"}))
        assert "70" in told
        assert client.post(NEW, {**form, "verdict": "LOGPROB"}).status_code == 422
        started = client.post(NEW, form)
        run = JudgeRun.objects.get()
        assert (started.url, run.kind) == (f"/runs/{run.pk}/", "ABLATE")
        shown = text_of(client.get(started.url))
        assert "solve the request first, then compare · knows" in shown


def test_what_is_behind_a_share_is_for_those_who_see_everyone(dataset, client):
    with KnownFailures() as server:
        priced(server)
        told = json.loads(command(json=True))
    asked = {"report": told["report"], "run": told["rows"][0]["run"]}
    where = f"{PAGE}judgments/"
    assert client.get(where, asked).status_code == 302
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(where, asked).status_code == 403
    client.force_login(make_user(role="VIEWER"))
    for wrong in ({}, {"report": "x", "run": 1}, {**asked, "run": 9999}, {**asked, "report": 9999}):
        assert client.get(where, wrong).status_code == 404
    assert client.post(where, asked).status_code == 405


def test_the_list_costs_the_same_however_long(dataset, client, django_assert_max_num_queries):
    with KnownFailures() as server:
        priced(server)
        told = json.loads(command(json=True))
    client.force_login(make_user(role="VIEWER"))
    with django_assert_max_num_queries(8):
        client.get(f"{PAGE}judgments/", {"report": told["report"], "run": told["rows"][0]["run"]})


def test_a_retry_asks_what_failed_under_every_prompt_and_nothing_else(dataset):
    with KnownFailures() as server:
        priced(server)
        server.refused = "Question 3"
        rows = json.loads(command(json=True))["rows"]
        assert [row["failed"] for row in rows] == [2, 2, 2]
        calls, server.refused = server.stats()["calls"], None
        run = JudgeRun.objects.get(kind="ABLATE")
        reset_failed(run.pk)
        run_to_end(run.pk)
        assert server.stats()["calls"] == calls + 6
    rows = VerificationReport.objects.get(run=run).rows
    assert [(row["failed"], row["failures"]) for row in rows] == [(0, n) for n in FAILS.values()]
    assert JudgeRun.objects.count() == 4
