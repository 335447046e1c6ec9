"""A run whose endpoint is dead stops, says so in a sentence, and goes on where it stood."""

from __future__ import annotations

import socket

import pytest
from django.core.management.base import CommandError

from annotation.core.refusals import Refused
from annotation.models import Response
from judging.llm import transport
from judging.llm.transport import Transport
from judging.models import JudgeRun, Judgment, ModelEndpoint
from judging.services import run_control
from judging.services.endpoints import endpoint_row_from_settings
from judging.services.foreground import run_to_end
from tests.clock import PATIENCE, deadline_at
from tests.factory import make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import make_study, start_distillation, start_test_run
from tests.sensejudge_site.test_distil_and_judge import run_json

pytestmark = [pytest.mark.django_db, pytest.mark.llm_faults]


@pytest.fixture
def study():
    dataset, rater = make_study(comparisons=50)
    for response in Response.objects.all():
        response.text = f"{response.text} No {response.pk}."
        response.save()
    return dataset, rater


@pytest.fixture
def closed_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def started(study, endpoint):
    dataset, rater = study
    return start_test_run(dataset=dataset, annotator=rater, judge=endpoint.name, with_sets=False)


def statuses(run):
    rows = Judgment.objects.filter(run=run).values_list("status", "error_code")
    return sorted(rows)


def test_a_refused_key_stops_the_run_after_three_calls_and_a_retry_asks_the_rest(study):
    with FakeLlm(script=[Act(status=401)] * 500) as server:
        run = run_to_end(started(study, make_endpoint(base_url=server.base_url, concurrency=1)).pk)
        calls = server.stats()["calls"]
        assert (run.status, run.error_code) == ("FAILED", "run:endpoint-down")
        assert run.error_detail == "llm:refused-key: HTTP 401 scripted 401"
        assert calls == 3
        assert run.finished_at is not None
        failed, pending = [("FAILED", "llm:refused-key")] * 2, [("PENDING", "")] * 98
        assert statuses(run) == failed + pending
        server.script.clear()  # the key is mended
        assert run_control.reset_failed(run.pk) == 100
        run = run_to_end(run.pk)
        assert (run.status, run.error_code, run.error_detail) == ("DONE", "", "")
        assert statuses(run) == [("DONE", "")] * 100
        assert server.stats()["calls"] == calls + 100


WEB_PAGE = b"<!doctype html><title>Welcome</title>"


@pytest.mark.parametrize(
    ("act", "code", "requests"),
    [
        # One request asks what it can do, then three calls at once: 15 s and 120 s at defaults.
        (Act(delay=PATIENCE), "llm:timeout", 4),
        (Act(raw=WEB_PAGE), "llm:no-api", 4),
        (Act(status=404, raw=WEB_PAGE), "llm:unknown-model", 4),
        # Each call is tried five times: a server may only be starting.
        (Act(status=502, raw=WEB_PAGE), "llm:unavailable", 1 + 3 * 5),
        (None, "llm:unavailable", 1 + 3 * 5),
    ],
    ids=["hang", "page", "page-404", "page-502", "refused"],
)
def test_an_endpoint_that_never_answered_is_given_up_after_three_calls(
    study, closed_port, monkeypatch, act, code, requests
):
    posts, under_way, most = [], [0], [0]
    ask = Transport.ask

    async def counted(self, body, say=None):
        posts.append(body)
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        try:
            return await ask(self, body, say)
        finally:
            under_way[0] -= 1

    monkeypatch.setattr(Transport, "ask", counted)
    with FakeLlm(script=[act] * 999 if act else []) as server:
        port = server.port if act else closed_port
        if code == "llm:timeout":
            monkeypatch.setattr(transport, "deadline", deadline_at(lambda: server.bodies))
        unknown = dict.fromkeys(("has_logprobs", "has_json_schema", "has_system_role"))
        endpoint = make_endpoint(
            base_url=f"http://127.0.0.1:{port}/v1", timeout_seconds=PATIENCE, **unknown
        )
        run = run_to_end(started(study, endpoint).pk)
        assert most == [3]
        assert server.stats()["calls"] <= len(posts) <= requests
    assert (run.status, run.error_code) == ("FAILED", "run:endpoint-down")
    assert run.error_detail.startswith(f"{code}: ")


def test_at_most_the_calls_under_way_follow_the_one_that_was_too_many(study):
    with FakeLlm(script=[Act(status=404)] * 500, latency=0.02) as server:
        run = run_to_end(started(study, make_endpoint(base_url=server.base_url, concurrency=8)).pk)
        assert server.stats()["calls"] <= 3 + 8
    assert (run.status, run.error_code) == ("FAILED", "run:endpoint-down")
    assert run.error_detail.startswith("llm:unknown-model: HTTP 404")
    assert Judgment.objects.filter(run=run, status="PENDING").count() == 98


