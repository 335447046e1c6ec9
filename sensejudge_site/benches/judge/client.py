"""A run worked off in this process; its figures as JSON.

python -m sensejudge_site.benches.judge.client PORT CALLS CONCURRENCY [again]. The second time it
is a new run over the same items.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from pathlib import Path

import django


def _resident_mb() -> float:
    """What this process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def main(port: int, calls: int, concurrency: int, *, again: bool) -> dict[str, float]:
    """Makes the rows, then judges them; only the judging is measured."""
    from judging.models import Judgment, LlmCall
    from judging.services.foreground import run_to_end
    from sensejudge_site.benches.judge.rows import make_run

    run = make_run(
        name=f"bench-{concurrency}",
        base_url=f"http://127.0.0.1:{port}/v1",
        concurrency=concurrency,
        calls=calls,
    )
    before = LlmCall.objects.count()
    gc.collect()
    idle, cpu, started = _resident_mb(), time.process_time(), time.perf_counter()
    run_to_end(run.pk)
    seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    paid = LlmCall.objects.count() - before
    rows = Judgment.objects.filter(run=run, status="DONE").count()
    return {
        "calls": paid,
        "rows": rows,
        "seconds": seconds,
        "calls_per_s": paid / seconds,
        "cpu_ms_a_call": 1000 * spent / max(rows if again else paid, 1),
        "peak_mb_above_idle": peak - idle,
    }


if __name__ == "__main__":
    django.setup()
    figures = main(
        int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), again="again" in sys.argv[4:]
    )
    sys.stdout.write(json.dumps(figures))
