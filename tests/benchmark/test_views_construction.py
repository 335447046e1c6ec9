"""The pages of benchmarks: start, follow, look at what was dropped, review, freeze, download."""

from __future__ import annotations

import json

import pytest

from benchmark.core.construction import LIMIT_LABELS, DialogueLimits
from benchmark.models import ConstructionItem
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from tests.benchmark.construction import REQUESTS, TwoModels, make_models, make_raw
from tests.benchmark.services.test_construction import MODELS, built
from tests.factory import make_user

pytestmark = pytest.mark.django_db

LIST, NEW = "/benchmarks/", "/benchmarks/new/"
ASKED = DialogueLimits()._asdict() | {
    "dataset": "raw",
    "version": "bench-1",
    "sorter": "lexical",
    "judge": "lexical",
}

RETOLD = "Tell a short story of a river that never comes to the sea, please."


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture(scope="module")
def server():
    with TwoModels() as server:
        yield server


def page(number, rest=""):
    return f"/benchmarks/runs/{number}/{rest}"


def test_who_may_see_and_do_what(client):
    run = built(make_raw())
    pages = [LIST, page(run.pk), page(run.pk, "dialogues/"), page(run.pk, "dialogues/0/")]
    forms = [NEW, NEW + "estimate/", page(run.pk, "freeze/"), page(run.pk, "dialogues/0/")]
    for path in pages:
        assert client.get(path).status_code == 302
    for role, status in (("ANNOTATOR", 403), ("VIEWER", 200)):
        client.force_login(make_user(role=role))
        assert [client.get(path).status_code for path in pages] == [status] * 4
        assert [client.post(path).status_code for path in forms] == [403] * 4
    client.force_login(make_user(role="MANAGER"))
    assert client.get(NEW).status_code == 200
    for path in (NEW + "estimate/", page(run.pk, "freeze/")):
        assert client.get(path).status_code == 405
    for path in (page(999), page(run.pk, "dialogues/99/"), "/benchmarks/versions/none/"):
        assert client.get(path).status_code == 404
    assert client.get(page(run.pk, "dialogues/?stage=NOWHERE")).status_code == 404


def test_an_empty_list_says_what_to_do(manager):
    assert "No benchmarks yet" in manager.get(LIST).content.decode()
    assert "No dialogues yet" in manager.get(NEW).content.decode()


def test_a_manager_starts_one_and_follows_it(manager, django_capture_on_commit_callbacks):
    make_raw()
    form = manager.get(NEW, {"dataset": "raw"}).content.decode()
    assert all(f'name="{name}"' in form for name in LIMIT_LABELS)
    estimate = manager.post(NEW + "estimate/", ASKED, headers={"HX-Request": "true"})
    assert "6 of 9 dialogues pass the rules" in " ".join(estimate.content.decode().split())
    assert "<html" not in estimate.content.decode()
    assert "6 of 9" in manager.post(NEW + "estimate/", ASKED).content.decode()
    wrong = manager.post(NEW, ASKED | {"strong": "", "version": "raw"})
    assert wrong.status_code == 422
    assert "exists already" in wrong.content.decode()
    assert manager.post(NEW, ASKED | {"near_percent": "0"}).status_code == 422
    assert (
        "exists already"
        in manager.post(NEW + "estimate/", ASKED | {"version": "raw"}).content.decode()
    )
    started = manager.post(NEW, ASKED | {"near_percent": "95"})
    run = JudgeRun.objects.get(kind="CONSTRUCT")
    assert started.url == page(run.pk)
    assert run.config["limits"]["near_percent"] == 95
    following = manager.get(page(run.pk)).content.decode()
    assert 'hx-trigger="every 3s"' in following
    assert '<progress class="full" value="0" max="4"' in following
    assert "Freeze version" not in following
    run_to_end(run.pk)
    assert "not run: no models were chosen" in following
    done = manager.get(page(run.pk)).content.decode()
    assert 'hx-trigger="every 3s"' not in done
    assert "Freeze version" in done
    again = manager.post(NEW, ASKED | {"near_percent": "95"})
    assert again.url == page(run.pk)  # what is built is not built again
    assert "run" in manager.get(f"/runs/{run.pk}/").content.decode()


