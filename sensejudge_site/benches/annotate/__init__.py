"""Labelling over HTTP: a real server process on loopback, annotators who never stop to think.

Server and annotators share the machine, so times depend on what else it does; the server's own
processor time a request depends on that far less. Settings: `small` (5,000 pairs, 1,000 answers),
`large` (50,000 and 20,000), `memory` (what an export of 100,000 pairs adds to the server). The
database is scratch: SQLite in a temporary folder, or the PostgreSQL that DATABASE_URL names, which
must have nobody in it and is emptied at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from annotation.core.refusals import Refused
from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.benches.annotate.client import (
    Browser,
    LoadCounts,
    crowd,
    label,
    percentile_ms,
    weight_of,
)
from sensejudge_site.benches.annotate.rows import (
    DATASET,
    LABELLERS,
    MANAGER,
    PASSWORD,
    SINGLE,
    TRIPLE,
    name_of,
)
from sensejudge_site.benches.annotate.site import Server, Site, scratch_site

_KILO: Final = 1024
_EXPORTED: Final = ("sessions", "labels")
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


_MEMORY: Final = "memory"
_SETTINGS: Final = {"small": (5000, 1000), "large": (50_000, 20_000), _MEMORY: (100_000, 20_000)}


def run(*, setting: str = "small", items: int | None = None, labels: int | None = None) -> Bench:
    """All figures at the sizes of a setting, or at others.

    Raises:
        Refused: there is no such setting; a step did not work.
    """
    if setting not in _SETTINGS:
        message = f"no setting {setting!r}; choose from {', '.join(_SETTINGS)}"
        raise Refused("bench:unknown-size", message)
    usual_items, usual_labels = _SETTINGS[setting]
    size = usual_items if items is None else items
    plan = Plan(items=size, labels=min(usual_labels if labels is None else labels, size))
    return measure(plan, _memory if setting == _MEMORY else _figures)


def measure(
    plan: Plan, figures_of: Callable[[Site, Plan], Iterator[BenchFigure]] | None = None
) -> Bench:
    """Make the deployment, start the server, label, export, count.

    Raises:
        Refused: a step did not work.
    """
    with scratch_site() as site:
        site.ask("rows", "check")
        site.manage("migrate", "--verbosity=0")
        site.manage("collectstatic", "--no-input", "--verbosity=0")
        sizes = (plan.items, plan.labels, plan.annotators)
        site.ask("rows", "fill", *(str(number) for number in sizes))
        try:
            figures = [
                BenchFigure("items", plan.items),
                BenchFigure("labels", plan.labels),
                *(figures_of or _figures)(site, plan),
            ]
        finally:
            site.manage("flush", "--no-input", "--verbosity=0")
    return Bench(name="annotate", figures=tuple(figures))


def _figures(site: Site, plan: Plan) -> Iterator[BenchFigure]:
    with site.server():
        pass  # the first start compiles; a warm one is measured
    with site.server() as server:
        yield BenchFigure("warm_start_s", server.seconds)
        yield from _export(server.port)
        most = max(sessions for sessions, _rounds in plan.crowds)
        browsers = [_signed_in(server.port, name_of(each)) for each in range(most)]
        tallies = {SINGLE: LoadCounts(), TRIPLE: LoadCounts()}
        yield from _alone(browsers[0], server, plan, tallies[SINGLE])
        for study, name in ((SINGLE, ""), (TRIPLE, "overlap3_")):
            for sessions, rounds in plan.crowds:
                spent = _Spent(server)
                tally = crowd(
                    browsers[:sessions], study, rounds=rounds, limit_seconds=plan.limit_seconds
                )
                tallies[study].add(tally)
                yield from _crowd_figures(f"{name}{sessions}_sessions", tally)
                yield from spent.figure(f"{name}{sessions}_sessions", tally)
        for browser in browsers:
            browser.close()
    yield from _counts(site, plan, tallies)


def _memory(site: Site, _plan: Plan) -> Iterator[BenchFigure]:
    """What the server holds while a manager downloads everything, above what it held before."""
    with site.server() as server:
        browser = _signed_in(server.port, MANAGER)
        browser.get(f"/datasets/{DATASET}/")
        idle = server.resident_mb()
        if idle is None:
            message = "this system does not tell how much memory a process holds"
            raise Refused("bench:failed", message)
        yield BenchFigure("idle_mb", idle)
        for kind in _EXPORTED:
            started, held, size = time.perf_counter(), idle, 0
            for block in browser.download(f"/datasets/{DATASET}/export/{kind}.jsonl"):
                size += block
                held = max(held, server.resident_mb() or 0.0)
            yield BenchFigure(f"export_{kind}_s", time.perf_counter() - started)
            yield BenchFigure(f"export_{kind}_file_mb", size / _KILO**2)
            yield BenchFigure(f"export_{kind}_above_idle_mb", held - idle)
        browser.close()


class _Spent:
    """The server's own processor time from a moment on."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._before = server.cpu_seconds()

    def figure(self, name: str, tally: LoadCounts) -> Iterator[BenchFigure]:
        """Milliseconds a request, where the system tells."""
        after = self._server.cpu_seconds()
        if self._before is not None and after is not None and tally.seconds:
            spent = after - self._before
            yield BenchFigure(f"{name}_server_cpu_a_request_ms", 1000 * spent / len(tally.seconds))


