from __future__ import annotations

import csv
import io

import pytest

from annotation.models import Session
from benchmark.core.replay_items import items_named
from benchmark.models import BenchmarkVersion, VerificationReport
from judging.core.rules import GenerationContext
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from tests.benchmark.replays import make_stored, replayed
from tests.factory import make_endpoint, make_run, make_user
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.markup import tight

pytestmark = pytest.mark.django_db

LIST, NEW = "/leaderboard/replays/", "/leaderboard/replays/new/"


@pytest.fixture
def dataset():
    found = make_ratings(people=3, turns=3)
    make_stored(found)
    return found


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def asked(dataset, **changes):
    usual = {"dataset": dataset.slug, "evaluator": "lexical", "candidates": ["responses:long"]}
    return {**usual, "contexts": ["PREFIX"], "items": "ALL", "seed": 42, **changes}


def test_a_frozen_benchmark_of_the_dataset_can_be_chosen(manager, dataset):
    assert "Frozen benchmark" not in tight(manager.get(NEW, {"dataset": dataset.slug}))
    session = Session.objects.filter(dataset=dataset).first()
    text = session.turns.get(position=0).user_message
    items = [{"key": session.key, "messages": [{"role": "user", "text": text}]}]
    built = make_run(dataset, kind="CONSTRUCT")
    BenchmarkVersion.objects.create(version="v1", run=built, items=items)
    assert "Frozen benchmark" in tight(manager.get(NEW, {"dataset": dataset.slug}))
    unnamed = manager.post(NEW, asked(dataset, items="VERSION"))
    assert "Choose a benchmark version." in tight(unnamed)
    manager.post(NEW, asked(dataset, items="VERSION", version="v1"))
    run = JudgeRun.objects.get(kind="REPLAY")
    assert (run.config["items"], run.config["replayed"]) == ("version:v1", 1)


def test_a_replay_is_started_worked_off_and_read(manager, dataset):
    assert f">{dataset.name}</option>" in tight(manager.get(NEW))
    page = tight(manager.get(NEW, {"dataset": dataset.slug}))
    assert "long (responses in the dataset)" in page
    assert '<option value="learned">Learned evaluator</option>' in page
    estimate = manager.post(f"{NEW}estimate/", asked(dataset), headers={"HX-Request": "true"})
    assert "No calls: these judges need no endpoint." in tight(estimate)
    whole = manager.post(f"{NEW}estimate/", asked(dataset))
    assert "No calls: these judges need no endpoint." in tight(whole)
    answer = manager.post(NEW, asked(dataset))
    run = JudgeRun.objects.get(kind="REPLAY")
    assert answer.url == f"/runs/{run.pk}/"
    again = manager.post(NEW, asked(dataset), follow=True)
    assert "An identical run is already in progress" in tight(again)
    assert "A replay of" in tight(manager.get(LIST))
    page = tight(manager.get(f"/runs/{run.pk}/"))
    assert "Replay" in page
    assert "See result" not in page
    run_to_end(run.pk)
    assert f'href="/leaderboard/replays/{run.pk}/"' in tight(manager.get(f"/runs/{run.pk}/"))
    listed = tight(manager.get(LIST))
    assert f'href="/leaderboard/replays/{run.pk}/"' in listed
    assert "<td>Lexical judge</td>" in listed
    assert "<td>all turns</td>" in listed
    page = tight(manager.get(f"/leaderboard/replays/{run.pk}/"))
    for name in ("Table 8", "Figure 2", "Figure 3", "Control: the original responses"):
        assert name in page
    # A single candidate has no other beside it, and saw one context alone.
    assert "Figure 4" not in page
    assert 'id="table-9"' not in page


def test_what_is_missing_or_wrong_is_said(manager, dataset):
    answer = manager.post(NEW, asked(dataset, items="SAMPLE"))
    assert answer.status_code == 422
    assert "Choose how many turns." in tight(answer)
    for items, size in (("SAMPLE", 2), ("HARD", ""), ("HARD", 3)):
        manager.post(NEW, asked(dataset, items=items, size=size))
    chosen = JudgeRun.objects.filter(kind="REPLAY").order_by("pk")
    assert [run.config["items"] for run in chosen] == ["sample:2", "hard:300", "hard:3"]
    endpoint = make_endpoint()
    refused = asked(dataset, candidates=[endpoint.name], budget="1")  # without prices
    assert manager.post(NEW, refused).status_code == 422
    answer = manager.post(f"{NEW}estimate/", refused, headers={"HX-Request": "true"})
    assert "notice warning" in answer.content.decode()


def test_without_conversations_there_is_nothing_to_replay(manager):
    assert "Nothing to replay yet" in tight(manager.get(NEW))
    assert "No replays yet" in tight(manager.get(LIST))


