"""A model that says the form back: what becomes of its replies, and what they cost.

Requests are counted by their body, at the endpoint: nothing is asked twice in the same words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotation.models import Role
from judging.models import (
    InducedRubric,
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.runs import run_progress
from tests.factory import make_endpoint, make_user
from tests.fake_judge import REMINDERS
from tests.fake_llm import Act, FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.llm_faults]

FORM = (
    "If Response A is better: The final decision is Response A.\n"
    "If Response B is better: The final decision is Response B."
)


def run_json(name, *options):
    """What a command prints as JSON; where it ends with 1, what it printed before."""
    out = StringIO()
    with suppress(CommandError):
        call_command(name, *options, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def judge_at(server):
    return make_endpoint(base_url=server.base_url).name


def asked_how_often(server):
    return Counter(json.dumps(body, sort_keys=True) for body in server.bodies)


def second_tries(server):
    return sum(body["messages"][-1]["content"] in REMINDERS for body in server.bodies)


def test_a_model_that_only_echoes_gives_no_verdict_and_is_asked_nothing_twice():
    dataset, _ = make_study(comparisons=8)
    with FakeLlm(style="echo") as server:
        options = ("--dataset", dataset.slug, "--judge", judge_at(server))
        distilled = run_json("distil", *options)
        judged = run_json("judge", *options, "--preferences", "none")
        first = asked_how_often(server)
        assert set(first.values()) == {1}
        run_json("distil", *options)
        again = run_json("judge", *options, "--preferences", "none")
        assert asked_how_often(server) == first
    assert (judged["judged"], judged["unparseable"], judged["failed"]) == (0, 16, 0)
    assert judged["errors"] == {"verdict:echo": 16}
    assert (again["calls"], again["second_tries"]) == (0, 0)
    # Every question that was put got one reminder, and each is a call with a key of its own.
    assert second_tries(server) * 2 == len(first) == LlmCall.objects.count()
    texts = Preference.objects.filter(run__kind="DISTIL")
    assert set(texts.values_list("status", "error_code")) == {("FAILED", "preference:echo")}
    assert {row["error_code"] for row in distilled["scenarios"]} == {"selection:no-verdict"}
    rows = Judgment.objects.filter(run__kind="TEST")
    assert set(rows.values_list("verdict", "call__attempt")) == {(None, 1)}


def test_a_model_that_decides_at_the_reminder_is_read(client):
    dataset, _ = make_study(comparisons=8)
    with FakeLlm(style="echo-first") as server:
        options = ("--dataset", dataset.slug, "--judge", judge_at(server))
        distilled = run_json("distil", *options)
        judged = run_json("judge", *options)
        asked = asked_how_often(server)
        assert set(asked.values()) == {1}
        assert run_json("judge", *options)["calls"] == 0
        assert asked_how_often(server) == asked
    with FakeLlm() as server:
        plainly = judge_at(server)
        plain = run_json("distil", "--dataset", dataset.slug, "--judge", plainly)
    (one,), (other,) = distilled["scenarios"], plain["scenarios"]
    assert one["preferences"] == other["preferences"]
    assert (one["dev_accuracy"], one["used"]) == (other["dev_accuracy"], other["used"])
    assert (judged["unparseable"], judged["errors"]) == (0, {})
    assert judged["calls"] == 2 * judged["second_tries"] > 0
    progress = [run_progress(run.pk) for run in JudgeRun.objects.filter(judge=options[3])]
    assert sum(each.second_tries for each in progress) * 2 == sum(each.calls for each in progress)
    client.force_login(make_user(role=Role.VIEWER))
    page = client.get(reverse("judging:run", args=judged["runs"])).content.decode()
    assert "<dt>retries</dt>" in page
    assert f"<dd> {judged['second_tries']} <span" in " ".join(page.split())
    old = JudgeRun.objects.filter(judge=plainly).get()
    page = client.get(reverse("judging:run", args=[old.pk])).content.decode()
    assert "<dt>retries</dt>" not in page


def test_an_echo_counts_as_any_other_row_without_a_verdict(client):
    """The figures of a judge that echoes on some comparisons are those of one that talks there."""
    found = {}
    client.force_login(make_user(role=Role.VIEWER))
    for name, said in {"echo": FORM, "talk": "Both have their merits."}.items():
        dataset, _ = make_study(comparisons=8)
        with FakeLlm() as server:
            server.told = {"<response_a>\nShort.": Act(text=said)}
            options = ("--dataset", dataset.slug, "--judge", judge_at(server))
            judged = run_json("judge", *options, "--preferences", "none")
        assert judged["unparseable"] == 8
        report = run_json("report", "--dataset", dataset.slug)
        assert '"unreadable": 8' in json.dumps(report)
        found[name] = [without_names(report), *told_under_both_policies(client, dataset)]
        exported = StringIO()
        call_command("export_records", "judgments", "--dataset", dataset.slug, stdout=exported)
        rows = [json.loads(line) for line in exported.getvalue().splitlines()]
        code = {"echo": "verdict:echo", "talk": "verdict:unparseable"}[name]
        without = [row for row in rows if row["verdict"] is None]
        assert [(row["error_code"], row["raw"]) for row in without] == [(code, said)] * 8
    assert found["echo"] == found["talk"]


def told_under_both_policies(client, dataset):
    """The sentences that Trust opens with: replies without a verdict left out, and as wrong."""
    told = []
    for policy in ("EXCLUDED", "WRONG"):
        page = client.get(f"/trust/?dataset={dataset.slug}&policy={policy}").content.decode()
        told += re.findall(r'class="answer[^>]*>\s*<b>([^<]*)</b>', page)
    assert len(told) == 2
    assert told[0] != told[1]
    return told


def without_names(value):
    if isinstance(value, dict):
        return {
            key: without_names(one)
            for key, one in value.items()
            if key not in {"dataset", "judge", "judges", "run", "runs", "annotator"}
        }
    return [without_names(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("language", ["en", "zh"])
def test_memories_and_scores_of_placeholders_fail_and_are_asked_nothing_twice(language):
    dataset = make_ratings(people=3, language=language)
    with FakeLlm(style="echo") as server:
        options = ("--dataset", dataset.slug, "--evaluator")
        endpoint = judge_at(server)
        found = run_json("score_turns", *options, endpoint)
        asked = asked_how_often(server)
        assert set(asked.values()) == {1}
        assert run_json("score_turns", *options, endpoint)["calls"] == 0
        assert asked_how_often(server) == asked
    assert found["calls"] == 2 * found["second_tries"] == len(asked)
    memories = UserMemory.objects.order_by()
    assert set(memories.values_list("status", "error_code")) == {("UNPARSEABLE", "memory:echo")}
    scores = SatisfactionJudgment.objects.order_by()
    assert set(scores.values_list("score", "error_code")) == {(None, "memory:missing")}
    with FakeLlm(style="echo") as server:
        endpoint = judge_at(server)
        run_json("score_turns", *options, endpoint, "--variant", "no-memory")
        assert set(asked_how_often(server).values()) == {1}
    alone = scores.filter(run__judge=endpoint)
    assert set(alone.values_list("score", "error_code")) == {(None, "score:echo")}
    with FakeLlm(style="echo-first") as server:
        endpoint = judge_at(server)
        found = run_json("score_turns", *options, endpoint)
        assert set(asked_how_often(server).values()) == {1}
    assert (found["unparseable"], found["failed"], found["errors"]) == (0, 0, {})
    assert found["scored"] > 0


def test_rubrics_of_placeholders_fail():
    dataset = make_ratings(people=4)
    with FakeLlm(style="echo") as server:
        endpoint = judge_at(server)
        options = ("--dataset", dataset.slug, "--evaluator", endpoint, "--variant", "spur")
        run_json("score_turns", *options)
        assert set(asked_how_often(server).values()) == {1}
    first = InducedRubric.objects.filter(step="TURN").order_by()
    assert set(first.values_list("status", "error_code")) == {("UNPARSEABLE", "rubrics:echo")}
