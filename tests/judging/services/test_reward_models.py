"""A reward model scores each response; two scores make a verdict."""

from __future__ import annotations

import pytest

from annotation.models import Response
from judging.core.rules import JudgePrompt
from judging.models import JudgeRun, Judgment, ResponseScore
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import make_study, start_distillation, start_test_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    dataset, rater = make_study(comparisons=3)
    for response in Response.objects.all():
        Response.objects.filter(pk=response.pk).update(text=f"{response.text} {response.pk}")
    return {"dataset": dataset, "annotator": rater}


def reward_model(server):
    url = server.base_url.replace("/v1", "/score")
    return make_endpoint(base_url=url, has_scores=True, model="reward").name


def start(study, judge):
    return start_test_run(**study, judge=judge, with_sets=False, prompt=JudgePrompt.REWARD)


def test_scores_are_stored_and_the_higher_one_wins(study):
    with FakeLlm() as server:
        name = reward_model(server)
        run = run_to_end(start(study, name).pk)
        calls = server.stats()["calls"]
        body = server.bodies[0]
        again = run_to_end(start(study, name).pk)
        assert server.stats()["calls"] == calls == 6
    assert (run.kind, run.status, again.status) == ("GRADE", "DONE", "DONE")
    for score in ResponseScore.objects.filter(run=run).select_related("response"):
        assert (score.scale, score.value) == ("reward", len(score.response.text) / 10)
    for row in Judgment.objects.filter(run=run).select_related("comparison"):
        a, b = row.comparison.response_a.text, row.comparison.response_b.text
        assert row.verdict == ("A" if len(a) > len(b) else "B")
    assert set(body) == {"model", "prompt", "response", "messages"}
    assert body["messages"][-1] == {"role": "assistant", "content": body["response"]}


def test_an_answer_without_a_number_leaves_its_comparison_without_a_verdict(study):
    with FakeLlm(script=[Act(status=400), *[Act(body={"text": "good"})] * 99]) as server:
        run = run_to_end(start(study, reward_model(server)).pk)
    codes = set(ResponseScore.objects.filter(run=run).values_list("error_code", flat=True))
    assert (run.status, codes) == ("FAILED", {"llm:bad-request", "llm:malformed"})
    assert not Judgment.objects.filter(run=run, status="DONE").exists()


def test_a_reward_model_only_scores_and_a_chat_model_does_not(study):
    with refuses("judge:no-scores"):
        start(study, make_endpoint().name)
    reward = make_endpoint(name="reward", has_scores=True).name
    with refuses("judge:only-scores"):
        start_test_run(**study, judge=reward, with_sets=False, prompt=JudgePrompt.SINGLE)
    with refuses("judge:only-scores"):
        start_distillation(**study, judge=reward)
    assert not JudgeRun.objects.exists()
