"""The double itself: what other tests and benchmarks take for granted."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx2
import pytest

from tests.fake_llm import Act, FakeLlm, main
from tests.paths import ROOT


def send(url, text, **fields):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]} | fields
    return httpx2.post(f"{url}/chat/completions", json=body, timeout=10, verify=False)


def post(url, text, **fields):
    return send(url, text, **fields).raise_for_status().json()


def status(url, text):
    return send(url, text).status_code


def test_it_counts_the_tokens_that_repeat_the_prompt_before():
    with FakeLlm() as server:
        post(server.base_url, "a" * 400 + "b" * 40)
        usage = post(server.base_url, "a" * 400 + "c" * 40)["usage"]
    assert usage["prompt_tokens"] == 110
    assert usage["prompt_tokens_details"] == {"cached_tokens": 100}
    assert server.stats()["cached_tokens"] == 100


def test_more_slots_remember_more_prompts():
    texts = ["a" * 40, "b" * 40, "a" * 40]
    for slots, cached in [(1, 0), (2, 10)]:
        with FakeLlm(slots=slots) as server:
            for text in texts:
                post(server.base_url, text)
        assert server.stats()["cached_tokens"] == cached


def test_faults_meet_the_same_questions_in_every_run():
    def fates():
        with FakeLlm(faults={"500": 0.3, "429": 0.3}, seed=1) as server:
            return [status(server.base_url, f"question {i}") for i in range(30)]

    first = fates()
    assert first == fates()
    assert {200, 429, 500} == set(first)


def test_a_fault_that_comes_again_is_drawn_again():
    with FakeLlm(faults={"500": 0.5}) as server:
        assert {status(server.base_url, "same") for _ in range(12)} == {200, 500}


@pytest.mark.parametrize(
    ("fault", "content"),
    [("empty", ""), ("garbage", "Both have their merits; I would rather not say.")],
)
def test_faults_in_the_text(fault, content):
    with FakeLlm(faults={fault: 1.0}) as server:
        (choice,) = post(server.base_url, "x")["choices"]
    assert choice["message"]["content"] == content


def test_a_script_comes_before_the_faults():
    with FakeLlm(script=[Act(text="scripted")], faults={"401": 1.0}) as server:
        assert post(server.base_url, "x")["choices"][0]["message"]["content"] == "scripted"
        assert status(server.base_url, "x") == 401


def test_it_runs_as_a_process_of_its_own():
    command = [sys.executable, "-m", "tests.fake_llm", "--rule", "second", "--fault", "400=0.0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = json.loads(process.stdout.readline())["base_url"]
            assert post(url, "hello")["choices"][0]["message"]["content"] == "ok"
            stats = httpx2.get(f"{url.removesuffix('/v1')}/stats").json()
            assert stats["statuses"] == {"200": 1}
            assert httpx2.get(f"{url}/models").json()["data"][0]["id"] == "fake"
        finally:
            process.terminate()


def test_an_unknown_fault_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--fault", "earthquake=1"])
    assert "a fault is one of" in capsys.readouterr().err
