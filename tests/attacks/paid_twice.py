"""Runs started at the same moment, by commands and by pages, and runs taken over while at work.

The endpoint is a stand-in that counts what it is asked. What pages start is worked off by the
server's own worker on SQLite, by two Celery workers over Redis on PostgreSQL.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import TypeVar

from annotation.core.refusals import Refused
from sensejudge_site.benches.annotate.client import Browser
from sensejudge_site.benches.annotate.site import HOST, Server, Site, free_port
from tests.attacks import Outcome
from tests.fake_llm import FakeLlm

Result = TypeVar("Result")

LATENCY = 0.4
LONG_LATENCY = 3.0  # a run goes on while a server starts
CONCURRENCY = 8
COMPARISONS = 40
PATIENCE = 120.0
UNDER_WAY = 200  # what the progress of a run answers that is not over
WAYS = ("commands", "pages", "overlap", "served", "stopped")

MAKE = """
from annotation.models import Role, User
from judging.models import ModelEndpoint
from tests.factory import make_comparison, make_response, make_session, make_turn
from tests.judging.study import label_pair, make_study
dataset, rater = make_study(comparisons=0)
for number in range({comparisons}):
    turn = make_turn(make_session(dataset.scenarios.get()))
    texts = [f"A long and thorough answer, number {{number}}.", f"Short {{number}}."]
    label_pair(
        make_comparison(
            turn,
            response_a=make_response(turn, text=texts[number % 2]),
            response_b=make_response(turn, text=texts[1 - number % 2]),
        ),
        rater,
    )
User.objects.create_user("manager", password="correct horse", role=Role.MANAGER)
for name in {ways}:
    ModelEndpoint.objects.create(
        name=name,
        model=name,
        base_url="{url}",
        concurrency={concurrency},
        has_logprobs=False,
        has_json_schema=False,
        has_system_role=True,
    )
print(dataset.slug, rater.pk)
"""
RUNS = "from judging.models import JudgeRun; print(JudgeRun.objects.filter(judge='{way}').count())"


def attack(site: Site) -> Outcome:
    """Start and take over runs in several ways, each at an endpoint of its own."""
    figures: dict[str, float | str] = {}
    with FakeLlm(latency=LATENCY) as llm:
        code = MAKE.format(
            comparisons=COMPARISONS, ways=WAYS, url=llm.base_url, concurrency=CONCURRENCY
        )
        dataset, annotator = site.manage("shell", "--verbosity=0", "-c", code).split()[-2:]
        distil = ("distil", "--dataset", dataset, "--json", "--judge")
        _at_once(*(lambda: site.manage(*distil, "commands"),) * 2)
        _from_two_pages(site, dataset, annotator)
        _at_once(
            lambda: site.manage(*distil, "overlap"),
            lambda: site.manage(*distil, "overlap", "--no-control"),
        )
        llm.latency = LONG_LATENCY
        _beside_a_command(site, llm, *distil, "served")
        _stopped_and_tried_again(site, llm, dataset, annotator)
        for way in WAYS:
            asked = Counter(
                json.dumps(body, sort_keys=True) for body in llm.bodies if body["model"] == way
            )
            figures[f"{way}_calls"] = asked.total()
            figures[f"{way}_calls_paid_twice"] = asked.total() - len(asked)
            runs = site.manage("shell", "--verbosity=0", "-c", RUNS.format(way=way))
            figures[f"{way}_runs"] = int(runs.split()[-1])
    held = figures["commands_runs"] == figures["pages_runs"] == 1 and not any(
        figures[f"{way}_calls_paid_twice"] for way in WAYS
    )
    return Outcome(held=held, figures=figures)


def _from_two_pages(site: Site, dataset: str, annotator: str) -> None:
    """The form of a new run, sent by two browsers at once; until what they start is over."""
    form = {"dataset": dataset, "annotator": annotator, "kind": "DISTIL", "judge": "pages"}
    with _workers(site) as working, working.server() as server:
        browsers = [_manager(server) for _ in range(2)]
        _at_once(*(lambda page=page: _send(page, "/runs/new/", form) for page in browsers))
        _until_over(browsers[0])


def _beside_a_command(site: Site, llm: FakeLlm, *command: str) -> None:
    """A server starts while a command is at work, and stays until the command ends."""
    with ThreadPoolExecutor(1) as pool, _workers(site) as working:
        at_work = pool.submit(site.manage, *command)
        _until_asked(llm, command[-1])
        with working.server():
            at_work.result()


def _stopped_and_tried_again(site: Site, llm: FakeLlm, dataset: str, annotator: str) -> None:
    """Stop and, at once, Try again on the page of a run at work; until it is over."""
    form = {"dataset": dataset, "annotator": annotator, "kind": "DISTIL", "judge": "stopped"}
    with _workers(site) as working, working.server() as server:
        browser = _manager(server)
        _send(browser, "/runs/new/", form)
        _until_asked(llm, "stopped")
        run = max(map(int, re.findall(r"/runs/(\d+)/", browser.get("/runs/").body)))
        for button in ("stop", "retry"):
            _send(browser, f"/runs/{run}/{button}/", {})
        _until_over(browser)


def _manager(server: Server) -> Browser:
    browser = Browser(server.port)
    if not browser.sign_in("manager", "correct horse"):
        raise Refused("bench:failed", "the manager could not sign in")
    browser.get("/runs/new/")
    return browser


def _send(browser: Browser, path: str, form: dict[str, str]) -> None:
    status = browser.post(path, form | {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}).status
    if status != HTTPStatus.FOUND:
        raise Refused("bench:failed", f"{path} answered {status}")


def _until_asked(llm: FakeLlm, way: str) -> None:
    """Until so many calls are under way as the endpoint takes."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if sum(body["model"] == way for body in list(llm.bodies)) >= CONCURRENCY:
            return
        time.sleep(0.05)
    raise Refused("bench:failed", f"{way}: nothing was asked")


def _until_over(browser: Browser) -> None:
    """Until no run is under way; all that is done here starts nine at most."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        statuses = [browser.get(f"/runs/{number}/progress/").status for number in range(1, 10)]
        if UNDER_WAY not in statuses:
            return
        time.sleep(0.2)
    raise Refused("bench:failed", "the runs of pages did not end")


@contextmanager
def _workers(site: Site) -> Iterator[Site]:
    """The site with its queue: the server's own on SQLite, else Redis and two workers."""
    if not site.on_postgres:
        yield site
        return
    redis = shutil.which("redis-server")
    if redis is None:
        raise Refused("bench:failed", "there is no redis-server on this machine")
    port = free_port()
    queued = site.having(CELERY_BROKER_URL=f"redis://{HOST}:{port}/0")
    worker = (sys.executable, "-m", "celery", "-A", "sensejudge_site", "worker", "-c", "2")
    with ExitStack() as stack:
        for command in ((redis, "--port", str(port), "--save", "", "--bind", HOST), worker):
            process = subprocess.Popen(
                command,
                cwd=queued.root,
                env=queued.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
        yield queued


def _at_once(*calls: Callable[[], Result]) -> list[Result]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))
