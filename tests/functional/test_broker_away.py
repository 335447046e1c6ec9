"""The broker goes away and comes back: pages go on, runs wait, and a worker takes them up."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from redis import Redis

from sensejudge_site.benches.annotate.client import Browser
from tests.functional.test_killed_runs import (
    Site,
    free_port,
    large_site,  # noqa: F401 - a fixture
    start_redis,
)

pytestmark = pytest.mark.processes

PASSWORD = "correct horse"
MANAGER = f"""
from annotation.models import Role, User
User.objects.create_user("manager", password="{PASSWORD}", role=Role.MANAGER)
"""
LONGEST = 10.0
START_PATIENCE = 60.0


def signed_in(port: int) -> Browser:
    """A manager's browser, once the server answers."""
    end = time.monotonic() + START_PATIENCE
    while True:
        browser = Browser(port)
        try:
            assert browser.sign_in("manager", PASSWORD)
        except OSError:
            browser.close()
            assert time.monotonic() < end, "the server did not come up"
            time.sleep(0.1)
        else:
            return browser


def post(browser: Browser, path: str, **fields: str) -> None:
    """Sends a form, which must lead on in time."""
    token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    reply = browser.post(path, fields | token)
    assert (reply.status, reply.seconds < LONGEST) == (302, True), reply.body[:500]


def test_a_run_waits_for_the_broker_and_is_taken_up_once_it_is_back(large_site: Site):  # noqa: F811
    large_site.manage("shell", "-c", MANAGER)
    dataset, annotator = large_site.query(
        "SELECT slug, (SELECT id FROM annotation_user WHERE username <> 'manager') "
        "FROM annotation_dataset"
    )[0]
    port = free_port()
    large_site.start("manage.py", "serve", "--port", str(port))
    large_site.start("-m", "celery", "-A", "sensejudge_site", "worker", "-c", "1")
    browser = signed_in(port)
    broker = urlsplit(large_site.env["CELERY_BROKER_URL"]).port
    assert broker is not None
    assert browser.get(f"/runs/new/?dataset={dataset}").status == 200

    with Redis(port=broker) as connection:
        connection.shutdown(nosave=True)
    run = {"dataset": dataset, "annotator": str(annotator), "kind": "DISTIL", "judge": "lexical"}
    post(browser, "/runs/new/", **run)
    ((number,),) = large_site.query("SELECT id FROM judging_judgerun")
    assert "Queued. The run starts as soon" in browser.get(f"/runs/{number}/").body
    post(browser, f"/runs/{number}/stop/")
    post(browser, f"/runs/{number}/retry/")
    assert large_site.status() == "PENDING"
    browser.close()

    process = start_redis(broker)
    large_site.processes.append(process)
    large_site.wait_for_the_end()
    assert large_site.status() == "DONE"
