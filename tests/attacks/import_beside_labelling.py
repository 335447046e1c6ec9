"""A long import beside somebody who labels: nobody waits long, and all of it is there or nothing.

300,000 pairs by command (`ATTACK_IMPORT_ROWS` chooses another number), 5,000 by upload, and a
third import that is killed as it begins to publish. All the while an annotator answers every
50 ms or so.
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
from pathlib import Path
from typing import Final

from sensejudge_site.benches.annotate.client import Browser, LoadCounts, label
from sensejudge_site.benches.annotate.rows import MANAGER, PASSWORD, SINGLE, name_of
from sensejudge_site.benches.annotate.site import Site
from tests.attacks import Outcome

ROWS: Final = int(os.environ.get("ATTACK_IMPORT_ROWS", "300000"))
UPLOADED_ROWS: Final = 5000
KILLED_ROWS: Final = 20_000  # of which the command tells each 10,000
ITEMS: Final = 20_000
LONGEST_WAIT: Final = 2.0
THINKING: Final = 0.05
_LIMIT: Final = 3600.0
_COUNTED: Final = """
import json
from annotation.models import Comparison, Dataset, PairwiseLabel
shown = Dataset.objects.exclude(slug="bench")
print(json.dumps({
    "datasets": sorted(shown.values_list("slug", flat=True)),
    **{f"{slug}_{name}": rows.filter(**{f"{path}turn__session__dataset__slug": slug}).count()
       for slug in ("long", "upload", "killed")
       for name, path, rows in (("pairs", "", Comparison.objects),
                                ("labels", "comparison__", PairwiseLabel.objects))},
}))
"""


def attack(site: Site) -> Outcome:
    """The three imports, and what the annotator saw beside each."""
    site.ask("rows", "fill", str(ITEMS), "0", "1")
    folder = Path(site.env["SENSEJUDGE_VAR"])
    figures: dict[str, float | str] = {"rows": ROWS}
    tallies: list[LoadCounts] = []
    bearable: list[float] = []
    with site.server() as server:
        annotator = Browser(server.port)
        annotator.sign_in(name_of(0), PASSWORD)
        for name, rows in (("long", ROWS), ("upload", UPLOADED_ROWS), ("killed", KILLED_ROWS)):
            file = _written(folder / f"{name}.jsonl", rows)
            started = time.perf_counter()
            with _labelling(annotator) as tally:
                if name == "long":
                    _command(site, file, name).wait(_LIMIT)
                elif name == "upload":
                    manager = Browser(server.port)
                    manager.sign_in(MANAGER, PASSWORD)
                    form = {"format": "auto", "dataset": name}
                    reply = manager.upload("/datasets/import/", form, file.read_bytes())
                    figures["upload_status"] = reply.status
                else:
                    _killed(_command(site, file, name), rows)
            took = time.perf_counter() - started
            figures[f"{name}_s"] = round(took, 1)
            figures[f"{name}_answers"] = tally.accepted
            figures[f"{name}_slowest_s"] = round(max(tally.seconds, default=_LIMIT), 2)
            figures[f"{name}_errors"] = tally.errors
            tallies.append(tally)
            # On a busy machine all takes longer: then nobody waits for half of an import.
            bearable.append(max(LONGEST_WAIT, took / 2))
    counted = json.loads(site.manage("shell", "-v", "0", "-c", _COUNTED))
    figures |= {name: number for name, number in counted.items() if name != "datasets"}
    whole = {"long": ROWS, "upload": UPLOADED_ROWS, "killed": 0}
    held = (
        all(
            max(tally.seconds, default=_LIMIT) <= most
            for tally, most in zip(tallies, bearable, strict=True)
        )
        and not any(tally.errors for tally in tallies)
        and counted["datasets"] == ["long", "upload"]
        and all(counted[f"{name}_pairs"] == rows for name, rows in whole.items())
        and all(counted[f"{name}_labels"] == rows for name, rows in whole.items())
    )
    return Outcome(held, figures)


def _written(file: Path, rows: int) -> Path:
    with file.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            pair = {
                "scenario": f"s{number % 8}", "prompt": f"What is {number} and {number}?",
                "model_a": "alpha", "text_a": f"It is {2 * number}.",
                "model_b": "beta", "text_b": f"It is {2 * number + 1}.",
                "annotator": f"ann{number % 5}", "verdict": "A",
            }  # fmt: skip
            stream.write(f"{json.dumps(pair)}\n")
    return file


@contextmanager
def _labelling(browser: Browser) -> Iterator[LoadCounts]:
    """Somebody labels until the end of the block."""
    tally, over = LoadCounts(), threading.Event()

    def work() -> None:
        while not over.wait(THINKING):
            tally.add(label(browser, SINGLE, rounds=1, until=float("inf")))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield tally
    finally:
        over.set()
        thread.join()


def _command(site: Site, file: Path, dataset: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "import_records", str(file), "--dataset", dataset],
        cwd=site.root,
        env=site.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _killed(process: subprocess.Popen[str], rows: int) -> None:
    """Wait until all rows are read, give it a moment to publish some, and kill it."""
    for line in process.stderr or ():
        if line.startswith(f"{rows} rows"):
            break
    time.sleep(0.3)
    process.kill()
    process.wait()
