from __future__ import annotations

import os
import subprocess
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest

from annotation.models import AuditEvent, Claim, PairwiseLabel, Study
from sensejudge_site.benches.annotate import Plan, measure, run
from sensejudge_site.benches.annotate.client import (
    Browser,
    LoadCounts,
    answer_form,
    crowd,
    percentile_ms,
    weight_of,
)
from sensejudge_site.benches.annotate.rows import (
    SINGLE,
    TRIPLE,
    check,
    counted,
    fill,
    main,
    synthetic_text,
)
from sensejudge_site.benches.annotate.site import _PRODUCTION, Server
from tests.factory import make_claim, make_user
from tests.paths import ROOT
from tests.refusals import refuses

PAGE = """<link rel="stylesheet" href="/app.css"><form method="post" action="/skip/"></form>
<form class="answers" method="post" action="/studies/s/items/7/answer/" hx-boost="true">
<input type="hidden" name="csrfmiddlewaretoken" value="token"><input type="hidden"
name="unread"><input type="hidden" name="submission" value="a&amp;b">
<button name="answer" value="FIRST" data-key="1">First</button>
<button name="answer" value="SECOND">Second</button></form>"""


class Handler(BaseHTTPRequestHandler):
    """A labelling page; the first answer is taken, the next ones are refused."""

    protocol_version = "HTTP/1.1"
    answers: list[tuple[str, str]]

    def do_GET(self):
        self._reply(HTTPStatus.OK, PAGE if "studies" in self.path else "body{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answers.append((body, self.headers["Cookie"]))
        status = HTTPStatus.FOUND if len(self.answers) == 1 else HTTPStatus.CONFLICT
        self._reply(status, "")

    def _reply(self, status, text):
        self.send_response(status)
        self.send_header("Set-Cookie", "sessionid=one; Path=/; HttpOnly")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_words):
        """Say nothing."""


@pytest.fixture
def port():
    Handler.answers = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_the_form_of_an_answer_is_read_from_the_page():
    form = answer_form(PAGE)
    assert form.action == "/studies/s/items/7/answer/"
    assert form.fields == {
        "csrfmiddlewaretoken": "token",
        "submission": "a&b",
        "answer": "FIRST",
    }
    assert answer_form("<p>Nothing left.</p>") is None


def test_accepted_answers_and_refusals_are_counted_apart(port):
    browser = Browser(port)
    tally = crowd([browser], "s", rounds=3, limit_seconds=30)
    browser.close()
    assert (tally.accepted, tally.errors) == (1, 2)
    assert (len(tally.next_seconds), len(tally.submit_seconds)) == (3, 3)
    assert tally.requests_per_second == pytest.approx(6 / tally.wall_seconds)
    body, cookie = Handler.answers[0]
    assert body == "csrfmiddlewaretoken=token&submission=a%26b&answer=FIRST"
    assert cookie == "sessionid=one"


def test_nobody_begins_an_item_after_the_time_is_up(port):
    assert crowd([Browser(port)], "s", rounds=3, limit_seconds=0).seconds == []


def test_a_server_that_is_gone_is_an_error_and_not_a_crash():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        gone = server.server_address[1]
    assert crowd([Browser(gone)], "s", rounds=2, limit_seconds=30).errors == 2


def test_a_page_weighs_what_it_and_its_files_weigh(port):
    browser = Browser(port)
    weight = weight_of(browser, "/studies/s/next/")
    browser.close()
    assert weight.requests == 2
    assert len("body{}") < weight.wire_bytes < len(PAGE)


@pytest.mark.parametrize(
    ("share", "milliseconds"), [(0.5, 2000.0), (0.95, 4000.0), (0.0, 1000.0), (1.0, 4000.0)]
)
def test_percentiles_are_measured_values(share, milliseconds):
    assert percentile_ms([4.0, 1.0, 3.0, 2.0], share) == milliseconds


def test_without_a_request_there_is_no_time():
    assert percentile_ms([], 0.5) == 0.0
    assert LoadCounts().requests_per_second == 0.0


def test_a_synthetic_text_is_about_a_kilobyte_of_markdown():
    texts = [synthetic_text(Random(seed)) for seed in range(50)]
    assert 700 < sum(map(len, texts)) / 50 < 1400
    assert len(set(texts)) == 50
    assert all(text.startswith("## ") and "\n- **" in text for text in texts)


