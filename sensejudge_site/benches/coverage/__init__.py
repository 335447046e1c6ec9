"""How often intervals hold what is true, and findings are stated where there is nothing to find.

Samples are drawn from known models in which what belongs together varies together: comparisons of
one session, turns of one user. Every figure is computed by the application's own function, with as
many bootstrap draws as its pages use, and compared with its value on a population of POPULATION
sessions or users. A nominal 95 % interval should hold that in 93 to 97 % of the samples.

With `findings` the samples are coin flips, and counted is what the pages would say of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final

import numpy as np

from annotation.core.intervals import DEFAULT_DRAWS, Interval
from annotation.core.refusals import Refused
from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.benches.coverage.findings import FINDINGS
from sensejudge_site.benches.coverage.judged import LABELLED, corrected_figures
from sensejudge_site.benches.coverage.pairs import trust_figures
from sensejudge_site.benches.coverage.people import (
    agreement_figures,
    model_figures,
    satisfaction_figures,
)
from sensejudge_site.benches.coverage.rankings import leaderboard_figures, style_figures
from sensejudge_site.benches.coverage.ranks import ranks_held
from sensejudge_site.benches.coverage.sampling import Found, Measure
from sensejudge_site.benches.coverage.uneven import uneven_figures

SIMULATIONS: Final = 500
UNITS: Final = (10, 30, 100)
FLIPPED: Final = (1, 3, 10, 100)
POPULATION: Final = 20_000
_SEED: Final = 42

PAGES: Final[dict[str, Measure]] = {
    "trust": trust_figures,
    "agreement": agreement_figures,
    "leaderboard": leaderboard_figures,
    "style": style_figures,
    "satisfaction": satisfaction_figures,
    "models": model_figures,
    "corrected": corrected_figures,
    "uneven": uneven_figures,
}
RANKS: Final = "ranks"
UNITS_OF: Final = {"corrected": LABELLED}
"""Of pages with other numbers than UNITS: labels here."""
OF_AS_MANY: Final = "Elo"
"""How figures begin whose true value is their mean over samples of as many units: points grow with
the number of comparisons."""


def run(*, simulations: int = SIMULATIONS, figure: str = "", findings: int = 0) -> Bench:
    """Coverage of every figure's interval in percent, by the number of units; minutes.

    Args:
        simulations: samples for a figure and number of units.
        figure: a page, or a page and the beginning of a figure's name after a space; empty: all.
        findings: whether to count what is found in coin flips instead.

    Raises:
        Refused: there is no such figure.
    """
    began = time.perf_counter()
    rows = list(_findings(simulations) if findings else _coverage(simulations, figure))
    if not rows:
        raise Refused("bench:input", f"no figure's name begins with {figure!r}")
    rows.append(BenchFigure("seconds", time.perf_counter() - began))
    used = {int(word) for row in rows if (word := row.name.split()[-1]).isdecimal()}
    columns = FLIPPED if findings else sorted(used)
    return Bench("coverage", tuple(rows), columns=tuple(str(units) for units in columns))


def _coverage(simulations: int, figure: str) -> Iterator[BenchFigure]:
    wanted, _space, begins = figure.partition(" ")
    for page, measure in PAGES.items():
        if page == wanted or not wanted:
            yield from _page(page, measure, simulations=simulations, begins=begins)
    if wanted in {RANKS, ""}:
        yield from _ranks(simulations, begins)


def _ranks(simulations: int, begins: str) -> Iterator[BenchFigure]:
    """In percent of samples, how often the rank sets of all models hold at once."""
    held: dict[str, list[tuple[int, int, int]]] = {}
    for units in UNITS:
        rng = np.random.default_rng([_SEED, units])
        samples = [ranks_held(rng, units, DEFAULT_DRAWS) for _ in range(simulations)]
        for name in samples[0]:
            stated = [own for found in samples if (own := found[name]) is not None]
            held.setdefault(name, []).append((units, sum(stated), len(stated)))
    for name, counts in held.items():
        if name.startswith(begins):
            yield from _row(f"{RANKS} {name}", counts, simulations)


def _page(page: str, measure: Measure, *, simulations: int, begins: str) -> Iterator[BenchFigure]:
    population = measure(np.random.default_rng(_SEED), POPULATION, 1)
    truth = {name: value for name, (value, _i) in population.items() if name.startswith(begins)}
    held: Counter[tuple[str, int]] = Counter()
    stated: Counter[tuple[str, int]] = Counter()
    sizes = UNITS_OF.get(page, UNITS)
    for units in sizes if truth else ():
        rng = np.random.default_rng([_SEED, units])
        samples = [measure(rng, units, DEFAULT_DRAWS) for _ in range(simulations)]
        for name, of_many in truth.items():
            true = _mean(samples, name) if name.startswith(OF_AS_MANY) else of_many
            intervals = [found[name][1] for found in samples]
            stated[name, units] = sum(interval is not None for interval in intervals)
            held[name, units] = sum(_holds(interval, true) for interval in intervals)
    for name in truth:
        counts = [(units, held[name, units], stated[name, units]) for units in sizes]
        yield from _row(f"{page} {name}", counts, simulations)


def _mean(samples: Sequence[Mapping[str, Found]], name: str) -> float:
    return fmean(value for found in samples if (value := found[name][0]) is not None)


def _holds(interval: Interval | None, true: float | None) -> bool:
    return interval is not None and true is not None and interval.low <= true <= interval.high


def _row(
    name: str, counts: Sequence[tuple[int, int, int]], simulations: int
) -> Iterator[BenchFigure]:
    """The share of the stated intervals that hold what is true, and of samples without one."""
    for units, held, stated in counts:
        if stated:
            yield BenchFigure(f"{name} {units}", 100 * held / stated)
    for units, _held, stated in counts:
        if stated < simulations:
            yield BenchFigure(f"{name}: none {units}", 100 * (1 - stated / simulations))


def _findings(simulations: int) -> Iterator[BenchFigure]:
    """In percent of samples, how often each finding is stated."""
    for page, find in FINDINGS.items():
        said: Counter[tuple[str, int]] = Counter()
        for units in FLIPPED:
            rng = np.random.default_rng([_SEED, units])
            for _ in range(simulations):
                said[find(rng, units), units] += 1
        for finding in sorted({finding for finding, _units in said}):
            for units in FLIPPED:
                share = said[finding, units] / simulations
                yield BenchFigure(f"{page} {finding} {units}", 100 * share)