def _alone(
    browser: Browser, server: Server, plan: Plan, tally: LoadCounts
) -> Iterator[BenchFigure]:
    """One annotator: what the page weighs, then how long pages and answers take."""
    until = time.perf_counter() + plan.limit_seconds
    tally.add(label(browser, SINGLE, rounds=_WARM_UP_ROUNDS, until=until))
    weight = weight_of(browser, f"/studies/{SINGLE}/next/")
    yield BenchFigure("page_kb_gzipped", weight.wire_bytes / _KILO)
    yield BenchFigure("page_requests", weight.requests)
    spent = _Spent(server)
    alone = label(browser, SINGLE, rounds=plan.rounds, until=until)
    tally.add(alone)
    for name, seconds in (("next", alone.next_seconds), ("submit", alone.submit_seconds)):
        yield BenchFigure(f"{name}_p50_ms", percentile_ms(seconds, 0.5))
        yield BenchFigure(f"{name}_p95_ms", percentile_ms(seconds, 0.95))
    yield from spent.figure("alone", alone)
    yield BenchFigure("errors", alone.errors)


def _crowd_figures(name: str, tally: LoadCounts) -> Iterator[BenchFigure]:
    yield BenchFigure(f"{name}_requests_per_s", tally.requests_per_second)
    yield BenchFigure(f"{name}_p50_ms", percentile_ms(tally.seconds, 0.5))
    yield BenchFigure(f"{name}_p95_ms", percentile_ms(tally.seconds, 0.95))
    yield BenchFigure(f"{name}_errors", tally.errors)


def _export(port: int) -> Iterator[BenchFigure]:
    """A manager downloads the conversations with their pairs, and the labels."""
    browser = _signed_in(port, MANAGER)
    total = 0.0
    for kind in _EXPORTED:
        reply = browser.get(f"/datasets/{DATASET}/export/{kind}.jsonl")
        if reply.status != HTTPStatus.OK:
            message = f"the export of {kind} answered {reply.status}"
            raise Refused("bench:failed", message)
        total += reply.seconds
        yield BenchFigure(f"export_{kind}_s", reply.seconds)
    yield BenchFigure("export_s", total)
    browser.close()


def _counts(site: Site, plan: Plan, tallies: dict[str, LoadCounts]) -> Iterator[BenchFigure]:
    counted = site.ask("rows", "count")
    yield BenchFigure("items_over_overlap", counted["over_overlap"])
    for study, before in ((SINGLE, plan.labels), (TRIPLE, 0)):
        yield BenchFigure(f"{study}_accepted", tallies[study].accepted)
        yield BenchFigure(f"{study}_rows", counted[study] - before)


def _signed_in(port: int, name: str) -> Browser:
    browser = Browser(port)
    if not browser.sign_in(name, PASSWORD):
        message = f"{name} could not sign in"
        raise Refused("bench:failed", message)
    return browser
