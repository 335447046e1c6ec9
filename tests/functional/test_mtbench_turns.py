"""Every way to judge reaches both turns of an MT-Bench question, from the files to the figures."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.core.management import call_command

from annotation.models import Comparison, Response
from judging.core.rules import JudgePrompt
from judging.models import JudgeRun, Judgment, ResponseScore
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.paths import ROOT

pytestmark = pytest.mark.django_db

COMPARING = [each for each in JudgePrompt if each.compares]
GRADING = [JudgePrompt.SINGLE, JudgePrompt.SINGLE_REFERENCE]
REFERENCES = "<reference>\n[1] You are first.\n\n[2] Nobody is.\n</reference>"
OWN = "1. Waves and sand. 2. Waves."
"""What the judge writes as its own reference answer to question 81, which has none."""


def command(name, *arguments):
    out = io.StringIO()
    call_command(name, *map(str, arguments), "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def server():
    """A judge that prefers the longer; two questions of two turns, answered by two models."""
    for name in ("questions", "answers", "references"):
        (path,) = (ROOT / "tests" / "data" / "formats").glob(f"mtbench-{name}.*")
        command("import_records", path, "--dataset", "mt", "--format", f"mtbench-{name}")
    command("pair", "--dataset", "mt")
    with FakeLlm() as server:
        server.told = {"check your result": Act(text=OWN)}
        make_endpoint(name="judge", base_url=server.base_url, has_logprobs=True)
        yield server


def judged(server, mode, *options):
    """The run of a mode over everything, and its prompts about second turns.

    Only these are told that there are several turns, and a first turn has its own reference alone.
    """
    asked = ("--dataset", "mt", "--targets", "all", "--preferences", "none", "--judge", "judge")
    found = command("judge", *asked, "--prompt", mode.word, *options)
    assert (found["failed"], found["unparseable"]) == (0, 0)
    prompts = [body["messages"][-1]["content"] for body in server.bodies]
    second = [each for each in prompts if "Make it shorter." in each or "And then?" in each]
    first = [each for each in prompts if each not in second]
    assert {"reference>\nYou are first.\n</" in each for each in first if "Who is" in each} == {
        mode.guided
    }
    several = [each for each in prompts if "The conversation has several turns." in each]
    if mode is not JudgePrompt.PERSONAL:
        assert several == [each for each in second if "check your result" not in each]
    return JudgeRun.objects.latest("pk"), second


def block(prompt, tag):
    return re.search(rf"<{tag}>\n(.*?)\n</{tag}>", prompt, re.DOTALL)[1]


def line(first, request, second):
    """A model's part of a conversation, as a prompt shows it."""
    return f"[Assistant]\n{first}\n\n[User]\n{request}\n\n[Assistant]\n{second}"


@pytest.mark.parametrize("rule", ["strict", "logprob"])
@pytest.mark.parametrize("mode", COMPARING)
def test_both_conversations_are_compared_on_either_turn(server, mode, rule):
    run, second = judged(server, mode, "--verdict", rule)
    comparisons = Comparison.objects.order_by("turn__position", "pk")
    assert [each.turn.position for each in comparisons] == [0, 0, 1, 1]
    told = set(Judgment.objects.filter(run=run, status="DONE").values_list("comparison", "order"))
    assert told == {(each.pk, order) for each in comparisons for order in ("ORIGINAL", "SWAPPED")}
    written = [each for each in second if "check your result" in each]
    compared = [each for each in second if each not in written]
    assert {
        frozenset(block(each, name) for name in ("response_a", "response_b")) for each in compared
    } == {
        frozenset(
            (
                line("Waves.", "Make it shorter.", "Sea."),
                line("Sand and sun.", "Make it shorter.", "Sun."),
            )
        ),
        frozenset((line("You are.", "And then?", "Nobody is."), line("Me.", "And then?", "You."))),
    }
    assert {"Describe a beach." in block(each, "dialogue") for each in compared} == {True, False}
    assert len(compared) == 4
    about_101 = [each for each in compared if "And then?" in each]
    about_81 = [each for each in compared if each not in about_101]
    assert {REFERENCES in each for each in about_101} == {mode.guided}
    has_own = mode is JudgePrompt.OWN_REFERENCE
    assert {f"<reference>\n{OWN}\n</reference>" in each for each in about_81} == {has_own}
    assert len(written) == has_own  # once for both orders, and answers both requests
    assert all("Describe a beach." in block(each, "dialogue") for each in written)


@pytest.mark.parametrize("mode", GRADING)
def test_each_response_of_either_turn_is_graded_in_its_conversation(server, mode):
    run, second = judged(server, mode)
    scores = ResponseScore.objects.filter(run=run, status="DONE")
    assert set(scores.values_list("response", flat=True)) == set(
        Response.objects.values_list("pk", flat=True)
    )
    assert Judgment.objects.filter(run=run, status="DONE", order="COMBINED").count() == 4
    shown = {
        (block(each, "dialogue").replace("\n", " "), block(each, "response")) for each in second
    }
    assert {response for _dialogue, response in shown} == {"Sea.", "Sun.", "Nobody is.", "You."}
    (beach,) = (dialogue for dialogue, response in shown if response == "Sea.")
    assert re.search("Describe a beach.*Waves.*Make it shorter", beach)
    assert "Sand and sun" not in beach
    assert {REFERENCES in each for each in second if "And then?" in each} == {mode.guided}
    found = command("leaderboard", "--dataset", "mt", "--grades")
    assert [(row["grades"], [it["turn"] for it in row["turns"]]) for row in found["models"]] == [
        (4, [1, 2]),
        (4, [1, 2]),
    ]
