"""A preference in one sentence: chosen on the page or by the command, asked, kept with the run."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from judging.core.prompts import load_prompt
from judging.core.rules import DistilPrompt, PairwiseSettings
from judging.models import JudgeRun
from judging.services.run_requests import finished_like
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import make_study, planned_distillation, start_distillation

pytestmark = pytest.mark.django_db

SENTENCE = load_prompt("distil_sentence", language="en")
SENTENCES = load_prompt("distil_preference", language="en")


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def post(manager, dataset, where="run-new", **fields):
    sent = {"dataset": dataset.slug, "kind": "DISTIL", "annotator": "", **fields}
    return manager.post(reverse(f"judging:{where}"), sent)


def opening(server):
    """How the prompts begin that were asked."""
    return {body["messages"][0]["content"].partition("\n")[0] for body in server.bodies}


def first_line(prompt):
    return prompt.text.partition("\n")[0]


def test_the_page_starts_a_distillation_in_one_sentence(manager):
    dataset, _rater = make_study()
    post(manager, dataset, judge=make_endpoint().name, distil_prompt="SENTENCE")
    run = JudgeRun.objects.get()
    assert run.config["distil_prompt"] == "SENTENCE"
    prompts = run.config["judge"]["prompts"]
    assert prompts["distil_sentence.v1.en"] == SENTENCE.digest
    assert "distil_preference.v1.en" not in prompts
    shown = manager.get(reverse("judging:run", args=[run.pk])).content.decode()
    assert "one sentence, as in the paper" in shown


@pytest.mark.parametrize("chosen", [{}, {"distil_prompt": ""}, {"distil_prompt": "SENTENCES"}])
def test_about_three_sentences_are_the_usual_way(manager, chosen):
    dataset, _rater = make_study()
    post(manager, dataset, judge=make_endpoint().name, **chosen)
    prompts = JudgeRun.objects.get().config["judge"]["prompts"]
    assert prompts["distil_preference.v1.en"] == SENTENCES.digest


def test_an_estimate_counts_the_prompts_that_would_be_asked(manager):
    dataset, _rater = make_study()
    name = make_endpoint().name
    costs = {}
    for style in DistilPrompt:
        answer = post(manager, dataset, "run-estimate", judge=name, distil_prompt=style.value)
        (found,) = answer.context["estimates"]
        costs[style] = found.input_tokens
    assert len(set(costs.values())) == len(DistilPrompt)


@pytest.mark.parametrize(("option", "prompt"), [("sentence", SENTENCE), ("sentences", SENTENCES)])
def test_the_command_asks_as_it_is_told_and_the_run_keeps_it(option, prompt):
    dataset, _rater = make_study()
    out = StringIO()
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url).name
        call_command(
            "distil", dataset=dataset.slug, judge=name, preference=option, json=True, stdout=out
        )
        asked = opening(server)
    others = {first_line(each) for each in (SENTENCE, SENTENCES)} - {first_line(prompt)}
    assert first_line(prompt) in asked
    assert not others & asked
    (row,) = json.loads(out.getvalue())["scenarios"]
    assert JudgeRun.objects.get(pk=row["run"]).config["distil_prompt"] == option.upper()


def test_a_distillation_by_the_other_prompt_is_not_taken_for_it():
    dataset, rater = make_study()
    name = make_endpoint().name
    asked = {"dataset": dataset, "annotator": rater, "judge": name}
    usual = start_distillation(**asked)
    JudgeRun.objects.update(status="DONE")
    assert finished_like(planned_distillation(**asked)) == usual
    short = PairwiseSettings(distil_prompt=DistilPrompt.SENTENCE)
    assert finished_like(planned_distillation(**asked, settings=short)) is None
