"""How long a ranking of many battles takes: from a file to the finished table, 1,000 bootstraps.

Simulated: twelve models of normal strengths, 15 % ties; in files of sessions ten battles each. The
table has Bradley-Terry ratings with intervals, ranks and who is above whom, and win rates. Each is
timed once in a process of its own, imports left out; `mb` is the most memory of that process, with
what Python and numpy take. `naive` is what a straightforward program does: the battles are
resampled row by row, and each draw is a logistic regression on its rows (L-BFGS); of few draws, as
it is slow.
Published are 100 draws by FastChat, on another machine of two cores.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from benchmark.core.bradley_terry import OutcomeCells
from benchmark.core.rank_sets import Floats, Integers
from benchmark.core.ranking import bradley_terry, win_rates
from judging.core.formats.battles import read_battles
from sensejudge_site.benches import Bench, BenchFigure

SIZES: Final = (26_400, 1_000_000)
_DRAWS: Final = 1000
_FEW: Final = 100
_PUBLISHED: Final = {26_400: 6.64, 1_000_000: 3.77}
_MODELS: Final = 12
_TIED: Final = 0.15
_A_SESSION: Final = 10
_NAIVE_ROWS: Final = 100_000
_SEED: Final = 42
_WORDS: Final = ("model_a", "model_b", "tie")


def run(*, items: int = 0) -> Bench:
    """Seconds of 26,400 and 1,000,000 battles, or of so many."""
    sizes = (items,) if items else SIZES
    with TemporaryDirectory(prefix="sensejudge-rank-") as folder:
        battles = {size: _battles(size) for size in sizes}
        figures = [
            figure for size, told in battles.items() for figure in _ours(Path(folder), size, *told)
        ]
        figures += [figure for size, told in battles.items() for figure in _naive(size, *told)]
    return Bench("rank", tuple(figures))


def _battles(size: int) -> tuple[Integers, Integers, Integers]:
    """Two models, and the place of the winner's word."""
    rng = np.random.default_rng(_SEED)
    strengths = rng.normal(size=_MODELS)
    one = rng.integers(_MODELS, size=size)
    other = (one + rng.integers(1, _MODELS, size=size)) % _MODELS
    lost = rng.random(size) >= 1 / (1 + np.exp(strengths[other] - strengths[one]))
    return one, other, np.where(rng.random(size) < _TIED, 2, lost.astype(np.int64))


def _ours(
    folder: Path, size: int, one: Integers, other: Integers, won: Integers
) -> Iterator[BenchFigure]:
    plain, lines, grouped = (folder / f"{size}{end}" for end in (".csv", ".jsonl", "s.csv"))
    rows = [
        (f"m{a}", f"m{b}", _WORDS[word])
        for a, b, word in zip(one.tolist(), other.tolist(), won.tolist(), strict=True)
    ]
    header = "model_a,model_b,winner"
    _write(plain, header, (",".join(row) for row in rows))
    keyed = '{"model_a": "%s", "model_b": "%s", "winner": "%s"}'
    _write(lines, "", (keyed % row for row in rows))
    sessions = (f"{','.join(row)},s{place // _A_SESSION}" for place, row in enumerate(rows))
    _write(grouped, f"{header},session", sessions)
    del rows
    for name, path, session, draws in (
        ("csv", plain, "", _DRAWS),
        ("jsonl", lines, "", _DRAWS),
        ("csv_100_draws", plain, "", _FEW),
        ("sessions", grouped, "session", _DRAWS),
    ):
        seconds, megabytes = _in_a_process(path, session, draws)
        published = _PUBLISHED.get(size) if draws == _FEW else None
        yield BenchFigure(f"{name}_{size}_s", seconds, published)
        yield BenchFigure(f"{name}_{size}_mb", megabytes)


def _in_a_process(path: Path, session: str, draws: int) -> tuple[float, float]:
    """Seconds and most megabytes of a fresh process that has imported what it needs."""
    code = f"from {__name__} import measure; measure({str(path)!r}, {session!r}, {draws})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    seconds, megabytes = map(float, done.stdout.split())
    return seconds, megabytes


def measure(path: str, session: str, draws: int) -> None:
    """Ranks a file and prints the seconds that took and the most megabytes it needed."""
    seconds = _seconds(lambda: _ranked(Path(path), session=session, draws=draws))
    sys.stdout.write(f"{seconds} {_peak_kb() / 1024}")


def _peak_kb() -> float:
    """The most memory of this process; what `getrusage` tells on Linux is its parent's, too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return float(re.findall(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii"))[0])


def _write(path: Path, header: str, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        if header:
            stream.write(f"{header}\n")
        stream.writelines(f"{line}\n" for line in lines)


def _ranked(path: Path, *, session: str, draws: int) -> None:
    cells = OutcomeCells.of_battles(read_battles(path, session=session))
    bradley_terry(cells, draws=draws, seed=_SEED)
    win_rates(cells)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _naive(size: int, one: Integers, other: Integers, won: Integers) -> Iterator[BenchFigure]:
    rng = np.random.default_rng(_SEED)
    score = np.array([1.0, 0.0, 0.5])[won]
    draws = 5 if size <= _NAIVE_ROWS else 1

    def work() -> None:
        for _ in range(draws):
            drawn = rng.integers(size, size=size)
            _by_rows(one[drawn], other[drawn], score[drawn])

    _by_rows(one[:100], other[:100], score[:100])  # imports what it needs
    yield BenchFigure(f"naive_{draws}_draws_{size}_s", _seconds(work))


def _by_rows(one: Integers, other: Integers, score: Floats) -> Floats:
    """Strengths by L-BFGS on a logistic loss of every row."""
    from scipy.optimize import minimize

    def loss(strengths: Floats) -> tuple[float, Floats]:
        gap = strengths[one] - strengths[other]
        chance = 1 / (1 + np.exp(-gap))
        slope: Floats = np.zeros(_MODELS)
        slope += np.bincount(one, chance - score, _MODELS)
        slope -= np.bincount(other, chance - score, _MODELS)
        return float(np.logaddexp(0, -gap).sum() + ((1 - score) * gap).sum()), slope

    start = np.zeros(_MODELS)
    options = {"gtol": 1e-6, "maxiter": 200}
    found: Floats = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return found
