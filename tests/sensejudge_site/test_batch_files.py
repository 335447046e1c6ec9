"""A run by batch file ends as one that asked by itself; a small script plays the provider."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Response
from judging.models import JudgeRun, Judgment, LlmCall
from judging.services import run_control
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import make_study
from tests.sensejudge_site.test_distil_and_judge import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with FakeLlm(rule="longer") as server:
        yield server


@pytest.fixture
def endpoint(server):
    return make_endpoint(
        name="fake", base_url=server.base_url, input_price=1, output_price=2, batch_price_share=0.5
    )


@pytest.fixture
def dataset():
    dataset, _ = make_study(comparisons=6)
    for response in Response.objects.all():
        response.text = f"{response.text} No {response.pk}."
        response.save()
    return dataset


def provider(requests: Path, replies: Path, server: FakeLlm) -> int:
    """Sends every line's body and writes what comes back in the layout of a batch's output."""
    lines = requests.read_text(encoding="utf-8").splitlines()
    answered = [answer(json.loads(line), server) for line in reversed(lines)]
    replies.write_text("".join(f"{json.dumps(one)}\n" for one in answered), encoding="utf-8")
    return len(lines)


def answer(asked: dict[str, Any], server: FakeLlm) -> dict[str, Any]:
    assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
    line = HTTPConnection("127.0.0.1", server.port, timeout=10)
    line.request("POST", asked["url"], json.dumps(asked["body"]))
    response = line.getresponse()
    status, body = response.status, json.loads(response.read())
    line.close()
    found = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": asked["custom_id"], "response": found, "error": None}


def command(name, dataset, *options):
    more = ("--preferences", "none") if name == "judge" else ("--no-control",)
    return run_json(name, "--dataset", dataset.slug, "--judge", "fake", *more, *options)


def verdicts(of):
    rows = Judgment.objects.filter(run=of).order_by("comparison_id", "preference_id", "order")
    return list(rows.values_list("comparison_id", "order", "status", "verdict", "error_code"))


def test_a_run_by_file_ends_as_one_that_asked_by_itself(dataset, endpoint, server, tmp_path):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    written = command("judge", dataset, "--batch-out", str(out))
    assert (written["requests"], written["waiting"]) == (12, written["runs"])
    by_file = JudgeRun.objects.get()
    assert (by_file.status, server.stats()["calls"]) == ("BATCH", 0)
    assert provider(out, back, server) == 12
    read = command("judge", dataset, "--batch-in", str(back))
    assert (read["stored"], read["refused"], read["waiting"], read["judged"]) == (12, 0, [], 12)
    by_file.refresh_from_db()
    assert (by_file.status, by_file.error_code) == ("DONE", "")
    calls = list(LlmCall.objects.filter(run=by_file))
    assert {call.key for call in calls} == {
        json.loads(line)["custom_id"] for line in out.read_text().splitlines()
    }
    for call in calls:  # half of a price of 1 and 2 for a million tokens
        assert call.cost is not None
        assert abs(float(call.cost) - (call.input_tokens + 2 * call.output_tokens) / 2e6) < 2e-8
    # The same run live finds every reply in the store.
    asked_before = server.stats()["calls"]
    live = JudgeRun.objects.get(pk=command("judge", dataset)["runs"][0])
    assert server.stats()["calls"] == asked_before
    assert live.pk != by_file.pk
    assert verdicts(live) == verdicts(by_file)


def test_a_distillation_takes_a_file_for_each_step(dataset, endpoint, server, tmp_path):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    requests = []
    for _ in range(2):
        requests.append(command("distil", dataset, "--batch-out", str(out))["requests"])
        provider(out, back, server)
        found = command("distil", dataset, "--batch-in", str(back))
        if found["waiting"]:
            assert found["scenarios"] == []
    assert requests[0] == 4  # three pairs and their aggregate
    assert requests[1] > 0
    assert JudgeRun.objects.get().status == "DONE"
    assert [row["dev"] for row in found["scenarios"]] == [3]
    assert server.stats()["calls"] == LlmCall.objects.count() == sum(requests)


def test_the_judge_s_own_references_take_a_file_before_the_verdicts(
    dataset, endpoint, server, tmp_path
):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    requests = []
    for _ in range(2):
        found = command("judge", dataset, "--prompt", "own-reference", "--batch-out", str(out))
        requests.append(found["requests"])
        provider(out, back, server)
        words = ("--prompt", "own-reference", "--batch-in", str(back))
        found = command("judge", dataset, *words)
    assert requests == [6, 12]  # one a comparison, then both orders
    assert (found["judged"], found["waiting"], server.stats()["calls"]) == (12, [], 18)


def test_the_second_round_is_announced(dataset, endpoint, server, tmp_path):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    asked = ("distil", "--dataset", dataset.slug, "--judge", "fake", "--no-control")
    _out, said = run(*asked, "--batch-out", str(out))
    number = JudgeRun.objects.get().pk
    assert f"{out}: 4 requests; read the replies with --batch-in" in said
    assert f"run {number}: a second round follows" in said
    provider(out, back, server)
    _out, said = run(*asked, "--batch-in", str(back))
    assert f"run {number}: more calls to make; write them with --batch-out" in said
    _out, said = run(*asked, "--batch-out", str(out))
    assert "second round" not in said
    provider(out, back, server)
    _out, said = run(*asked, "--batch-in", str(back))
    assert "more calls" not in said


def test_an_empty_round_is_not_written_and_the_run_goes_on(dataset, endpoint, server, tmp_path):
    """All replies are there: from the same run, which asked by itself."""
    command("judge", dataset)
    out = tmp_path / "out.jsonl"
    found = command("judge", dataset, "--batch-out", str(out))
    assert (found["requests"], found["judged"], found["waiting"]) == (0, 12, [])
    assert not out.exists()
    assert JudgeRun.objects.order_by("-pk").first().status == "DONE"
    asked = ("--dataset", dataset.slug, "--judge", "fake", "--preferences", "none")
    assert (
        f"{out} was not written: there is nothing to ask"
        in run("judge", *asked, "--batch-out", str(out))[1]
    )


def test_the_first_round_is_passed_over_where_its_replies_are_stored(
    dataset, endpoint, server, tmp_path
):
    out = tmp_path / "out.jsonl"
    command("distil", dataset)
    LlmCall.objects.filter(judgments__isnull=False).delete()
    found = command("distil", dataset, "--batch-out", str(out))
    assert found["requests"] == len(out.read_text().splitlines()) > 4
    assert JudgeRun.objects.order_by("-pk").first().stage == "judge"


def test_a_refused_request_of_two_runs_is_counted_once(dataset, endpoint, server, tmp_path):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    Response.objects.update(text="the same")
    command("judge", dataset, "--batch-out", str(out))
    server.script.append(Act(status=400))
    asked = provider(out, back, server)
    with pytest.raises(CommandError, match="refused 1 request, "):
        command("judge", dataset, "--batch-in", str(back))
    assert asked < 12  # equal questions are one request
    assert Judgment.objects.filter(status="FAILED").count() > 1


def test_replies_may_come_in_parts_and_unreadable_ones_are_asked_again(
    dataset, endpoint, server, tmp_path
):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    command("judge", dataset, "--batch-out", str(out))
    server.script.append(Act(text="No idea."))
    provider(out, back, server)
    lines = back.read_text().splitlines(keepends=True)
    back.write_text("".join(lines[:8]))
    part = command("judge", dataset, "--batch-in", str(back))
    # Seven are judged, one could not be read, and four have no reply yet.
    assert (part["stored"], part["judged"], len(part["waiting"])) == (8, 7, 1)
    again = command("judge", dataset, "--batch-out", str(out))
    assert again["requests"] == 5
    provider(out, back, server)
    assert command("judge", dataset, "--batch-in", str(back))["judged"] == 12


def test_what_the_provider_refused_fails_with_its_code_and_may_be_tried_again(
    dataset, endpoint, server, tmp_path
):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    command("judge", dataset, "--batch-out", str(out))
    server.script += [Act(status=400), Act(status=500)]
    provider(out, back, server)
    shown = StringIO()
    asked = ("--dataset", dataset.slug, "--judge", "fake", "--preferences", "none", "--json")
    with pytest.raises(CommandError, match="the provider refused 2 requests") as refused:
        call_command("judge", *asked, "--batch-in", str(back), stdout=shown)
    assert refused.value.returncode == 1
    found = json.loads(shown.getvalue())
    assert (found["judged"], found["refused"], found["waiting"]) == (10, 2, [])
    assert found["errors"] == {"llm:bad-request": 1, "llm:unavailable": 1}
    one = JudgeRun.objects.get()
    run_control.reset_failed(one.pk)
    one.refresh_from_db()
    assert one.status == "BATCH"
    assert command("judge", dataset, "--batch-out", str(out))["requests"] == 2


def test_a_file_with_faults_is_refused_whole(dataset, endpoint, server, tmp_path):
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    command("judge", dataset, "--batch-out", str(out))
    provider(out, back, server)
    lines = back.read_text().splitlines(keepends=True)
    back.write_text("".join(["{\n", *lines, lines[0], '{"custom_id": "x"}\n']))
    with pytest.raises(CommandError) as refused:
        command("judge", dataset, "--batch-in", str(back))
    assert refused.value.returncode == 2
    said = str(refused.value)
    assert [line.split(":")[0] for line in said.splitlines()] == [
        "batch",
        "line 1",
        "line 14",
        "line 15",
    ]
    assert (LlmCall.objects.count(), Judgment.objects.exclude(status="PENDING").count()) == (0, 0)
    assert JudgeRun.objects.get().status == "BATCH"


def test_its_page_says_what_it_waits_for_and_stops_it(client, dataset, endpoint, tmp_path):
    command("judge", dataset, "--batch-out", str(tmp_path / "out.jsonl"))
    one = JudgeRun.objects.get()
    client.force_login(make_user(role="MANAGER"))
    page = client.get(f"/runs/{one.pk}/").content.decode()
    for said in ("Waiting for a batch file", "--batch-in", "calls by batch file", "Stop"):
        assert said in page
    assert "Retry" not in page
    client.post(f"/runs/{one.pk}/stop/")
    one.refresh_from_db()
    assert one.status == "CANCELLED"


def test_nobody_asks_the_endpoint_for_such_a_run(dataset, endpoint, server, tmp_path):
    """Not even a worker that finds it under way."""
    command("judge", dataset, "--batch-out", str(tmp_path / "out.jsonl"))
    JudgeRun.objects.update(status="PENDING")

    class StopError(Exception):
        pass

    def stop(_seconds):
        raise StopError

    with pytest.raises(StopError):
        run_to_end(JudgeRun.objects.get().pk, sleep=stop)
    assert server.stats()["calls"] == 0
    assert Judgment.objects.exclude(status="PENDING").count() == 0


def test_a_file_that_could_pass_the_budget_is_not_written(dataset, endpoint, tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(CommandError, match="budget:spent"):
        command("judge", dataset, "--batch-out", str(out), "--budget", "0.001")
    assert not out.exists()
    found = command("judge", dataset, "--batch-out", str(out), "--budget", "1")
    assert found["requests"] == 12


def test_wrong_arguments_end_with_one_line(dataset, endpoint, tmp_path):
    with pytest.raises(CommandError, match="calls no endpoint") as refused:
        run("distil", "--dataset", dataset.slug, "--batch-out", str(tmp_path / "x"))
    assert refused.value.returncode == 2
    make_endpoint(name="reward", base_url="http://127.0.0.1:9/score", has_scores=True)
    with pytest.raises(CommandError, match="batch:no-chat: reward scores responses") as scores:
        run(
            *("judge", "--dataset", dataset.slug, "--judge", "reward", "--prompt", "reward"),
            *("--batch-out", str(tmp_path / "x")),
        )
    assert scores.value.returncode == 2
    assert not JudgeRun.objects.exists()
    assert not (tmp_path / "x").exists()
    with pytest.raises(CommandError, match="No such file") as missing:
        command("judge", dataset, "--batch-in", str(tmp_path / "nothing"))
    assert missing.value.returncode == 2
