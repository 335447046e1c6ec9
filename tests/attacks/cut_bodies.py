"""Forms that break off on their way: of a text that arrived in part, nothing may be stored."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final
from uuid import uuid4

from annotation.core.refusals import Refused
from sensejudge_site.benches.annotate.client import Browser, answer_form
from sensejudge_site.benches.annotate.site import Site
from tests.attacks import Outcome
from tests.attacks._raw import FORM, Form, head, send
from tests.fake_llm import FakeLlm

_PASSWORD: Final = "correct horse battery"
_MARK: Final = "cut-off"
_TEXT: Final = f"{_MARK}. " + "First rule. " * 20 + "And WITHOUT any museum."
_KEPT: Final = (0.6, 0.99)  # shares of a body that are sent; the text begins before the first
_SETTLE: Final = 2.0  # seconds for what was sent last
_PATIENCE: Final = 60.0  # seconds until all whole forms are stored
_COMPOSER: Final = re.compile(r'<form id="composer"[^>]* action="([^"]+)"')

_SITE: Final = """
import json
from django.urls import reverse
from annotation.models import Role
from judging.models import ConversationSetup
from tests import factory
dataset = factory.make_dataset()
annotator = factory.make_user(username="li", password={password!r})
manager = factory.make_user(username="wang", role=Role.MANAGER, password={password!r})
pairs = factory.make_study(dataset, slug="pairs", annotators=[annotator])
factory.make_item(pairs)
factory.make_study(dataset, slug="texts", consent="As before.")
talks = factory.make_study(dataset, slug="talks", kind="CONVERSATION", annotators=[annotator])
scenario = factory.make_scenario(dataset)
item = factory.make_item(talks, session=factory.make_session(scenario, task_context="Plan a trip."))
setup = ConversationSetup.objects.create(study=talks)
setup.endpoints.add(factory.make_endpoint(base_url={base_url!r}))
run = factory.make_run(dataset, kind="DISTIL", status="DONE", annotator=annotator)
preference = factory.make_preference(
    run=run, annotator=annotator, scenario=scenario, kind="AGGREGATE", text="Likes it short."
)
talk = reverse("judging:talk", args=["talks", item.pk])
print(json.dumps({{"preference": preference.pk, "talk": talk}}))
"""

_STORED: Final = """
import json
from annotation.models import Dataset, PairwiseLabel, Study
from judging.models import ConversationMessage, Preference
texts = Study.objects.get(slug="texts")
print(json.dumps({{
    "answer": PairwiseLabel.objects.filter(comment__contains={mark!r}).count(),
    "consent": int(texts.consent != "As before."),
    "guidelines": int({mark!r} in texts.guidelines),
    "preference": Preference.objects.filter(text__contains={mark!r}).count(),
    "message": ConversationMessage.objects.filter(text__contains={mark!r}).count(),
    "import": Dataset.objects.filter(slug={mark!r}).count(),
}}))
"""


@dataclass(frozen=True, slots=True)
class _Sender:
    browser: Browser
    form: Form
    multipart: bool = False

    def request(self) -> tuple[str, bytes]:
        """The type of the body, and the whole of it."""
        token = self.browser.cookies["csrftoken"]
        if not self.multipart:
            return FORM, self.form.body(token)
        line = '--limit\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n{}\r\n'
        *fields, (file, rows) = {"csrfmiddlewaretoken": token, **self.form.fields}.items()
        parts = [line.format(name, "", value) for name, value in fields]
        parts.append(line.format(file, '; filename="rows.jsonl"', rows))
        return "multipart/form-data; boundary=limit", "".join([*parts, "--limit--\r\n"]).encode()


def attack(site: Site) -> Outcome:
    """Cut each form in several ways and look into the database; then send each whole."""
    with FakeLlm() as llm:
        code = _SITE.format(base_url=llm.base_url, password=_PASSWORD)
        made = json.loads(site.manage("shell", "--no-imports", "-c", code))
        with site.server() as server:
            senders = _senders(server.port, **made)
            sent = 0
            for sender in senders.values():
                for data in _cut(sender):
                    for hang_up in (True, False):
                        send(server.port, data, hang_up=hang_up)
                        sent += 1
            time.sleep(_SETTLE)
            stored = _stored(site)
            paid = llm.stats()["calls"]
            for sender in senders.values():
                kind, body = sender.request()
                length = str(len(body))
                start = head(
                    sender.form.path,
                    browser=sender.browser,
                    Content_Type=kind,
                    Content_Length=length,
                    Connection="close",
                )
                send(server.port, start + body, hang_up=False)
            end = time.monotonic() + _PATIENCE
            while not all((whole := _stored(site)).values()) and time.monotonic() < end:
                time.sleep(_SETTLE)
    kinds = [kind for kind, count in stored.items() if count]
    return Outcome(
        held=not kinds and not paid and all(whole.values()),
        figures={
            "cut_requests": sent,
            "stored": sum(stored.values()),
            "stored_kinds": ", ".join(kinds),
            "calls_of_models": paid,
            "whole_requests": len(senders),
            "whole_stored": sum(1 for count in whole.values() if count),
        },
    )


def _stored(site: Site) -> dict[str, int]:
    found: dict[str, int] = json.loads(
        site.manage("shell", "--no-imports", "-c", _STORED.format(mark=_MARK))
    )
    return found


def _senders(port: int, *, preference: int, talk: str) -> dict[str, _Sender]:
    annotator, manager = Browser(port), Browser(port)
    annotator.sign_in("li", _PASSWORD)
    manager.sign_in("wang", _PASSWORD)
    pair = answer_form(annotator.get("/studies/pairs/next/").body)
    annotator.get("/studies/talks/next/")
    composer = _COMPOSER.search(annotator.get(talk).body)
    if pair is None or composer is None:
        raise Refused("bench:failed", "there is nothing to answer")
    edit = "/studies/texts/{}/edit/"
    return {
        "answer": _Sender(annotator, Form(pair.action, {**pair.fields, "comment": _TEXT})),
        "consent": _Sender(manager, Form(edit.format("consent"), {"text": _TEXT})),
        "guidelines": _Sender(
            manager, Form(edit.format("guidelines"), {"since": "1", "text": _TEXT})
        ),
        "preference": _Sender(manager, Form(f"/preferences/{preference}/edit/", {"text": _TEXT})),
        "message": _Sender(
            annotator, Form(unescape(composer[1]), {"submission": str(uuid4()), "text": _TEXT})
        ),
        "import": _Sender(
            manager,
            Form(
                "/datasets/import/",
                {"format": "auto", "dataset": _MARK, "file": _rows()},
            ),
            multipart=True,
        ),
    }


def _rows() -> str:
    """A file of the site's own format."""
    pair = {
        "scenario": "Writing",
        "model_a": "m1",
        "text_a": "Dear",
        "model_b": "m2",
        "text_b": "Hi",
    }
    return "".join(json.dumps({**pair, "prompt": f"Prompt {n}"}) + "\n" for n in range(20))


def _cut(sender: _Sender) -> Iterator[bytes]:
    """Parts of a request: of a stated length, and in chunks of which the last does not come."""
    kind, body = sender.request()
    for share in _KEPT:
        part = body[: int(len(body) * share)]
        start = head(
            sender.form.path,
            browser=sender.browser,
            Content_Type=kind,
            Content_Length=str(len(body)),
        )
        yield start + part
        start = head(
            sender.form.path,
            browser=sender.browser,
            Content_Type=kind,
            Transfer_Encoding="chunked",
        )
        yield start + b"%x\r\n%s\r\n" % (len(part), part)
