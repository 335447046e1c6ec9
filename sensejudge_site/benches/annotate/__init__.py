"""Labelling over HTTP: a real server process on loopback, annotators who never stop to think.

Server and annotators share the machine. The database is scratch: SQLite in a temporary folder, or
the PostgreSQL that DATABASE_URL names, which must have nobody in it and is emptied at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from sensejudge_site.benches import Bench, BenchFailedError, Figure
from sensejudge_site.benches.annotate.client import Browser, weight_of
from sensejudge_site.benches.annotate.load import Tally, crowd, label, percentile_ms
from sensejudge_site.benches.annotate.people import (
    DATASET,
    LABELLERS,
    MANAGER,
    PASSWORD,
    SINGLE,
    TRIPLE,
    name_of,
)
from sensejudge_site.benches.annotate.site import Site, scratch_site

_KILO: Final = 1024
_WARM_UP_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything.

    Attributes:
        items: Pairs in each of the two studies.
        labels: Answers that the first study has at the start, at most `items`.
        rounds: Items that one annotator alone answers.
        crowds: Annotators at the same time, and how many items each of them answers.
        limit_seconds: When a phase ends in any case.
    """

    items: int
    labels: int
    rounds: int = 200
    crowds: tuple[tuple[int, int], ...] = ((16, 40), (64, 10))
    limit_seconds: float = 120.0

    @property
    def annotators(self) -> int:
        """How many people it takes."""
        return max(LABELLERS, *(sessions for sessions, _rounds in self.crowds))


def run(*, items: int = 5000, labels: int = 1000) -> Bench:
    """All figures at these sizes.

    Raises:
        BenchFailedError: a step did not work.
    """
    return measure(Plan(items=items, labels=min(labels, items)))


def measure(plan: Plan) -> Bench:
    """Make the deployment, start the server, label, export, count.

    Raises:
        BenchFailedError: a step did not work.
    """
    with scratch_site() as site:
        site.ask("rows", "check")
        site.manage("migrate", "--verbosity=0")
        site.manage("collectstatic", "--no-input", "--verbosity=0")
        sizes = (plan.items, plan.labels, plan.annotators)
        site.ask("rows", "fill", *(str(number) for number in sizes))
        try:
            figures = [
                Figure("items", plan.items),
                Figure("labels", plan.labels),
                *_figures(site, plan),
            ]
        finally:
            site.manage("flush", "--no-input", "--verbosity=0")
    return Bench(name="annotate", figures=tuple(figures))


def _figures(site: Site, plan: Plan) -> Iterator[Figure]:
    with site.server():
        pass  # the first start compiles; a warm one is measured
    with site.server() as (port, seconds):
        yield Figure("warm_start_s", seconds)
        yield from _export(port)
        browsers = [_signed_in(port, name_of(each)) for each in range(plan.annotators)]
        tallies = {SINGLE: Tally(), TRIPLE: Tally()}
        yield from _alone(browsers[0], plan, tallies[SINGLE])
        for study, name in ((SINGLE, ""), (TRIPLE, "overlap3_")):
            for sessions, rounds in plan.crowds:
                tally = crowd(
                    browsers[:sessions], study, rounds=rounds, limit_seconds=plan.limit_seconds
                )
                tallies[study].add(tally)
                yield from _crowd_figures(f"{name}{sessions}_sessions", tally)
        for browser in browsers:
            browser.close()
    yield from _counts(site, plan, tallies)


def _alone(browser: Browser, plan: Plan, tally: Tally) -> Iterator[Figure]:
    """One annotator: what the page weighs, then how long pages and answers take."""
    until = time.perf_counter() + plan.limit_seconds
    tally.add(label(browser, SINGLE, rounds=_WARM_UP_ROUNDS, until=until))
    weight = weight_of(browser, f"/studies/{SINGLE}/next/")
    yield Figure("page_kb_gzipped", weight.wire_bytes / _KILO)
    yield Figure("page_requests", weight.requests)
    alone = label(browser, SINGLE, rounds=plan.rounds, until=until)
    tally.add(alone)
    for name, seconds in (("next", alone.next_seconds), ("submit", alone.submit_seconds)):
        yield Figure(f"{name}_p50_ms", percentile_ms(seconds, 0.5))
        yield Figure(f"{name}_p95_ms", percentile_ms(seconds, 0.95))
    yield Figure("errors", alone.errors)


def _crowd_figures(name: str, tally: Tally) -> Iterator[Figure]:
    yield Figure(f"{name}_requests_per_s", tally.requests_per_second)
    yield Figure(f"{name}_p50_ms", percentile_ms(tally.seconds, 0.5))
    yield Figure(f"{name}_p95_ms", percentile_ms(tally.seconds, 0.95))
    yield Figure(f"{name}_errors", tally.errors)


def _export(port: int) -> Iterator[Figure]:
    """A manager downloads the conversations with their pairs, and the labels."""
    browser = _signed_in(port, MANAGER)
    total = 0.0
    for kind in ("sessions", "labels"):
        reply = browser.get(f"/datasets/{DATASET}/export/{kind}.jsonl")
        if reply.status != HTTPStatus.OK:
            message = f"the export of {kind} answered {reply.status}"
            raise BenchFailedError(message)
        total += reply.seconds
        yield Figure(f"export_{kind}_s", reply.seconds)
    yield Figure("export_s", total)
    browser.close()


def _counts(site: Site, plan: Plan, tallies: dict[str, Tally]) -> Iterator[Figure]:
    counted = site.ask("rows", "count")
    yield Figure("items_over_overlap", counted["over_overlap"])
    for study, before in ((SINGLE, plan.labels), (TRIPLE, 0)):
        yield Figure(f"{study}_accepted", tallies[study].accepted)
        yield Figure(f"{study}_rows", counted[study] - before)


def _signed_in(port: int, name: str) -> Browser:
    browser = Browser(port)
    if not browser.sign_in(name, PASSWORD):
        message = f"{name} could not sign in"
        raise BenchFailedError(message)
    return browser
