"""Importing pairs, by command and by upload: seconds, processor time, memory above idle.

A file of synthetic pairs with texts of about 2.7 KB a side and a label each goes into two datasets
of a scratch deployment. What a process held before (the server at rest, a command that does
nothing) is taken off its memory. Label Studio took 2.1 s for 5,000 pairs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from annotation.core.refusals import Refused
from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.benches.annotate.client import Browser
from sensejudge_site.benches.annotate.rows import MANAGER, PASSWORD, synthetic_text
from sensejudge_site.benches.annotate.site import Server, Site, scratch_site

PAIRS: Final = 5000
_TEXT_CHARS: Final = 2600
_RATERS: Final = 5
_PUBLISHED_SECONDS: Final = 2.1
_GLANCE: Final = 0.02


def run(*, items: int = PAIRS) -> Bench:
    """The figures of both ways.

    Raises:
        Refused: a step did not work.
    """
    with scratch_site() as site:
        site.ask("rows", "check")
        site.manage("migrate", "--verbosity=0")
        site.manage("collectstatic", "--no-input", "--verbosity=0")
        site.ask("rows", "fill", "1", "0", "1")
        file = Path(site.env["SENSEJUDGE_VAR"]) / "pairs.jsonl"
        write(file, items)
        try:
            figures = [
                BenchFigure("pairs", items),
                BenchFigure("file_mb", file.stat().st_size / 2**20),
                *_by_command(site, file, items),
                *_by_upload(site, file),
            ]
        finally:
            site.manage("flush", "--no-input", "--verbosity=0")
    return Bench(name="imports", figures=tuple(figures))


def write(file: Path, pairs: int) -> None:
    """A file of so many pairs."""
    random = Random(1)

    def text() -> str:
        whole = ""
        while len(whole) < _TEXT_CHARS:
            whole = f"{whole}{synthetic_text(random)}\n\n"
        return whole[:_TEXT_CHARS]

    with file.open("w", encoding="utf-8") as stream:
        for number in range(pairs):
            row = {
                "scenario": f"Scenario {number % 8}", "prompt": f"Which way is best? ({number})",
                "model_a": "alpha", "text_a": text(), "model_b": "beta", "text_b": text(),
                "annotator": f"rater-{number % _RATERS}", "verdict": "AB"[number % 2],
            }  # fmt: skip
            stream.write(f"{json.dumps(row)}\n")


def _by_command(site: Site, file: Path, pairs: int) -> Iterator[BenchFigure]:
    idle = _command(site, "import_records", "--help")
    done = _command(site, "import_records", str(file), "--dataset", "by-command", "--json")
    if json.loads(done.output)["created"] != pairs:
        message = "the command did not import every pair"
        raise Refused("bench:failed", message)
    yield BenchFigure("command_s", done.seconds)
    yield BenchFigure("command_start_s", idle.seconds)
    yield BenchFigure("command_cpu_s", done.cpu_seconds)
    yield BenchFigure("command_above_idle_mb", done.peak_mb - idle.peak_mb)


def _by_upload(site: Site, file: Path) -> Iterator[BenchFigure]:
    with site.server() as server:
        browser = Browser(server.port)
        if not browser.sign_in(MANAGER, PASSWORD):
            message = f"{MANAGER} could not sign in"
            raise Refused("bench:failed", message)
        browser.get("/datasets/import/")
        data = file.read_bytes()
        idle, cpu = server.resident_mb(), server.cpu_seconds()
        with _peak(server) as peaks:
            reply = browser.upload(
                "/datasets/import/", {"format": "auto", "dataset": "by-upload"}, data
            )
        if reply.status != 200:
            message = f"the upload answered {reply.status}"
            raise Refused("bench:failed", message)
        yield BenchFigure("upload_s", reply.seconds, _PUBLISHED_SECONDS)
        after = server.cpu_seconds()
        if idle is not None and cpu is not None and after is not None:
            yield BenchFigure("upload_cpu_s", after - cpu)
            yield BenchFigure("upload_above_idle_mb", max(peaks, default=idle) - idle)
        browser.close()


@contextmanager
def _peak(server: Server) -> Iterator[list[float]]:
    """What a server holds, looked at again and again until the end of the block."""
    seen: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(_GLANCE):
            seen.append(server.resident_mb() or 0.0)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class _Run:
    """A command that has ended."""

    output: str
    seconds: float
    cpu_seconds: float
    peak_mb: float


def _command(site: Site, *arguments: str) -> _Run:
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - this interpreter, with words of this package
        [sys.executable, "manage.py", *arguments],
        cwd=site.root,
        env=site.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    # The system's own maximum of a process begins with that of the one that started it.
    with process, _peak(Server(port=0, seconds=0.0, pid=process.pid)) as peaks:
        output = process.stdout.read() if process.stdout else ""
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"{' '.join(arguments)}: {process.returncode}"
        raise Refused("bench:failed", message)
    seconds = time.perf_counter() - started
    return _Run(output, seconds, used.ru_utime + used.ru_stime, max(peaks, default=0.0))
