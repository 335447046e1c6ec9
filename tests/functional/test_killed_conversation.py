"""Kill -9 while a reply is written, start again: one message, one whole reply, nothing lost."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import time
import uuid
from pathlib import Path

import httpx2
import pytest

from tests.children import Child, output_of
from tests.factory import PASSWORD
from tests.fake_llm import Act, FakeLlm
from tests.functional.test_killed_runs import free_port, kill
from tests.migrated import DEPLOYMENT, copy_migrated

pytestmark = pytest.mark.processes

PATIENCE = 90.0
WHOLE = "Two days in Kyoto, by train, with a garden on each of them."
HTMX = {"HX-Request": "true"}


def make_study(url):
    return f"""
from tests.factory import make_user
from tests.judging.talks import make_talk_study
make_talk_study([make_user(username="ann")], base_urls=("{url}",), slug="talks")
"""


@pytest.fixture
def llm():
    with FakeLlm(script=[Act(text=WHOLE, piece_delay=0.5), Act(text=WHOLE)]) as server:
        yield server


class Site:
    """The server on one port, over one folder; killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.env = {
            **{name: value for name, value in os.environ.items() if name not in DEPLOYMENT},
            "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
            "STATICFILES_BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
            "SENSEJUDGE_VAR": str(folder),
            "SECRET_KEY": "only-for-tests",
            "PYTHONWARNINGS": "ignore",
        }

    def manage(self, *arguments: str) -> None:
        output_of(["manage.py", *arguments], env=self.env, timeout=PATIENCE)

    def serve(self) -> Child:
        process = Child(["manage.py", "serve", "--port", str(self.port)], env=self.env)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return process
            time.sleep(0.1)
        raise AssertionError("the server did not start")

    def messages(self) -> list[tuple]:
        with sqlite3.connect(self.folder / "sensejudge.sqlite3", timeout=20) as rows:
            return rows.execute(
                "SELECT text, status, reply FROM judging_conversationmessage"
            ).fetchall()


def wait(done):
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def token(page):
    return re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)[1]


def test_a_reply_under_way_survives_the_server(tmp_path, llm):
    site = Site(tmp_path)
    copy_migrated(tmp_path / "sensejudge.sqlite3")
    site.manage("shell", "--verbosity=0", "-c", make_study(llm.base_url))
    server = site.serve()
    try:
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{site.port}", follow_redirects=True, timeout=30
        ) as browser:
            sign_in = {"username": "ann", "password": PASSWORD}
            form = browser.get("/sign-in/")
            browser.post("/sign-in/", data={**sign_in, "csrfmiddlewaretoken": token(form)})
            page = browser.get("/studies/talks/next/")
            where = str(page.url)
            message = {
                "text": "Where to?",
                "submission": str(uuid.uuid4()),
                "csrfmiddlewaretoken": token(page),
            }
            sent = browser.post(f"{where}send/", data=message, headers=HTMX)
            poll = re.search(r'hx-get="([^"]+)"', sent.text)[1]
            wait(lambda: site.messages()[0][2].startswith("Two "))
            kill(server)
            ((_, status, part),) = site.messages()
            assert (status, len(part) < len(WHOLE)) == ("WRITING", True)
            server = site.serve()
            browser.post(f"{where}send/", data=message, headers=HTMX)  # the page tries again
            wait(lambda: WHOLE in browser.get(poll, headers=HTMX).text)
            assert site.messages() == [("Where to?", "DONE", WHOLE)]
            assert llm.stats()["calls"] == 2
    finally:
        kill(server)
