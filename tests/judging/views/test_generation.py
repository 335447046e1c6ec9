from __future__ import annotations

import csv
import io
import re

import pytest

from judging.models import GeneratedResponse, JudgeRun, LlmCall
from judging.services.foreground import run_to_end
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
FIELDS = {
    "models": ["fake"],
    "turns": "ALL",
    "context": "PREFIX",
    "samples": "1",
    "temperature": "0.7",
    "max_tokens": "100",
    "system": "",
    "scenario": ["math"],
}


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture
def dataset():
    dataset = make_dataset(slug="data")
    for position, name in enumerate(("writing", "math")):
        session = make_session(make_scenario(dataset, name=name, position=position), key=name)
        make_turn(session, user_message=f"{name} one")
        make_turn(session, user_message=f"{name} two")
    return dataset


@pytest.fixture
def server():
    cut = Act(text="Cut off in the", finish_reason="length")
    with FakeLlm(script=[Act(text="Two & two."), cut, cut]) as server:
        make_endpoint(name="fake", base_url=server.base_url, model="gpt-fake", concurrency=1)
        yield server


def test_from_the_dataset_to_the_responses(manager, dataset, server, django_assert_max_num_queries):
    assert 'href="/datasets/data/generate/"' in manager.get("/datasets/data/").content.decode()
    page = manager.get("/datasets/data/generate/").content.decode()
    assert "gpt-fake (gpt)" in page
    make_endpoint(name="judge", model="gpt-9")
    told = manager.post("/datasets/data/generate/estimate/", FIELDS, headers=HTMX)
    told = " ".join(told.content.decode().split())
    assert "<dt>calls</dt> <dd>2</dd>" in told
    assert "(gpt): judge may favour the responses of gpt-fake when judging" in told
    assert not JudgeRun.objects.exists()
    answer = manager.post("/datasets/data/generate/", FIELDS)
    run = JudgeRun.objects.get()
    assert answer.url == f"/runs/{run.pk}/"
    run_to_end(run.pk)
    with django_assert_max_num_queries(30):
        page = manager.get(answer.url).content.decode()
    for said in (
        "Two &amp; two.",
        "continues its own reply",
        "Cut at 4 tokens: raise the longest reply.",
        f'<span class="mono">{LlmCall.objects.earliest("pk").key[:12]}',
        "the conversation so far",
        "each conversation&#x27;s own",
        "may favour",
        'href="/datasets/data/pairing/"',
    ):
        assert said in page
    listed = manager.get("/runs/").content.decode()
    assert "Generate responses" in listed
    assert "everybody" not in listed  # a model answers for nobody
    answer = manager.get("/datasets/data/export/generated_responses.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [
        (row["session"], row["turn"], row["model"], row["context"], row["sample"], row["text"])
        for row in rows
    ] == [
        ("math", "1", "gpt-fake", "prefix", "0", "Two & two."),
        ("math", "2", "gpt-fake", "prefix", "0", ""),
    ]
    assert [row["continues_own"] for row in rows] == ["false", "true"]
    assert all(row["call"] for row in rows)


def test_several_models_have_a_run_each_and_without_javascript_it_is_estimated(manager, dataset):
    for name in ("one", "two"):
        make_endpoint(name=name)
    page = manager.get("/datasets/data/generate/").content.decode()
    assert re.findall(r'value="(\w+)"[^>]* checked', page) == ["one", "two"]
    wanted = {**FIELDS, "models": ["one", "two"], "scenario": []}
    page = manager.post("/datasets/data/generate/estimate/", wanted).content.decode()
    assert "<h1>Generate responses</h1>" in page
    assert "Estimate" in page
    answer = manager.post("/datasets/data/generate/", wanted)
    assert answer.url == "/runs/?dataset=data"
    assert 'href="/datasets/data/pairing/"' in manager.get(answer.url).content.decode()
    assert GeneratedResponse.objects.count() == 8
    assert set(JudgeRun.objects.values_list("judge", flat=True)) == {"one", "two"}


@pytest.mark.parametrize(
    ("fields", "system"),
    [
        ({}, None),
        ({"system": "Be brief."}, "Be brief."),
        ({"no_system": "on"}, ""),
        ({"system": "Be brief.", "no_system": "on"}, ""),
    ],
)
def test_the_system_prompt_is_the_conversation_s_another_or_none(manager, dataset, fields, system):
    make_endpoint(name="fake")
    manager.post("/datasets/data/generate/", FIELDS | fields)
    assert JudgeRun.objects.get().config["system"] == system


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"models": []}, "Choose at least one model."),
        ({"models": ["lexical"]}, "Select a valid choice."),
        ({"samples": "0"}, "greater than or equal to 1"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"context": "MEMORY"}, "conversations in other scenarios"),
        ({"budget": "1"}, "The judge&#x27;s calls have no price"),
    ],
)
def test_what_cannot_be_started_is_said(manager, dataset, fields, said):
    make_endpoint(name="fake")
    for address in ("/datasets/data/generate/", "/datasets/data/generate/estimate/"):
        answer = manager.post(address, FIELDS | fields)
        assert answer.status_code == (200 if "estimate" in address else 422)
        assert said in answer.content.decode()
    assert not JudgeRun.objects.exists()


def test_what_has_a_default_is_folded_until_it_is_wrong(manager, dataset):
    make_endpoint(name="poet")
    page = manager.get("/datasets/data/generate/").content.decode()
    plain, _fold, folded = page.partition('<details class="folded">')
    for name in ("models", "turns", "context", "samples", "budget"):
        assert f'name="{name}"' in plain
        assert f'name="{name}"' not in folded
    for name in ("sample", "temperature", "max_tokens", "system", "no_system", "again"):
        assert f'name="{name}"' in folded
    wrong = manager.post("/datasets/data/generate/", {"models": "poet", "temperature": "9"})
    assert '<details class="folded" open>' in wrong.content.decode()


def test_without_an_endpoint_the_page_says_what_to_do(manager, dataset):
    page = manager.get("/datasets/data/generate/").content.decode()
    assert "No model endpoints yet" in page
    assert "run-form" not in page


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER", None])
def test_only_managers_generate(client, dataset, role):
    if role is not None:
        client.force_login(make_user(role=role))
    for address in ("/datasets/data/generate/", "/datasets/data/generate/estimate/"):
        assert client.post(address, FIELDS).status_code == (302 if role is None else 403)
    assert not JudgeRun.objects.exists()


def test_wrong_methods_and_datasets(manager, dataset):
    assert manager.get("/datasets/data/generate/estimate/").status_code == 405
    assert manager.get("/datasets/none/generate/").status_code == 404


def test_a_run_s_page_names_models_of_its_judge_s_family(manager, dataset):
    turn = dataset.sessions.first().turns.first()
    make_response(turn, model="openai/gpt-fake")
    make_response(turn, model="qwen")
    run = make_run(dataset, judge="judge", endpoint=make_endpoint(model="gpt-9"))
    page = manager.get(f"/runs/{run.pk}/").content.decode()
    assert "(gpt): judge may favour the responses of openai/gpt-fake" in page
