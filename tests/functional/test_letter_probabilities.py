"""A judge that leans to the first place: what it is worth in words, and by its letters' odds.

It favours the first response shown by 2.0 in log-odds and knows the better one by .6: as shown it
says +2.6 in one order and +1.4 in the other, so in words it always names the first.
"""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.core.choices import Order
from benchmark.core.trust import BASE
from benchmark.queries.evidence import voice_opinions
from judging.core.rules import JudgePrompt
from judging.models import JudgeRun, Judgment, LlmCall, ModelEndpoint, PreferenceSet
from judging.queries.run_pages import compared_runs
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_label,
    make_rater,
    make_response,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_judge import FakeAnswer, inside
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import make_study
from tests.paths import ROOT

pytestmark = pytest.mark.django_db

LEANING = "odds:thorough:0.6:2"
"""Of the study's responses the one that the annotator prefers is a "thorough answer"."""


def run_json(name, *options):
    out = StringIO()
    call_command(name, *options, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def refused(name, *options):
    with pytest.raises(CommandError) as raised:
        run_json(name, *options)
    assert raised.value.returncode == 2
    return str(raised.value)


def judge(dataset, endpoint, *options):
    return run_json(
        "judge",
        "--dataset",
        dataset.slug,
        "--judge",
        endpoint if isinstance(endpoint, str) else endpoint.name,
        "--preferences",
        "none",
        *options,
    )


def base_row(dataset):
    (row,) = run_json("report", "--dataset", dataset.slug)["rows"]
    return row


@pytest.fixture
def study():
    return make_study(comparisons=12)[0]


@pytest.mark.llm_faults
def test_in_words_it_is_right_half_the_time_and_by_l_star_always(study):
    with FakeLlm(rule=LEANING) as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        judge(study, endpoint)
        words = base_row(study)
        judge(study, endpoint, "--verdict", "logprob")
        letters = base_row(study)
    assert (words["base"], letters["base"]) == (0.5, 1.0)
    for row in (words, letters):
        assert (row["position_bias"], row["consistency"]) == (0.5, 0.0)
    for body in server.bodies:
        if body.get("logprobs"):
            assert (body["max_tokens"], body["top_logprobs"]) == (1, 20)


RECORDED = json.loads((ROOT / "tests/data/always-first.json").read_text())["rows"]


class RecordedLlm(FakeLlm):
    """Answers with the log-odds that were recorded for a pair and an order; in words, the first."""

    def _completion(self, body, act, prompt, cached):
        whole = super()._completion(body, act, prompt, cached)
        if body.get("logprobs"):
            number, side = re.findall(r"Answer (\d+)([ab])", inside(prompt, "response_a"))[0]
            _, _, original, swapped = RECORDED[int(number)]
            answer = FakeAnswer("A", log_odds=original if side == "a" else swapped)
            whole["choices"][0]["message"]["content"] = answer.text
            whole["choices"][0]["logprobs"]["content"] = answer.steps()
        return whole


@pytest.mark.llm_faults
def test_recorded_answers_that_always_say_a_are_worth_what_their_odds_are():
    """By hand: 22 of the 39 rows have the sign of original - swapped that the annotator chose."""
    dataset = make_dataset()
    ann, scenario = make_rater(dataset, "ann"), make_scenario(dataset)
    for number, (_, verdict, *_odds) in enumerate(RECORDED):
        turn = make_turn(make_session(scenario))
        a, b = (make_response(turn, text=f"Answer {number}{side}") for side in "ab")
        make_label(
            make_comparison(turn, response_a=a, response_b=b), annotator=ann, verdict=verdict
        )
    with RecordedLlm(rule="first") as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        judge(dataset, endpoint)
        words = base_row(dataset)
        judge(dataset, endpoint, "--verdict", "logprob")
        letters = base_row(dataset)
    assert (words["base"], letters["base"]) == (0.5, pytest.approx(22 / 39))
    for row in (words, letters):
        assert (row["position_bias"], row["consistency"]) == (0.5, 0.0)


def test_plus_2_6_and_plus_1_4_as_shown_say_a_once(study):
    with FakeLlm(rule=LEANING) as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        (key,) = judge(study, endpoint, "--verdict", "logprob")["runs"]
    stored = Judgment.objects.filter(run=key, comparison__response_a__text__contains="thorough")
    odds = {(order, round(value, 9)) for order, value in stored.values_list("order", "log_odds")}
    assert odds == {("ORIGINAL", 2.6), ("SWAPPED", -1.4)}  # in the comparison's own coordinates
    comparison = stored[0].comparison_id
    opinion = voice_opinions(key, BASE)[comparison]
    assert (opinion.for_a, opinion.for_b, opinion.verdict) == (1, 0, "A")
    assert opinion.log_odds == pytest.approx(0.6)
    (shown,), _pairs = compared_runs([key])
    assert (shown.right.value, shown.consistency.value) == (1.0, 0.0)


@pytest.mark.parametrize(
    "prompt", [each.word for each in JudgePrompt if each.compares and each.word != "reference"]
)
def test_every_prompt_that_compares_can_be_read_so(study, prompt):
    with FakeLlm(rule=LEANING) as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        found = judge(study, endpoint, "--verdict", "logprob", "--prompt", prompt)
    assert (found["failed"], found["unparseable"]) == (0, 0)
    run = JudgeRun.objects.get(pk=found["runs"][0])
    assert (run.config["verdict_rule"], run.config["prompt"]) == (
        "LOGPROB",
        prompt.upper().replace("-", "_"),
    )
    assert base_row(study)["base"] == 1.0


def test_an_order_that_could_not_be_read_leaves_no_verdict(study):
    with FakeLlm(rule=LEANING) as server:
        # Neither letter is among the likely tokens where the thorough answer stands first.
        server.told["<response_a>\nA long"] = Act(text="Neither")
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        found = judge(study, endpoint, "--verdict", "logprob")
    assert found["unparseable"] * 2 == found["judged"] + found["unparseable"]
    row = base_row(study)
    assert (row["base"], row["verdicts"]) == (None, 0)
    assert row["position_bias"] == 0.5  # of the orders that were read


def test_preferences_are_selected_and_applied_by_l_star(study):
    with FakeLlm(rule=LEANING) as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        where = ("--dataset", study.slug, "--judge", endpoint.name)
        run_json("distil", *where, "--verdict", "logprob")
        run_json("judge", *where)  # follows its set
    for stored in PreferenceSet.objects.all():
        matrix = stored.matrix
        assert matrix["matrix_original"] == matrix["matrix_swapped"]
        assert len(matrix["log_odds"]) == len(matrix["matrix_original"])
    assert PreferenceSet.objects.get(control="NONE").dev_accuracy == 1.0
    assert JudgeRun.objects.get(kind="TEST").config["verdict_rule"] == "LOGPROB"
    row = base_row(study)
    assert (row["base"], row["selected"]) == (1.0, 1.0)


@pytest.mark.llm_faults
def test_where_no_log_probabilities_are_returned_nothing_is_started(study):
    with FakeLlm(rule=LEANING, logprobs=False) as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=None)
        said = refused(
            "judge",
            *("--dataset", study.slug, "--judge", endpoint.name),
            *("--preferences", "none", "--verdict", "logprob"),
        )
        assert said.startswith("llm:no-logprobs")
        assert "llm:no-logprobs" in refused(
            *("judge", "--dataset", study.slug, "--judge", endpoint.name, "--estimate"),
            *("--preferences", "none", "--verdict", "logprob"),
        )
        calls = server.stats()["calls"]
        assert "llm:no-logprobs" in refused(
            "distil", "--dataset", study.slug, "--judge", endpoint.name, "--verdict", "logprob"
        )
        assert server.stats()["calls"] == calls  # it is known by now
    assert not JudgeRun.objects.exists()