def test_replays_that_ended_before_their_time_are_listed(viewer, dataset):
    told = {"kind": "REPLAY", "config": {"candidates": []}}
    failed = make_run(dataset, **told, status="FAILED", error_code="replay:no-candidate")
    stopped = make_run(dataset, **told, status="CANCELLED")
    page = tight(viewer.get(LIST))
    assert f"A replay of {dataset} failed:" in page
    assert "replay:no-candidate</span>: No candidate has an answer" in page
    assert f"A replay of {dataset} was cancelled:" in page
    for run in (failed, stopped):
        assert f'href="/runs/{run.pk}/"' in page


def test_the_page_has_the_papers_tables_and_figures(viewer, dataset, django_assert_max_num_queries):
    with FakeLlm() as server, FakeLlm(faults={"401": 1.0}) as other:
        server.reply = lambda _model, prompt: f"An answer. {len(prompt)}"
        make_endpoint(base_url=server.base_url, name="a", model="qwen/qwen3-8b")
        make_endpoint(base_url=other.base_url, name="broken", model="b")
        found = replayed(
            dataset=dataset,
            evaluator="lexical:no-memory",
            candidates=["a", "broken", "responses:short", "copy"],
            contexts=(GenerationContext.PREFIX, GenerationContext.DIVERSE),
            items=items_named("hard:4"),
        )
    address = f"/leaderboard/replays/{found.run.pk}/"
    with django_assert_max_num_queries(12):
        page = tight(viewer.get(address))
    for words in ("Figure 4", 'id="table-9"', "a (diverse)", "selected on the outcome"):
        assert words in page
    assert "Left out: broken." in page
    paper = page.partition('id="paper"')[2]
    for words in ("The paper's figures", "4.812", "4.737 … 4.883", "98.7"):
        assert words in paper
    assert paper.count("this replay: a</td>") == 1
    assert paper.count("this replay: a (diverse)") == 1
    assert "Same model family" not in tight(viewer.get(f"/runs/{found.run.pk}/"))
    assert found.run.writer_endpoint.name == "a"
    assert "Against short" in tight(viewer.get(address, {"reference": "short"}))
    assert "this replay:" not in tight(viewer.get(address, {"scale": "RAW"}))
    for scale, words in (("RAW", "As the evaluator"), ("PAPER", "released code")):
        assert words.lower() in tight(viewer.get(address, {"scale": scale})).lower()
    assert viewer.get(address, {"scale": "OTHER"}).status_code == 404
    for query, count in (
        ({"candidate": "short"}, 4),
        ({"candidate": "short", "outcome": "WIN"}, 0),
        ({}, 4),
    ):
        rows = viewer.get(f"{address}rows/", query)
        assert rows.context["page"].paginator.count == count
    assert "Mean score by scenario" in page
    assert "scenario=kind%201" in page or "scenario=kind+1" in page
    judged = rows.context["page"][0].judgment
    assert f'href="/runs/{judged.run_id}/turns/{judged.pk}/"' in tight(rows)
    assert viewer.get(f"/runs/{judged.run_id}/turns/{judged.pk}/").status_code == 200
    assert viewer.get(f"{address}rows/", {"score": "7"}).status_code == 404


def test_the_tables_as_files(viewer, dataset):
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["long", "copy"])
    address = f"/leaderboard/replays/{found.run.pk}/replay.csv"

    def read(**query):
        return list(csv.DictReader(io.StringIO(viewer.get(address, query).content.decode())))

    control, stated, long, copy = read()
    assert (control["role"], stated["role"], long["candidate"]) == ("control", "stated", "long")
    assert float(copy["user"]) == found.rows[0].means["user"].value == float(control["user"])
    pairs = read(table="pairs")
    assert [(one["candidate"], one["reference"]) for one in pairs] == [
        ("long", ""),
        ("copy", ""),
        ("copy", "long"),
        ("long", "copy"),
    ]
    assert pairs[1]["micro_ties"] == "18"
    answers = read(table="answers")
    assert len(answers) == 3 * 18
    assert {one["stated"] for one in answers if one["candidate"]} == {""}
    assert viewer.get(address, {"table": "more"}).status_code == 404


def test_who_may_read_and_start(client, viewer, dataset):
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["copy"])
    pages = [
        LIST,
        *(f"/leaderboard/replays/{found.run.pk}/{end}" for end in ("", "rows/", "replay.csv")),
    ]
    for page in pages:
        assert viewer.get(page).status_code == 200
        assert viewer.post(page).status_code == 405
    assert viewer.get(NEW).status_code == 403
    assert viewer.post(f"{NEW}estimate/").status_code == 403
    VerificationReport.objects.all().delete()
    assert viewer.get(pages[1]).status_code == 404
    client.force_login(make_user(role="ANNOTATOR"))
    assert {client.get(page).status_code for page in pages} == {403}
    client.logout()
    assert client.get(LIST).url == f"/sign-in/?next={LIST}"