def test_what_was_answered_before_the_endpoint_died_stays(study):
    answers = [Act() for _ in range(30)]
    with FakeLlm(script=[*answers, *[Act(status=401)] * 500]) as server:
        endpoint = make_endpoint(base_url=server.base_url, concurrency=1)
        run = run_to_end(started(study, endpoint).pk)
    done = Judgment.objects.filter(run=run, status="DONE").count()
    assert (run.error_code, done) == ("run:endpoint-down", 30)


def test_a_closed_port_stops_a_distillation_at_its_first_step(study, closed_port):
    dataset, rater = study
    endpoint = make_endpoint(base_url=f"http://127.0.0.1:{closed_port}/v1", concurrency=32)
    run = start_distillation(dataset=dataset, annotator=rater, judge=endpoint.name)
    run = run_to_end(run.pk)
    assert (run.status, run.stage, run.error_code) == ("FAILED", "distil", "run:endpoint-down")
    assert run.error_detail == "llm:unavailable: no connection (Connection refused)"
    assert not Judgment.objects.filter(run=run).exclude(status="PENDING").exists()
    assert run.preferences.filter(status="FAILED").count() < 8  # equal questions share a call


def test_the_other_judges_of_a_command_go_on_and_it_says_which_failed(study):
    dataset, _ = study
    with FakeLlm(rule="longer") as server, FakeLlm(script=[Act(status=401)] * 500) as dead:
        make_endpoint(name="alive", base_url=server.base_url)
        make_endpoint(name="dead", base_url=dead.base_url, concurrency=1)
        with pytest.raises(CommandError) as stopped:
            run_json(
                "judge",
                *("--dataset", dataset.slug, "--judge", "dead,alive", "--preferences", "none"),
            )
    first, second = JudgeRun.objects.order_by("pk")
    assert (second.judge, second.status) == ("alive", "DONE")
    assert Judgment.objects.filter(run=second, status="DONE").count() == 100
    assert stopped.value.returncode == 1
    said = str(stopped.value)
    assert said.startswith(f"run {first.pk} ({first.annotator}, dead): failed run:endpoint-down (")
    assert "(llm:refused-key: HTTP 401 scripted 401)." in said
    assert "repeated endpoint failures" in said
    assert "Check the environment variable set for this endpoint" in said
    assert "\n" not in said


def test_its_page_says_so_and_offers_to_retry(client, study):
    with FakeLlm(script=[Act(status=401)] * 500) as server:
        run = run_to_end(started(study, make_endpoint(base_url=server.base_url, concurrency=1)).pk)
    client.force_login(make_user(role="MANAGER"))
    page = client.get(f"/runs/{run.pk}/").content.decode()
    told = ("Retry failed calls", "llm:refused-key", "Check the environment variable set")
    for said in ("repeated endpoint failures", "HTTP 401", *told):
        assert said in page


@pytest.fixture
def stopped(study, settings, closed_port):
    """A run of the judge that the settings name, at whose address nobody listened."""
    dataset, rater = study
    settings.LLM_BASE_URL, settings.LLM_MODEL = f"http://127.0.0.1:{closed_port}/v1", "first"
    row = endpoint_row_from_settings()
    ModelEndpoint.objects.update(has_logprobs=False, has_json_schema=False, has_system_role=True)
    run = start_test_run(dataset=dataset, annotator=rater, judge=row.name, with_sets=False)
    JudgeRun.objects.update(status="FAILED", error_code="run:endpoint-down")
    return run


def test_a_retry_asks_the_endpoint_as_it_is_configured_now(stopped, settings):
    with FakeLlm() as server:
        settings.LLM_BASE_URL, settings.LLM_TIMEOUT_SECONDS = server.base_url, 77.0
        assert run_control.reset_failed(stopped.pk) == 100
        assert run_to_end(stopped.pk).status == "DONE"
        assert server.stats()["calls"] == 100
    assert ModelEndpoint.objects.get().timeout_seconds == 77.0


def test_a_retry_by_another_model_is_refused(stopped, settings, client):
    settings.LLM_MODEL = "second"
    with pytest.raises(Refused, match=f"run {stopped.pk} began with first, and llm now is second"):
        run_control.reset_failed(stopped.pk)
    with pytest.raises(CommandError, match=r"^run:model-changed: run .* began with first"):
        run_json("judge", "--retry", str(stopped.pk))
    client.force_login(make_user(role="MANAGER"))
    page = client.post(f"/runs/{stopped.pk}/retry/", follow=True).content.decode()
    assert "model was changed" in page
    stopped.refresh_from_db()
    assert stopped.status == "FAILED"


def test_a_run_whose_endpoint_was_given_another_model_stops_before_it_asks(stopped):
    JudgeRun.objects.update(status="PENDING", error_code="")
    with FakeLlm() as server:
        ModelEndpoint.objects.update(base_url=server.base_url, model="second")
        run = run_to_end(stopped.pk)
        assert server.stats()["calls"] == 0
    assert (run.status, run.error_code) == ("FAILED", "run:model-changed")


def test_an_endpoint_that_is_not_in_use_any_more_is_not_asked_again(stopped):
    ModelEndpoint.objects.update(enabled=False)
    with pytest.raises(Refused, match="not enabled"):
        run_control.reset_failed(stopped.pk)