@pytest.mark.llm_faults
@pytest.mark.parametrize("options", [(), ("--estimate",)])
def test_who_is_too_slow_for_its_timeout_is_told_before_the_first_call(study, options):
    with FakeLlm(rule=LEANING) as server:
        slow = {"found_tokens_per_second": 4.0, "timeout_seconds": 120, "max_tokens": 1024}
        row = make_endpoint(base_url=server.base_url, has_logprobs=True, **slow)
        asked = ("--dataset", study.slug, "--judge", row.name, "--preferences", "none", *options)
        err = StringIO()
        call_command("judge", *asked, stdout=StringIO(), stderr=err)
        told = "a reply of 1,024 tokens takes about 256 s, but the timeout is 120 s"
        assert told in err.getvalue()
        err = StringIO()
        call_command("judge", *asked, "--verdict", "logprob", stdout=StringIO(), stderr=err)
        assert "timeout" not in err.getvalue()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--judge", "lexical"), "judge:no-letters"),
        (("--judge", "fake", "--prompt", "single"), "run:no-letters"),
    ],
)
def test_what_gives_no_letters_cannot_be_read_by_them(study, options, code):
    make_endpoint(name="fake", has_logprobs=True)
    said = refused(
        "judge", "--dataset", study.slug, "--preferences", "none", "--verdict", "logprob", *options
    )
    assert said.startswith(code)


def test_the_endpoint_of_the_settings_finds_its_log_probabilities_at_first_use(study, settings):
    with FakeLlm(rule=LEANING) as server:
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.base_url, "fake"
        found = judge(study, "llm", "--verdict", "logprob")
        row = ModelEndpoint.objects.get(name="llm")
        assert (row.can("logprobs"), row.can("json_schema"), row.can("system_role")) == (
            True,
            False,
            True,
        )
        assert found["calls"] == found["judged"] == LlmCall.objects.count()
        # One small request an ability, and one for the speed.
        assert server.stats()["calls"] == found["calls"] + 4
        judge(study, "llm", "--verdict", "logprob", "--again")
        assert server.stats()["calls"] == found["calls"] + 4  # kept, and nothing is paid twice
    assert base_row(study)["base"] == 1.0
    assert {Order.ORIGINAL, Order.SWAPPED} == set(Judgment.objects.values_list("order", flat=True))


def test_an_estimate_is_what_comes_and_a_batch_file_asks_for_letters_unseen(study, tmp_path):
    with FakeLlm(rule=LEANING) as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        estimate = judge(study, endpoint, "--verdict", "logprob", "--estimate")
        assert server.stats()["calls"] == 0
        found = judge(study, endpoint, "--verdict", "logprob")
        assert estimate["calls"] == found["calls"] == server.stats()["calls"]
    # Nobody listens there, and nobody is asked what it can do.
    away = make_endpoint(has_logprobs=None, has_json_schema=None, has_system_role=None)
    path = tmp_path / "calls.jsonl"
    judge(study, away, "--verdict", "logprob", "--batch-out", str(path))
    bodies = [json.loads(line)["body"] for line in path.read_text().splitlines()]
    assert len(bodies) == found["calls"]
    assert {(body["logprobs"], body["top_logprobs"]) for body in bodies} == {(True, 20)}
