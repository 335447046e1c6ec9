"""A run of 2,000 calls at an endpoint that answers with a random one of all known oddities.

Refusals that name a field, errors of any shape, replies that break off, failures within a success,
numbers that no row holds: every row must end in a status, no answer may be paid for twice, and the
run must end. What failed, and what was left because the endpoint looked dead, is retried.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from annotation.core.refusals import Refused
from sensejudge_site.benches.annotate.site import Site
from tests.attacks import Outcome
from tests.fake_llm import FakeLlm
from tests.odd_endpoint import OddEndpoint

COMPARISONS = 1_000  # two calls each
CONCURRENCY = 32
MOST_ROUNDS = 40

MAKE = """
from annotation.models import Response
from judging.models import ModelEndpoint
from tests.judging.study import make_study
dataset, _rater = make_study(comparisons={comparisons})
for response in Response.objects.all():  # or equal questions would share a reply
    response.text = f"{{response.text}} No {{response.pk}}."
    response.save()
ModelEndpoint.objects.create(
    name="odd", model="odd", base_url="{url}", concurrency={concurrency}, output_price=10
)
print(dataset.slug)
"""
STATE = """
import json
from collections import Counter
from judging.models import JudgeRun, Judgment, LlmCall
run = JudgeRun.objects.order_by("pk").first()
statuses = Counter(Judgment.objects.values_list("status", flat=True))
print(json.dumps({
    "run": run and run.status,
    "code": run and run.error_code,
    "rows": dict(statuses),
    "calls": LlmCall.objects.count(),
    "keys": LlmCall.objects.values("key").distinct().count(),
    "not_storable": Judgment.objects.filter(error_code="answer:not-storable").count(),
}))
"""


def attack(site: Site) -> Outcome:
    """Judge, then retry until no row waits and none failed in a way that may pass."""
    odd, rounds, started = OddEndpoint(), 0, time.monotonic()
    first: dict[str, int] = {}
    crashed = False
    with FakeLlm() as llm:
        llm.manner = odd
        code = MAKE.format(comparisons=COMPARISONS, url=llm.base_url, concurrency=CONCURRENCY)
        dataset = site.manage("shell", "--verbosity=0", "-c", code).split()[-1]
        command: tuple[str, ...] = (
            "judge",
            "--dataset",
            dataset,
            "--judge",
            "odd",
            "--preferences",
            "none",
        )
        while rounds < MOST_ROUNDS:
            with contextlib.suppress(Refused):  # a run that failed exits with 1
                site.manage(*command)
            rounds += 1
            state = _state(site)
            crashed = crashed or state["code"] == "run:crashed"
            first = first or state["rows"]
            if state["run"] == "DONE" and "PENDING" not in state["rows"]:
                break
            command = ("judge", "--retry", "1")
        sent = llm.stats()["calls"]
    rows = state["rows"]
    judged = sum(rows.values())
    held = (
        not crashed
        and state["run"] == "DONE"
        and judged == 2 * COMPARISONS
        and "PENDING" not in rows
        and not odd.paid_twice
        and state["calls"] == state["keys"]
        and not state["not_storable"]
    )
    figures: dict[str, float | str] = {
        "rows": judged,
        **{f"rows_{status.lower()}": count for status, count in sorted(rows.items())},
        "first_round": json.dumps(first),
        "rounds": rounds,
        "requests": sent,
        "oddities": odd.oddities,
        "answers": sum(odd.answered.values()),
        "answers_paid_twice": odd.paid_twice,
        "seconds": round(time.monotonic() - started, 1),
    }
    return Outcome(held=held, figures=figures)


def _state(site: Site) -> dict[str, Any]:
    lines = site.manage("shell", "--verbosity=0", "-c", STATE).splitlines()
    state: dict[str, Any] = json.loads(lines[-1])
    return state
