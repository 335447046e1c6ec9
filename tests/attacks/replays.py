"""Requests that come again, as browsers, proxies and kept drafts send them: none may act twice."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import unescape
from http import HTTPStatus
from typing import Any, Final

import httpx2

from sensejudge_site.benches.annotate.site import HOST, Site
from tests.attacks import Outcome
from tests.fake_llm import FakeLlm

AT_ONCE: Final = 8
PATIENCE: Final = 30.0  # seconds for one reply of the model to fail
QUIET: Final = 3.0  # seconds in which a message that was sent again reaches the model
DATA: Final = """
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.factory import PASSWORD, make_user
from tests.judging.talks import REQUIREMENTS, make_talk_study
ann = make_user(username="ann")
make_pair_study([ann], items=3, slug="pairs")
make_session_study([ann], turns=1, slug="ratings")
make_talk_study([ann], base_urls=({url!r},), requirements=REQUIREMENTS, slug="talks")
print(PASSWORD)
"""
OFFER: Final = """
from django.utils import timezone
from annotation.services.reassignment import offer_again
from tests.factory import make_user
offer_again(study="pairs", by=make_user(role="MANAGER"), now=timezone.now())
"""
STATE: Final = """
import json
from annotation.models import AuditEvent, Claim, PairwiseLabel, SatisfactionLabel
from judging.models import Conversation, ConversationMessage
def rows(model, *names):
    return list(model.objects.order_by("pk").values_list("pk", *names))
print(json.dumps({
    "pairs": rows(PairwiseLabel, "verdict", "edits"),
    "ratings": rows(SatisfactionLabel, "score", "edits"),
    "claims": rows(Claim, "state"),
    "trace": rows(AuditEvent, "action"),
    "talks": rows(Conversation, "requirements_met", "unsent"),
    "messages": rows(ConversationMessage, "text", "generation"),
}))
"""
_FORM: Final = re.compile(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_HIDDEN: Final = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@dataclass(slots=True)
class Attacker:
    """An annotator's browser, which sends some of its requests once more."""

    site: Site
    browser: httpx2.Client
    replays: int = 0
    changes: dict[str, bool] = field(default_factory=dict)
    answered_otherwise: int = 0

    def page(self, path: str) -> str:
        """A page, after its redirects."""
        return self.browser.get(path).text

    def form(self, page: str, end: str, **more: str) -> tuple[str, dict[str, str]]:
        """Where the form of a page goes whose address ends so, and what it sends."""
        for action, inside in _FORM.findall(page):
            if action.endswith(end):
                hidden = {name: unescape(value) for name, value in _HIDDEN.findall(inside)}
                return unescape(action), hidden | more
        raise LookupError(end)

    def send(self, request: tuple[str, dict[str, str]]) -> int:
        """Post a form; the first status that comes back."""
        answer = self.browser.post(request[0], data=request[1])
        return (*answer.history, answer)[0].status_code

    def anew(self, request: tuple[str, dict[str, str]], **more: str) -> tuple[str, dict[str, str]]:
        """The same form under an id of its own."""
        return request[0], {**request[1], "submission": str(uuid.uuid4()), **more}

    def replay(self, name: str, request: tuple[str, dict[str, str]], first: int) -> None:
        """Send a request once more, and look whether anything is another than before."""
        before = self.state()
        self.answered_otherwise += self.send(request) != first
        self.replays += 1
        self.changes[name] = self.state() != before

    def state(self) -> dict[str, Any]:
        """What is stored."""
        told = self.site.manage("shell", "--verbosity=0", "-c", STATE)
        stored: dict[str, Any] = json.loads(told.strip().splitlines()[-1])
        return stored


def attack(site: Site) -> Outcome:
    """Answer, rate, skip and talk, each with a change of mind, and send the older request again."""
    with FakeLlm(faults={"400": 1.0}) as llm:
        told = site.manage("shell", "--verbosity=0", "-c", DATA.format(url=llm.base_url))
        password = told.strip().splitlines()[-1]
        with (
            site.server() as server,
            httpx2.Client(
                base_url=f"http://{HOST}:{server.port}", follow_redirects=True, timeout=30
            ) as browser,
        ):
            page = browser.get("/sign-in/").text
            token = dict(_HIDDEN.findall(page))["csrfmiddlewaretoken"]
            person = {"username": "ann", "password": password, "csrfmiddlewaretoken": token}
            browser.post("/sign-in/", data=person)
            ann = Attacker(site, browser)
            answers(ann)
            skips(ann)
            stored = at_once(ann)
            sent_again = talks(ann, llm)
    changed = [name for name, change in ann.changes.items() if change]
    return Outcome(
        held=not changed and not sent_again and not ann.answered_otherwise and stored == 1,
        figures={
            "replays_sent": ann.replays,
            "replays_that_changed_something": len(changed),
            "which": ", ".join(changed),
            "replays_answered_otherwise": ann.answered_otherwise,
            "messages_sent_to_the_model_again": sent_again,
            "equal_answers_at_once": AT_ONCE,
            "equal_answers_stored": stored,
        },
    )


