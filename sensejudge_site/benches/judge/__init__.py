"""Judging over HTTP: a server that answers after 200 ms, a run with its rows in the database.

Server and client are processes of this machine and share its cores. The database is scratch:
SQLite in a temporary folder, or the PostgreSQL that DATABASE_URL names, which is emptied at the
end. The bare client sends the same bodies over the same connections and stores nothing. A run's
time includes the import of the LLM library, compiled before as where it is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

from annotation.core.refusals import Refused
from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.benches.annotate.site import HOST, Site, scratch_site

CONCURRENCIES: Final = (32, 256)
LATENCY_SECONDS: Final = 0.2
_PUBLISHED: Final = {"calls_per_s_at_32": 154.0, "calls_per_s_at_256": 506.0}
"""The best of the tools measured with such a server on two cores: FastChat and alpaca_eval."""


def run(*, calls: int = 5000) -> Bench:
    """All figures for so many calls.

    Raises:
        Refused: a step did not work.
    """
    return measure(calls=calls, concurrencies=CONCURRENCIES)


def measure(*, calls: int, concurrencies: Sequence[int]) -> Bench:
    """The figures at some numbers of calls at a time.

    Raises:
        Refused: a step did not work.
    """
    with scratch_site() as empty, _server(site := _compiled(empty)) as port:
        site.manage("migrate", "--verbosity=0")
        try:
            figures = [BenchFigure("calls", calls), *_figures(site, port, calls, concurrencies)]
        finally:
            site.manage("flush", "--no-input", "--verbosity=0")
    return Bench(name="judge", figures=tuple(figures))


def _compiled(site: Site) -> Site:
    """The same with the bytecode of what a run imports, whatever this process may write.

    It is kept in the site's folder, unless PYTHONPYCACHEPREFIX says where.
    """
    env = {name: value for name, value in site.env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    folder = str(Path(env["SENSEJUDGE_VAR"]) / "bytecode")
    kept = replace(site, env={"PYTHONPYCACHEPREFIX": folder, **env})
    kept.python("-c", "from judging.llm.transport import load_library; load_library()")
    return kept


def _figures(
    site: Site, port: int, calls: int, concurrencies: Sequence[int]
) -> Iterator[BenchFigure]:
    for concurrency in concurrencies:
        bare = _ask(site, "bare", port, calls, concurrency)
        yield BenchFigure(f"bare_calls_per_s_at_{concurrency}", bare["calls_per_s"])
        yield BenchFigure(f"bare_cpu_ms_a_call_at_{concurrency}", bare["cpu_ms_a_call"])
        _stats(port)  # from here on the server counts anew
        first = _ask(site, "client", port, calls, concurrency)
        seen = _stats(port)
        if seen["calls"] != first["calls"]:
            message = f"the server saw {seen['calls']} calls, {first['calls']} replies are stored"
            raise Refused("bench:failed", message)
        for name in ("calls_per_s", "cpu_ms_a_call", "peak_mb_above_idle"):
            figure = f"{name}_at_{concurrency}"
            yield BenchFigure(figure, first[name], _PUBLISHED.get(figure))
        yield BenchFigure(f"prefix_percent_at_{concurrency}", 100 * seen["prefix_share"])
        yield BenchFigure(f"rows_at_{concurrency}", first["rows"])
        again = _ask(site, "client", port, calls, concurrency, "again")
        yield BenchFigure(f"second_run_calls_at_{concurrency}", _stats(port)["calls"])
        yield BenchFigure(f"second_run_s_at_{concurrency}", again["seconds"])


def _ask(site: Site, module: str, port: int, calls: int, concurrency: int, *more: str) -> Any:
    words = (f"{__name__}.{module}", str(port), str(calls), str(concurrency), *more)
    return json.loads(site.python("-m", *words))


@contextmanager
def _server(site: Site) -> Iterator[int]:
    """The server until the end of the block: its port."""
    with subprocess.Popen(  # noqa: S603 - this interpreter, with words of this package
        [sys.executable, "-m", f"{__name__}.server", str(LATENCY_SECONDS)],
        env=site.env,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - asked for above
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _stats(port: int) -> Mapping[str, Any]:
    """What the server counted since it was last asked."""
    connection = HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", "/stats")
        found: Mapping[str, Any] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()
