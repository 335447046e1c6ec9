"""Annotators who label without thinking: one after another, or many at the same time."""

from __future__ import annotations

import http.client
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus

from sensejudge_site.benches.annotate.client import Browser, answer_form


@dataclass(slots=True)
class LoadCounts:
    """What some annotators saw: seconds a page and an answer took, answers accepted, errors."""

    next_seconds: list[float] = field(default_factory=list)
    submit_seconds: list[float] = field(default_factory=list)
    accepted: int = 0
    errors: int = 0
    wall_seconds: float = 0.0

    def add(self, other: LoadCounts) -> None:
        """Count what somebody else saw at the same time."""
        self.next_seconds += other.next_seconds
        self.submit_seconds += other.submit_seconds
        self.accepted += other.accepted
        self.errors += other.errors

    @property
    def seconds(self) -> list[float]:
        """All requests."""
        return self.next_seconds + self.submit_seconds

    @property
    def requests_per_second(self) -> float:
        """Over the time in which all of them worked."""
        return len(self.seconds) / self.wall_seconds if self.wall_seconds else 0.0


def percentile_ms(seconds: Sequence[float], share: float) -> float:
    """The nearest-rank percentile (share 0-1) in milliseconds; 0 without a request."""
    if not seconds:
        return 0.0
    rank = max(math.ceil(share * len(seconds)), 1)
    return sorted(seconds)[rank - 1] * 1000


def label(browser: Browser, study: str, *, rounds: int, until: float) -> LoadCounts:
    """Ask for an item and answer it, `rounds` times or until the clock says `until`."""
    tally = LoadCounts()
    for _round in range(rounds):
        if time.perf_counter() >= until:
            break
        try:
            if not _one_round(browser, study, tally):
                break
        except (OSError, http.client.HTTPException):
            tally.errors += 1
    return tally


def _one_round(browser: Browser, study: str, tally: LoadCounts) -> bool:
    """One item; whether there may be another."""
    page = browser.get(f"/studies/{study}/next/")
    tally.next_seconds.append(page.seconds)
    if page.status != HTTPStatus.OK:
        tally.errors += 1
        return True
    form = answer_form(page.body)
    if form is None:
        return False
    reply = browser.post(form.action, form.fields)
    tally.submit_seconds.append(reply.seconds)
    if reply.status == HTTPStatus.FOUND:
        tally.accepted += 1
    else:
        tally.errors += 1
    return True


def crowd(
    browsers: Sequence[Browser], study: str, *, rounds: int, limit_seconds: float
) -> LoadCounts:
    """All of them at the same time, each `rounds` items."""
    started = time.perf_counter()
    with ThreadPoolExecutor(len(browsers)) as threads:
        tallies = list(
            threads.map(
                lambda browser: label(browser, study, rounds=rounds, until=started + limit_seconds),
                browsers,
            )
        )
    together = LoadCounts(wall_seconds=time.perf_counter() - started)
    for tally in tallies:
        together.add(tally)
    return together