def answers(ann: Attacker) -> None:
    """A, A once more, B; then the second A again: of a pair, and of a rated session."""
    forms = {
        "pair": ("pairs", "/answer/", {"answer": "FIRST"}, {"answer": "SECOND"}),
        "ratings": ("ratings", "/ratings/", {"turn-1-score": "5"}, {"turn-1-score": "4"}),
    }
    for name, (study, end, one, other) in forms.items():
        first = ann.form(ann.page(f"/studies/{study}/next/"), end, **one)
        ann.send(first)
        again = ann.anew(first)
        status = ann.send(again)
        ann.send(ann.anew(first, **other))
        ann.replay(name, again, status)


def skips(ann: Attacker) -> None:
    """Skip an item, which a manager then offers anew."""
    request = ann.form(ann.page("/studies/pairs/next/"), "/skip/", reason="OTHER")
    status = ann.send(request)
    ann.site.manage("shell", "--verbosity=0", "-c", OFFER)
    ann.page("/studies/pairs/next/")
    ann.replay("skip", request, status)


def at_once(ann: Attacker) -> int:
    """Send one answer many times in one instant; how many were stored."""
    request = ann.form(ann.page("/studies/pairs/next/"), "/answer/", answer="FIRST")
    before = len(ann.state()["trace"])
    with ThreadPoolExecutor(AT_ONCE) as threads:
        statuses = list(threads.map(ann.send, [request] * AT_ONCE))
    ann.answered_otherwise += sum(status != HTTPStatus.FOUND for status in statuses)
    return len(ann.state()["trace"]) - before


def talks(ann: Attacker, llm: FakeLlm) -> int:
    """Tick, say, try again and take back, each once more later; calls that nobody asked for."""
    page = ann.page("/studies/talks/next/")
    ticks = ann.form(page, "/requirements/", met="1")
    status = ann.send(ticks)
    ann.send(ann.anew(ticks, met="2"))
    ann.replay("ticks", ticks, status)

    message = ann.form(page, "/send/", text="Plan a trip without any museum.")
    said = ann.send(message)
    back = ann.form(failed(ann, llm, 1), "/withdraw/")
    taken = ann.send(back)
    called = llm.stats()["calls"]
    ann.replay("message taken back", message, said)
    sent_again = settled(llm) - called

    if sent_again:
        ann.send(ann.form(failed(ann, llm, called + 1), "/withdraw/"))
    called = llm.stats()["calls"]
    ann.send(ann.form(ann.page("/studies/talks/next/"), "/send/", text="Plan another trip."))
    again = ann.form(failed(ann, llm, called + 1), "/retry/")
    status = ann.send(again)
    failed(ann, llm, called + 2)
    called = llm.stats()["calls"]
    ann.replay("retry", again, status)
    sent_again += settled(llm) - called

    failed(ann, llm, called)
    ann.replay("withdrawal", back, taken)
    return int(sent_again)


def failed(ann: Attacker, llm: FakeLlm, calls: int) -> str:
    """The page of the conversation, once so many calls were made and the last of them failed."""
    return wait(
        lambda: ann.page("/studies/talks/next/"),
        lambda page: llm.stats()["calls"] >= calls and "/withdraw/" in page,
    )


def settled(llm: FakeLlm) -> int:
    """Calls to the model, after a while in which one more would have come."""
    time.sleep(QUIET)
    calls: int = llm.stats()["calls"]
    return calls


def wait(look: Callable[[], str], done: Callable[[str], bool]) -> str:
    """What is seen, once it is as it should be."""
    end = time.monotonic() + PATIENCE
    while not done(seen := look()):
        if time.monotonic() > end:
            raise TimeoutError("the reply did not fail")
        time.sleep(0.2)
    return seen