@pytest.mark.django_db
def test_the_rows_are_those_of_people_who_took_turns():
    fill(items=30, labels=25, annotators=22)
    single, triple = Study.objects.get(slug=SINGLE), Study.objects.get(slug=TRIPLE)
    assert (single.overlap, triple.overlap) == (1, 3)
    assert single.items.count() == triple.items.count() == 30
    assert single.annotators.count() == 22
    assert Claim.objects.filter(state="DONE", slot=0).count() == AuditEvent.objects.count() == 25
    assert PairwiseLabel.objects.values("annotator").distinct().count() == 20
    assert main(["count"]) == {SINGLE: 25, TRIPLE: 0, "over_overlap": 0}


@pytest.mark.django_db
def test_an_item_with_more_labels_than_the_overlap_is_found():
    main(["fill", "3", "1", "20"])
    label = PairwiseLabel.objects.get()
    label.pk, label.annotator = None, make_user()
    label.save()
    assert counted()["over_overlap"] == 1


@pytest.mark.django_db
def test_an_item_with_more_claims_than_the_overlap_is_found():
    fill(items=3, labels=1, annotators=20)
    item = Claim.objects.get().item
    make_claim(item, make_user(), slot=1, state="DONE")
    assert counted()["over_overlap"] == 1


@pytest.mark.django_db
def test_a_database_with_people_in_it_is_left_alone():
    assert main(["check"]) == {}
    make_user()
    with refuses("bench:not-empty"):
        check()


def test_a_download_is_counted_and_not_kept(port):
    browser = Browser(port)
    assert sum(browser.download("/studies/export.jsonl")) == len(PAGE)
    browser.close()


def test_a_download_that_is_refused_is_no_figure():
    class Refusing(Handler):
        def do_GET(self):
            self._reply(HTTPStatus.NOT_FOUND, "")

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(server.server_address[1])
        with refuses("bench:failed", match="/none answered 404"):
            list(browser.download("/none"))
        browser.close()
        server.shutdown()


BUSY = "import time\nwhile time.process_time() < 0.2: pass\nprint(time.process_time())\ninput()"


def test_a_server_tells_what_it_uses():
    # A process of its own: the tests' own may have children that other tests started.
    command = [sys.executable, "-ISuc", BUSY]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:
        server = Server(port=0, seconds=0.0, pid=child.pid)
        used = float(child.stdout.readline())
        assert server.cpu_seconds() == pytest.approx(used, abs=0.1)
        tests = Server(port=0, seconds=0.0, pid=os.getpid())
        assert tests.resident_mb() > server.resident_mb() > 1
        child.kill()
    gone = Server(port=0, seconds=0.0, pid=2**30)
    assert gone.cpu_seconds() is gone.resident_mb() is None


def test_a_setting_that_there_is_not_is_named():
    with refuses("bench:unknown-size", match="no setting 'vast'; choose from small, large"):
        run(setting="vast")


@pytest.mark.processes
@pytest.mark.usefixtures("prepared_sites")
def test_the_memory_of_an_export_at_a_tiny_size():
    figures = {figure.name: figure.value for figure in run(setting="memory", items=300).figures}
    assert figures["labels"] == 300
    assert figures["idle_mb"] > 10
    assert 0 <= figures["export_sessions_above_idle_mb"] < 60
    assert figures["export_sessions_file_mb"] > 0.3


@pytest.mark.processes
@pytest.mark.usefixtures("migrated_sites")
def test_the_whole_bench_at_a_tiny_size():
    plan = Plan(items=40, labels=10, rounds=3, crowds=((3, 2),), limit_seconds=60)
    figures = {figure.name: figure.value for figure in measure(plan).figures}
    assert figures["items"] == 40
    assert figures["errors"] == figures["3_sessions_errors"] == 0
    assert figures["items_over_overlap"] == 0
    assert figures["single_accepted"] == figures["single_rows"] == 5 + 3 + 6
    assert figures["triple_accepted"] == figures["triple_rows"] == 6
    assert 0 < figures["page_kb_gzipped"] < 120
    assert 0 < figures["page_requests"] <= 8
    assert all(
        figures[name] > 0
        for name in (
            "3_sessions_server_cpu_a_request_ms",
            "next_p50_ms",
            "submit_p95_ms",
            "export_s",
            "warm_start_s",
        )
    )


def test_production_is_measured_as_the_documentation_starts_it():
    _module, *command, _application = _PRODUCTION
    assert "--http 1" in " ".join(command)  # its HTTP/2 ends with a few posts that are cut short
    assert f"/{' '.join(command)} --host" in (ROOT / "docs" / "deploy.md").read_text("utf-8")
