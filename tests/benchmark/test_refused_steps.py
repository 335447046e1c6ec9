"""Ablations of which an endpoint cannot take a part: the rest is measured."""

import pytest
from django.core.management import CommandError

from benchmark.core.ablation import Vary
from benchmark.queries.ablations import ablation_of
from judging.models import JudgeRun, Judgment, ModelEndpoint, RunUnit
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from judging.services.run_control import reset_failed
from tests.benchmark.test_ablations import PAGE, command, planned
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import FakeJudge, make_study, opener_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(comparisons=40)


def test_what_an_endpoint_cannot_take_is_left_out_and_the_rest_is_measured(study, client):
    dataset, _rater = study
    with FakeLlm() as server:
        for name, context in (("fake", None), ("small", 16)):
            fields = {"base_url": server.base_url, "found_context_tokens": context}
            make_endpoint(name=name, model=name, **fields)
        with pytest.raises(CommandError, match="4 steps could not be finished") as failed:
            command(dataset=dataset.slug, vary="judge", judge="fake,small")
    assert failed.value.returncode == 1
    run = JudgeRun.objects.get(kind="ABLATE")
    assert run.status == "DONE"
    found = ablation_of(run.pk)
    assert [row.variant for row in found.rows] == ["fake > fake"]
    assert {code for _name, code in found.refused} == {"llm:context"}
    client.force_login(make_user(role="VIEWER"))
    assert "does not fit into the model&#x27;s context" in client.get(PAGE).content.decode()
    ModelEndpoint.objects.update(found_context_tokens=None)
    reset_failed(run.pk)
    assert run_to_end(run.pk, opener=opener_of(FakeJudge())).status == "DONE"
    found = ablation_of(run.pk)
    assert (len(found.rows), found.refused) == (4, ())


def test_an_ablation_of_which_nothing_can_be_started_says_why(study):
    name = make_endpoint(found_context_tokens=16).name
    run = run_to_end(start(planned(study, Vary.DEV_SIZE, [name])).pk)
    assert (run.status, run.error_code) == ("FAILED", "llm:context")
    assert "takes 16 tokens" in run.error_detail


def test_a_retry_asks_what_failed_in_every_step_once(study):
    """A distillation and two judges' runs, in each a row that failed for good; the last row of all.

    The reply comes out as before, so that all steps rest on the same preferences.
    """
    run = run_to_end(start(planned(study, Vary.DEV_SIZE)).pk, opener=opener_of(FakeJudge()))
    known, runs = ablation_of(run.pk).rows, JudgeRun.objects.count()
    steps = RunUnit.objects.filter(run=run).order_by("position").values_list("child", flat=True)
    failing = [steps[0], steps[1], steps[3]]
    for child in failing:
        row = Judgment.objects.filter(run=child).last()
        told = {"verdict": None, "raw": "", "log_odds": None, "error_code": "llm:bad-request"}
        Judgment.objects.filter(pk=row.pk).update(status="FAILED", **told)
    judge = FakeJudge()
    reset_failed(run.pk)
    again = run_to_end(run.pk, opener=opener_of(judge))
    assert (again.status, len(judge.asked)) == ("DONE", len(failing))
    assert not Judgment.objects.filter(status="FAILED").exists()
    assert (ablation_of(run.pk).rows, JudgeRun.objects.count()) == (known, runs)