def test_what_was_dropped_is_one_click_away(manager, server, django_assert_max_num_queries):
    make_models(server)
    run = built(make_raw(), **MODELS)
    with django_assert_max_num_queries(14):
        text = manager.get(page(run.pk)).content.decode()
    for stage, reason in (("SORTING", "too%20simple"), ("CHALLENGE", "WEAK_WINS")):
        link = f"dialogues/?stage={stage}&amp;reason={reason}"
        assert link in text
        listed = manager.get(page(run.pk, link.replace("&amp;", "&"))).content.decode()
        assert "1 dialogue" in listed
    shown = {
        1: ("Exact duplicate", "Duplicate of dialogue 1"),
        2: ("Too short", "Measured: 2"),
        3: ("E-mail address", "jo***"),
        6: ("The weak model wins", "weak wins"),
        8: ("A model gave no answer", "No answer"),
    }
    for position, words in shown.items():
        text = manager.get(page(run.pk, f"dialogues/{position}/")).content.decode()
        assert all(word in text for word in words), position
        assert 'data-key="y"' not in text
    with django_assert_max_num_queries(20):
        text = manager.get(page(run.pk, "dialogues/5/")).content.decode()
    assert "By its digits." in text
    assert "strong wins" in text
    sorting = JudgeRun.objects.get(kind="SORT")
    assert page(run.pk) in manager.get(f"/runs/{sorting.pk}/").content.decode()


def test_personal_data_are_masked_beside_their_hits(manager):
    run = built(make_raw({"mail": REQUESTS["mail"]}))
    item = ConstructionItem.objects.get(run=run)
    assert item.dropped_at == "PRIVACY"
    for path in ("dialogues/", "dialogues/0/"):
        text = manager.get(page(run.pk, path)).content.decode()
        assert "john.smith" not in text
        assert "jo•••••" in text
    assert f'href="/sessions/{item.session_id}/">Original dialogue' in text


def test_review_goes_from_one_to_the_next_then_freezes(manager):
    run = built(make_raw())
    at = page(run.pk, "dialogues/{}/")
    assert "Next to review" in manager.get(at.format(0)).content.decode()
    assert manager.post(at.format(0), {"decision": "EDIT", "request": " "}).status_code == 422
    assert manager.post(at.format(0), {"decision": "DROP"}).status_code == 422
    edited = manager.post(at.format(0), {"decision": "EDIT", "request": RETOLD})
    assert edited.url == at.format(4)
    for wrong, told in (("Why?", "length and quality"), (f"{RETOLD} a@b.com", "personal data")):
        refused = manager.post(at.format(0), {"decision": "EDIT", "request": wrong})
        assert (refused.status_code, told in refused.content.decode()) == (422, True)
    dropped = {"decision": "DROP", "reason": "UNFIT", "note": "Silly."}
    assert manager.post(at.format(4), dropped).url == at.format(5)
    for position in (5, 6, 7):
        manager.post(at.format(position), {"decision": "KEEP"})
    last = manager.post(at.format(8), {"decision": "KEEP"}, follow=True)
    assert "Every dialogue has been reviewed." in last.content.decode()
    assert "Kept 4, edited 1, dropped 1, not reviewed 0." in " ".join(last.content.decode().split())
    item = ConstructionItem.objects.get(run=run, position=4)
    assert (item.dropped_at, item.reason, item.note) == ("REVIEW", "UNFIT", "Silly.")
    refused = manager.post(page(run.pk, "freeze/"), {"per_category": "0"})
    assert refused.status_code == 422
    frozen = manager.post(page(run.pk, "freeze/"), {"per_category": ""}, follow=True)
    text = " ".join(frozen.content.decode().split())
    assert "bench-1" in text
    assert "took part" in text  # the embedded judge
    assert "Kept 4, edited 1, dropped 1, not reviewed 0." in text
    assert 'data-key="y"' not in manager.get(at.format(5)).content.decode()
    again = manager.post(page(run.pk, "freeze/"))
    assert again.status_code == 409
    files = "/benchmarks/versions/bench-1/{}/"
    dialogues = json.loads(b"".join(manager.get(files.format("sensebench"))))
    assert len(dialogues) == 5
    assert dialogues[0][0]["content"] == [{"type": "text", "value": RETOLD}]
    lines = b"".join(manager.get(files.format("jsonl"))).decode().splitlines()
    assert [json.loads(line)["edited"] for line in lines] == [True] + [False] * 4
    sheet = manager.get(files.format("datasheet"))
    assert sheet["Content-Disposition"] == 'attachment; filename="bench-1.datasheet.json"'
    assert manager.get(files.format("pdf")).status_code == 404
    assert "Frozen" in manager.get(LIST).content.decode()


def test_a_failed_construction_says_how_to_go_on(manager):
    run = built(make_raw({"train": REQUESTS["train"]}))
    JudgeRun.objects.filter(pk=run.pk).update(status="FAILED", error_code="llm:unavailable")
    assert "finished stages are kept" in manager.get(page(run.pk)).content.decode()
